"""Functions that call themselves as often as traced values decide.

A recursive call is first traced like any other call, level by level, since known values may end the
recursion. If it does not end soon, the function becomes a loop with a stack of frames (see
`frames`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any

from autojit.capture.lists import library
from autojit.capture.lists.hashed import are_integers
from autojit.capture.state.state import Before, tree_of
from autojit.dispatch.compiled import CompiledFunction
from autojit.errors import CaptureError, raised
from autojit.staging.numba_functions import python_function
from autojit.tracing.context import Trace, current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

from .blocks.block import Block
from .calls.calling import call
from .frames import active_run, compiled, is_running, same, suspended
from .values.own_calls import Straight, access_of, nothing

#: The most recursive calls in branches that are traced one by one; each level may double them.
MOST_CALLS = 100
#: The deepest nesting of a branch inside itself. A recursion that known values end, as over the
#: levels of a tree, is not deeper, since each level traces the levels below it twice.
DEEPEST = 24


class TooDeep(BaseException):
    """A recursion is not ended by known values, or it takes many ways; in that case known values
    may still end it. No `except Exception` of the user's stops this exception."""

    def __init__(self, *, has_no_end: bool) -> None:
        self.has_no_end = has_no_end
        self.attempt = max(_local.attempts, key=lambda a: a.depth, default=None)


class _Attempt:
    """A recursion that is traced level by level."""

    def __init__(self, function: Any, trace: Trace | None) -> None:
        self.function = function
        self.depth = 0
        #: The number of recursive calls that lie in branches, and the trace around the recursion.
        self.chosen = 0
        self.trace = trace


class _Local(threading.local):
    def __init__(self) -> None:
        self.attempts: list[_Attempt] = []


_local = _Local()
_codes: dict[int, tuple[CodeType, bool]] = {}


def calls_itself(f: Any) -> bool:
    """Whether a twin calls itself where it can be left."""
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


def is_attempted() -> bool:
    """Whether a recursion is traced level by level; it may become a loop."""
    return bool(_local.attempts)


def called_by_itself(f: Any, args: Any, kwargs: Any, go: Callable[[], Any]) -> Any:
    """Call a function in its own body; ``go`` traces the call like any other."""
    run = active_run()
    if run is not None and same(run.function, f):
        return run.ask(args, kwargs)
    attempt = next((a for a in reversed(_local.attempts) if same(a.function, f)), None)
    if attempt is None:
        return go()
    attempt.depth += 1
    if current_trace() is not attempt.trace:
        attempt.chosen += 1
        if attempt.depth > DEEPEST or attempt.chosen > MOST_CALLS:
            raise TooDeep(has_no_end=attempt.depth > DEEPEST)
    try:
        return go()
    finally:
        attempt.depth -= 1


def undecorated(f: Any) -> Any:
    """The function under `jit` or `njit`, whose name it uses to call itself."""
    if isinstance(f, CompiledFunction):
        has_settings = f.static.given or f.static.names or f.asked is not None
        return f if has_settings else undecorated(f.function)
    return python_function(f)


def caller(f: Any, twin: Any, has_cache: bool) -> Callable[..., Any]:
    """The function that calls, from elsewhere, a function that calls itself."""
    return lambda *args, **kwargs: called(f, args, kwargs, twin, has_cache)


def called(f: Any, args: Any, kwargs: Any, twin: Any, has_cache: bool = False) -> Any:
    """Call, from elsewhere, a function that calls itself; ``has_cache`` says that it is under
    ``functools.lru_cache``."""
    is_running(f)
    trace = current_trace()
    if trace is None or any(same(a.function, f) for a in _local.attempts):
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
            is_table = has_cache and are_integers(tuple(tree_of((args, kwargs)).arrays))
            run = _remembering(twin) if is_table else twin
            return compiled(f, args, kwargs, run, has_cache and not is_table)
        except CaptureError:
            if found.has_no_end:
                raise
            del (raised.errors or [])[errors:]
    trace.unrolled.add(key)
    return twin(*args, **kwargs) if found is None or isinstance(found, TooDeep) else found[0]


def _remembering(twin: Any) -> Any:
    """The function with a table of its results."""
    table: dict[Any, Any] = {}

    def run(*args: Any, **kwargs: Any) -> Any:
        key = tuple(tree_of((args, kwargs)).arrays)
        given = table, key, Straight(lambda: twin(*args, **kwargs)), Straight(suspended)
        return call(library.remembered, given, {}, hooks.converted)

    return run


def _attempted(f: Any, args: Any, kwargs: Any, twin: Any) -> TooDeep | list[Tracer] | None:
    """Trace a call level by level. Return its result if that is a number and nothing else has
    changed, None if the call must be traced again for its effects, or the reason why it cannot be
    traced like this."""
    before = Before(access_of(f, (f, args, kwargs, twin), tuple, nothing))
    attempt, block = None, Block()
    try:
        with block.running():
            attempt = _Attempt(f, current_trace())
            with _attempting(attempt):
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


@contextmanager
def _attempting(attempt: _Attempt) -> Iterator[None]:
    _local.attempts.append(attempt)
    try:
        yield
    finally:
        _local.attempts.pop()
