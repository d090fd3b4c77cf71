"""Chains of updates, with a fast search for the update that replaced a window.

A Python loop over ``a[i] = f(a[i], a[i - 1])`` makes a chain as long as the loop, and an element
that was not replaced yet is read from the array at its other end.
"""

from __future__ import annotations

from typing import NamedTuple

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.update import update

from .rewrite import Rewriter


def ranges_of(op: Op) -> list[range]:
    """Return the range of each axis that a slice reads or an update replaces."""
    start, stride = op.params["start"], op.params["stride"]
    extents = (op.operands[1] if op.kind is update else op.result).shape
    return [range(a, a + n * s, s) for a, n, s in zip(start, extents, stride, strict=True)]


class Link(NamedTuple):
    """An update in a chain, together with some earlier ones: all windows replaced since the array
    ``before`` are within a box.

    The numbers of updates that links span are such that an update is found in a number of steps
    logarithmic in the length of the chain (Myers: "An Applicative Random-Access Stack", 1983).
    """

    depth: int
    box: list[tuple[int, int]]
    before: Value

    def is_apart(self, asked: list[range]) -> bool:
        """Whether a nonempty box of ranges is outside."""
        pairs = zip(asked, self.box, strict=True)
        return any(a[-1] < low or high < a[0] for a, (low, high) in pairs)


def link_of(op: Op, at: Rewriter) -> Link:
    """Return the link of an update; it is made once, after those of earlier updates."""
    new = []
    inner: Op | None = op
    while inner is not None and inner not in at.notes:
        new.append(inner)
        inner = at.definition(inner.operands[0], update)
    for op in reversed(new):
        at.notes[op] = _linked(op, at)
    made: Link = at.notes[op]
    return made


def _linked(op: Op, at: Rewriter) -> Link:
    x = op.operands[0]
    box = [(r[0], r[-1]) if r else (0, -1) for r in ranges_of(op)]
    last = _known(x, at)
    far = _known(last.before, at) if last else None
    if last is None or far is None:
        return Link(last.depth + 1 if last else 1, box, x)
    furthest = _known(far.before, at)
    if last.depth - far.depth != far.depth - (furthest.depth if furthest else 0):
        return Link(last.depth + 1, box, x)
    for part in (last.box, far.box):
        box = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(box, part, strict=True)]
    return Link(last.depth + 1, box, far.before)


def _known(x: Value, at: Rewriter) -> Link | None:
    """Return the link of the update that made an array; None for the first array of a chain."""
    op = at.definition(x, update)
    return None if op is None else at.notes[op]
