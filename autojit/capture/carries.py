"""The carries of a loop: names and places from step to step, and the lists that it appends to."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.capture.state.aliases import is_copied, origins
from autojit.capture.state.joining import joined
from autojit.capture.state.kept import thawed
from autojit.capture.state.kinds import no_narrower, seen_type
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.one_of import OneOf
from autojit.capture.state.optional import Optional
from autojit.capture.state.origins import Slot
from autojit.capture.state.sharing import containers, one_object, origins_of
from autojit.capture.state.state import (
    Before,
    is_state,
    tree_of,
    with_flags,
    with_leaders,
)  # fmt: skip
from autojit.errors import CaptureError, raised
from autojit.ir.core.program import Value
from autojit.staging import pytrees
from autojit.tracing.blocks import is_around
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

from .blocks.block import Block
from .loop import Captured, Carry, Grown, Known, Loop, Step, refused
from .rewriting.plain import UNBOUND

_WAYS = "before the loop", "after a step"


class _Local(threading.local):
    around: Rounds | None = None


_local = _Local()


class Rounds:
    """The rounds in which the body of a loop is traced.

    A loop inside is traced again in each of them. It begins with the arrays that it changed in the
    round before. Otherwise the number of traces would double with each level of a nest.
    """

    def __init__(self) -> None:
        self._around = _local.around
        self._changed: dict[Any, list[Tracer]] = {}
        self._counts: Counter[int] = Counter()

    @contextmanager
    def round(self) -> Iterator[None]:
        """One round."""
        self._counts.clear()
        _local.around = self
        try:
            yield
        finally:
            _local.around = self._around

    def begin(self, loop: Loop) -> dict[int, Tracer]:
        """The arrays that this loop has changed in the round before of the loop around it, by their
        identities; none that this round does not have."""
        around = self._around
        if around is None:
            self._key = None
            return {}
        number = id(loop.access.site)
        self._key = number, around._counts[number]
        around._counts[number] += 1
        return {id(x): x for x in around._changed.get(self._key, ()) if is_around(x.owner.builder)}

    def end(self, changed: Iterable[Tracer]) -> None:
        """Note the arrays that the loop changes."""
        if self._around is not None:
            self._around._changed[self._key] = list(changed)


def take(
    before: Before, read: Sequence[Carry], inputs: Sequence[Tracer], leaders: Mapping[Any, Any]
) -> dict[Any, Any]:
    """Set names and places to the inputs of the body."""
    pairs, start = [], 0
    for carry in read:
        stop = start + len(carry.types)
        pairs.append((carry.key, carry.tree.filled(inputs[start:stop])))
        start = stop
    pairs = with_leaders(pairs, leaders)
    before.assign(pairs)
    return {key.identity: value for key, value in pairs}


def are_shared(
    leaders: dict[Any, Any], found: Mapping[Any, Any], carries: Mapping[Any, Carry]
) -> bool:
    """Whether the names with one mask at a step's beginning have one at its end; else note those
    that do. ``found`` has the names with one mask at the end."""
    firsts = hooks.leaders({k: c.first for k, c in carries.items() if k in found})
    is_new = False
    for k, leader in found.items():
        same = leader if k in firsts and firsts[k] == firsts.get(leader) else k
        if leaders.setdefault(k, same) != same:
            is_new |= leaders[k] != k
            leaders[k] = k
    return not is_new


def note(
    loop: Loop, before: Before, carries: dict[Any, Carry], ends: dict[Any, Any],
    taken: dict[Any, Any],
) -> bool:  # fmt: skip
    """Update the carries with the values at a step's end; return whether nothing is new."""
    site, is_settled = loop.access.site, True
    for k, (key, end) in ends.items():
        if k in taken and _is_same(taken[k], end):
            continue
        old = carries.get(k)
        if old is None and key.place is not None and _is_same(before.of(key), end):
            continue  # a list that a step only reads may have got another bound of its length
        is_read = key.place is not None or key.name in site.live_in
        if not is_read and key.name not in site.live_out:
            continue
        first = before.frozen(before.of(key), {}) if old is None else old.first
        if type(first) is OneOf and type(end) is not OneOf:
            first = before.frozen(one_object(first, {}), {})
        silent = key.name in site.internal
        if not is_read and loop.has_steps and not _could_be(first, end):
            first = UNBOUND  # the earlier value is never read
        first, value = with_flags(thawed([first, end]), silent=silent)
        trees = [tree_of(first), tree_of(value)]
        types = joined(trees, key.words, loop.access.source, _WAYS)
        if old is not None:
            types = no_narrower(old.types, types) if len(types) == len(old.types) else types
        is_last = old is not None and old.is_last
        made = Carry(key, trees[0], types, first, is_read, _is_there(end), is_last)
        same = old is not None and old.types == types and old.tree.structure == made.tree.structure
        carries[k] = made
        if is_read and not same:
            is_settled = False
    return is_settled


