"""Traced loops become operations: a counted one a ``scan``, any other one a ``while``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from autojit.capture.state.aliases import relate_all, results_of
from autojit.capture.state.heap import also_reached
from autojit.capture.state.kinds import given
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.optional import Optional, inner
from autojit.capture.state.origins import Slot
from autojit.capture.state.resized import Resized
from autojit.capture.state.sharing import containers, notice, relate_containers
from autojit.capture.state.sharing import lose as lose_containers
from autojit.capture.state.state import Before, Key, note, tree_of, with_leaders
from autojit.capture.state.stretch import bounded
from autojit.errors import CaptureError, raised, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Program, Value, building, current_builder
from autojit.ir.ops.arithmetic import bitwise_and, lt
from autojit.ir.passes.reroll.bodies import as_arrays
from autojit.ir.regions.scan import scan
from autojit.ir.regions.while_ import while_
from autojit.protocols.kinds import note_kinds, note_several
from autojit.protocols.lifting import in_type, tracer
from autojit.staging.bodies import Body, merged
from autojit.staging.trace_function import LeafType
from autojit.tracing.aliasing import assign, lose
from autojit.tracing.blocks import stands_for
from autojit.tracing.context import current_trace
from autojit.tracing.rows import Row
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .blocks.block import Block
from .blocks.regions import settled
from .branches import capture_branch
from .checks import add_checks, first_failing
from .loop import COUNTER, Captured, Grown, Loop
from .loops import trace_if_begun
from .truth import truth, truth_of, unknown


class ActingTest(CaptureError):
    """The test of a loop may raise an exception when the compiled code runs, or changes
    something, so it must be a part of the steps."""


def emit(captured: Captured) -> None:
    """Record a loop, and assign its results to names, places and arrays."""
    loop, before = captured.loop, captured.before
    note(loop.access, "loop", f"captured: {_reason(captured)}")
    trace = current_trace()
    assert trace is not None
    loops = trace.loops_at_once if captured.at_once else trace.captured_loops
    loops.append(loop.access.site)
    types = [t for c in captured.carries for t in c.types]
    firsts = [
        in_type(leaf, t.type.dtype)
        for c in captured.carries
        for leaf, t in zip(tree_of(c.first).arrays, c.types, strict=True)
    ]
    operands = [*firsts, *(lift(x) for x in captured.roots)]
    outputs = list(captured.outputs)
    captured.block.check_unread([*outputs, *(v for each in captured.grown for v in each.values)])
    take_checks = _with_checks(captured, outputs, operands)
    body = _body(captured, outputs, len(operands))
    numbers: dict[int, int] = {}
    if loop.is_counted:
        results, numbers = _emit_counted(captured, body, operands)
    else:
        results = _emit_while(captured, body, operands)
    ends = [leaf for part in captured.ends for leaf in part]
    roots = results[len(types) : len(types) + len(captured.roots)]
    for x, value in zip(captured.roots, roots, strict=True):
        assign(x, value)
    lose(captured.lost)
    given(captured.kept)
    tracers = results_of(results[: len(types)], types, [ends])
    if not (isinstance(loop.length, int) and loop.length):
        unchanged = [leaf for c in captured.carries for leaf in tree_of(c.first).arrays]
        for x, *ways in zip(tracers, unchanged, ends, strict=False):
            note_kinds(x, ways)
    slots: dict[Slot, Tracer] = {}
    pairs: list[tuple[Key, Any]] = []
    always, start = set[Any](), 0
    for carry in captured.carries:
        stop = start + len(carry.types)
        k = carry.key.identity
        is_new = start == stop or captured.outputs[start:stop] != captured.inputs[start:stop]
        is_new |= captured.lists.is_another(k) or captured.sharing.is_another(k)
        if is_new and not carry.is_last:  # else it is unchanged
            leaves = zip(range(start, stop), carry.types, strict=True)
            value = carry.tree.filled(
                [numbers[k] if k in numbers and t.weak is int else tracers[k] for k, t in leaves]
            )
            slots |= {(carry.key.identity, j): x for j, x in enumerate(tracers[start:stop])}
            pairs.append((carry.key, value))
            if carry.always:
                always.add(k)
        start = stop
    pairs = [
        (key, _bound(x, loop, key.identity in always))
        for key, x in with_leaders(pairs, captured.leaders)
    ]
    before.assign(pairs)
    for items, most in captured.most:
        bounded(items, most)
    relate_all(captured.sharing.end, slots, captured.sharing.outside)
    lists = {(key.identity, path): c for key, value in pairs for path, c in containers(value)}
    relate_containers(captured.lists.end, lists, captured.lists.outside)
    notice()
    lose_containers(captured.lost_lists)
    checks = start + len(captured.roots)
    steps = int(loop.length) if loop.is_counted else 0
    _grow(captured.grown, results[len(operands) :], steps, slots, captured.sharing.outside)
    _relate_rows(captured.grown, steps, lists, captured.lists.outside)
    take_checks(results[checks : len(operands)])
    settled(loop.access)


def _reason(captured: Captured) -> str:
    loop = captured.loop
    if captured.at_once:
        return "its steps do not depend on each other, and became operations on arrays"
    if loop.is_counted:
        return f"{loop.length} steps of {captured.size} operations would take long to trace"
    if loop.holds is not None:
        return "whether there is another step depends on a traced value"
    return "how many steps it has depends on a traced value"


def _grow(
    grown: Sequence[Grown], stacks: Sequence[Value], steps: int, slots: dict[Slot, Tracer],
    outside: dict[int, Any],
) -> None:  # fmt: skip
    """Append the elements of all steps to the lists."""
    start = 0
    pairs: list[Any] = []
    arrays: dict[Slot, Tracer] = dict(slots)
    for each in grown:
        stop = start + len(each.types)
        mine = list(zip(map(tracer, stacks[start:stop]), each.types, strict=True))
        for number in range(steps):
            rows = [Row(x, number, t.weak) for x, t in mine]
            for made, (_, t) in zip(rows, mine, strict=True):
                made.boxed = t.boxed
                note_several(made, t.kinds)
            rest = iter(rows)
            for tree in each.trees:
                each.items.append(tree.filled(list(islice(rest, len(tree.arrays)))))
            for place, every, last in each.same:
                row = ("row", number), start + place
                arrays[row] = rows[place]
                others = [*every, *(last if number == steps - 1 else ())]
                pairs += [(row, other) for other in others]
        start = stop
    relate_all(pairs, arrays, outside)


def _relate_rows(
    grown: Sequence[Grown], steps: int, lists: dict[Slot, Any], outside: dict[int, Any]
) -> None:
    """Note that lists, dicts and objects in new elements of lists may be those of names."""
    made = dict(lists)
    pairs: list[Any] = []
    for each in grown:
        count = len(each.trees)
        new = each.items[len(each.items) - steps * count :]
        for number in range(steps if each.lists else 0):
            mine = {
                path: c
                for path, c in containers(new[number * count : (number + 1) * count])
            }  # fmt: skip
            for (k, path), every, last in each.lists:
                row = ("row", number, k), path
                made[row] = mine[path]
                others = [*every, *(last if number == steps - 1 else ())]
                pairs += [(row, _row_of(other, number, made)) for other in others]
    relate_containers(pairs, made, outside)


def _row_of(other: Any, number: int, made: dict[Slot, Any]) -> Any:
    """The slot of a container in the row of a step, or of a name."""
    if isinstance(other, tuple):
        row = ("row", number, other[0]), other[1]
        return row if row in made else other
    return other


def _bound(value: Any, loop: Loop, always: bool) -> Any:
    """The value after the loop; if each step binds the name and there are steps, it is bound, and
    not None."""
    known = isinstance(value, (Maybe, Optional)) and loop.has_steps and always
    return inner(value) if known else value


def _with_checks(captured: Captured, outputs: list[Value], operands: list[Value]) -> Any:
    """Make the checks of a step carries, which hold as long as they held at all steps before."""
    mine: list[Value] = []
    take = add_checks([captured.block], [mine])
    befores = [Value(held.type) for held in mine]
    captured.inputs.extend(befores)
    outputs += captured.block.recorded(first_failing, mine, befores)
    operands += [lift(np.True_) for _ in mine]
    return take


def _body(captured: Captured, outputs: Sequence[Value], count: int) -> Body:
    block = captured.block
    block.inputs = [block.inputs[0], *captured.inputs]
    assert len(captured.inputs) == len(outputs) == count
    stacked = [v for each in captured.grown for v in each.values]
    return block.finish([*outputs, *stacked], f"loop_{captured.loop.access.site.line}")


def _emit_counted(
    captured: Captured, body: Body, operands: Sequence[Value]
) -> tuple[Sequence[Value], dict[int, int]]:
    """The results, and the final numbers of the carries for which they are known."""
    program = Program(
        [*body.bound, *body.own], body.program.ops, body.program.outputs, name=body.program.name
    )
    constants, length = len(body.captured), int(captured.loop.length)
    given = [*body.captured, *operands]
    if captured.at_once:
        known = {constants + k: number for k, number in known_firsts(captured).items()}
        made = as_arrays(program, given, constants, length, known, lift)
        if made is not None:
            return made.results, made.numbers
    params = {
        "body": program, "constants": constants, "carries": len(operands),
        "length": length, "reverse": False,
    }  # fmt: skip
    return current_builder().emit(scan, given, params), {}


def known_firsts(captured: Captured) -> dict[int, np.ndarray]:
    """The first values of carries that are Python integers, by their places."""
    leaves = [leaf for c in captured.carries for leaf in tree_of(c.first).arrays]
    return {k: np.asarray(leaf) for k, leaf in enumerate(leaves) if type(leaf) is int}


def _emit_while(captured: Captured, body: Body, operands: Sequence[Value]) -> Sequence[Value]:
    loop = captured.loop
    types = [LeafType(v.type, None) for v in operands]
    condition = Block([COUNTER, *types])
    with condition.running() as inputs:
        counter, rest = inputs[0], inputs[1:]
        held: list[Value] = []
        if loop.length is not None:
            held.append(lt(counter.own, lift(loop.length, counter.dtype)))
        if loop.holds is not None:
            held.append(_asked(captured, rest))
            if condition.trace.checks:
                words = _RAISING.format(condition.trace.checks[0][1].error)
                raise ActingTest(with_place(words, loop.access.source))
            if condition.changed:
                raise ActingTest(with_place(_CHANGING, loop.access.source))
        checks = len(operands) - len(captured.roots) - sum(len(c.types) for c in captured.carries)
        held += [x.own for x in rest[len(rest) - checks :]] if checks else []
        result = held[0]
        for other in held[1:]:
            result = bitwise_and(result, other)
    stepped = body.program
    with_next = _counted(stepped)
    (test, step), bound = merged(
        [condition.finish([result], "condition"), body._replace(program=with_next)]
    )
    results = current_builder().emit(
        while_,
        [*bound, lift(np.int64(0)), *operands],
        {
            "condition": test, "sweeps": (step,), "carries": (len(operands) + 1,),
            "backward": (False,), "constants": len(bound),
        },
    )  # fmt: skip
    return results[1:]


_RAISING = "The condition of a loop may raise an exception when the compiled code runs: {}."
_CHANGING = "The condition of a loop changes something."


def _asked(captured: Captured, inputs: Sequence[Tracer]) -> Value:
    """Whether there is another step, given the values at the end of the last one."""
    loop, before = captured.loop, captured.before
    pairs: list[tuple[Key, Any]] = []
    start = 0
    for carry in captured.carries:
        stop = start + len(carry.types)
        value = carry.tree.filled(
            [Tracer(x.own, x.owner, t.weak)
             for x, t in zip(inputs[start:stop], carry.types, strict=True)]
        )  # fmt: skip
        pairs.append((carry.key, value))
        start = stop
    try:
        before.assign(with_leaders(pairs, captured.leaders))
        for x, made in zip(captured.roots, inputs[start:], strict=False):
            stands_for(x, made.own, made.owner)
        assert loop.holds is not None
        here = Before(loop.access)
        result = truth_of(loop.holds()).value
        if _is_changed(here):
            raise ActingTest(with_place(_CHANGING, loop.access.source))
        return result
    finally:
        before.restore()


def _is_changed(here: Before) -> bool:
    """Whether names, or what they reach, have changed."""
    mark = len(raised.errors or ())
    try:
        here.check_lengths(grow=False)
        return bool(here.changes())
    except (CaptureError, Resized):
        del (raised.errors or [])[mark:]
        return True


def _counted(program: Any) -> Any:
    """The body of a loop, which also returns the number of steps after it."""
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    with building(builder):
        made = builder.inline(program, inputs)
        following = inputs[0] + full(1, inputs[0].type)
    return builder.finish(inputs, [following, *made], name=program.name, captured=program.captured)


def emit_if_begun(loop: Loop, begins: Tracer) -> None:
    """Record a loop; if its first step raises an exception in any case, record that step alone."""
    found = trace_if_begun(loop)
    if isinstance(found, Exception):
        capture_branch(begins, (_no_step, lambda: _first_step(loop, found)), loop.access)
    else:
        emit(found)


def emit_begun(loop: Loop) -> None:
    """Record a loop that certainly has a step, in the same way."""
    loop = loop._replace(begins=True)
    found = trace_if_begun(loop)
    if isinstance(found, Exception):
        _first_step(loop, found)
    else:
        emit(found)


def emit_tested(
    loop: Loop, test: Callable[[], Any], begins: Any, record: Callable[[Loop], None]
) -> None:
    """Record a ``while`` with ``record``. If its test may raise an exception, or changes something,
    each step ends with the test, as a part of it; ``begins`` is the result of the first test."""
    mark = len(raised.errors or ())
    try:
        record(loop)
        return
    except ActingTest:
        del (raised.errors or [])[mark:]

    def tested() -> Any:
        found = test()
        condition = unknown(found)
        return truth(found) if condition is None else truth_of(condition)

    def step(i: Any) -> None:
        loop.step(i)
        flag[0] = tested()

    flag = [begins]
    with also_reached((flag,)):
        record(loop._replace(step=step, holds=lambda: flag[0]))


def _first_step(loop: Loop, error: Exception) -> None:
    """Run a step that raises an exception, unless it raises another one before."""
    loop.step(0)
    raise error


def _no_step() -> None:
    """Do nothing, since the loop has no step."""
