"""Loops with a known number of steps: unrolled, as Python runs them, or captured whole.

Short loops are unrolled. The passes then make them one straight line, roll up repetitions, and find
steps that are independent of each other. A long loop takes long to trace, so its body is traced
once. A loop can only be unrolled if its body needs its index as a Python number, or if its arrays
change their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from autojit.capture.state.growth import Lists
from autojit.capture.state.resized import check_counted
from autojit.capture.state.state import Access, Before, note
from autojit.capture.state.stretch import has_stretch
from autojit.capture.values.ranges import lists_under
from autojit.capture.values.rehearsal import rehearsed
from autojit.errors import ShapesDifferError
from autojit.ir.core.program import Op
from autojit.ir.ops.update import add_at, scatter, update
from autojit.ir.pass_manager import remarks
from autojit.ir.passes.reroll.roles import Body, roles_of
from autojit.staging.unrolled import LEAST_LOOP
from autojit.tracing.context import current_trace
from autojit.tracing.known import arguments_are_known

from .blocks.attempts import attempted
from .blocks.block import Block
from .blocks.independence import steps_are_independent
from .blocks.regions import ops_so_far
from .branches import capture_branch
from .loop import Captured, Loop, between
from .loop_ops import emit, known_firsts
from .loops import trace_loop
from .nests import is_long_nest, is_measured, measure_in_nest, note_unrolled
from .sequences import Sequence
from .truth import truth, truth_of, unknown

#: The most steps of a loop that is unrolled without looking at its body.
FEW = 8
#: The most operations of a loop that is unrolled, and fused as a whole; the passes roll up no less.
UNROLLED = LEAST_LOOP
#: The same for independent steps, which become operations on arrays: they take 30 us each to trace.
#: A network written neuron by neuron, 40,000 operations, takes 12 us a call, and 11 ms as a loop.
INDEPENDENT = 50_000


def captured_whole(loop: Loop, sequence: Sequence) -> bool:
    """Capture a loop with a known number of steps if that is better than unrolling it; return
    whether it was captured."""
    n, trace = sequence.length, current_trace()
    assert trace is not None
    if is_measured() and 0 < n <= FEW and loop.holds is None:
        measure_in_nest(loop)
        return True
    key = id(loop.access.site), n
    if key in trace.unrolled and not trace.as_arrays:  # as in an outer loop that is unrolled
        trace.short_loops.append(key)
        return False
    if not _is_captured(loop, sequence, n):
        trace.unrolled.add(key)
        trace.short_loops.append(key)
        return False
    return True


def _is_captured(loop: Loop, sequence: Sequence, n: int) -> bool:
    breaks = loop.holds is not None and n > 0 and becomes_unknown(loop, 0)
    is_nest = n <= FEW and not breaks and is_long_nest(loop)
    if n <= FEW and not breaks and not is_nest:
        _note(loop, f"{n} steps, and up to {FEW} are unrolled")
        return False
    trace = current_trace()
    assert trace is not None
    around, trace.in_nest = trace.in_nest, trace.in_nest or is_nest
    try:
        return _captured_if_better(loop, sequence, n, breaks)
    finally:
        trace.in_nest = around


def _captured_if_better(loop: Loop, sequence: Sequence, n: int, breaks: bool) -> bool:
    peeled = False
    notes = remarks.current()
    began = 0 if notes is None else len(notes)
    lists, inner = Lists(), _at_once()
    with rehearsed() as run:
        with attempted() as tried:
            try:
                found = _with_inner_arrays(loop, lists, n)
            except ShapesDifferError:
                if loop.holds is not None:
                    raise
                tried.forget()
                peeled, found = True, _after_first(loop, sequence)
        has_arrays = _at_once() > inner
        reason = tried.reason or ("" if breaks else _why_short(n, found, has_arrays))
        if lists and not reason:
            reason = _why_known(loop, lists)
        if not reason and not peeled:
            run.keep()
    if reason:
        lists.put_back()
        if notes is not None:
            notes.forget("capture", began)  # its body is traced again
        _note(loop, reason)
        return False
    if peeled:
        loop.step(0)
        found = trace_loop(_rest(loop))
    emit(found._replace(at_once=not peeled and becomes_arrays(found, n)))
    return True


def _with_inner_arrays(loop: Loop, lists: Lists, n: int) -> Captured:
    """A traced loop. If it becomes arrays, short loops inside it become arrays too."""
    trace = current_trace()
    assert trace is not None
    short = len(trace.short_loops)
    found = trace_loop(loop, lists)
    if len(trace.short_loops) == short or trace.as_arrays:
        return found
    if not becomes_arrays(found, n) and (n * found.size <= UNROLLED or not _is_plain(found)):
        return found
    trace.as_arrays = True
    try:
        with rehearsed():
            again = trace_loop(loop, lists)
    finally:
        trace.as_arrays = False
    return again if becomes_arrays(again, n) else found


def _at_once() -> int:
    """The number of loops that were recorded as operations on arrays so far."""
    trace = current_trace()
    return 0 if trace is None else len(trace.loops_at_once)


def _why_short(n: int, loop: Captured, has_arrays: bool = False) -> str:
    """The reason why a loop of n steps that could be captured is unrolled; empty if it is captured.

    ``has_arrays`` says that loops inside it became operations on arrays; each unrolled step of this
    one would trace them again.
    """
    ops, size = loop.block.trace.builder.ops, n * loop.size
    trace = current_trace()
    has_arrays |= trace is not None and trace.as_arrays
    if size <= UNROLLED and not has_arrays:
        return f"{size} operations; a compiled loop pays only above {UNROLLED}"
    if loop.block.trace.slices:  # which have another place, or another length, in each step
        return ""
    if becomes_arrays(loop, n) or loop.block.trace.checks:  # exceptions end a loop at their step
        return ""
    if size <= INDEPENDENT and steps_are_independent(ops, loop.inputs, loop.outputs):
        return "its steps do not depend on each other, and become operations on arrays"
    return ""


def becomes_arrays(loop: Captured, n: int) -> bool:
    """Whether the steps of a traced loop can be recorded as operations on arrays."""
    trace = loop.block.trace
    if not _is_plain(loop):
        return False
    stacked = [v for each in loop.grown for v in each.values]
    index, firsts = loop.block.inputs[0], known_firsts(loop)
    body = Body(trace.builder.ops, index, loop.inputs, loop.outputs, stacked, firsts)
    return roles_of(body, n) is not None


def _is_plain(loop: Captured) -> bool:
    """Whether a loop has a known number of steps without branches, loops or exceptions."""
    trace = loop.block.trace
    if not loop.loop.is_counted or trace.checks or loop.most:
        return False
    return not any(op.programs for op in trace.builder.ops)


def _why_known(loop: Loop, lists: Lists) -> str:
    """The reason why a loop that resizes lists is unrolled: Python then knows their lengths."""
    held = lists.held_before()
    before = Before(loop.access)
    for number in (0, loop.length // 2):
        try:
            for items, first in held:
                items[:] = first
            with rehearsed(), attempted() as tried, Block().running():
                loop.step(number)
                is_known = not any(has_stretch(items) for items, _ in held)
        finally:
            before.restore()
        if tried.reason or not is_known:
            return ""
    return "this makes the lengths of its lists known"


def _note(loop: Loop, reason: str) -> None:
    note(loop.access, "unrolled", f"unrolled: {reason}")


def _after_first(loop: Loop, sequence: Sequence) -> Captured:
    """The loop from its second step on, from which the shapes of its carries do not change."""
    before = Before(loop.access)
    try:
        with Block().running():
            loop.step(0)
            return trace_loop(_rest(loop))
    finally:
        before.restore()


def _rest(loop: Loop) -> Loop:
    n = loop.length - 1
    return loop._replace(step=lambda i: loop.step(i + 1), length=n, most=n)


#: The conditions of endless loops.
_ENDLESS = ("True", "1")


def becomes_unknown(loop: Loop, first: Any) -> bool:
    """Whether a loop's condition depends on unknown values once its body has run. That of an
    endless loop counts as unknown if an exception may end the loop that depends on such values.

    In a trace for known arguments the loop tests its condition itself, step by step. So does one
    that may use up iterators, since its body can run only once.
    """
    assert loop.holds is not None
    holds = loop.holds

    def is_unknown() -> bool:
        loop.step(first)
        found, trace = unknown(holds()) is not None, current_trace()
        assert trace is not None
        if loop.access.site.text in _ENDLESS:
            found |= any(failure.is_handled for _, failure in trace.checks)
        return found

    return not arguments_are_known() and is_so(loop.access, is_unknown)


def is_so(access: Access, find_out: Callable[[], bool]) -> bool:
    """The answer of a function that runs steps of a construct; nothing that it does is kept. If it
    raises an error, or may use up iterators, the answer is no."""
    before = Before(access)
    if not before.heap.can_be_restored():
        return False
    try:
        with rehearsed(), attempted(), Block().running():
            return find_out()
    finally:
        before.restore()
    return False


def unroll(loop: Loop, it: Any, item: Callable[[Any], Any], body: Callable[[], Any]) -> None:
    """Run a loop step by step; steps after an unknown condition become branches."""
    access = between(loop.access)
    first = began = _so_far()
    for number, value in _checked(it, loop):
        if number == 1 and _is_large(loop, first) and _rest_captured(loop):
            return

        def step(value: Any = value) -> None:
            item(value)
            body()

        first = _so_far() if number == 0 else first
        held = None if loop.holds is None else loop.holds()
        condition = unknown(held)
        if condition is not None:
            capture_branch(truth_of(condition), (_nothing, step), access)
        else:
            step()
    if current_trace() is not None and loop.is_counted:
        note_unrolled(loop, _since(began))


def _checked(it: Any, loop: Loop) -> Iterator[tuple[int, Any]]:
    """The items with their numbers, until the loop certainly ends; a list that gets a traced length
    meanwhile is refused."""
    lists = lists_under(it)
    for pair in enumerate(it):
        check_counted(lists)
        yield pair
        held = None if loop.holds is None else loop.holds()
        if held is not None and unknown(held) is None and not truth(held):
            break
    check_counted(lists)


class _SoFar(NamedTuple):
    """The number of operations that were recorded, and of loops that were captured."""

    ops: int
    loops: int


def _so_far() -> _SoFar:
    trace = current_trace()
    return _SoFar(0, 0) if trace is None else _SoFar(ops_so_far(), len(trace.captured_loops))


def _since(began: _SoFar) -> list[Op]:
    """The operations that were recorded since then."""
    trace = current_trace()
    assert trace is not None
    count = ops_so_far() - began.ops
    return trace.builder.ops[-count:] if count > 0 else []


def _is_large(loop: Loop, began: _SoFar) -> bool:
    """Whether the first of at least three steps has captured loops, of which each step would
    compile its own copy, or writes so many elements that all steps together are a long program."""
    trace = current_trace()
    if trace is None or not loop.is_counted or loop.length < 3:
        return False
    if len(trace.captured_loops) > began.loops:
        return True
    ops = _since(began)
    return loop.length * len(ops) > UNROLLED and any(op.kind in _WRITES for op in ops)


#: Operations that write elements of an array.
_WRITES = frozenset({scatter, add_at, update})


def _rest_captured(loop: Loop) -> bool:
    """Capture the steps after the first, unless they become operations on arrays; return whether
    they were captured."""
    with attempted() as tried:
        found = trace_loop(_rest(loop))
    if tried.reason or _why_short(loop.length - 1, found):
        return False
    emit(found)
    return True


def _nothing() -> None:
    """Do nothing, since the loop has ended."""
