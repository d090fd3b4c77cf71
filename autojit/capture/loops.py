"""Loops on traced values: the traced body stands for any number of steps.

The carries of a loop are the names, places and arrays that its body changes and that the next step,
or the code after the loop, may read. The carries and their types are known only when the body has
been traced; then it is traced again, until nothing is new.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from autojit.capture.state.aliases import is_copied, origins, relate_all
from autojit.capture.state.growth import Lists
from autojit.capture.state.heap import Place
from autojit.capture.state.kept import thawed
from autojit.capture.state.one_of import holds_one_of
from autojit.capture.state.origins import Origin, Origins, Sharing, Slot
from autojit.capture.state.resized import Resized
from autojit.capture.state.sharing import (
    Carried,
    carried,
    containers,
    lost_in,
    relate_containers,
)
from autojit.capture.state.sharing import lose as lose_containers
from autojit.capture.state.state import (
    Before,
    Key,
    is_state,
    tree_of,
    with_flags,
)  # fmt: skip
from autojit.errors import AutojitError
from autojit.ir.core.program import Value
from autojit.session.frames import is_defect
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import keep, lose
from autojit.tracing.blocks import stands_for
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from .block import Block
from .carries import SAME_ARRAY, grown_list, note, note_lasts, take
from .loop import COUNTER, Captured, Carry, Loop, Step, key_of, refused

#: The most times that a body is traced until its carries settle: a number may become a float, a
#: complex number and an array's dtype, and each round adds at least one carry.
_ROUNDS = 50


class _Local(threading.local):
    loops = 0


_local = _Local()


def loops_around() -> int:
    """The number of loops that are being traced, one inside another."""
    return _local.loops


def trace_loop(loop: Loop, lists: Lists | None = None) -> Captured:
    """Trace the body until its carries settle."""
    found = trace_if_begun(loop, lists)
    if isinstance(found, Exception):
        raise found
    return found


def trace_if_begun(loop: Loop, lists: Lists | None = None) -> Captured | Exception:
    """Like `trace_loop`, but return the exception if the first step raises one in any case: Python
    raises it if there is a first step."""
    lists = Lists() if lists is None else lists
    while True:
        try:
            found = _settled(loop, lists)
            if isinstance(found, Exception):
                return found
            return found._replace(most=lists.bounds(found.before))
        except Resized as resized:
            lists.convert(resized, loop.most)


def _settled(loop: Loop, resized: Lists) -> Captured | Exception:
    before = Before(loop.access)
    carries: dict[Any, Carry] = {}
    for name, value in zip(loop.access.site.names, before.values, strict=True):
        live = name in loop.access.site.live_in
        if live and is_state(value) and not any(containers(value)):
            tree = tree_of(value)
            types = [leaf_type(leaf) for leaf in tree.arrays]
            carries[name] = Carry(Key(name, None), tree, types, value, True)
    known = _Known(carries, {}, {}, {}, [], [], {}, {}, set())
    for number in range(_ROUNDS):
        try:
            found = _round(loop, before, known, resized)
        except (AutojitError, Resized):
            raise
        except Exception as error:  # Python would raise it in the first step
            if number or is_defect(error):
                raise
            return error
        if found is not None:
            return found
    for carry in carries.values():
        if holds_one_of(carry.first):
            words = carry.key.words
            raise refused(loop, _MADE_ANEW.format(words[0].upper() + words[1:]))
    raise AssertionError("the carry of a loop does not settle")


_MADE_ANEW = (
    "{} is a function or another object that each step of this loop creates, and that a later "
    "step or the code after the loop may use. Create it before the loop, and pass the values "
    "that change as arguments:\n"
    "    def scaled(v, w):\n"
    "        return v * w\n"
    "    for w in x:                   # not: h = lambda v, w=w: v * w\n"
    "        y = scaled(y, w)"
)


class _Known(NamedTuple):
    """The facts found so far about a loop's carries: names and places, arrays that are changed in
    place, the number of elements that a step appends to each list, and arrays that are no longer
    known after a step."""

    carries: dict[Any, Carry]
    roots: dict[int, Tracer]
    growing: dict[int, int]
    lost: dict[int, Tracer]
    #: The arrays that may be the same when a step begins, if that matters; the latest is the last.
    sharing: list[Sharing]
    #: The same for lists and dicts.
    lists: list[Sharing]
    #: Lists and dicts that are no longer known after a step, by their identities.
    lost_lists: dict[int, Any]
    #: Arrays that may not change after a step, because lists hold copies of them: arrays from
    #: outside, and arrays that a step gets in these names and places.
    kept: dict[int, Tracer]
    kept_slots: set[Slot]


def _round(loop: Loop, before: Before, known: _Known, resized: Lists) -> Captured | None:
    """Trace the body once. If that shows something new about the carries, note it and return
    None."""
    carries, roots = known.carries, known.roots
    read = [c for c in carries.values() if c.read]
    given = list(roots.values())
    _local.loops += 1
    block = Block(
        [COUNTER, *(t for c in read for t in c.types), *(LeafType(x.type, None) for x in given)]
    )
    try:
        with block.running() as inputs:
            counter, rest = inputs[0], inputs[1:]
            for number in known.growing:
                before.heap.empty(number)
            taken = take(before, read, rest)
            resized.begin(before, taken)
            before.heap.begin(known.growing)
            lists = _take_lists(before, known, taken)
            for x, made in zip(given, rest[len(rest) - len(given) :], strict=True):
                stands_for(x, made.own, block.trace)
            inputs_of = _slots(read, rest)
            if known.sharing:
                last = known.sharing[-1]
                relate_all(last.start, inputs_of, last.outside)
            lose(known.lost.values())
            keep(known.kept.values())
            keep(x for slot, x in inputs_of.items() if slot in known.kept_slots)
            lose_containers(known.lost_lists.values())
            if loop.most is not None:
                with_bounds(counter, (0, max(loop.most - 1, 0)))
            loop.step(counter)
            before.check_lengths(grow=loop.is_counted)
            resized.check(before)
            changes = before.changes(grow=loop.is_counted)
            ends = {
                k: (key, before.frozen(resized.rebound(before, key, value)))
                for k, (key, value) in changes.items()
            }
            grown = before.heap.grown() if loop.is_counted else {}
            lasts = {
                (number, -1): (Key(None, Place(items, -1)), new[-1])
                for number, (items, new) in grown.items()
            }
            lost_lists = lost_in(before.is_outside)
            appended = {number: (items, list(new)) for number, (items, new) in grown.items()}
    finally:
        _local.loops -= 1
        before.restore()
    counts = {number: len(new) for number, (_, new) in appended.items()}
    if counts != known.growing:
        known.growing.update(counts)
        note_lasts(before, carries, lasts)
        return None
    ends |= {k: last for k, last in lasts.items() if k in carries}
    is_settled = note(loop, before, carries, ends, taken)
    changed = block.changed
    lost = {id(x): x for x in block.lost if id(x) not in known.lost}
    is_settled &= _are_kept(loop, known, block, ends, inputs_of)
    new = {k: x for k, (x, _) in changed.items() if k not in roots}
    if new or lost or lost_lists.keys() - known.lost_lists.keys():
        roots.update(new)
        known.lost.update(lost)
        known.lost_lists.update(lost_lists)
        is_settled = False
    if not is_settled:
        return None
    of_lists = _shared_lists(loop, known, before, block, ends, lists)
    if of_lists is None:
        return None
    sharing = _sharing(loop, carries, block, ends, inputs_of)
    is_kept = bool(known.kept) or any(map(is_copied, inputs_of.values()))
    in_place = changed or is_kept or any(x.own not in block.inputs for x in inputs_of.values())
    if (
        in_place
        and sharing.start
        and (not known.sharing or not sharing.start <= known.sharing[-1].start)
    ):
        known.sharing.append(sharing)
        return None
    found = Step(block, ends, appended, sharing, inputs_of, of_lists)
    return _captured(loop, before, known, found)


def _are_kept(
    loop: Loop, known: _Known, block: Block, ends: dict[Any, Any], inputs_of: dict[Slot, Tracer]
) -> bool:
    """Whether all arrays that are kept at the end of the step were kept at its beginning; note
    those that were not."""
    arrays = {id(x): x for x in block.kept}
    slots = {slot for slot, x in inputs_of.items() if slot[0] not in ends and is_copied(x)}
    for k in known.carries.keys() & ends.keys():
        silent = known.carries[k].key.name in loop.access.site.internal
        _, end = with_flags(thawed([known.carries[k].first, ends[k][1]]), silent=silent)
        leaves = enumerate(tree_of(end).arrays)
        slots |= {(k, j) for j, leaf in leaves if is_copied(leaf, arrays)}
    is_new = not (arrays.keys() <= known.kept.keys() and slots <= known.kept_slots)
    known.kept.update(arrays)
    known.kept_slots.update(slots)
    return not is_new


def _carried(before: Before, known: _Known) -> Carried:
    values = [(k, before.of(c.key), c.tree.filled(c.tree.arrays)) for k, c in known.carries.items()]
    return carried(values, before.is_outside)


def _take_lists(before: Before, known: _Known, taken: dict[Any, Any]) -> dict[Slot, Any]:
    """The lists and dicts that a step gets, which may be those from before the loop."""
    found = _carried(before, known)
    inputs = found.taken(taken)
    first = Sharing(found.firsts, {}, False)
    relate_containers(first.start, inputs, first.outside)
    for each in known.lists[-1:]:
        relate_containers(each.start, inputs, each.outside)
    return inputs


def _shared_lists(
    loop: Loop, known: _Known, before: Before, block: Block, ends: dict[Any, Any],
    inputs: dict[Slot, Any],
) -> Sharing | None:  # fmt: skip
    """The lists and dicts that may be the same, given what a step ends with. If the step has not
    been traced with that, note it and return None."""
    found = _carried(before, known)
    values = {k: value for k, (_, value) in ends.items()}
    sharing = found.sharing(values, block.trace.containers, inputs, loop.has_steps)
    related = Sharing(found.firsts, {}, False).start.union(*(s.start for s in known.lists[-1:]))
    if inputs and not sharing.start <= related:
        known.lists.append(sharing)
        return None
    return sharing


def _slots(read: Sequence[Carry], inputs: Sequence[Tracer]) -> dict[Slot, Tracer]:
    """The arrays that a step gets, by the keys of their names and places."""
    found: dict[Slot, Tracer] = {}
    start = 0
    for carry in read:
        stop = start + len(carry.types)
        mine = enumerate(inputs[start:stop])
        found |= {(key_of(carry.key), j): x for j, x in mine if not x.is_scalar}
        start = stop
    return found


def _sharing(
    loop: Loop, carries: dict[Any, Carry], block: Block, ends: dict[Any, Any],
    inputs_of: dict[Slot, Tracer],
) -> Sharing:  # fmt: skip
    """The arrays that may be the same, given what a step ends with."""
    inputs = {id(x): slot for slot, x in inputs_of.items()}
    firsts: dict[Slot, Origins] = {}
    last: dict[Slot, Origins] = {}
    for k, carry in carries.items():
        end = ends[k][1] if k in ends else None
        values = with_flags(
            thawed([carry.first, end]), silent=carry.key.name in loop.access.site.internal
        )
        for found, value in zip((firsts, last), values if k in ends else values[:1], strict=False):
            for j, leaf in enumerate(tree_of(value).arrays):
                found[k, j] = origins(leaf, block.trace, inputs)
        if k not in ends:
            last.update({slot: (Origin("input", slot),) for slot in inputs_of if slot[0] == k})
    return Sharing(firsts, last, loop.has_steps)


def _captured(loop: Loop, before: Before, known: _Known, found: Step) -> Captured:
    """The captured loop, given its settled body."""
    carries, roots = known.carries, known.roots
    block, ends, appended, sharing, inputs_of, lists = found
    kept = {k: c for k, c in carries.items() if k in ends or c.read}
    order = [c for c in kept.values() if c.read] + [c for c in kept.values() if not c.read]
    leaves: list[list[Any]] = []
    outputs: list[Value] = []
    stand_ins = {id(x): made for x, made in block.trace.stand_ins.values()}
    start = 1
    for carry in order:
        stop = start + len(carry.types)
        k = key_of(carry.key)
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
    grown = [grown_list(items, new, found, loop) for items, new in appended.values()]
    firsts = [
        tree_of(carries[k].first).arrays[j] for (k, j), x in inputs_of.items() if is_copied(x)
    ]
    more = [Value(t.type) for c in order if not c.read for t in c.types]
    read = sum(len(c.types) for c in order if c.read)
    inputs = [*block.inputs[1 : 1 + read], *more, *block.inputs[1 + read :]]
    return Captured(order, list(roots.values()), block, outputs, leaves, before, loop, inputs,
                    grown, sharing, list(known.lost.values()), lists,
                    list(known.lost_lists.values()), [*known.kept.values(), *firsts])  # fmt: skip


def tracer_like(value: Value, block: Block) -> Tracer:
    """An input of a block as one of its results."""
    return Tracer(value, block.trace)


def _value(x: Tracer) -> list[Value]:
    return [x.own if x.lost else x.value]
