"""Functions that call themselves, or each other, as often as traced values decide.

A recursive call is first traced like any other call, level by level, since known values may end the
recursion. If it does not end soon, the function becomes a loop with a stack of frames (see
`frames`).
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from autojit.capture.rewriting.callees import converted
from autojit.capture.rewriting.plain import PlainRuntime
from autojit.capture.runs.active import active_run, is_running
from autojit.capture.runs.attempts import (
    Attempt,
    TooDeep,
    attempting,
    called_by_itself,
    is_attempted,
    note_frame,
)
from autojit.capture.runs.groups import leaving, undecorated
from autojit.capture.runs.messages import MANAGED, NOT_SAVED
from autojit.capture.runs.run import Run
from autojit.capture.runs.steps import Step
from autojit.capture.runs.tables import with_table
from autojit.capture.runs.versions import Machine, access_of, nothing, refused
from autojit.capture.state.heap import also_reached
from autojit.capture.state.one_of import OneOf, alternatives
from autojit.capture.state.one_of import each as one_by_one
from autojit.capture.state.sharing import notice
from autojit.capture.state.state import Before
from autojit.capture.state.stretch import has_stretch, stretch_in
from autojit.errors import CaptureError, raised
from autojit.tracing.context import current_trace
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from . import calls
from .blocks.block import Block
from .frames import compiled
from .rewriting.context import Site
from .sequences import is_finite
from .values.ranges import TracedRange

_codes: dict[int, tuple[CodeType, bool]] = {}


def calls_itself(f: Any) -> bool:
    """Whether a twin may lead back to itself by calls where it can be left."""
    function = f.__func__ if type(f) is MethodType else f
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    known = _codes.get(id(code))
    if known is None or known[0] is not code:
        known = _codes[id(code)] = code, _mentions(code, "call_self")
    return known[1]


def _mentions(code: CodeType, name: str) -> bool:
    """Whether a function uses an attribute of some name. Parts that the rewriter has made, which
    bear the function's name, count as well."""
    parts = (c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == code.co_name)
    return name in code.co_names or any(_mentions(part, name) for part in parts)


def caller(f: Any, twin: Any, has_cache: bool) -> Callable[..., Any]:
    """The function that calls, from elsewhere, a function that calls itself."""
    return lambda *args, **kwargs: called(f, args, kwargs, twin, has_cache)


def called(f: Any, args: Any, kwargs: Any, twin: Any, has_cache: bool = False) -> Any:
    """Call, from elsewhere, a function that calls itself; ``has_cache`` says that it is under
    ``functools.lru_cache``."""
    is_running(f)
    trace = current_trace()
    if trace is None or is_attempted(f):
        return twin(*args, **kwargs)
    values = trace.builder.known
    key = "recursion", id(getattr(twin, "__func__", twin).__code__)
    if key in trace.unrolled or (values is not None and values.knows_inputs()):
        return twin(*args, **kwargs)
    loop = "recursion as a loop", key[1]
    found: Any = TooDeep(has_no_end=True) if loop in trace.unrolled else None
    found = found or _attempted(f, args, kwargs, twin)
    if isinstance(found, TooDeep):
        if found.has_no_end:
            trace.unrolled.add(loop)
        errors = len(raised.errors or ())
        try:
            machine = Machine()
            if has_cache:
                twin = with_table(machine, f, twin, args, kwargs)
            return compiled(machine, f, args, kwargs, twin)
        except CaptureError:
            if found.has_no_end:
                raise
            del (raised.errors or [])[errors:]
    trace.unrolled.add(key)
    return twin(*args, **kwargs) if found is None or isinstance(found, TooDeep) else found[0]


def _attempted(f: Any, args: Any, kwargs: Any, twin: Any) -> TooDeep | list[Tracer] | None:
    """Trace a call level by level. Return its result if that is a number and nothing else has
    changed, None if the call must be traced again for its effects, or the reason why it cannot be
    traced like this."""
    before = Before(access_of(f, (f, args, kwargs, twin), tuple, nothing))
    attempt, block = None, Block()
    try:
        with block.running():
            attempt = Attempt(f, current_trace())
            with attempting(attempt):
                result = twin(*args, **kwargs)
        if _is_unchanged(before):
            return block.taken_over([result])
    except TooDeep as deep:
        if deep.attempt is not attempt:
            raise
        return deep
    finally:
        before.restore()
    return None


def _is_unchanged(before: Before) -> bool:
    errors = len(raised.errors or ())
    try:
        return not before.changes()
    except CaptureError:  # lists have grown
        del (raised.errors or [])[errors:]
        return False


