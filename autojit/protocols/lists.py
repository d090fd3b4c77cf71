"""Lists of traced numbers as arguments of NumPy's functions: ``np.sum([x, y])``.

NumPy makes an array of a list before it asks anybody, so its dispatch never sees what
is in it.  While any thread traces, the functions that autojit covers, in ``numpy`` and
``numpy.linalg``, stand behind wrappers (see ``patches``) that make traced arrays of such
lists.  Calls without lists go straight on.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from autojit.interception.name_patching import StandIn
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare, is_traced

F = TypeVar("F", bound=Callable[..., Any])

LISTS = frozenset({list, tuple})

#: Functions that are given lists of arrays, which stay lists.
_OF_ARRAYS = ("block", "select", "multi_dot", "lexsort", "piecewise")


class Listed(StandIn):
    """Stands for a function, or a ufunc and its methods."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = all_as_arrays(args, kwargs)
        return self.original(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        return Listed(found) if name in ("reduce", "accumulate", "outer") else found

    # What a ufunc is asked with isinstance, its stand-in answers.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__dict__["original"])


def as_arrays(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of which nests of lists with traced values in them have become arrays."""
    for x in args:
        if x.__class__ in LISTS:
            return tuple(map(_as_array, args))
    return args


def all_as_arrays(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same with keywords, where ``out`` stays a tuple."""
    if kwargs:
        kwargs = {name: x if name == "out" else _as_array(x) for name, x in kwargs.items()}
    return as_arrays(args), kwargs


def _as_array(x: Any) -> Any:
    if x.__class__ not in LISTS or not is_traced(x):
        return x
    from autojit.functions.joining import stack_nested

    return stack_nested(bare(x))


def takes_arrays(*tuples: str) -> Callable[[F], F]:
    """A function that NumPy's dispatch does not reach, so that it is given what one of NumPy's is:
    tracers in the place of arrays that were written to, and arrays in the place of lists of traced
    numbers.  Arguments that are named here stay tuples.
    """

    def decorate(function: F) -> F:
        names = tuple(inspect.signature(function).parameters)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if current_trace() is None:
                return function(*args, **kwargs)
            given = dict(zip(names, bare(args), strict=False)) | bare(kwargs)
            arrays = {n: x if n in tuples else _as_array(x) for n, x in given.items()}
            return function(*args[len(names) :], **arrays)

        return cast(F, call)

    return decorate


def covered(module: ModuleType) -> list[str]:
    """Names of the functions and ufuncs of a module that are given arrays."""
    from .registry import FUNCTIONS, load

    load()
    return [
        name
        for name, found in vars(module).items()
        if callable(found)
        and (isinstance(found, np.ufunc) or found in FUNCTIONS)
        and found.__name__ not in _OF_ARRAYS
    ]
