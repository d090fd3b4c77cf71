"""Functions under ``functools.lru_cache`` and ``functools.cache`` in traced code.

A traced argument cannot be the key of a cache, so the function itself is called with it. If the
arguments are known, a function that closes over variables, which may be traced, is called once in
each block: its result is kept for the trace, and not in the user's cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autojit.capture.values.scalars import any_traced
from autojit.staging import pytrees
from autojit.tracing.context import Trace, current_trace

#: The type of a function that has a cache.
CACHED: Any = type(functools.lru_cache(lambda: None))
_ABSENT = object()


def is_uncached(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function has a cache that cannot take these arguments, since one is traced."""
    if type(f) is not CACHED or current_trace() is None:
        return False
    return any_traced(pytrees.flatten((args, kwargs))[0])


def called(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any]) -> Any:
    """A call of a function that has a cache."""
    trace, function = current_trace(), f.__wrapped__
    if is_uncached(f, args, kwargs):
        return call(function, *args, **kwargs)
    if trace is None or getattr(function, "__closure__", None) is None:
        return f(*args, **kwargs)
    key = f, functools._make_key(args, kwargs, f.cache_parameters()["typed"])
    around: Trace | None = trace
    while around is not None:
        found = around.cached.get(key, _ABSENT)
        if found is not _ABSENT:
            return found
        around = around.around
    result = trace.cached[key] = call(function, *args, **kwargs)
    return result
