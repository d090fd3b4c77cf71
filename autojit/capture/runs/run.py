"""Runs of functions that call themselves (see `capture.frames`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

from autojit.capture.blocks.block import loops_around
from autojit.capture.rewriting.context import Site
from autojit.capture.rewriting.plain import LEFT, UNBOUND
from autojit.capture.state.heap import Heap, reached
from autojit.protocols.lifting import in_type, tracer
from autojit.session.frames import is_internal
from autojit.staging.trace_function import LeafType
from autojit.tracing.aliasing import assign, keep
from autojit.tracing.context import Trace, current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .active import ActiveRun
from .borrowed import Borrowed
from .closures import Shape, taken_apart
from .messages import LONG, MAY_BE_ANOTHER, NOT_SAVED
from .records import Outside, Passed, Record, Static, Unsaved
from .versions import Layout, Machine, bound, flag, nothing_for, position, refused, traced


def _places() -> list[tuple[FrameType, int]]:
    """The places in the user's functions at which this run is, if they may have handlers."""
    frame: FrameType | None = sys._getframe(1)
    found = []
    while frame is not None and frame.f_code is not Run.run.__code__:
        if frame.f_code.co_exceptiontable and not is_internal(frame.f_code.co_filename):
            found.append((frame, frame.f_lasti))
        frame = frame.f_back
    return found


