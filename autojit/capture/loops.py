"""Loops on traced values: the body is traced once, whatever the number of steps.

A loop's carry are the names, places and arrays that its body changes and that the next step, or
what comes after the loop, may read.  Which these are, and their types, is known when the body has
been traced; then it is traced again, until nothing is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.state.heap import Place
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.state import (
    Access,
    Before,
    Key,
    Tree,
    is_state,
    joined,
    thawed,
    tree_of,
    with_flags,
)  # fmt: skip
from autojit.errors import CaptureError, raised, with_place
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type
from autojit.ir.regions.scan import scan
from autojit.ir.regions.switch import switch
from autojit.ir.regions.while_ import while_
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import lose
from autojit.tracing.blocks import stands_for
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from .aliases import Origin, Origins, Sharing, Slot, origins, relate_all
from .block import Block
from .rewriting.plain import UNBOUND

_WAYS = "before the loop", "after a step"
#: The number of steps so far.
COUNTER = LeafType(Type(np.dtype(np.int64), ()), int)
#: Times that a body is traced until its carry is settled: a number may become a float, a complex
#: number and an array's dtype, and each round adds at least one carry.
_ROUNDS = 50


class Loop(NamedTuple):
    """A loop as the user wrote it.

    ``step`` runs the body, given the traced number of steps before it; ``holds`` is asked before
    each step, if there is more to ask than the number of steps, of which there are ``length`` at
    most (None: any number).
    """

    step: Callable[[Any], None]
    holds: Callable[[], Any] | None
    length: Any
    most: int | None
    access: Access

    @property
    def is_counted(self) -> bool:
        """Whether the number of steps is known."""
        return self.holds is None and isinstance(self.length, int)

    @property
    def has_steps(self) -> bool:
        """Whether there surely is a first step."""
        return self.is_counted and self.length > 0


class _Carry(NamedTuple):
    """A name or place that each step takes from the one before it."""

    key: Key
    tree: Tree
    types: list[LeafType]
    first: Any
    #: Whether a step reads it; if not, it is only handed on to what comes after the loop.
    read: bool
    #: Whether it is bound after each step.
    always: bool = True
    #: Whether it is the last element of a list that grows.
    is_last: bool = False


class Grown(NamedTuple):
    """A list to which each step appends."""

    items: list[Any]
    trees: list[Tree]
    types: list[LeafType]
    values: list[Value]
    #: By the places of these arrays: what all of them may be, and what the last one may be.
    same: list[tuple[int, list[Slot | int], list[Slot]]]


class Captured(NamedTuple):
    """A traced loop that is not yet recorded."""

    carries: list[_Carry]
    roots: list[Tracer]
    block: Block
    outputs: list[Value]
    ends: list[list[Any]]
    before: Before
    loop: Loop
    inputs: list[Value]
    grown: list[Grown]
    sharing: Sharing
    lost: list[Tracer]

    @property
    def size(self) -> int:
        """The number of operations of a step."""
        return _size(self.block.trace.builder.ops, self.block.inputs[:1])


#: Steps that a loop is taken to have where their number is known only when it runs.
_STEPS = 100
#: Operations that a branch is worth: its gradient takes 7 ms to compile, an operation's 0.3.
_BRANCH = 25


def _size(ops: Iterable[Op], counters: Iterable[Value]) -> int:
    """The number of operations that some stand for where loops are unrolled: Python computes
    itself what depends on counters only."""
    known, count = set(counters), 0
    for op in ops:
        if known.issuperset(op.operands) and not any(v.shape for v in op.results):
            known.update(op.results)
        else:
            count += _inner(op) + (_BRANCH if op.kind is switch else 1)
    return count


def _inner(op: Op) -> int:
    """The number of operations in the programs of an operation."""
    first = op.params["constants"] if op.kind in (scan, while_) else None
    sizes = [_size(p.ops, [] if first is None else p.inputs[first : first + 1])
             for p in op.programs]  # fmt: skip
    steps = op.params["length"] if op.kind is scan else _STEPS if op.kind is while_ else 1
    return steps * sum(sizes)


def trace_loop(loop: Loop) -> Captured:
    """Trace the body until its carry is settled."""
    before = Before(loop.access)
    carries: dict[Any, _Carry] = {}
    for name, value in zip(loop.access.site.names, before.values, strict=True):
        if name in loop.access.site.live_in and is_state(value):
            tree = tree_of(value)
            types = [leaf_type(leaf) for leaf in tree.arrays]
            carries[name] = _Carry(Key(name, None), tree, types, value, True)
    known = _Known(carries, {}, {}, {}, [])
    for _ in range(_ROUNDS):
        found = _round(loop, before, known)
        if found is not None:
            return found
    raise AssertionError("the carry of a loop does not settle")


class _Known(NamedTuple):
    """What is known so far of a loop's carry: names and places, arrays that are changed in place,
    how many elements a step appends to which list, and the arrays that are not known any more after
    a step."""

    carries: dict[Any, _Carry]
    roots: dict[int, Tracer]
    growing: dict[int, int]
    lost: dict[int, Tracer]
    #: What may be one array as a step begins, if that matters; the latest is the last.
    sharing: list[Sharing]


def _round(loop: Loop, before: Before, known: _Known) -> Captured | None:
    """Trace the body once; None if its carry turns out to be another one, which is noted."""
    carries, roots = known.carries, known.roots
    read = [c for c in carries.values() if c.read]
    given = list(roots.values())
    block = Block(
        [COUNTER, *(t for c in read for t in c.types), *(LeafType(x.type, None) for x in given)]
    )
    try:
        with block.running() as inputs:
            counter, rest = inputs[0], inputs[1:]
            for number in known.growing:
                before.heap.empty(number)
            taken = _take(before, read, rest)
            before.heap.begin(known.growing)
            for x, made in zip(given, rest[len(rest) - len(given) :], strict=True):
                stands_for(x, made.own, block.trace)
            inputs_of = _slots(taken)
            if known.sharing:
                last = known.sharing[-1]
                relate_all(last.start, inputs_of, last.outside)
            lose(known.lost.values())
            if loop.most is not None:
                with_bounds(counter, (0, max(loop.most - 1, 0)))
            loop.step(counter)
            changes = before.changes(grow=loop.is_counted)
            ends = {k: (key, before.frozen(value)) for k, (key, value) in changes.items()}
            grown = before.heap.grown() if loop.is_counted else {}
            lasts = {
                (number, -1): (Key(None, Place(items, -1)), new[-1])
                for number, (items, new) in grown.items()
            }
            appended = {number: (items, list(new)) for number, (items, new) in grown.items()}
    finally:
        before.restore()
    counts = {number: len(new) for number, (_, new) in appended.items()}
    if counts != known.growing:
        known.growing.update(counts)
        _note_lasts(before, known, lasts)
        return None
    ends |= {k: last for k, last in lasts.items() if k in carries}
    is_settled = _note(loop, before, carries, ends, taken)
    changed = block.changed
    lost = {id(x): x for x in block.lost if id(x) not in known.lost}
    new = {k: x for k, (x, _) in changed.items() if k not in roots}
    if new or lost:
        roots.update(new)
        known.lost.update(lost)
        is_settled = False
    if not is_settled:
        return None
    sharing = _sharing(loop, carries, block, ends, inputs_of)
    in_place = changed or any(x.own not in block.inputs for x in inputs_of.values())
    if (
        in_place
        and sharing.start
        and (not known.sharing or not sharing.start <= known.sharing[-1].start)
    ):
        known.sharing.append(sharing)
        return None
    found = _Step(block, ends, appended, sharing, inputs_of)
    return _captured(loop, before, known, found)


def _slots(taken: dict[Any, Any]) -> dict[Slot, Tracer]:
    """The arrays that a step is given, by the keys of their names and places."""
    return {
        (k, j): leaf
        for k, value in taken.items()
        for j, leaf in enumerate(tree_of(value).arrays)
        if not leaf.is_scalar
    }


def _sharing(
    loop: Loop, carries: dict[Any, _Carry], block: Block, ends: dict[Any, Any],
    inputs_of: dict[Slot, Tracer],
) -> Sharing:  # fmt: skip
    """Which arrays may be one, by what a step ends with."""
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


def _note_lasts(before: Before, known: _Known, lasts: dict[Any, Any]) -> None:
    """The last element of a list that grows may be read by the next step."""
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
        known.carries[k] = _Carry(key, trees[0], types, held[-1], True, is_last=True)


def _take(before: Before, read: Sequence[_Carry], inputs: Sequence[Tracer]) -> dict[Any, Any]:
    """Names and places get the inputs of the body as their values."""
    pairs, taken, start = [], {}, 0
    for carry in read:
        stop = start + len(carry.types)
        value = carry.tree.filled(inputs[start:stop])
        pairs.append((carry.key, value))
        taken[key_of(carry.key)] = value
        start = stop
    before.assign(pairs)
    return taken


def key_of(key: Key) -> Any:
    return key.name if key.place is None else (id(key.place.container), key.place.key)


def _note(
    loop: Loop, before: Before, carries: dict[Any, _Carry], ends: dict[Any, Any],
    taken: dict[Any, Any],
) -> bool:  # fmt: skip
    """Bring the carries up to what a step ends with; whether nothing is new."""
    site, is_settled = loop.access.site, True
    for k, (key, end) in ends.items():
        if k in taken and _is_same(taken[k], end):
            continue
        old = carries.get(k)
        is_read = key.place is not None or key.name in site.live_in
        if not is_read and key.name not in site.live_out:
            continue
        first = before.frozen(before.of(key)) if old is None else old.first
        silent = key.name in site.internal
        if not is_read and loop.has_steps and not _could_be(first, end):
            first = UNBOUND  # nobody sees what a name held before
        first, value = with_flags(thawed([first, end]), silent=silent)
        trees = [tree_of(first), tree_of(value)]
        types = joined(trees, key.words, loop.access.source, _WAYS)
        if old is not None:
            types = _no_narrower(old.types, types) if len(types) == len(old.types) else types
        is_last = old is not None and old.is_last
        made = _Carry(key, trees[0], types, first, is_read, not isinstance(end, Maybe), is_last)
        same = old is not None and old.types == types and old.tree.structure == made.tree.structure
        carries[k] = made
        if is_read and not same:
            is_settled = False
    return is_settled


def _is_same(taken: Any, end: Any) -> bool:
    if taken is end:
        return True
    a, b = tree_of(taken), tree_of(end)
    return a.structure == b.structure and all(
        x is y for x, y in zip(a.leaves, b.leaves, strict=True)
    )


def _could_be(first: Any, end: Any) -> bool:
    """Whether a name could go on holding what it held before, in a loop without a step."""
    if isinstance(first, Maybe) or isinstance(end, Maybe):
        return True
    a, b = tree_of(first), tree_of(end)
    if a.structure != b.structure:
        return False
    shapes = zip(a.leaves, b.leaves, strict=True)
    return all(np.shape(x) == np.shape(y) for x, y in shapes) if is_state(first) else False


def _no_narrower(old: Sequence[LeafType], new: Sequence[LeafType]) -> list[LeafType]:
    kinds = []
    for a, b in zip(old, new, strict=True):
        if a == b or a.type.shape != b.type.shape:
            kinds.append(b)
            continue
        weak = [x for x in (a, b) if x.weak is not None]
        dtype = np.result_type(*(x.weak(0) if x in weak else x.type.dtype for x in (a, b)))
        is_weak = len(weak) == 2
        strongest = (
            max((x.weak for x in weak), key=(int, float, complex).index) if is_weak else None
        )
        kinds.append(LeafType(Type(dtype, b.type.shape), strongest))
    return kinds


class _Step(NamedTuple):
    """A body as it was traced the last time."""

    block: Block
    ends: dict[Any, Any]
    appended: dict[int, tuple[list[Any], list[Any]]]
    sharing: Sharing
    inputs_of: dict[Slot, Tracer]


def _captured(loop: Loop, before: Before, known: _Known, found: _Step) -> Captured:
    """What a settled body takes and returns."""
    carries, roots = known.carries, known.roots
    block, ends, appended, sharing, inputs_of = found
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
        else:  # the step hands on what it was given
            arrays = [tracer_like(v, block) for v in block.inputs[start:stop]]
            outputs += block.inputs[start:stop]
        leaves.append(arrays)
        start = stop if carry.read else start
    for x in roots.values():
        outputs += block.recorded(_value, stand_ins[id(x)])
    for (k, _), x in inputs_of.items():
        if carries[k].is_last and x.own not in block.inputs:
            raise refused(loop, _SAME)  # a row that is stacked already
    grown = [_grown(items, new, found, loop) for items, new in appended.values()]
    more = [Value(t.type) for c in order if not c.read for t in c.types]
    read = sum(len(c.types) for c in order if c.read)
    inputs = [*block.inputs[1 : 1 + read], *more, *block.inputs[1 + read :]]
    return Captured(order, list(roots.values()), block, outputs, leaves, before, loop, inputs,
                    grown, sharing, list(known.lost.values()))  # fmt: skip


def tracer_like(value: Value, block: Block) -> Tracer:
    """An input of a block as a leaf of its end."""
    return Tracer(value, block.trace)


def _value(x: Tracer) -> list[Value]:
    return [x.own if x.lost else x.value]


def _grown(items: list[Any], new: list[Any], found: _Step, loop: Loop) -> Grown:
    """What each step appends to a list, as arrays that the loop stacks."""
    trees = [tree_of(x) for x in new]
    for tree in trees:
        if len(tree.arrays) != len(tree.leaves):
            raise refused(loop, _APPENDED)
    arrays = [leaf for tree in trees for leaf in tree.arrays]
    types = [leaf_type(leaf) for leaf in arrays]
    same = _same_as_rows(arrays, found, loop)
    return Grown(items, trees, types, found.block.values(arrays, types), same)


def _same_as_rows(
    arrays: Sequence[Any], found: _Step, loop: Loop
) -> list[tuple[int, list[Slot | int], list[Slot]]]:
    """What else the arrays that a list gets may be; raises CaptureError where two of these may be
    one array."""
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
            raise refused(loop, _SAME)
        same.append((number, every, last))
    return same


_SAME = (
    "A loop appends one and the same array to a list again and again, or changes an array that is "
    "in the list. Append copies:\n"
    "    xs.append(x.copy())"
)

_APPENDED = (
    "A loop appends something to a list that is neither an array nor a number nor made of them. "
    "Append the numbers, and make the rest of them after the loop."
)


def refused(loop: Loop, reason: str) -> CaptureError:
    """A loop that cannot be compiled."""
    return CaptureError(with_place(reason, loop.access.source))
