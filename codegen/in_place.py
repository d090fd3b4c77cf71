"""Which carries of a loop may be overwritten as the next ones are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.program import Value

from .schedule import Node, Schedule
from .storage import Stored


def may_overwrite(schedule: Schedule, old: Sequence[Value], new: Sequence[Value]) -> list[bool]:
    """For each pair, whether the new value may be written over the old one.

    Every read of an old element has to come before the new element is written there: in
    loops that are complete by then, or in the same iteration.
    """
    order = _Order(schedule)
    found = []
    for before, after in zip(old, new, strict=True):
        item = schedule.stored.get(after)
        taken = [v for v in new if v is after or v is before]
        fits = isinstance(item, Stored) and item.combine is None and len(taken) == 1
        found.append(fits and order.safe(before, item))  # type: ignore[arg-type]
    return found


class _Order:
    """The order in which leaves run, and what each reads."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.leaves: list[Any] = list(schedule.root.leaves())
        #: The outermost loop (or call) that a leaf stands in.
        self.child = {
            id(leaf): position
            for position, child in enumerate(schedule.root.children)
            for leaf in (child.leaves() if isinstance(child, Node) else (child,))
        }
        self.program = schedule.program

    def safe(self, before: Value, item: Stored) -> bool:
        if self.program.outputs.count(before):
            return False
        mine = self.child[id(item)]
        position = next(i for i, leaf in enumerate(self.leaves) if leaf is item)
        for i, leaf in enumerate(self.leaves):
            reads = leaf.reads
            if before not in reads:
                continue
            theirs = self.child[id(leaf)]
            if theirs < mine:
                continue
            if theirs > mine or not isinstance(leaf, Stored) or i > position:
                return False
            if not self._same_element(leaf, item, before):
                return False
        return True

    def _same_element(self, leaf: Stored, item: Stored, before: Value) -> bool:
        """Whether a leaf of the same nest reads only the element of its iteration."""
        path = self.schedule.path
        shared = path[item.value]
        if path[leaf.value][: len(shared)] != shared or None in item.dims:
            return False
        here = item.index(leaf.vars[: len(shared)])
        return all(index == here for index in leaf.reads[before])
