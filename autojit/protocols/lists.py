"""Lists of traced numbers as arguments of NumPy's functions: ``np.sum([x, y])``.

NumPy converts a list to an array before dispatch, so dispatch never sees the items. While any
thread traces, the functions that autojit covers, in ``numpy`` and ``numpy.linalg``, are replaced by
wrappers (see ``listed``) that make traced arrays of such lists. Calls without lists pass straight
through.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare, is_traced
from autojit.tracing.hooks import hooks

F = TypeVar("F", bound=Callable[..., Any])

LISTS = frozenset({list, tuple})


def as_arrays(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments in which nested lists with traced values have become arrays."""
    for x in args:
        if type(x) in LISTS:
            return tuple(map(_as_array, args))
    return args


def all_as_arrays(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same with keywords; ``out`` stays a tuple."""
    if kwargs:
        kwargs = {name: x if name == "out" else _as_array(x) for name, x in kwargs.items()}
    return as_arrays(args), kwargs


def _as_array(x: Any) -> Any:
    if type(x) not in LISTS or not is_traced(x):
        return x
    return hooks.stack_nested(bare(x))


def takes_arrays(*tuples: str) -> Callable[[F], F]:
    """Wrap a function that NumPy's dispatch does not reach, so that it gets the arguments that a
    function of NumPy's would: tracers in place of arrays that were written to, and arrays in place
    of lists of traced numbers. Arguments that are named here stay tuples.
    """

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        names = () if any_number else tuple(p.name for p in parameters)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if current_trace() is None:
                return function(*args, **kwargs)
            given = dict(zip(names, bare(args), strict=False)) | bare(kwargs)
            arrays = {n: x if n in tuples else _as_array(x) for n, x in given.items()}
            return function(*as_arrays(bare(args[len(names) :])), **arrays)

        return cast(F, call)

    return decorate
