"""Sums the rows of a factor instead of the rows of a product.

Before::

        %y = dot %x, %w                  # 1,000 rows, read only by the sum
    %z = neg %y
    %r = sum %z {axes=(0,)}

After::

    %x_ = sum %x {axes=(0,)}
    %y_ = dot %x_, %w                # one row
    %r = neg %y_

The cotangent of a vector that is added to each row before a product has this form, such as the
shift in ``(x - shift) @ w``.

Legal where nothing else reads the product; the sum is over at least one element, along free axes of
the factors; and the other factor of each row is the same along these axes.  Sums are rounded in
another order; the results also differ if one overflows, or if an infinite factor meets a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autojit.ir.core.program import Op, Program, Value, readers_of
from autojit.ir.ops.arithmetic import div, mul, neg
from autojit.ir.ops.contract import dot, free_axes
from autojit.ir.ops.linear import constant
from autojit.ir.ops.move import broadcast, transpose
from autojit.ir.ops.reduce import sum_
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass


@program_pass(
    "Sums rows before they are multiplied by a matrix.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with sums moved before products that nothing else reads."""
    if not {sum_, dot} <= program.kinds:
        return program
    readers = readers_of(program.ops, program.outputs)
    once = {v for v, count in readers.items() if count == 1}

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is not sum_ or not op.operands[0].type.size:
            return None
        value = _summed(op.operands[0], op.params["axes"], at, once)
        return None if value is None else (value,)

    return rewrite(program, [rule])


def _summed(v: Value, axes: tuple[int, ...], at: Rewriter, once: set[Value]) -> Value | None:
    """The sum of a value over axes, by way of a smaller product; None if it contains no product."""
    made = at.maker(v)
    if v not in once or made is None or not v.type.is_inexact:
        return None
    if made.kind is dot:
        return _smaller_product(made, axes)
    if made.kind is neg:
        inner = _summed(made.operands[0], axes, at, once)
        return None if inner is None else neg(inner)
    if made.kind is transpose:
        return _below_transpose(made, axes, at, once)
    if made.kind in (mul, div):
        pairs = [made.operands] if made.kind is div else [made.operands, made.operands[::-1]]
        for x, factor in pairs:
            repeated = _without(factor, axes, at)
            inner = None if repeated is None else _summed(x, axes, at, once)
            if inner is not None:
                assert repeated is not None
                return div(inner, repeated) if made.kind is div else mul(inner, repeated)
    return None


def _below_transpose(op: Op, axes: tuple[int, ...], at: Rewriter, once: set[Value]) -> Value | None:
    order = op.params["axes"]
    own = {order[a] for a in axes}
    inner = _summed(op.operands[0], tuple(sorted(own)), at, once)
    left = [a for a in range(len(order)) if a not in own]
    kept = [a for a in order if a not in own]
    return None if inner is None else transpose(inner, axes=tuple(map(left.index, kept)))


def _without(v: Value, axes: tuple[int, ...], at: Rewriter) -> Value | None:
    """A value without axes along which it repeats; None if it does not repeat along them."""
    left = [a for a in range(v.type.ndim) if a not in axes]
    shape = tuple(v.shape[a] for a in left)
    if made := at.definition(v, constant):
        return constant(**{**made.params, "shape": shape})
    made = at.definition(v, broadcast)
    if made is None or not set(axes).isdisjoint(made.params["dims"]):
        return None
    return broadcast(
        made.operands[0], shape=shape, dims=tuple(map(left.index, made.params["dims"]))
    )


def _smaller_product(op: Op, axes: tuple[int, ...]) -> Value | None:
    """The product of operands summed over their free axes; None if that saves no work."""
    contract, batch = op.params["contract"], op.params["batch"]
    place = len(batch[0])
    if any(axis < place for axis in axes):
        return None
    operands, contracts, batches = [], [], []
    for v, over, along in zip(op.operands, contract, batch, strict=True):
        free = free_axes(v.type.ndim, over, along)
        gone = tuple(axis for i, axis in enumerate(free) if place + i in axes)
        place += len(free)
        if gone and op.result.type.size == prod(v.shape[axis] for axis in (*along, *free)):
            return None  # a product with a vector
        left = [axis for axis in range(v.type.ndim) if axis not in gone]
        operands.append(sum_(v, axes=gone) if gone else v)
        contracts.append(tuple(map(left.index, over)))
        batches.append(tuple(map(left.index, along)))
    return dot(*operands, contract=tuple(contracts), batch=tuple(batches))
