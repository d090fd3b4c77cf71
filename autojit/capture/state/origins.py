"""The origins of the arrays and containers that names hold at the end of a block, and which of them
may be the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """The array (or list, or dict) that a value is, or is a view of: one that the block has made
    (``made``), one that a step got (``input``), or one from outside (``outside``)."""

    kind: str
    number: Any
    array: Any = None


#: A name or place, and one of its arrays or containers.
Slot = tuple[Any, Any]


Origins = tuple[Origin, ...]


class Sharing:
    """Pairs of a loop's carries, and of a carry and an array from outside, that may be one array.

    A carry is given by its slot, an array from outside by its identity. ``start`` holds when a step
    begins, and ``end`` after the loop.
    """

    def __init__(
        self, firsts: Mapping[Slot, Origins], ends: Mapping[Slot, Origins], has_steps: bool
    ) -> None:
        self._ends = ends
        known = [o for found in (*firsts.values(), *ends.values()) for o in found]
        self.outside = {o.number: o.array for o in known if o.kind == "outside"}
        before: set[Any] = {(a, o.number) for a, found in firsts.items() for o in found}
        before |= {
            (a, b) for a, f in firsts.items() for b, g in firsts.items()
            if a != b and _share(f, g, ())
        }  # fmt: skip
        pairs, found = set(before), self._after(before)
        while not found <= pairs:
            pairs |= found
            found = self._after(pairs)
        self.start = frozenset(pairs)
        self.end = frozenset(found if has_steps else pairs)

    def is_another(self, k: Any) -> bool:
        """Whether a step may end with another array or container in a name or place than it got
        there, even one with the same values."""
        mine = {slot: found for slot, found in self._ends.items() if slot[0] == k}
        return any(f and (f[0].kind, f[0].number) != ("input", s) for s, f in mine.items())

    def of_rows(self, row: Origins) -> tuple[list[Any] | None, list[Slot]]:
        """The arrays that rows which steps append to a list may be: first those that any row may be
        (None: the rows may be each other), then those that the last row may be."""
        ends = self._ends.items()
        if row[0].kind == "made" and len(row) == 1:
            return [], [slot for slot, end in ends if _share(end, row, ())]
        own = self._ends.get(row[0].number) if row[0].kind == "input" else None
        if not own or _share(own, row, self.start):
            return None, []
        mine = [slot for slot, end in ends if _share(end, row, self.start)]
        return [*mine, *(x for x in self.outside if (row[0].number, x) in self.start)], []

    def _after(self, pairs: set[Any]) -> set[Any]:
        ends = self._ends.items()
        return {(a, x) for a, e in ends for x in self.outside if _may_be_outside(e, x, pairs)} | {
            (a, b) for a, e in ends for b, f in ends if a != b and _share(e, f, pairs)
        }


def _share(a: Origins, b: Origins, pairs: Any) -> bool:
    """Whether two leaves may be the same array."""
    return any(_may_be(x, y, pairs) for x in a for y in b)


def _may_be(a: Origin, b: Origin, pairs: Any) -> bool:
    if a.kind == b.kind and a.number == b.number:
        return True
    if a.kind == b.kind == "input":
        return (a.number, b.number) in pairs
    if b.kind == "input":
        a, b = b, a
    return a.kind == "input" and b.kind == "outside" and (a.number, b.number) in pairs


def _may_be_outside(a: Origins, x: int, pairs: Any) -> bool:
    return any(o.number == x if o.kind == "outside" else (o.number, x) in pairs for o in a)


def in_order(
    pairs: Iterable[Any], slots: Iterable[Any], outside: Iterable[int]
) -> list[tuple[Any, Any]]:
    """The pairs of slots, and of slots and objects from outside, in an order that is the same in
    each process: programs are looked up on disk by their text."""
    slots = list(slots)
    first = {slot: k for k, slot in enumerate(slots)}
    second = {x: k for k, x in enumerate([*slots, *outside])}
    found = [(a, b) for a, b in pairs if a in first and b in second]
    return sorted(found, key=lambda pair: (first[pair[0]], second[pair[1]]))


def branch_pairs(ways: Sequence[Sequence[Origins]]) -> tuple[set[Any], dict[int, Any]]:
    """The pairs of a branch's results, and of results and arrays from outside, that may be the
    same, and these arrays from outside; given the origins of the results on each way."""
    pairs: set[Any] = set()
    outside: dict[int, Any] = {}
    for results in ways:
        for a, found in enumerate(results):
            near = {o.number: o.array for o in found if o.kind == "outside"}
            outside |= near
            pairs |= {(("result", a), number) for number in near}
            pairs |= {
                (("result", a), ("result", b)) for b in range(a) if _share(found, results[b], ())
            }
    return pairs, outside
