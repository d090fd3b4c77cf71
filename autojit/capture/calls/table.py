"""Functions that need care with traced arguments, by their identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Answer(NamedTuple):
    """What answers for a function, which is held so that its id stays its own.

    ``always``: also where no argument is traced; it is then given a function that calls functions.
    """

    original: Any
    answer: Callable[..., Any]
    always: bool


#: By the ids of the functions.
ANSWERS: dict[int, Answer] = {}
#: Methods, by the type of what they belong to and by their names.
METHODS: dict[tuple[type, str], Answer] = {}


def answers(*functions: Any) -> Callable[[F], F]:
    """Register what answers for functions where one of the arguments is traced itself."""

    def register(answer: F) -> F:
        for f in functions:
            ANSWERS[id(f)] = Answer(f, answer, False)
        return answer

    return register


def answers_always(*functions: Any) -> Callable[[F], F]:
    """Register what is asked for all calls of functions, with ``call(f, *args)`` as its first
    argument."""

    def register(answer: F) -> F:
        for f in functions:
            ANSWERS[id(f)] = Answer(f, answer, True)
        return answer

    return register


def answers_method(kind: type, *names: str) -> Callable[[F], F]:
    """Register what answers for methods of a type, given the object, as `answers_always`."""

    def register(answer: F) -> F:
        for name in names:
            METHODS[kind, name] = Answer(getattr(kind, name), answer, True)
        return answer

    return register