def _is_there(value: Any) -> bool:
    """Whether a name is certainly bound, and not to None."""
    return value is not None and value is not UNBOUND and type(value) not in (Maybe, Optional)


def _is_same(taken: Any, end: Any) -> bool:
    if taken is end:
        return True
    (mine, first), (others, second) = pytrees.flatten(taken), pytrees.flatten(end)
    return first == second and all(x is y for x, y in zip(mine, others, strict=True))


def _could_be(first: Any, end: Any) -> bool:
    """Whether a name can keep its earlier value if the loop runs no step."""
    if not (_is_there(first) and _is_there(end)):
        return True
    a, b = tree_of(first), tree_of(end)
    if a.structure != b.structure:
        return False
    shapes = zip(a.leaves, b.leaves, strict=True)
    return all(np.shape(x) == np.shape(y) for x, y in shapes) if is_state(first) else False


def note_lasts(before: Before, carries: dict[Any, Carry], lasts: dict[Any, Any]) -> None:
    """Add carries for the last elements of growing lists, which the next step may read."""
    for k, (key, new) in lasts.items():
        held = before.heap.held[k[0]][1]
        if not held or not is_state(held[-1]) or not is_state(new):
            continue
        trees = [tree_of(held[-1]), tree_of(new)]
        try:
            types = joined(trees, key.words, None, _WAYS)
        except CaptureError:
            del (raised.errors or [])[-1:]
            continue
        carries[k] = Carry(key, trees[0], types, held[-1], True, is_last=True)


def grown_list(items: list[Any], new: list[Any], found: Step, loop: Loop) -> Grown:
    """The elements that each step appends to a list, as arrays that the loop stacks."""
    trees = [tree_of(x) for x in new]
    for tree in trees:
        if len(tree.arrays) != len(tree.leaves):
            raise refused(loop, _APPENDED)
    arrays = [leaf for tree in trees for leaf in tree.arrays]
    types = [seen_type(leaf) for leaf in arrays]
    same = _same_as_rows(arrays, found, loop)
    return Grown(items, trees, types, found.block.values(arrays, types), same, [])


def _containers_as_rows(
    found: Step, before: Before, loop: Loop
) -> dict[int, list[tuple[Slot, list[Slot | int], list[Slot]]]]:
    """For each list that a step appends to: the lists, dicts and objects in the new elements, and
    those that they may be. CaptureError if they change while they are elements."""
    numbers = {id(c): slot for slot, c in found.lists_of.items()}
    changed = {k[0] for k in found.ends if isinstance(k, tuple)}
    first: dict[int, Slot] = {}
    rows: dict[int, list[tuple[Slot, list[Slot | int], list[Slot]]]] = {}
    for k, (_, new) in found.appended.items():
        rows[k] = []
        for path, c in containers(new):
            if not path:
                continue  # the list of the new elements
            o = origins_of(c, found.block.trace.containers, before.is_outside, numbers)
            every, last = found.lists.of_rows(o)
            if o[0].kind == "outside":
                found.lists.outside[o[0].number] = c
                every = [o[0].number]
            if every is None or id(c) in changed or not found.changed_lists.isdisjoint(last):
                raise refused(loop, SAME_LIST)
            slot = k, path
            rows[k].append((slot, [*every, *([first[id(c)]] if id(c) in first else [])], last))
            first.setdefault(id(c), slot)
    return rows


