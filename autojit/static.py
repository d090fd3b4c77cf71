"""Static arguments: settings of a compiled function, each value of which is compiled by itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .errors import UnhashableStaticError

#: The static arguments of a call, by position or name.
Static = tuple[tuple[Any, Any], ...]


class StaticArguments:
    """Which arguments of a function are static."""

    def __init__(
        self, function: Callable[..., Any], numbers: Sequence[int], names: Sequence[str]
    ) -> None:
        self.function = function
        self.given = tuple(numbers)
        self.numbers = _numbers_of(function, names)
        self.names = set(names) | _names_of(function, numbers)

    def __bool__(self) -> bool:
        return bool(self.given or self.names)

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Static, Any]:
        """The static arguments (hashable), and the others as (positional, by name)."""
        n = len(args)
        numbers = {i % n if -n <= i < n else i for i in self.given} | self.numbers
        static: list[tuple[Any, Any]] = []
        for i in sorted(numbers):
            if i < n:
                self._check_hashable(args[i], f"argument {i}")
                static.append((i, args[i]))
        for name in sorted(self.names):
            if name in kwargs:
                self._check_hashable(kwargs[name], f"argument {name!r}")
                static.append((name, kwargs[name]))
        positional = tuple(None if i in numbers else a for i, a in enumerate(args))
        by_name = {k: v for k, v in sorted(kwargs.items()) if k not in self.names}
        return tuple(static), (positional, by_name)

    def _check_hashable(self, value: Any, what: str) -> None:
        try:
            hash(value)
        except TypeError:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise UnhashableStaticError(
                f"{what} of {name} is static, so it must be hashable; "
                f"got {value!r:.60} of type {type(value).__name__}.\n"
                "Pass a tuple for a list, a frozenset for a set, a frozen dataclass for a dict, "
                "or leave the argument traced if it is an array:\n"
                f"    f({_hashable_form(value)})"
            ) from None


def together(static: Static, dynamic: Any) -> tuple[list[Any], dict[str, Any]]:
    """All arguments in their places again: (positional, by name)."""
    positional, by_name = list(dynamic[0]), dict(dynamic[1])
    for where, value in static:
        if isinstance(where, int):
            positional[where] = value
        else:
            by_name[where] = value
    return positional, by_name


def exact(static: Static) -> Any:
    """A key of static arguments: 1 and True are equal, and not the same setting."""
    return static, tuple(type(value) for _, value in static)


def _hashable_form(value: Any) -> str:
    if isinstance(value, list):
        return f"{tuple(value)!r:.60}"
    return "..., " + f"frozenset({value!r:.40})" if isinstance(value, set) else "...)"[:-1]


@functools.lru_cache(maxsize=512)
def _parameters(f: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return ()


def _names_of(f: Callable[..., Any], numbers: Sequence[int]) -> set[str]:
    if not numbers:
        return set()
    names = _parameters(f)
    return {names[i] for i in numbers if -len(names) <= i < len(names)}


def _numbers_of(f: Callable[..., Any], names: Sequence[str]) -> set[int]:
    return {i for i, name in enumerate(_parameters(f)) if name in names} if names else set()
