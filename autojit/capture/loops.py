"""Loops on traced values: the traced body stands for any number of steps.

The carries of a loop are the names, places and arrays that its body changes and that the next step,
or the code after the loop, may read. The carries and their types are known only when the body has
been traced; then it is traced again, until nothing is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from autojit.capture.state.aliases import is_copied, origins, relate_all
from autojit.capture.state.growth import Lists
from autojit.capture.state.heap import Place
from autojit.capture.state.holders import contents, is_same_content
from autojit.capture.state.kept import thawed
from autojit.capture.state.kinds import seen_type
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
from autojit.session.frames import is_defect
from autojit.staging.trace_function import LeafType
from autojit.tracing.aliasing import keep, lose
from autojit.tracing.blocks import stands_for
from autojit.tracing.created_arrays import FreshArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from .blocks.block import Block, inside_loop
from .blocks.regions import guarded
from .carries import Rounds, are_shared, captured, note, note_lasts, take
from .loop import COUNTER, Captured, Carry, Known, Loop, Step, between, refused
from .values.rehearsal import rehearsed
from .values.type_tests import check_tests

#: The most times that a body is traced until its carries settle: a number may become a float, a
#: complex number and an array's dtype, and each round adds at least one carry.
_ROUNDS = 50


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
            if loop.is_counted and any(f.is_handled for _, f in found.block.trace.checks):
                loop = loop._replace(may_be_left=True)
                continue
            return found._replace(most=lists.bounds(found.before))
        except Resized as resized:
            lists.convert(resized, loop.most)


def _settled(loop: Loop, resized: Lists) -> Captured | Exception:
    before = Before(loop.access)
    carries = _first_carries(loop, before)
    rounds = Rounds()
    known = Known(carries, rounds.begin(loop))
    for number in range(_ROUNDS):
        try:
            with rounds.round(), rehearsed() as run:
                found = _round(loop, before, known, resized)
                if found is not None:
                    run.keep()
        except (AutojitError, Resized):
            raise
        except Exception as error:  # Python would raise it in the first step
            if number or is_defect(error):
                raise
            return error
        if found is not None:
            rounds.end(known.roots.values())
            return found
    for carry in carries.values():
        if holds_one_of(carry.first):
            words = carry.key.words
            raise refused(loop, _MADE_ANEW.format(words[0].upper() + words[1:]))
    raise AssertionError("the carry of a loop does not settle")


def _first_carries(loop: Loop, before: Before) -> dict[Any, Carry]:
    """The names that a step may read, with their values before the loop."""
    carries: dict[Any, Carry] = {}
    for name, value in zip(loop.access.site.names, before.values, strict=True):
        live, value = name in loop.access.site.live_in, hooks.as_state(value)
        if live and not any(containers(value)) and is_state(value):
            tree = tree_of(value)
            types = [seen_type(leaf) for leaf in tree.arrays]
            carries[name] = Carry(Key(name, None), tree, types, value, True)
    return carries


_MADE_ANEW = (
    "{} is a function or another object that each step of this loop creates, and that a later "
    "step or the code after the loop may use. Create it before the loop, and pass the values "
    "that change as arguments:\n"
    "    def scaled(v, w):\n"
    "        return v * w\n"
    "    for w in x:                   # not: h = lambda v, w=w: v * w\n"
    "        y = scaled(y, w)"
)


class _Ended(NamedTuple):
    """A body that has been traced: its block, the names and places that it set, and those that it
    got."""

    block: Block
    ends: dict[Any, Any]
    taken: dict[Any, Any]
    inputs_of: dict[Slot, Tracer]
    #: The elements that it appended to lists, and the last of each list.
    appended: dict[int, Any]
    lasts: dict[Any, Any]
    #: The lists and dicts that it got, and those that are no longer known.
    lists: dict[Slot, Any]
    lost_lists: dict[int, Any]
    #: Those that it got and changed in place.
    changed_lists: frozenset[Slot]
    #: For names with bounded arrays, the first name that has the same mask.
    leaders: dict[Any, Any]


def _run(loop: Loop, before: Before, known: Known, resized: Lists) -> _Ended:
    """Trace the body once, with what is known about the carries."""
    read = [c for c in known.carries.values() if c.read]
    given = list(known.roots.values())
    block = Block(
        [COUNTER, *(t for c in read for t in c.types), *(LeafType(x.type, None) for x in given)]
    )
    try:
        with inside_loop(), block.running() as inputs:
            counter, rest = inputs[0], inputs[1:]
            for number in known.growing:
                before.heap.empty(number)
            taken = take(before, read, rest, known.leaders)
            resized.begin(before, taken)
            before.heap.begin(known.growing)
            lists = _take_lists(before, known, taken)
            held = {slot: contents(x) for slot, x in lists.items()}
            for x, made in zip(given, rest[len(rest) - len(given) :], strict=True):
                stands_for(x, made.own, block.trace)
            inputs_of = _slots(read, rest)
            _begin(known, inputs_of)
            if loop.most is not None:
                with_bounds(counter, (0, max(loop.most - 1, 0)))
            guarded(between(loop.access), lambda: loop.step(counter))
            before.check_lengths(grow=loop.is_counted)
            resized.check(before)
            changes = before.changes(grow=loop.is_counted)
            changes |= _bound_back(before, read, changes)
            before.heap.check_order()
            now = before.contents()
            ends = {
                k: (key, before.frozen(resized.rebound(before, key, value), now))
                for k, (key, value) in changes.items()
            }
            leaders = hooks.leaders({k: value for k, (_, value) in ends.items()})
            grown = before.heap.grown() if loop.is_counted else {}
            lasts = {
                (number, -1): (Key(None, Place(items, -1)), new[-1])
                for number, (items, new) in grown.items()
            }
            lost_lists = lost_in(before.is_outside)
            new_lists = [slot for slot, x in lists.items() if not is_same_content(x, held[slot])]
            appended = {number: (items, list(new)) for number, (items, new) in grown.items()}
    finally:
        before.restore()
    return _Ended(
        block, ends, taken, inputs_of, appended, lasts, lists, lost_lists, frozenset(new_lists),
        leaders,
    )  # fmt: skip


def _bound_back(
    before: Before, read: Sequence[Carry], changes: dict[Any, Any]
) -> dict[Any, tuple[Key, Any]]:
    """The names and places that hold the object from before the loop again, and not the one that
    the step got: ``a = b`` where ``b`` is that object."""
    return {
        c.key.identity: (c.key, before.of(c.key))
        for c in read
        if not c.is_last and c.key.identity not in changes
    }


def _begin(known: Known, inputs_of: dict[Slot, Tracer]) -> None:
    """Note in a body that has just begun what is known about its arrays and lists."""
    if known.sharing:
        last = known.sharing[-1]
        relate_all(last.start, inputs_of, last.outside)
    lose(known.lost.values())
    keep(known.kept.values())
    keep(x for slot, x in inputs_of.items() if slot in known.kept_slots)
    lose_containers(known.lost_lists.values())


def _round(loop: Loop, before: Before, known: Known, resized: Lists) -> Captured | None:
    """Trace the body once. If that shows something new about the carries, note it and return
    None."""
    found = _run(loop, before, known, resized)
    block, ends, inputs_of = found.block, found.ends, found.inputs_of
    counts = {number: len(new) for number, (_, new) in found.appended.items()}
    if counts != known.growing:
        known.growing.update(counts)
        note_lasts(before, known.carries, found.lasts)
        return None
    ends |= {k: last for k, last in found.lasts.items() if k in known.carries}
    if not _is_known(loop, before, known, found):
        return None
    of_lists = _shared_lists(loop, known, before, block, ends, found.lists)
    if of_lists is None:
        return None
    steady = _steady(known, block, ends, inputs_of)
    if steady:
        known.steady.update(steady)
        for k in steady:
            del known.carries[k]
        return None
    sharing = _sharing(loop, known.carries, block, ends, inputs_of)
    arrays = inputs_of.values()
    in_place = bool(block.changed or known.kept) or any(map(is_copied, arrays))
    # an array that is lost may be one that an inner loop has changed
    in_place |= any(x.lost or x.own not in block.inputs for x in arrays)
    if (
        in_place
        and sharing.start
        and (not known.sharing or not sharing.start <= known.sharing[-1].start)
    ):
        known.sharing.append(sharing)
        return None
    check_tests(block, known.carries, ends)
    step = Step(
        block, ends, found.appended, sharing, inputs_of, of_lists, found.lists, found.changed_lists
    )
    return captured(loop, before, known, step)


def _is_known(loop: Loop, before: Before, known: Known, found: _Ended) -> bool:
    """Whether a step shows nothing new about the carries, and about the arrays and lists that it
    changes; else note that."""
    block, ends = found.block, found.ends
    is_settled = note(loop, before, known.carries, ends, found.taken)
    is_settled &= are_shared(known.leaders, found.leaders, known.carries)
    lost = {id(x): x for x in block.lost if id(x) not in known.lost}
    is_settled &= _are_kept(loop, known, block, ends, found.inputs_of)
    new = {k: x for k, (x, _) in block.changed.items() if k not in known.roots}
    is_settled &= not (new or lost or found.lost_lists.keys() - known.lost_lists.keys())
    known.roots.update(new)
    known.lost.update(lost)
    known.lost_lists.update(found.lost_lists)
    return is_settled


def _steady(
    known: Known, block: Block, ends: dict[Any, Any], inputs_of: dict[Slot, Tracer]
) -> set[Any]:
    """The names that hold an array from outside, which a step changes in place, and the same array
    at its end: ``x += y``."""
    inputs = {id(x): slot for slot, x in inputs_of.items()}
    changed = {slot[0] for slot, x in inputs_of.items() if x.own not in block.inputs}
    found = set()
    for k in changed - known.steady:
        carry = known.carries[k]
        if carry.key.place is not None or not isinstance(bare(carry.first), (Tracer, FreshArray)):
            continue
        end = ends[k][1] if k in ends else inputs_of[k, 0]
        if origins(end, block.trace, inputs) == (Origin("input", (k, 0)),):
            found.add(k)
    return found


def _are_kept(
    loop: Loop, known: Known, block: Block, ends: dict[Any, Any], inputs_of: dict[Slot, Tracer]
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


def _carried(before: Before, known: Known) -> Carried:
    values = [(k, before.of(c.key), c.tree.filled(c.tree.arrays)) for k, c in known.carries.items()]
    return carried(values, before.is_outside)


def _take_lists(before: Before, known: Known, taken: dict[Any, Any]) -> dict[Slot, Any]:
    """The lists and dicts that a step gets, which may be those from before the loop."""
    found = _carried(before, known)
    inputs = found.taken(taken)
    first = Sharing(found.firsts, {}, False)
    relate_containers(first.start, inputs, first.outside)
    for each in known.lists[-1:]:
        relate_containers(each.start, inputs, each.outside)
    return inputs


def _shared_lists(
    loop: Loop, known: Known, before: Before, block: Block, ends: dict[Any, Any],
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
        found |= {(carry.key.identity, j): x for j, x in mine if not x.is_scalar}
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
