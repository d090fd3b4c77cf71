"""IPython: any cell may change values that compiled functions have read.

So compiled functions look again at their first call in each cell. A function may also be defined
anew under its name, or be loaded anew from its file, while code compiled from it stays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

from autojit.errors import StaleValueWarning, warn_at
from autojit.ir.core.values import notebook
from autojit.staging.trace_function import Traced
from autojit.staging.transformed import Transformed
from autojit.tracing.source import user_source

from .compiled import CompiledFunction
from .outside import Outside, function_of

_known: WeakSet[Any] = WeakSet()
#: The shells that call `_again` before each cell: one, unless an application starts another.
_shells: list[Any] = []


def look_at_each_cell(f: CompiledFunction[Any, Any]) -> CompiledFunction[Any, Any]:
    """The same function, which checks for outside changes at its first call in each cell."""
    shell = notebook()
    if shell is not None:
        if not any(each is shell for each in _shells):
            shell.events.register("pre_run_cell", _again)
            _shells.append(shell)
        _known.add(f)
        f.outside = OfCell
    return f


def _again(*_: Any) -> None:
    for f in tuple(_known):
        f.look_again()


class OfCell(Outside):
    """The outside values of a function that is used in IPython, and the function's own code."""

    def settle(self) -> bool:
        super().settle()
        own = function_of(self.function)
        #: The code that was traced, or that the last warning was about.
        self._seen = None if own is None else _code(own)
        return self._seen is not None

    def check(self, traced: Traced) -> None:
        """Warn if the function was redefined, or if outside values have changed."""
        own = function_of(self.function)
        now = None if own is None else _definition(own)
        if now is None or _code(now[0]) == self._seen:
            super().check(traced)
            return
        self._seen = _code(now[0])
        warn_at(user_source(), StaleValueWarning, _words(self.function, *now))


def _code(function: FunctionType) -> CodeType:
    """The code without its position, so that a cell that is run again unchanged compares equal."""
    return function.__code__.replace(co_firstlineno=1)


def _definition(own: FunctionType) -> tuple[FunctionType, Any]:
    """The function that its module now has under the name of ``own``, and the object found there;
    ``own`` itself if there is none, or nothing that a user would compile."""
    found: Any = getattr(sys.modules.get(own.__module__), own.__name__, None)
    now = function_of(found)
    if now is None or now.__qualname__ != own.__qualname__:
        return own, own
    if own.__module__ == "__main__" and not isinstance(found, FunctionType):
        return own, own  # an earlier one that something else holds
    return now, found


def _words(function: Callable[..., Any], now: FunctionType, found: Any) -> str:
    name = now.__name__
    made = f"jit({function.written() if isinstance(function, Transformed) else name})"
    fix = f"f = {made}" if found is now else f"from {now.__module__} import {name}"
    return (
        f"`{name}` has been redefined, but this was compiled from the old function. Compile the "
        "new one:\n"
        f"    {fix}"
    )
