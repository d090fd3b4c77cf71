"""Run loops only over the iterations that have an effect.

    for j in 0..n:  # reduces            for j in 0..n, below k:  # reduces
      c = j < k                            c = True
      a += select(c, x[j] * y[j], 0) ->    a += select(c, x[j] * y[j], 0)

A slice with a traced bound, `x[:k]`, is a whole array with a mask. Where the mask does not hold, a
sum adds zero and a store rewrites the old value. Between the bounds, masks hold, and indices
clipped to the array are known (``inside_bounds``).

Legal where the body has no effect if the comparison is false (``has_no_effect``), and where the
other side of the comparison is known before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from autojit.codegen.analysis.loop_level import EVERYTHING, kernel_pass
from autojit.codegen.analysis.no_effect import has_no_effect
from autojit.codegen.loop_ir.nodes import Compute, Constant, IndexValue, Loop, RunTasks
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, defined, is_whole, ranges, walk
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine, Bounds

from .rows.inside_bounds import fold_inside

#: The least iterations for which bounds pay: two vectors of four, because the ends are scalar.
LEAST = 16
#: Integers of more bits than this are cut, so that bounds do not wrap around.
_BITS = 62

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class _Bound(NamedTuple):
    """``var < other - rest`` (or what ``name`` says)."""

    name: str
    other: Scalar
    rest: Affine


@kernel_pass(
    "Restricts loops to the bounds outside which their iterations have no effect.", keeps=EVERYTHING
)
def loops_narrowed(kernel: Kernel) -> Kernel:
    """The kernel with bounds at its loops."""
    numbers = count(kernel.values)
    _body(kernel.body, {}, {}, numbers)
    kernel.values = next(numbers)
    return kernel


def _body(body: list[Any], before: dict[int, Any], bounds: Bounds, numbers: Iterator[int]) -> None:
    before, position = dict(before), 0
    while position < len(body):
        s = body[position]
        if isinstance(s, Loop):
            ahead = _narrowed(s, before, bounds, numbers)
            body[position:position] = ahead
            position += len(ahead)
        inner = {**bounds, s.var: (s.start, s.stop - 1)} if isinstance(s, Loop) else bounds
        seen = {} if isinstance(s, RunTasks) else before  # a task's scalars are its own
        for statements in bodies_of(s):
            _body(statements, seen, inner, numbers)
        result = defined(s)
        if result is not None:
            before[result.number] = s
        position += 1


def _narrowed(
    loop: Loop, before: dict[int, Any], bounds: Bounds, numbers: Iterator[int]
) -> list[Any]:
    """Give a loop its bounds; return the statements that compute them."""
    if not is_whole(loop) or loop.stop - loop.start < LEAST:
        return []
    inside: dict[int, Any] = {}
    for s in walk(loop.body):
        result = defined(s)
        if result is not None:
            inside[result.number] = s
    found: dict[_Bound, set[int]] = {}
    for s in inside.values():
        bound = _bound(s, loop, inside)
        if bound is not None:
            found.setdefault(bound, set()).add(s.result.number)
    if not found:
        return []
    within, ahead = {**bounds, **ranges([loop])}, list[Any]()
    holding, ends = set[int](), dict[str, Affine]()
    for bound, conditions in found.items():
        side = "upper" if bound.name in ("lt", "le") else "lower"
        if getattr(loop, side) is None and has_no_effect(loop.body, conditions, before, within):
            setattr(loop, side, _place(bound, ahead, numbers))
            holding |= conditions
            ends.update(_ends(bound, before))
    if holding:
        fold_inside(loop, holding, before, within, ends)
    return ahead


def _ends(bound: _Bound, before: dict[int, Any]) -> dict[str, Affine]:
    """The begin or end of a loop, if it is a form of outer variables."""
    made = before.get(bound.other.number)
    if not isinstance(made, IndexValue):
        return {}
    end = made.index - bound.rest + (1 if bound.name in ("le", "gt") else 0)
    return {"below" if bound.name in ("lt", "le") else "from": end}


def _bound(s: Any, loop: Loop, inside: dict[int, Any]) -> _Bound | None:
    """How a comparison bounds the variable of a loop."""
    if not isinstance(s, Compute) or s.name not in _MIRRORED:
        return None
    left, right = s.args
    for name, x, other in ((s.name, left, right), (_MIRRORED[s.name], right, left)):
        index = inside.get(x.number)
        if isinstance(index, IndexValue) and x.dtype == "i64" and other.number not in inside:
            factor, rest = index.index.stride(loop.var), index.index.without(loop.var)
            alone = rest.variables().isdisjoint(ranges([loop]))
            if factor == 1 and alone:
                return _Bound(name, other, rest)
    return None


def _place(bound: _Bound, ahead: list[Any], numbers: Iterator[int]) -> Scalar:
    """The first or last iteration that counts, as a scalar."""
    rest = bound.rest - (1 if bound.name in ("le", "gt") else 0)
    if rest == Affine(0):
        return bound.other
    made = [Scalar(next(numbers), "i64", bound.other.depth, None) for _ in range(6)]
    most, least, cut, high, offset, place = made
    ahead += [
        Constant(most, 2**_BITS), Constant(least, -(2**_BITS)),
        Compute(high, "minimum", (bound.other, most)), Compute(cut, "maximum", (high, least)),
        IndexValue(offset, rest), Compute(place, "sub", (cut, offset)),
    ]  # fmt: skip
    return place
