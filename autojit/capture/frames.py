"""Recursion as a loop with a stack of frames.

Frames are rows of arrays. A step runs the topmost frame from its beginning, or from the recursive
call at which it was left, to the next recursive call or to its end. At a call the function is left:
the frame gets the values of the names that are read later, and the arguments of the call go on top
of the stack. At its end the frame is removed, and the frame below continues with the result.

The lists, arrays, attributes and variables that the function changes are carried by the loop, as
in any other one, and keep their identity. An array that a frame has made is copied into the frame
of a call; if the call changes it, the caller gets the last value.

A step is a branch on a code: one way for each *version*, a function, a place where it begins, and
the structure of the values with which it begins (see `capture.runs.records`). A version is found
when a step is traced that leads to it. Then the loop is traced again.

A stack has as many rows as Python has frames (`sys.getrecursionlimit()`). Beyond these, the
compiled code raises RecursionError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.capture.runs.messages import HANDLED, LARGE_STACK, MAY_BE_ANOTHER, NO_TABLE
from autojit.capture.runs.records import Outside
from autojit.capture.runs.run import Run
from autojit.capture.runs.versions import Machine, access_of, bound, refused, stack_of
from autojit.capture.state.growth import Lists
from autojit.capture.state.heap import Heap, also_reached, reached
from autojit.capture.state.kept import zero
from autojit.ir.core.types import Type
from autojit.protocols.lifting import in_type, tracer
from autojit.staging.trace_function import LeafType
from autojit.tracing.blocks import original
from autojit.tracing.context import Trace, current_trace
from autojit.tracing.handlers import handler_line
from autojit.tracing.hooks import hooks
from autojit.tracing.recording import errors_of
from autojit.tracing.running.depth import most_frames

from .blocks.regions import failing
from .loop import Captured, Loop
from .loop_ops import emit
from .loops import trace_loop

#: The most bytes that a stack of frames may take.
MOST_BYTES = 1 << 28
_ENDLESS = "maximum recursion depth exceeded"


class Again(BaseException):
    """A step has shown something new about the recursion. No `except Exception` stops it."""


def compiled(machine: Machine, f: Any, args: Any, kwargs: Any, twin: Any) -> Any:
    """Call a function as a loop; raise CaptureError if it cannot be one."""
    lists, given = Lists(), (*bound(f, args, kwargs), ())
    try:
        while True:
            machine.has_more = False
            try:
                found = _Looped(machine, f, twin, given).emitted(lists)
            except Again:
                continue
            if machine.without_table is not None and machine.has_branches():
                raise refused(machine.without_table, NO_TABLE)
            return found
    except BaseException:
        lists.put_back()
        raise
    finally:
        machine.places.clear()


class _Looped:
    """A loop over frames, given what is known about the recursion."""

    def __init__(self, machine: Machine, f: Any, twin: Any, given: Any) -> None:
        self.machine, self.function = machine, f
        made = [(x.twin, x.table) for x in machine.tables], [x.function for x in machine.shapes]
        self._reached = f, twin, given, [v.twin for v in machine.versions], made
        trace = current_trace()
        assert trace is not None
        self.around = trace
        with also_reached(self._reached):
            first = Outside(Heap(reached()), trace).record(given)
        machine.find(f, twin, -1, first)
        machine.has_more = False
        self.layout = machine.layout()
        rows = most_frames()
        if sum(t.nbytes for t in self.layout.columns) * rows > MOST_BYTES:
            raise refused(f, LARGE_STACK)
        self._rows = rows
        self.stacks = [stack_of(t, rows + 2) for t in self.layout.columns]
        self.codes = stack_of(Type(np.dtype(np.int64), ()), rows + 2)
        self.registers = [zero(LeafType(t, None)) for t in self.layout.registers]
        self.top: list[Any] = [1]
        leaves = zip(self.layout.columns_of[0], first.tree.arrays, strict=True)
        for k, leaf in leaves:
            self.stacks[k][1] = tracer(in_type(leaf, self.layout.columns[k].dtype))

    def emitted(self, lists: Lists) -> Any:
        """Record the loop; return the result of the first call."""

        def get() -> tuple[Any, ...]:
            return (self.top[0],)

        def put(values: tuple[Any, ...]) -> None:
            (self.top[0],) = values

        reached_here = self._reached, self.stacks, self.codes, self.registers
        self.access = access_of(self.function, reached_here, get, put, ("__aj_top",))
        loop = Loop(self._step, lambda: np.greater(self.top[0], 0), None, None, self.access)
        captured = trace_loop(loop, lists)
        self._check(captured)
        emit(captured)
        machine = self.machine
        known = machine.result_of(self.function)
        assert known is not None
        places = self.layout.of_results[machine.results.index(known)]
        value, _ = known.record.filled([self.registers[k] for k in places])
        return value

    def _step(self, _: Any) -> None:
        machine, here, count = self.machine, self.top[0], len(self.stacks)
        if machine.has_more:  # a list has got another length
            raise Again
        columns = [zero(LeafType(t, None)) for t in self.layout.columns]
        box = [False, 0, 0, *columns, *columns]
        every = [k for k, v in enumerate(machine.versions) if machine.is_ready(v)]
        new = [k for k in every if not machine.versions[k].is_explored]
        with also_reached(box), also_reached(self.registers), also_reached(self._reached):
            if new and new != [0]:  # an exception of a version is none of this step
                hooks.choose(
                    np.greater(here, 0), lambda: self._dispatch(self.codes[here], new, box),
                    lambda: None,
                )  # fmt: skip
            else:
                self._dispatch(self.codes[here], every, box)
        for k in new:
            machine.versions[k].is_explored = True
        if machine.has_more or new:
            raise Again
        if machine.result_of(self.function) is None:
            trace = current_trace()
            assert trace is not None
            self._check_handlers(trace)
            raise RecursionError(_ENDLESS)
        left, caller, callee = box[:3]
        full_up = np.logical_and(left, np.greater_equal(here, self._rows))
        failing(full_up, RecursionError(_ENDLESS), self.access.source)
        for k, stack in enumerate(self.stacks):
            stack[here] = box[3 + k]
            stack[here + 1] = box[3 + count + k]
        self.codes[here] = caller
        self.codes[here + 1] = callee
        self.top[0] = np.where(left, here + 1, here - 1)

    def _dispatch(self, code: Any, ready: Sequence[int], box: list[Any]) -> None:
        """Run the version with a code."""
        if len(ready) == 1:
            (number,) = ready
            here = self.top[0]
            run = Run(self.machine, number, self.layout, box, self.registers, self.around)
            places = self.layout.columns_of[number]
            run.run([self.stacks[k][here] for k in places])
            return
        middle = len(ready) // 2
        hooks.choose(
            np.less(code, ready[middle]),
            lambda: self._dispatch(code, ready[:middle], box),
            lambda: self._dispatch(code, ready[middle:], box),
        )

    def _check(self, captured: Captured) -> None:
        """Raise CaptureError if frames hold copies of arrays from outside that change, or if a call
        may raise an exception that its caller handles."""
        self._check_handlers(captured.block.trace)
        seen = [original(x) for x in self.machine.seen]
        mine = {id(x) for x in (*self.stacks, self.codes)}
        for root in captured.roots:
            is_seen = any(root is x for x in seen) or root.type in self.machine.vague
            if is_seen and id(root) not in mine:
                raise refused(self.function, MAY_BE_ANOTHER)

    def _check_handlers(self, trace: Trace) -> None:
        """Raise CaptureError if a step may raise an exception that the caller of its function
        handles."""
        errors = {type(f.error) for _, f in trace.checks if str(f.error) != _ENDLESS}
        errors = errors.union(*map(errors_of, trace.builder.ops))
        for frame, at in self.machine.places:
            found = [e for e in errors if handler_line(frame, at, e) is not None]
            if found:
                raise refused(self.function, HANDLED, what=found[0].__name__)
