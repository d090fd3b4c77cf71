"""Reuses a quotient: ``numerator * (x / divisor)`` becomes ``x * (numerator / divisor)``.

Before::

    %y = div %e, %s                       # exponentials over their row's sum
    %a = div %g, %s
    %b = mul %g, %y
    %c = div %b, %s
    %r = sum %c {axes=(1,)}
    %t = broadcast %r {dims=(0,), shape=(1000, 100)}
    %d = sub %a, %t
        %x = mul %d, %e                       # three divisions per number; reads %e and %y

After::

    %r = sum %b {axes=(1,)}
    %t = broadcast %r {dims=(0,), shape=(1000, 100)}
    %d = sub %g, %t
        %x = mul %d, %y                       # one division; reads only %y

The cotangent of a softmax, as users write it, ends like this.  As in the formula derived by hand,
the numerator is no longer read.

Legal where the numbers are inexact, and every part is divided by the same divisor, which repeats
along the axes of a sum.  The results are rounded in another order, and differ if a number on the
way overflows, underflows or is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.arithmetic import add, div, mul, neg, sub
from autojit.ir.ops.move import broadcast
from autojit.ir.ops.reduce import sum_
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass

#: The most ops between the product and a division.
_DEPTH = 4


@program_pass(
    "Replaces a division by a product with a quotient that is already computed.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these products replaced by products with a known quotient."""
    if not {div, mul} <= program.kinds:
        return program
    #: numerator -> pairs of denominator and quotient.
    known: dict[Value, list[tuple[Value, Value]]] = {}

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is div and op.result.type.is_inexact:
            known.setdefault(op.operands[0], []).append((op.operands[1], op.result))
        if op.kind is mul:
            for x, numerator in (op.operands, op.operands[::-1]):
                if at.definition(x, div):  # a quotient itself: replacing it gains nothing
                    continue
                for divisor, quotient in known.get(numerator, ()):
                    multiplied = _multiplied(x, divisor, at, _DEPTH)
                    if multiplied is not None:
                        return (mul(multiplied(), quotient),)
        return None

    return rewrite(program, [rule])


def _multiplied(v: Value, divisor: Value, at: Rewriter, depth: int) -> Callable[[], Value] | None:
    """A function that emits a value times a divisor by omitting divisions; None if that is not
    possible."""
    made = at.maker(v)
    if made is None or depth == 0:
        return None
    if made.kind is div:
        return (lambda: made.operands[0]) if made.operands[1] is divisor else None
    if made.kind is neg or made.kind is add or made.kind is sub:
        parts = [_multiplied(x, divisor, at, depth - 1) for x in made.operands]
        if None in parts:
            return None
        return lambda: made.kind(*(part() for part in parts if part is not None))
    if made.kind is broadcast:
        return _multiplied_sum(made, divisor, at, depth)
    return None


def _multiplied_sum(
    repeated: Op, divisor: Value, at: Rewriter, depth: int
) -> Callable[[], Value] | None:
    """The same for a sum that is repeated along its axes, along which the divisor repeats too."""
    total = at.definition(repeated.operands[0], sum_)
    along = at.definition(divisor, broadcast)
    if total is None or along is None or along.params["shape"] != repeated.params["shape"]:
        return None
    (summed,), axes = total.operands, total.params["axes"]
    kept = tuple(axis for axis in range(summed.type.ndim) if axis not in axes)
    if summed.shape != repeated.params["shape"] or repeated.params["dims"] != kept:
        return None
    if not set(along.params["dims"]).isdisjoint(axes):
        return None
    inner = _multiplied(summed, divisor, at, depth - 1)
    if inner is None:
        return None
    return lambda: broadcast(sum_(inner(), **total.params), **repeated.params)