class Recursive(PlainRuntime):
    """The methods that twins of functions that call themselves use (see `rewriting.self_calls`)."""

    leaving = staticmethod(leaving)

    def begin(self, s: int, get: Any, put: Any) -> None:
        run, frame = active_run(), (self, self.sites[s].function)
        note_frame(frame)
        if run is not None:
            run.begin(frame, get, put)

    def live(self) -> bool:
        run = active_run()
        return run is None or run.skips is None

    def enters(self, first: int, end: int) -> bool:
        run = active_run()
        return run is None or run.skips is None or first <= run.skips < end

    def leads(self, first: int, end: int) -> bool:
        run = active_run()
        return run is not None and run.skips is not None and first <= run.skips < end

    def is_at(self, number: int) -> bool:
        run = active_run()
        return run is not None and run.skips == number

    def answer(self, number: int) -> Any:
        run = active_run()
        return None if run is None else run.answer()

    def is_left(self, function: int) -> Any:
        run = active_run()
        return run is not None and run.frame == (self, function) and run.is_left

    def managed(self, kind: Any, manager: Any) -> Any:
        run = active_run()
        if run is not None and (kind not in _MANAGERS if kind is not None
                                else type(manager) not in _MANAGERS | _LOCKS):  # fmt: skip
            raise refused(run.function, MANAGED)
        return manager

    def suspended(self) -> bool:
        run = active_run()
        if run is None:
            return False
        found, run.has_left = run.has_left, False
        return found

    def call_self(self, s: int, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(f) is OneOf:
            if not all(self._leads_back(each) for each in alternatives(f)):
                return self.call(f, *args, **kwargs)
            return one_by_one(f, lambda known: self.call_self(s, known, *args, **kwargs))
        has_cache = type(f) is calls.CACHED
        if has_cache:
            if not calls.is_uncached(f, args, kwargs):
                return self.call(f, *args, **kwargs)
            f = f.__wrapped__
        function, run = undecorated(f), active_run()
        twin, frame = converted(function, type(self)), (self, self.sites[s].function)
        if not calls_itself(twin):  # the name stands for another function now
            return self.call(f, *args, **kwargs)
        if isinstance(run, Run) and run.frame == frame:
            if has_cache:
                twin = with_table(run.machine, function, twin, args, kwargs)
            return run.leave(self.sites[s], function, twin, args, kwargs)

        def go() -> Any:
            return calls.call(function, args, kwargs, lambda g: converted(g, type(self)))

        result = called_by_itself(function, frame, go)
        notice()
        return result

    def _leads_back(self, f: Any) -> bool:
        return calls_itself(converted(undecorated(f), type(self)))


#: Managers that a run may enter again: they change nothing that the function sees.
_MANAGERS = {np.errstate, contextlib.nullcontext, warnings.catch_warnings}
_LOCKS = {type(threading.Lock()), type(threading.RLock())}


# -- loops with recursive calls ---------------------------------------------------------------


def loop_in(runtime: Any, site: Site) -> Run | Step | None:
    """The run in whose frame a loop with recursive calls, or with yields, is."""
    run = active_run()
    if not isinstance(run, Run | Step) or run.frame != (runtime, site.function):
        return None
    return run


def loop_for(
    run: Run, site: Site, it: Any, item: Callable[[Any], Any], go_on: Callable[[], Any] | None,
    body: Callable[[], Any], while_: Callable[[Callable[[], Any], Callable[[], Any]], None],
) -> None:  # fmt: skip
    """Run a ``for`` with recursive calls as a ``while``, whose position frames hold."""
    is_begun = run.skips is not None
    pair = run.take_loop() if is_begun else [_held(run, it, site.is_unrolled), 0, site.is_unrolled]
    run.loops.append(pair)

    def test() -> Any:
        is_left = np.less(pair[1], _length(pair[0]))
        return is_left if go_on is None else calls.and_(go_on(), lambda: is_left)

    def step() -> None:
        at = pair[1]
        pair[1] = at + 1
        item(_item(pair[0], at))
        body()

    try:
        with also_reached(pair):
            if is_begun:
                body()  # the rest of the step in which the function was left
            while_(test, step)
    finally:
        run.loops.pop()


def _held(run: Run, it: Any, is_unrolled: bool) -> Any:
    """An iterable as a frame holds it: an array, a list, or the parts of a range."""
    if isinstance(it, range):
        return it if is_unrolled else ("range", it.start, it.step, len(it))
    if isinstance(it, TracedRange):
        return "range", it.start, it.step, it.count()
    if isinstance(it, Tracer):
        return run.apart(it)
    if isinstance(it, (list, np.ndarray)):
        return it
    if not is_finite(it):
        raise refused(run.function, NOT_SAVED, what="an iterator")
    return list(it)


def _length(held: Any) -> Any:
    if type(held) is tuple:
        return held[3]
    if has_stretch(held):
        return stretch_in(held).count
    return len(held)


def _item(held: Any, at: Any) -> Any:
    if type(held) is not tuple:
        return calls.item(held, at)
    if isinstance(at, Tracer) and type(held[3]) is int:
        with_bounds(at, (0, max(held[3] - 1, 0)))
    return held[1] + at * held[2]
