"""Decides which carries of a loop may be overwritten while the next ones are computed.

Legal where every read of an old element comes before the new one is written there, in a loop that
is complete by then or in the same iteration (``_Order.safe``), and where neither the old value nor
the new one is that of another carry. If the old value is a result of the body, such as the tape of
a derivative, the body begins with a copy of it (``Nests.write``).

A loop inside of the body takes over the memory of a value that it carries if it reads that value
only as the carry's first value, and nothing else reads it after the loop has begun
(``_Order.through``). A branch takes over the memory if each of its ways passes that operand on, or
may overwrite it by the same rules (``_Order.takes``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from autojit.ir.core.program import Value
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.regions.switch import Switch

from .fusion import Node, Schedule
from .materialization import BodyCall
from .op_loops import Stored
from .traits import Traits


def may_overwrite(
    schedule: Schedule, old: Sequence[Value], new: Sequence[Value]
) -> tuple[list[bool], set[Value]]:
    """For each pair, whether the new value may be written over the old one; and the copies of old
    values that become unnecessary, because their updates may happen in place.

    Every read of an old element has to come before the new element is written there: in
    loops that are complete by then, or in the same iteration.
    """
    order = _Order(schedule)
    found, needless = list[bool](), set[Value]()
    for before, after in zip(old, new, strict=True):
        alone = sum(v is after or v is before for v in new) == 1
        way = order.way(before, after) if alone else None
        if way is not None:
            if way.item is not None:
                way.item.over = way.over
            needless |= way.copies
            schedule.together.update(way.together)
        found.append(way is not None)
    return found, needless


def _whole(call: BodyCall, operand: int, after: Value) -> Value | None:
    """The value of an operand, if the operand is the whole value, has a result's type, and is the
    only operand read from it."""
    view = call.views[operand]
    if view is None or call.reads.count(view.base) != 1:
        return None
    return view.base if view.offset == 0 and view.base.type == after.type else None


def _taken_by_branches(call: BodyCall, traits: Traits) -> dict[int, int]:
    """By results of a switch, operands that every branch passes on as that result, or may
    overwrite."""
    if call.taken is None:
        call.taken = _find_taken(call, traits)
    return call.taken


def _find_taken(call: BodyCall, traits: Traits) -> dict[int, int]:
    op, found = call.op, dict[int, int]()
    fits = {
        k: [w for w in range(1, len(op.operands)) if _whole(call, w, value) is not None]
        for k, value in enumerate(op.results)
        if value.shape
    }
    if not any(fits.values()):
        return {}
    branches = op.params["branches"]
    orders = [_Order(Schedule(b, traits, inside=True)) for b in branches]
    for k, operands in fits.items():
        # An operand that some branch passes on is most likely the one that the others update.
        handed = {w: sum(b.inputs[w - 1] is b.outputs[k] for b in branches) for w in operands}
        for w in sorted(handed, key=lambda w: -handed[w]):
            if w not in found.values() and all(
                order.takes(b.inputs[w - 1], b.outputs[k])
                for order, b in zip(orders, branches, strict=True)
            ):
                found[k] = w
                break
    return found


class _Way(NamedTuple):
    """How a value gets the memory of the old one: the copies that are omitted, the values
    computed over an updated array, and the values whose memory later ones take over."""

    copies: frozenset[Value] = frozenset()
    item: Stored | None = None
    over: Value | None = None
    together: tuple[tuple[Value, Value], ...] = ()


class _Order:
    """The order of the leaves, and the values that each reads."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.leaves: list[Any] = list(schedule.root.leaves())
        #: The outermost loop (or call) that contains a leaf.
        self.child = {
            id(leaf): position
            for position, child in enumerate(schedule.root.children)
            for leaf in (child.leaves() if isinstance(child, Node) else (child,))
        }

    def way(self, before: Value, after: Value) -> _Way | None:
        """How a value can take the memory of an earlier one, if it can."""
        item: Any = self.schedule.stored.get(after)
        if isinstance(item, BodyCall):
            return self.through(before, after, self._taken(item, after), item, item)
        if not isinstance(item, Stored):
            return None
        first, copy = self._bottom(item)
        if copy is not None and copy.copied is not None and copy.copied is not before:
            way = self.through(before, after, copy.copied, first, copy)
            if way is not None:
                return way._replace(copies=way.copies | {copy.value})
        if copy is None and first.base is not None:
            # The final value of a loop is updated in place.
            return self.through(before, after, first.base, first, first)
        return self.updated(before, item)

    def through(
        self, before: Value, after: Value, taken: Value | None, first: Any, reader: Any
    ) -> _Way | None:
        """How a value can take the memory of an earlier one through another one, ``taken``, which
        only ``reader`` reads after ``first`` has begun to write over it."""
        if taken is None or not self._read_until(taken, first, reader):
            return None
        if taken is before:
            return _Way()
        if self._stays(taken):
            return None
        way = self.way(before, taken)
        return way and way._replace(together=(*way.together, (taken, after)))

    def _taken(self, call: BodyCall, after: Value) -> Value | None:
        """The initial value of a loop's result, if the loop reads the whole value only as that."""
        kind, op = call.op.kind, call.op
        assert isinstance(kind, BodyOp)
        k = op.results.index(after)
        if isinstance(kind, Switch):
            operand = _taken_by_branches(call, self.schedule.traits).get(k)
        else:
            first = kind.initial(op.params)
            operand = first[k] if k < len(first) else None
        return None if operand is None else _whole(call, operand, after)

    def takes(self, before: Value, after: Value) -> bool:
        """Whether an output has, or may have, the memory of an input."""
        outputs = self.schedule.program.outputs
        if before is after:
            return outputs.count(after) == 1
        alone = outputs.count(after) == 1 and not outputs.count(before)
        return alone and self.way(before, after) is not None

    def updated(self, before: Value, item: Stored) -> _Way | None:
        """How a value computed by loops over its elements can take the memory of an earlier one.

        It is a chain of updates, either of a copy of the earlier value or of a value computed for
        each element, whose operands may be such a chain again.
        """
        first, under = self._bottom(item)
        if under is None or under.copied is before:
            done = under is not None and self._read_until(before, first, under)
            return _Way(frozenset({under.value})) if done and under is not None else None
        if under.combine is not None:
            return None
        for over in under.reads:
            if self._stays(over):
                continue
            chain = self.schedule.stored.get(over)
            if isinstance(chain, Stored) and chain.base is not None and self.safe(over, under):
                first, copy = self._bottom(chain)
                if copy is not None and copy.copied is before:
                    if self._read_until(before, first, copy):
                        return _Way(frozenset({copy.value}), under, over)
                    break
        return _Way() if self.safe(before, under) else None

    def _bottom(self, item: Stored) -> tuple[Stored, Stored | None]:
        """The first of a chain of updates (or the item itself), and the value it updates."""
        first, under = item, item
        while under.base is not None:
            found = self.schedule.stored.get(under.base)
            if not isinstance(found, Stored):
                return under, None
            first, under = under, found
        return first, under

    def _stays(self, value: Value) -> bool:
        """Whether a value is read from its memory after the body has ended: as an output, or by a
        later loop without being its operand."""
        return value in (*self.schedule.program.outputs, *self.schedule.kept.same.values())

    def _read_until(self, before: Value, first: Stored, copy: Stored) -> bool:
        """Whether only a copy reads a value after the first update begins."""
        begins = self.child[id(first)]
        others = [leaf for leaf in self.leaves if before in leaf.reads and leaf is not copy]
        return all(self.child[id(leaf)] < begins for leaf in others)

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