SAME_LIST = (
    "A loop appends the same list, dict or object to a list repeatedly, or changes one that is in "
    "the list. Append copies: xs.append(list(x)), xs.append(dataclasses.replace(x))."
)


def _same_as_rows(
    arrays: Sequence[Any], found: Step, loop: Loop
) -> list[tuple[int, list[Slot | int], list[Slot]]]:
    """The arrays that appended arrays may be identical to; CaptureError if two appended arrays may
    be one array."""
    inputs = {id(x): slot for slot, x in found.inputs_of.items()}
    made_of = [origins(leaf, found.block.trace, inputs) for leaf in arrays]
    numbers = [o[0][:2] for o in made_of if o]
    lists = sum(len(new) for _, new in found.appended.values())
    same: list[tuple[int, list[Slot | int], list[Slot]]] = []
    for number, o in enumerate(made_of):
        if not o:
            continue
        every, last = found.sharing.of_rows(o)
        if every is None or numbers.count(o[0][:2]) > 1 or (o[0].kind == "input" and lists > 1):
            raise refused(loop, SAME_ARRAY)
        same.append((number, every, last))
    return same


SAME_ARRAY = (
    "A loop appends the same array to a list repeatedly, or changes an array that is in the "
    "list. Append copies: xs.append(x.copy())."
)

_APPENDED = (
    "A loop appends an object to a list that is not an array, a number, or a container of these. "
    "Append the numbers, and build the objects from them after the loop."
)


def captured(loop: Loop, before: Before, known: Known, found: Step) -> Captured:
    """The captured loop, given its settled body."""
    carries, roots = known.carries, known.roots
    block, ends, appended, sharing, inputs_of, lists, *_ = found
    kept = {k: c for k, c in carries.items() if k in ends or c.read}
    order = [c for c in kept.values() if c.read] + [c for c in kept.values() if not c.read]
    leaves: list[list[Any]] = []
    outputs: list[Value] = []
    stand_ins = {id(x): made for x, made in block.trace.stand_ins.values()}
    start = 1
    for carry in order:
        stop = start + len(carry.types)
        k = carry.key.identity
        if k in ends:
            silent = carry.key.name in loop.access.site.internal
            _, value = with_flags(thawed([carry.first, ends[k][1]]), silent=silent)
            arrays = tree_of(value).arrays
            outputs += block.values(arrays, carry.types)
        else:  # the step hands on what it got
            arrays = [tracer_like(v, block) for v in block.inputs[start:stop]]
            outputs += block.inputs[start:stop]
        leaves.append(arrays)
        start = stop if carry.read else start
    for x in roots.values():
        outputs += block.recorded(_value, stand_ins[id(x)])
    for (k, _), x in inputs_of.items():
        if carries[k].is_last and x.own not in block.inputs:
            raise refused(loop, SAME_ARRAY)  # a row that is stacked already
    rows = _containers_as_rows(found, before, loop)
    grown = [
        grown_list(items, new, found, loop)._replace(lists=rows[k])
        for k, (items, new) in appended.items()
    ]
    firsts = [
        tree_of(carries[k].first).arrays[j] for (k, j), x in inputs_of.items() if is_copied(x)
    ]
    more = [Value(t.type) for c in order if not c.read for t in c.types]
    read = sum(len(c.types) for c in order if c.read)
    inputs = [*block.inputs[1 : 1 + read], *more, *block.inputs[1 + read :]]
    return Captured(order, list(roots.values()), block, outputs, leaves, before, loop, inputs,
                    grown, sharing, list(known.lost.values()), lists,
                    list(known.lost_lists.values()), [*known.kept.values(), *firsts],
                    leaders=known.leaders)  # fmt: skip


def tracer_like(value: Value, block: Block) -> Tracer:
    """An input of a block as one of its results."""
    return Tracer(value, block.trace)


def _value(x: Tracer) -> list[Value]:
    return [x.own if x.lost else x.value]
