"""The table of SciPy's functions that autojit answers for on traced arrays.

Each has SciPy's name and arguments.  Where nothing is traced, SciPy's own function is called,
which is imported then.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

from autojit.errors import UncoveredFunctionError
from autojit.protocols.lists import takes_arrays
from autojit.protocols.way_out import offer
from autojit.tracing.created_arrays import is_traced

F = TypeVar("F", bound=Callable[..., Any])

#: SciPy's public name -> what answers for it, with the same signature.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def answers(name: str, *, tuples: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Register what answers for a function of SciPy, such as ``"scipy.linalg.expm"``.

    The function is called only where an argument is traced.  It is given traced arrays in the
    place of arrays that were written to and of lists of traced numbers; the arguments named in
    ``tuples`` stay as they are.
    """

    def register(function: F) -> F:
        traced = takes_arrays(*tuples)(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_traced((args, kwargs)):
                try:
                    return traced(*args, **kwargs)
                except UncoveredFunctionError as error:
                    raise offer(error, original(name), args, kwargs) from None
            return original(name)(*args, **kwargs)

        FUNCTIONS[name] = call
        return cast(F, call)

    return register


@functools.cache
def original(name: str) -> Callable[..., Any]:
    """SciPy's function of a public name."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
