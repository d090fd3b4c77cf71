"""Functions that need care with traced arguments, by their identity."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class When(enum.Enum):
    """For which calls of a function its answer is asked; for others, the function itself."""

    #: Where an argument is traced.
    TRACED = enum.auto()
    #: The same, and where there is one argument alone, whose elements count, or keywords.
    ELEMENTS = enum.auto()
    #: Always.
    ALWAYS = enum.auto()


#: A function, which is held so that its id stays its own; what answers for it, when, and whether
#: that is given a function that calls functions as its first argument.
Answer = tuple[Any, Callable[..., Any], When, bool]

#: By the ids of the functions.
ANSWERS: dict[int, Answer] = {}
#: Methods, by the type of what they belong to and by their names.
METHODS: dict[tuple[type, str], Callable[..., Any]] = {}


def answers(*functions: Any, when: When = When.TRACED, calls: bool = False) -> Callable[[F], F]:
    """Register what answers for functions; with ``calls`` it is given ``call(f, *args)`` first."""

    def register(answer: F) -> F:
        for f in functions:
            ANSWERS[id(f)] = (f, answer, when, calls)
        return answer

    return register


def answers_method(kind: type, *names: str) -> Callable[[F], F]:
    """Register what answers for methods of a type, given ``call`` and the object."""

    def register(answer: F) -> F:
        for name in names:
            METHODS[kind, name] = answer
        return answer

    return register
