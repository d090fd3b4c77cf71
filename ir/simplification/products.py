"""Rules for products with an operand that repeats along an axis, such as cotangents of sums.

The gradient of ``sum(A @ B)`` by A is ``ones @ B.T``: every row of it is the sum of B's columns.
Sums are rounded differently from the products, and may overflow where these do not.

Legal where the numbers are inexact and a sum has at least one term. An infinite factor of several
terms is multiplied with their sum: if one term is zero the result is infinite, and was NaN.
Products of single terms keep the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type, is_half
from autojit.ir.ops.arithmetic import mul, select
from autojit.ir.ops.contract import dot, free_axes
from autojit.ir.ops.linear import constant
from autojit.ir.ops.move import broadcast, reshape, transpose
from autojit.ir.ops.reduce import sum_
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


class _Repeated(NamedTuple):
    """A value that repeats another one: axis k of that one is axis ``dims[k]`` of the value."""

    value: Value
    dims: tuple[int, ...]


def _repeated(v: Value, at: Rewriter) -> _Repeated | None:
    if made := at.definition(v, broadcast):
        return _Repeated(made.operands[0], made.params["dims"])
    if made := at.definition(v, constant):
        return _Repeated(full(made.params["value"], Type(v.dtype, ())), ())
    return None


@rules(dot)
def dot_with_repeated(op: Op, at: Rewriter) -> Value | None:
    """Along contracted axes: a' * sum(b); along free axes: the product once, repeated

    In half precision the sum would be rounded, and may be too large, before it is multiplied.
    """
    if not op.result.type.is_inexact or is_half(op.result.dtype):
        return None
    for side in (0, 1):
        v = op.operands[side]
        found = _repeated(v, at)
        batch, contract = op.params["batch"][side], op.params["contract"][side]
        if found is None:
            continue
        again = [axis for axis in range(v.type.ndim) if axis not in (*found.dims, *batch)]
        if any(axis in contract and not v.shape[axis] for axis in again):
            continue  # no terms: the result is zero, even if the repeated number is infinite
        if any(v.shape[axis] != 1 or axis in contract for axis in again):
            return _without(op, side, found, again)
    return None


@rules(dot)
def dot_with_one_number(op: Op, at: Rewriter) -> Value | None:
    """A product with one number for each element of the batch is elementwise"""
    for side in (0, 1):
        v, other = op.operands[side], op.operands[1 - side]
        batch, opposite = op.params["batch"][side], op.params["batch"][1 - side]
        if v.type.ndim == len(batch):
            free = [axis for axis in range(other.type.ndim) if axis not in opposite]
            rows = transpose(other, axes=(*opposite, *free))
            numbers = transpose(v, axes=batch)
            return mul(broadcast(numbers, shape=rows.shape, dims=tuple(range(len(batch)))), rows)
    return None


@rules(dot)
def dot_of_single_terms(op: Op, at: Rewriter) -> Value | None:
    """A product along axes of length 1 is elementwise: outer products among them"""
    a, b = op.operands
    (ba, bb), (ca, cb) = op.params["batch"], op.params["contract"]
    if not ca or any(a.shape[axis] != 1 for axis in ca):
        return None
    free_a, free_b = free_axes(a.type.ndim, ca, ba), free_axes(b.type.ndim, cb, bb)
    rows = reshape(transpose(a, axes=(*ba, *free_a, *ca)), shape=_extents(a, (*ba, *free_a)))
    columns = reshape(transpose(b, axes=(*bb, *free_b, *cb)), shape=_extents(b, (*bb, *free_b)))
    n, shape = len(ba), op.result.shape
    dims = (*range(n), *range(n + len(free_a), len(shape)))
    return mul(
        broadcast(rows, shape=shape, dims=tuple(range(n + len(free_a)))),
        broadcast(columns, shape=shape, dims=dims),
    )


@rules(dot)
def dot_of_masked_transpose(op: Op, at: Rewriter) -> Value | None:
    """A factor select(mask, transpose(x), c) is read as x lies in memory

    A loop over the columns of a matrix, as in ``b[i, j] += a[i:, i] @ b[i:, j]`` for all j, becomes
    such a product. The library takes a transposed factor, but the selection would copy x to one.
    """
    for side in (0, 1):
        found = _masked_transpose(op.operands[side], at)
        if found is None:
            continue
        lying, axes = found
        batch, contract = op.params["batch"], op.params["contract"]
        free = [axes[i] for i in free_axes(len(axes), contract[side], batch[side])]
        if free != sorted(free) or any(axes[i] >= len(batch[side]) for i in batch[side]):
            continue  # the result would have other axes, or a library no matrix for each batch
        operands, both = list(op.operands), []
        operands[side] = lying
        for pair in (batch, contract):
            mine = tuple(axes[i] for i in pair[side])
            both.append((mine, pair[1]) if side == 0 else (pair[0], mine))
        return dot(*operands, batch=both[0], contract=both[1])
    return None


def _masked_transpose(v: Value, at: Rewriter) -> tuple[Value, tuple[int, ...]] | None:
    """Return a selection of a matrix as it lies in memory, and its axis for each axis of ``v``.
    None if ``v`` does not select from a transpose by a mask that repeats."""
    made = at.definition(v, select)
    mask = made and at.definition(made.operands[0], broadcast)
    if made is None or mask is None:
        return None
    for place in (1, 2):
        moved = at.definition(made.operands[place], transpose)
        other = at.definition(made.operands[3 - place], constant)
        if moved is None or other is None:
            continue
        (x,), axes = moved.operands, moved.params["axes"]
        dims = tuple(axes[d] for d in mask.params["dims"])
        if dims != tuple(sorted(dims)):
            continue
        held = broadcast(mask.operands[0], shape=x.shape, dims=dims)
        rest = full(other.params["value"], x.type)
        return select(held, *((x, rest) if place == 1 else (rest, x))), axes
    return None


def _extents(v: Value, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(v.shape[axis] for axis in axes)


def _without(op: Op, side: int, found: _Repeated, again: list[int]) -> Value:
    """Return the product without the axes along which one operand repeats."""
    v, other = op.operands[side], op.operands[1 - side]
    (batch, opposite), (mine, theirs) = (
        (op.params[name][side], op.params[name][1 - side]) for name in ("batch", "contract")
    )
    summed = [b for a, b in zip(mine, theirs, strict=True) if a in again]
    kept = [axis for axis in range(v.type.ndim) if axis not in again]
    rest = [axis for axis in range(other.type.ndim) if axis not in summed]
    if summed:
        other = sum_(other, axes=tuple(sorted(summed)))
    shape, dims = tuple(v.shape[axis] for axis in kept), _renumbered(found.dims, kept)
    small = broadcast(found.value, shape=shape, dims=dims)
    pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if a not in again]
    contract = (
        _renumbered([a for a, _ in pairs], kept),
        _renumbered([b for _, b in pairs], rest),
    )
    batches = (_renumbered(batch, kept), _renumbered(opposite, rest))
    step = 1 if side == 0 else -1
    operands = (small, other)[::step]
    result = dot(*operands, contract=contract[::step], batch=batches[::step])
    return broadcast(result, shape=op.result.shape, dims=_places(op, side, again))


def _renumbered(axes: Sequence[int], kept: list[int]) -> tuple[int, ...]:
    return tuple(kept.index(axis) for axis in axes)


def _places(op: Op, side: int, again: list[int]) -> tuple[int, ...]:
    """Return the axes of the result without the free ones along which the operand repeats."""
    (ba, bb), (ca, cb) = op.params["batch"], op.params["contract"]
    axes = [(0, axis) for axis in (*ba, *free_axes(op.operands[0].type.ndim, ca, ba))]
    axes += [(1, axis) for axis in free_axes(op.operands[1].type.ndim, cb, bb)]
    return tuple(place for place, (of, axis) in enumerate(axes) if of != side or axis not in again)
