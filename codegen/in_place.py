"""Which carries of a loop may be overwritten as the next ones are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.program import Value

from .op_loops import Stored
from .schedule import Node, Schedule


def may_overwrite(
    schedule: Schedule, old: Sequence[Value], new: Sequence[Value]
) -> tuple[list[bool], set[Value]]:
    """For each pair, whether the new value may be written over the old one; and the copies of
    old values that are not needed then, since what updates them may do so in place.

    Every read of an old element has to come before the new element is written there: in
    loops that are complete by then, or in the same iteration.
    """
    order = _Order(schedule)
    found, needless = [], set()
    for before, after in zip(old, new, strict=True):
        item: Any = schedule.stored.get(after)
        alone = sum(v is after or v is before for v in new) == 1
        fits = isinstance(item, Stored) and alone and not schedule.program.outputs.count(before)
        if fits and item.base is not None:
            copy = order.copy_under(before, item)
            fits = copy is not None
            needless |= {copy.value} if copy is not None else set()
        elif fits:
            fits = item.combine is None and order.safe(before, item)
        found.append(fits)
    return found, needless


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

    def copy_under(self, before: Value, item: Stored) -> Stored | None:
        """The copy of a value that a chain of updates begins with, if nothing else reads the
        value once the first of them begins."""
        first = item
        while first.base is not None:
            under = self.schedule.stored.get(first.base)
            if not isinstance(under, Stored):
                return None
            if under.copied is before:
                begins = self.child[id(first)]
                others = [
                    leaf for leaf in self.leaves if before in leaf.reads and leaf is not under
                ]
                late = any(self.child[id(leaf)] >= begins for leaf in others)
                return None if late else under
            first = under
        return None

    def safe(self, before: Value, item: Stored) -> bool:
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
