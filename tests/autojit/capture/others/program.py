"""A register of functions and of the arguments that each is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Program(NamedTuple):
    """A function, lists of arguments that take different ways, and the arguments to derive by."""

    function: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]
    by: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.function.__name__


PROGRAMS: list[Program] = []


def program(
    *calls: tuple[Any, ...], by: tuple[int, ...] = (0,)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function; ``by`` numbers the arguments that it is differentiated by."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function, calls, by))
        return function

    return register
