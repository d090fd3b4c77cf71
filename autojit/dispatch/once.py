"""Warnings about actions that a compiled function does once, and Python at each call."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from autojit.errors import FrozenStateWarning, RepeatedJitWarning, warn_at
from autojit.ir.core.program import Source
from autojit.staging.signatures import written
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source

# -- outside variables that a function sets ---------------------------------------------


@lru_cache(maxsize=1024)
def _stores(code: CodeType) -> tuple[tuple[str, bool, int], ...]:
    """The names of other scopes that a function's code sets, whether global, and the lines."""
    found: dict[str, tuple[str, bool, int]] = {}
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.positions.lineno or line if step.positions else line
        name = step.argval
        if step.opname == "STORE_GLOBAL" or (
            step.opname == "STORE_DEREF" and name in code.co_freevars
        ):
            found.setdefault(name, (name, step.opname == "STORE_GLOBAL", line))
    return tuple(found.values())


@contextmanager
def watching_state(function: Callable[..., Any]) -> Iterator[None]:
    """Warn of outside variables that a function sets while it is traced in this block."""
    stores = _stores(function.__code__) if isinstance(function, FunctionType) else ()
    if not stores or current_trace() is not None:
        yield
        return
    assert isinstance(function, FunctionType)
    before = [_value(function, name, is_global) for name, is_global, _ in stores]
    yield
    for (name, is_global, line), was in zip(stores, before, strict=True):
        now = _value(function, name, is_global)
        if now is not was:
            kind = "global variable" if is_global else "outer variable"
            code = function.__code__
            warn_at(
                Source(code.co_filename, line, code.co_name),
                FrozenStateWarning,
                f"{function.__name__} sets the {kind} `{name}` (it was {_shown(was)}, is "
                f"{_shown(now)}). That happens once, while the function is traced: later calls "
                "neither set nor read it. Make it an argument and a result:\n"
                + f"    y, {name} = jit(f)(x, {name})".ljust(39)
                + f"# in f: return y, {name}",
            )


_MISSING = object()


def _value(function: FunctionType, name: str, is_global: bool) -> Any:
    if is_global:
        return function.__globals__.get(name, _MISSING)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return cells[name].cell_contents
    except ValueError:  # not set yet
        return _MISSING


def _shown(value: Any) -> str:
    return "not there" if value is _MISSING else f"{value!r:.40}"


# -- one function that is compiled again and again -------------------------------------

#: The number of times that one line may trace a function anew before a warning. The warning repeats
#: each time the number has doubled.
OFTEN = 10
_MOST = 1024
#: The counts, by the function's code, its closure, the types of its arguments and the line.
_traced: dict[Any, int] = {}


def count_trace(function: Callable[..., Any], types: Any) -> None:
    """Note the first trace of a compiled function; warn if calls of ``jit`` repeat it."""
    text = written(function).replace("<lambda>", "f")
    function = inspect.unwrap(function)  # of grad(f), f
    if not isinstance(function, FunctionType) or current_trace() is not None:
        return
    place = user_source()
    if place is None or place.file.startswith("<"):
        return
    held = [id(_content(cell)) for cell in function.__closure__ or ()]
    settings = [id(x) for x in function.__defaults__ or ()]
    key = (function.__code__, id(function.__globals__), *held, *settings, types, place)
    count = _traced[key] = _traced.pop(key, 0) + 1  # moved to the end
    for oldest in list(_traced)[:-_MOST]:
        _traced.pop(oldest, None)
    doublings, rest = divmod(count, OFTEN)
    if rest or doublings & (doublings - 1):
        return
    name = function.__name__
    shown = text if text.isidentifier() or "(" in text else "f"
    warn_at(
        place,
        RepeatedJitWarning,
        f"jit was called {count} times on {name}, which was traced again each time. Compile it "
        "once, and call the compiled function:\n"
        + f"    fast = jit({shown})".ljust(39)
        + "# before the loop\n"
        + "    fast(x)".ljust(39)
        + f"# in the loop, not: jit({shown})(x)",
    )


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING
