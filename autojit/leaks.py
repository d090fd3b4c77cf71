"""Traced values that outlive their trace, because the function has kept them somewhere.

Python would have kept an array.  Each traced value refers to its trace, so the number of references
to the trace says whether any is left: that is all that is looked at where none is.  Otherwise
garbage in cycles is collected, and what still lives is followed to whoever holds it.  What only
exceptions, with the frames of their tracebacks, and suspended generators hold is kept by nobody.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
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
from typing import TYPE_CHECKING, Any

from .errors import LeakedTracerError, with_place

if TYPE_CHECKING:
    from .tracing import Trace

#: What holds values until somebody lets go of an exception, or of an iterator.
_PASSING = (
    FrameType, TracebackType, BaseException, GeneratorType, CoroutineType, AsyncGeneratorType,
)  # fmt: skip
#: How many steps a holder is followed.
_FAR = 8


class _Own(list[Any]):
    """A list of the search, which itself refers to what is looked for."""


def check_nothing_left(trace: Trace, known: int, name: str) -> None:
    """Raise LeakedTracerError if values of an ended trace are kept; ``known`` is the number of
    references to the trace without any."""
    if _is_free_after(1, trace, known) or _is_free_after(2, trace, known):
        return
    for tracer in _living(trace):
        holders = _holders(tracer)
        if holders:
            raise _error(name, tracer, holders, trace)


def _is_free_after(generation: int, trace: Trace, known: int) -> bool:
    gc.collect(generation)
    return sys.getrefcount(trace) - 2 <= known  # two are the parameters of these functions


def _living(trace: Trace) -> _Own:
    from .tracer import Tracer

    return _Own(x for x in gc.get_referrers(trace) if isinstance(x, Tracer))


def _holders(tracer: Any) -> _Own | None:
    """Who holds a tracer, who holds that, and so on, to a module, a class or whoever is held by
    what is not seen, such as a running function; None where nobody keeps it."""
    level, seen = _Own([_Own([tracer])]), {id(tracer)}
    for _ in range(_FAR):
        above = _Own()
        for path in level:
            referrers = _referrers(path[-1])
            if not referrers and _things(path):
                return _things(path)
            for x in referrers:
                if _is_root(x):
                    return _things(_Own([*path, x]))
                if id(x) not in seen and not isinstance(x, _PASSING):
                    seen.add(id(x))
                    above.append(_Own([*path, x]))
        level = above
    return _things(level[0]) if level else None


def _referrers(x: Any) -> _Own:
    found = gc.get_referrers(x)
    ours = globals()
    return _Own(
        r for r in found
        if not isinstance(r, _Own) and not (isinstance(r, FrameType) and r.f_globals is ours)
    )  # fmt: skip


def _is_root(x: Any) -> bool:
    return isinstance(x, (ModuleType, type)) or (isinstance(x, dict) and "__builtins__" in x)


def _things(path: _Own) -> _Own:
    """The holders that are no tracers: views hold what they are views of."""
    from .fresh import TracedArray
    from .tracer import Tracer

    arrays = {id(x) for x in path if type(x) is TracedArray}
    kept = _Own()
    for x in path:
        inside = isinstance(x, dict) and any(id(vars_of) in arrays for vars_of in _owners(x))
        if not isinstance(x, (Tracer, TracedArray)) and not inside:
            kept.append(x)
    return kept


def _owners(x: dict[Any, Any]) -> Iterator[Any]:
    """Objects of which this is the namespace."""
    return (r for r in _referrers(x) if getattr(r, "__dict__", None) is x)


# -- words ------------------------------------------------------------------------------


def _error(name: str, tracer: Any, holders: _Own, trace: Trace) -> LeakedTracerError:
    from .tracing import RETURN_IT

    value = tracer.own
    made = next((op.source for op in trace.builder.ops if value in op.results), None)
    return LeakedTracerError(
        with_place(
            f"{name} keeps a traced value of type {tracer.type} in {_where(tracer, holders)}. "
            "Python would find an array there after the call; a traced value cannot be used once "
            f"its trace has ended.\nReturn it instead:\n{RETURN_IT}",
            made,
        )
    )


def _where(tracer: Any, holders: Sequence[Any]) -> str:
    """Where something is kept: the list, the variable, the attribute."""
    words, inner = [], tracer
    for holder in holders:
        said = _said(holder, inner)
        if said is not None:
            words.append(said)
        if isinstance(holder, (CellType, ModuleType)) or "__builtins__" in _space(holder):
            return ", in ".join(words)
        inner = holder
    local = _local(holders)
    return ", in ".join([*words, local] if local else words)


def _said(holder: Any, inner: Any) -> str | None:
    if isinstance(holder, CellType):
        return f"the variable `{_variable(holder)}` of an enclosing function"
    if isinstance(holder, dict):
        key = next((k for k, v in holder.items() if v is inner), None)
        if "__builtins__" in holder:
            return f"the global variable `{key}`"
        owner = next(_owners(holder), None)
        return None if owner is not None else f"a dict, at {key!r:.40}"
    kind = type(holder).__name__
    if kind == "_lru_cache_wrapper":
        return f"the cache of `{holder.__name__}`"
    if isinstance(holder, (list, tuple, set, frozenset, FunctionType, ModuleType, type)):
        return f"a {kind}" if not isinstance(holder, (ModuleType, type)) else None
    name = _attribute(holder, inner)
    return f"the attribute `{name}` of a {kind}" if name else f"a {kind}"


def _space(x: Any) -> dict[str, Any]:
    return x if isinstance(x, dict) else {}


def _attribute(holder: Any, inner: Any) -> str | None:
    space = getattr(holder, "__dict__", {})
    slots = [name for kind in type(holder).__mro__ for name in getattr(kind, "__slots__", ())]
    found = [*space.items(), *((n, getattr(holder, n, None)) for n in slots)]
    return next((name for name, value in found if value is inner or value is space), None)


def _variable(cell: CellType) -> str:
    for closure in _referrers(cell):
        for f in _referrers(closure) if isinstance(closure, tuple) else ():
            if isinstance(f, FunctionType) and f.__closure__ is closure:
                number = next(i for i, c in enumerate(closure) if c is cell)
                return f.__code__.co_freevars[number]
    return "?"


def _local(holders: Sequence[Any]) -> str | None:
    """The variable of a running function that is one of the holders."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        for name, value in frame.f_locals.items() if frame.f_globals is not globals() else ():
            if any(value is x for x in holders):
                return f"the variable `{name}` of {frame.f_code.co_name}"
        frame = frame.f_back
    return None