class Run(ActiveRun):
    """A run of a frame, from where it begins to the next recursive call, or to its end.

    ``box`` holds whether the function has been left, the versions that continue its frame and that
    begin the frame of the call, and the columns of both. ``registers`` hold what functions return.
    """

    def __init__(
        self, machine: Machine, number: int, layout: Layout, box: list[Any], registers: list[Any],
        around: Trace,
    ) -> None:  # fmt: skip
        self.machine, self.layout = machine, layout
        self.box, self.registers = box, registers
        self.version, self.entry = machine.versions[number], number
        super().__init__(self.version.function)
        self._outside = Outside(Heap(reached()), around)
        self._around = loops_around()
        #: The lists and dicts of callers that it has copies of.
        self._borrowed = Borrowed(self.version.function, self._outside)
        #: The arrays among the arguments, by place, and their first values.
        self._arguments: dict[int, Any] = {}
        self._firsts: dict[int, Any] = {}
        #: What the frame held when it was left: names, loops, and arrays that were passed.
        self._held: Any = None
        self._callee = 0
        self._passed: dict[int, Any] = {}
        #: The values of the variables of the function, if it is an inner one (see `closures`).
        self._closure: tuple[Any, ...] = ()
        #: The key of the call, if its results are kept in a table.
        self.key: tuple[Any, ...] = ()

    def functions(self) -> Iterable[Any]:
        return (v.function for v in self.machine.versions)

    # -- the beginning

    def run(self, values: Sequence[Any]) -> None:
        """Run the function with the values of its frame."""
        given, arrays = self.version.record.filled(values)
        self.entered(lambda: self._run(given, arrays))

    def _run(self, given: Any, arrays: dict[int, Any]) -> None:
        if self.version.number < 0:
            args, kwargs, self._closure = given[0], dict(given[1]), given[2]
            self._arguments = arrays
            self._borrowed.note(given)
        else:
            self.skips = self.version.number
            names, loops, (entry, callee), arguments, passed, self._closure, *more = given
            self.key, borrowed = more
            self._held = names, list(loops)
            for x, is_borrowed in zip((*names, *loops), borrowed, strict=False):
                self._borrowed.note(x if is_borrowed else ())
            self.entry, self._callee = entry, callee
            self._arguments, self._passed = dict(arguments), dict(passed)
            args, kwargs = nothing_for(self.version.function)
        self._firsts = {k: x.own for k, x in self._arguments.items()}
        twin = self.version.twin
        twin = twin.filled(self._closure) if type(twin) is Shape else twin
        value = twin(*args, **kwargs)
        if value is not LEFT and value is not UNBOUND:  # else it has been left on all ways
            self._end(value)
        self._note_changes()

    @property
    def is_left(self) -> Any:
        return self.box[0]

    def is_long(self, count: int) -> str:
        return LONG.format(name=self.version.function.__name__, count=count)

    def restore(self, put: Callable[[tuple[Any, ...]], None]) -> None:
        if self._held is not None:
            put(self._held[0])

    def take_loop(self) -> list[Any]:
        """The iterable of the loop that the function was left in, and the number of steps."""
        found: list[Any] = list(self._held[1][len(self.loops)])
        return found

    def answer(self) -> Any:
        """The result of the call at which the run continues."""
        self.skips = None
        machine, callee = self.machine, self.machine.versions[self._callee]
        known = machine.result_of(callee.function)
        assert known is not None
        changed = zip(callee.changed, self.layout.of_changed[self._callee], strict=False)
        for place, k in changed:
            if place in self._passed:
                assign(self._passed[place], lift(self.registers[k]))
        places = self.layout.of_results[machine.results.index(known)]
        value, _ = known.record.filled([self.registers[k] for k in places], self._passed)
        if known.record.kept:  # it may be a part of what was passed
            keep(self._passed.values())
        return value

    # -- the end, and calls

    def saved(self, value: Any, *, is_result: bool = False) -> Record:
        """Values as a frame holds them."""
        is_vague = loops_around() > self._around
        passed = self._arguments if is_result else None
        try:
            record = self._outside.record(value, is_vague=is_vague, passed=passed)
        except Unsaved as unsaved:
            raise refused(self.version.function, NOT_SAVED, what=unsaved.words) from None
        self.machine.seen += record.seen
        if is_vague:
            self.machine.vague |= {t.type for t in record.types if t.type.shape}
        return record

    def apart(self, x: Tracer) -> Tracer:
        """An array as a loop holds it: a view of one from outside as a copy, which may then not
        change."""
        source = self._outside.source_of(x)
        if source is None:
            return x
        self.machine.seen.append(source)
        copied: Tracer = x.copy()
        return copied

    def leave(self, site: Site, f: Any, twin: Any, args: Any, kwargs: Any) -> Any:
        """Leave the function at a recursive call."""
        machine, function = self.machine, self.version.function
        self._borrowed.check()
        is_in_loop = bool(self.loops) or loops_around() > self._around
        machine.calls |= {(self.frame, k) for k in (site.number, *([None] if is_in_loop else []))}
        machine.places += _places()
        given = bound(f, args, kwargs)
        f, twin, values = taken_apart(machine, self._outside, f, twin)
        arguments = self.saved((*given, values))
        number = machine.find(f, twin, -1, arguments)
        passed = {k: traced(arguments.objects[k]) for k in machine.versions[number].changed}
        begin = self.site("begin")
        live = [UNBOUND if name not in site.live_out else flag(x) if name in begin.internal else x
                for name, x in zip(begin.names, self.get(), strict=True)]  # fmt: skip
        loops = [position(*each) for each in self.loops]
        mine = dict(self._arguments)
        frame = Static(self.entry if mine else 0), Static(number)
        borrowed = Static(self._borrowed.among((*live, *loops)))
        held = tuple(live), tuple(loops), frame, mine, passed, self._closure, self.key, borrowed
        saved = self.saved(held)
        changing = [bare(x) for x in passed.values()]
        if any(saved.objects[k] is x for k in saved.kept for x in changing):
            raise refused(function, MAY_BE_ANOTHER)
        caller = machine.find(function, self.version.twin, site.number, saved, number)
        self._write(caller, saved, 3)
        self._write(number, arguments, 3 + len(self.layout.columns))
        self.box[:3] = True, caller, number
        self.has_left = True
        trace = current_trace()
        assert trace is not None
        trace.left = True
        return LEFT

    def _write(self, number: int, record: Record, first: int) -> None:
        """Write the values of a frame into the box."""
        if self.machine.has_more:
            return
        version = self.machine.versions[number]
        parts = zip(self.layout.columns_of[number], record.tree.arrays, version.record.types,
                    strict=True)  # fmt: skip
        for k, leaf, t in parts:
            self.box[first + k] = tracer(in_type(leaf, t.type.dtype))

    def _end(self, value: Any) -> None:
        """Write what the function returns, and what it leaves in arrays that it was given."""
        machine, entry = self.machine, self.machine.versions[self.entry]
        self._borrowed.check(value)
        record = machine.returns(self, value)
        for leaf in record.tree.leaves:
            if type(leaf) is Passed:
                self._note_changed(leaf.number)
        if machine.has_more:
            return
        known = machine.result_of(self.version.function)
        assert known is not None
        places = self.layout.of_results[machine.results.index(known)]
        parts = list(zip(places, record.tree.arrays, known.record.types, strict=True))
        for k, leaf, t in parts:
            self.registers[k] = tracer(in_type(leaf, t.type.dtype))
        changed = zip(self.layout.of_changed[self.entry], entry.changed, strict=True)
        for k, place in changed:
            self.registers[k] = tracer(lift(self._arguments[place]))

    def _note_changes(self) -> None:
        """Note the arrays among the arguments that the run has changed."""
        for place, x in self._arguments.items():
            if x.lost:
                raise refused(self.version.function, MAY_BE_ANOTHER)
            if x.own is not self._firsts[place]:
                self._note_changed(place)

    def _note_changed(self, place: int) -> None:
        entry = self.machine.versions[self.entry]
        if place not in entry.changed:
            entry.changed[place] = LeafType(self._arguments[place].type, None)
            self.machine.has_more = True
