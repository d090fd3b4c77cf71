"""The table of SciPy's functions that autojit answers for on traced arrays.

Each has SciPy's name and arguments.  Where nothing is traced, SciPy's own function is called,
which is imported then.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

from autojit.protocols.lists import takes_arrays
from autojit.staging.bodies import check_function
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import is_traced

F = TypeVar("F", bound=Callable[..., Any])

#: SciPy's public name -> what answers for it, with the same signature.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def answers(
    name: str, *, tuples: tuple[str, ...] = (), closures: bool = False
) -> Callable[[F], F]:
    """Register what answers for a function of SciPy, such as ``"scipy.linalg.expm"``.

    The function is called only where an argument is traced.  It is given traced arrays in the
    place of arrays that were written to and of lists of traced numbers; the arguments named in
    ``tuples`` stay as they are.  With ``closures`` it is called too where
    a function among the arguments returns something traced, because it closes over that.
    """

    def register(function: F) -> F:
        traced = takes_arrays(*tuples)(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_traced((args, kwargs)):
                return traced(*args, **kwargs)
            if closures and current_trace() is not None:
                with contextlib.suppress(_TracedResultError):
                    return original(name)(*_guarded(args), **_guarded(kwargs))
                return traced(*args, **kwargs)
            return original(name)(*args, **kwargs)

        FUNCTIONS[name] = call
        return cast(F, call)

    return register


def answers_class(name: str) -> Callable[[type], type]:
    """Register a class that stands for one of SciPy's: it takes traced arrays and plain ones."""

    def register(kind: type) -> type:
        FUNCTIONS[name] = kind
        return kind

    return register


class _TracedResultError(Exception):
    """A function that was given known arguments returns something traced."""


def _guarded(x: Any) -> Any:
    """Functions, also in tuples, lists and dicts, that raise where their results are traced."""
    if type(x) in (tuple, list):
        return type(x)(_guarded(item) for item in x)
    if type(x) is dict:
        return {key: _guarded(item) for key, item in x.items()}
    if not callable(x) or isinstance(x, type) or hasattr(x, "matvec"):
        return x
    function = check_function(x, "argument", "a function of SciPy")

    @functools.wraps(x)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if is_traced(result):
            raise _TracedResultError
        return result

    return call


@functools.cache
def original(name: str) -> Callable[..., Any]:
    """SciPy's function of a public name."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
