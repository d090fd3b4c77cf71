"""Functions that run as they are written, since they have no twin, and that ask for types.

``isinstance``, ``x.__class__`` and ``match`` see the types of Python in any code of the user's (see
``calls.type_queries``). ``type(x)`` and ``hasattr(x, name)`` do not in a function without a twin:
it would take another branch than on a number, without an error. A call of such a function with a
traced argument is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from autojit.errors import CaptureError, with_place
from autojit.session.frames import is_internal
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.source import user_source

#: The names by which code asks for a type, and gets the one of the object.
_QUERIES = ("hasattr", "type")
#: The most functions that are read because the first one may call them.
_MOST = 200
#: The query in each function that has been read.
_known: WeakKeyDictionary[FunctionType, str | None] = WeakKeyDictionary()

_REFUSED = (
    "{name}, or a function that it calls, calls {query}(), and Python would answer for the object "
    "that stands for a traced value. The answers of autojit need the source of {name}, but "
    "{reason}. Write it as an ordinary function, in a file or a cell of a notebook:\n"
    "    from helpers import {name}"
)


def guarded(
    function: FunctionType, reason: str, is_users: Callable[[FunctionType], bool]
) -> Callable[..., Any]:
    """A function without a twin, for a given reason. If it, or a function that it may call, asks
    for types, it raises CaptureError for traced arguments."""
    query = query_in(getattr(function, "__wrapped__", function), is_users)
    if query is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            name = function.__name__ if function.__name__.isidentifier() else "f"
            words = _REFUSED.format(name=name, query=query, reason=reason)
            raise CaptureError(with_place(words, user_source()))
        return function(*args, **kwargs)

    return call


def query_in(function: FunctionType, is_users: Callable[[FunctionType], bool]) -> str | None:
    """``type`` or ``hasattr`` if a function, or one that it may call, calls that; else None."""
    if function not in _known:
        _known[function] = next(_queries(function, is_users), None)
    return _known[function]


def _queries(function: FunctionType, is_users: Callable[[FunctionType], bool]) -> Iterator[str]:
    waiting, seen = [function], {id(function.__code__)}
    while waiting and len(seen) < _MOST:
        f = waiting.pop()
        names = {name for code in _codes(f.__code__) for name in code.co_names}
        yield from (query for query in _QUERIES if query in names)
        for called in _called(f, names):
            if id(called.__code__) not in seen and is_users(called):
                seen.add(id(called.__code__))
                waiting.append(called)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _called(function: FunctionType, names: set[str]) -> Iterator[FunctionType]:
    """The functions that a function may call by its globals, modules and variables."""
    held = [function.__globals__.get(name) for name in names]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not set yet
            continue
    for value in held:
        if isinstance(value, ModuleType) and not is_internal(getattr(value, "__file__", "") or ""):
            yield from _functions(vars(value).get(name) for name in names)
        elif isinstance(value, type):
            own = vars(value).items()
            yield from _functions(x for name, x in own if name in names or name[:2] == "__")
        else:
            yield from _functions([value])


def _functions(values: Iterable[Any]) -> Iterator[FunctionType]:
    return (x for x in values if type(x) is FunctionType)
