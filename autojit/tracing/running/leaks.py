"""Traced values that outlive their trace, because the function has kept them somewhere.

Without tracing they would have been arrays. Each traced value refers to its trace, so the trace's
reference count shows whether any is left, and usually nothing more is checked. Otherwise cyclic
garbage is collected, and surviving values are followed to their holders. Values held only by
exceptions, with the frames of their tracebacks, and by suspended generators do not count.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
    TracebackType,
)
from typing import Any

from autojit.errors import LeakedTracerError, with_place
from autojit.ir.core.locks import Lock
from autojit.session.frames import is_internal
from autojit.tracing.context import RETURN_IT, Trace
from autojit.tracing.created_arrays import TracedArray
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

#: Types that hold values only as long as an exception or an iterator lives.
_PASSING = (
    FrameType, TracebackType, BaseException, GeneratorType, CoroutineType, AsyncGeneratorType,
)  # fmt: skip
#: How many steps a holder is followed.
_FAR = 8
#: One search at a time: the collector's lists of what another one has found hold traced values.
_searching = Lock()


class _Own(list[Any]):
    """A list of the search, which itself refers to the values searched for."""


def check_nothing_left(trace: Trace, known: int, name: str) -> None:
    """Raise LeakedTracerError if values of an ended trace are kept; ``known`` is the number of
    references to the trace without any."""
    if _is_free_after(1, trace, known):
        return
    for release in hooks.releases:
        release()
    with _searching:
        if _path_to_a_holder(_living(trace)) is None:
            return
        if not _is_free_after(2, trace, known):  # the holder may be garbage of long ago
            path = _path_to_a_holder(_living(trace))
            if path is not None:
                error = _error(name, path, trace)
                for tracer in _living(trace):
                    _without_marks(tracer)
                raise error


#: The key by which a dict of traced keys is found after its trace (see `capture.state.maybe`).
_MARK = "__aj_entries__"


def _is_table(x: Any) -> bool:
    return isinstance(x, dict) and _MARK in x


def _without_marks(tracer: Any) -> None:
    """Remove the mark from the dicts that had traced keys."""
    for x in gc.get_referrers(tracer):
        if _is_table(x):
            del x[_MARK]


def _is_free_after(generation: int, trace: Trace, known: int) -> bool:
    gc.collect(generation)
    return sys.getrefcount(trace) - 2 <= known  # two are the parameters of these functions


def _living(trace: Trace) -> _Own:
    return _Own(x for x in gc.get_referrers(trace) if isinstance(x, Tracer))


def _path_to_a_holder(tracers: _Own) -> _Own | None:
    """A tracer, who holds it, who holds that, and so on, to a module, a class or whoever is held
    by what is not seen, such as a running function; None if nobody keeps any."""
    level = _Own(_Own([tracer]) for tracer in tracers)
    seen = {id(tracer) for tracer in tracers}
    for _ in range(_FAR):
        above = _Own()
        for path, referrers in _with_referrers(level):
            if not referrers and _is_kept(path):
                return path
            for x in referrers:
                longer = _Own([*path, x])
                if _is_root(x):
                    return longer
                if id(x) not in seen and not _is_passing(x):
                    seen.add(id(x))
                    above.append(longer)
        level = above
    return next((path for path in level if _is_kept(path)), None)


def _with_referrers(level: _Own) -> _Own:
    """Paths with all that refers to where they end; the collector is asked once."""
    ends = {id(path[-1]): _Own() for path in level}
    asked = tuple(path[-1] for path in level)
    for x in gc.get_referrers(*asked):
        if x is not asked and not _is_ours(x):  # Python 3.13 finds it, too
            for number in {id(y) for y in gc.get_referents(x)} & ends.keys():
                ends[number].append(x)
    return _Own((path, ends[id(path[-1])]) for path in level)


def _is_ours(x: Any) -> bool:
    """Whether something belongs to the search."""
    if isinstance(x, tuple) and len(x) == 2:
        return isinstance(x[0], _Own)
    return isinstance(x, _Own) or (isinstance(x, FrameType) and x.f_globals is globals())


def _is_passing(x: Any) -> bool:
    logging = sys.modules.get("logging")
    return isinstance(x, _PASSING) or (logging is not None and isinstance(x, logging.LogRecord))


def _is_kept(path: _Own) -> bool:
    """Whether the holder of a tracer is not a tracer itself; views hold their bases."""
    return any(not _is_traced(x) for x in path)


def _is_traced(x: Any) -> bool:
    """Whether something is a traced array, or the namespace of one."""
    if isinstance(x, dict):
        return set(x) >= {"tracer", "memory", "counted"}
    return isinstance(x, (Tracer, TracedArray))


def _is_root(x: Any) -> bool:
    return isinstance(x, (ModuleType, type)) or (isinstance(x, dict) and "__builtins__" in x)


# -- words ------------------------------------------------------------------------------


def _error(name: str, path: _Own, trace: Trace) -> LeakedTracerError:
    tracer = path[0]
    made = next((op.source for op in trace.builder.ops if tracer.own in op.results), None)
    if any(map(_is_table, path)):
        return LeakedTracerError(with_place(_TABLE.format(name, _where(path)), made))
    return LeakedTracerError(
        with_place(
            f"{name} keeps a traced value of type {tracer.type} in {_where(path)}. "
            "Python would find an array there after the call; a traced value cannot be used once "
            f"its trace has ended.\nReturn it instead:\n{RETURN_IT}",
            made,
        )
    )


_TABLE = (
    "{} sets a traced key of a dict that it does not create, kept in {}. Python would find the key "
    "there after the call. Create the dict in the function that is compiled:\n"
    "    def f(n):\n"
    "        memo = {{}}\n"
    "        def fib(n): ...                # which uses memo\n"
    "        return fib(n)"
)


def _where(path: _Own) -> str:
    """Where a value is kept: the list, the variable, the attribute."""
    words, inner = [], path[0]
    for holder in path[1:]:
        if _is_namespace(holder):
            continue  # of the next holder, whose attribute it is
        if default := _default(holder, inner):
            words.append(default)
            break
        if not (_is_traced(holder) or _is_table(holder) or _is_internal(holder)):
            words.append(_said(holder, inner))
        if isinstance(holder, CellType) or "__builtins__" in _space(holder):
            break
        inner = holder
    else:
        words.extend(_local(path))
    return ", in ".join(words)


def _is_internal(x: Any) -> bool:
    """Whether a holder is an object of ours, which the user does not know."""
    return not isinstance(x, type) and type(x).__module__.partition(".")[0] == "autojit"


def _default(holder: Any, inner: Any) -> str | None:
    """A default argument, which Python creates once for all calls of a function."""
    for f in gc.get_referrers(holder) if isinstance(holder, (tuple, dict)) else ():
        if not isinstance(f, FunctionType):
            continue
        parameters = inspect.signature(f, follow_wrapped=False).parameters.items()
        if holder is f.__defaults__ or holder is f.__kwdefaults__:
            name = next((n for n, p in parameters if p.default is inner), None)
            if name is not None:
                return (
                    f"the default of the argument `{name}`, which Python makes once, for all calls"
                )
    return None


def _is_namespace(x: Any) -> bool:
    if not isinstance(x, dict) or "__builtins__" in x:
        return False
    return any(getattr(r, "__dict__", None) is x for r in gc.get_referrers(x))


def _said(holder: Any, inner: Any) -> str:
    kind = type(holder).__name__
    if isinstance(holder, CellType):
        return f"the variable `{_variable(holder)}` of an enclosing function"
    if isinstance(holder, dict):
        key = next((k for k, v in holder.items() if v is inner), None)
        return f"the global variable `{key}`" if "__builtins__" in holder else f"a dict, at {key!r}"
    if kind == "_lru_cache_wrapper":
        return f"the cache of `{holder.__name__}`"
    name = _attribute(holder, inner)
    return f"the attribute `{name}` of a {kind}" if name else f"a {kind}"


def _space(x: Any) -> dict[str, Any]:
    return x if isinstance(x, dict) else {}


def _attribute(holder: Any, inner: Any) -> str | None:
    space = getattr(holder, "__dict__", {})
    slots = [name for kind in type(holder).__mro__ for name in getattr(kind, "__slots__", ())]
    found = [*space.items(), *((n, getattr(holder, n, None)) for n in slots)]
    return next((name for name, value in found if value is inner), None)


def _variable(cell: CellType) -> str:
    for closure in gc.get_referrers(cell):
        for f in gc.get_referrers(closure) if isinstance(closure, tuple) else ():
            if isinstance(f, FunctionType) and f.__closure__ is closure:
                pairs = zip(f.__code__.co_freevars, f.__closure__, strict=True)
                return next(name for name, c in pairs if c is cell)
    return "?"


def _local(path: _Own) -> Iterator[str]:
    """The variable of a running function that is one of the holders."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        is_users = not is_internal(frame.f_code.co_filename)
        for name, value in frame.f_locals.items() if is_users else ():
            if any(value is x for x in path):
                yield f"the variable `{name}` of {frame.f_code.co_name}"
                return
        frame = frame.f_back
