"""Functions that need care with traced arguments, by their identity."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class When(enum.Enum):
    """The calls of a function that its answer handles; the function itself handles the others."""

    #: Calls with a traced argument.
    TRACED = enum.auto()
    #: These, calls with one argument alone, whose elements count, and calls with keywords.
    ELEMENTS = enum.auto()
    #: All calls.
    ALWAYS = enum.auto()


#: A function, which is held so that its id stays its own; its answer; the calls that this handles;
#: and whether its first argument is a function that calls functions.
Answer = tuple[Any, Callable[..., Any], When, bool]

#: Answers by the ids of the functions.
ANSWERS: dict[int, Answer] = {}
#: Answers to methods, by the type of the object and the name.
METHODS: dict[tuple[type, str], Callable[..., Any]] = {}


def answers(*functions: Any, when: When = When.TRACED, calls: bool = False) -> Callable[[F], F]:
    """Register the answer to functions; with ``calls`` it gets ``call(f, *args)`` first."""

    def register(answer: F) -> F:
        for f in functions:
            ANSWERS[id(f)] = (f, answer, when, calls)
        return answer

    return register


def answers_method(kind: type, *names: str) -> Callable[[F], F]:
    """Register the answer to methods of a type; it gets ``call`` and the object."""

    def register(answer: F) -> F:
        for name in names:
            METHODS[kind, name] = answer
        return answer

    return register
