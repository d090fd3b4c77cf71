"""Comprehensions that run through lists whose length is a value, or leave out elements as a traced
value decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.capture.state.heap import also_reached
from autojit.capture.state.state import Access
from autojit.tracing.tracer import Tracer

from .branches import capture_branch
from .calls.lazy import Generated, Pending, Perhaps, packed
from .loop import Loop
from .loop_ops import emit
from .loops import trace_loop
from .rewriting.plain import ABSENT
from .sequences import Sequence, sequence_of

Made = Callable[[Any], Any]


def elements(made: Made, it: Any, access: Access, *, is_list: bool, is_filter: bool) -> Any:
    """What a comprehension makes of ``it``: a list, or what a generator is given as."""
    if isinstance(it, Generated) and not it.started:
        return _of_generated(made, it, access, is_list=is_list)
    sequence = sequence_of(it)
    is_counted = sequence is None or not sequence.lists
    if is_counted and not is_filter:
        return made(it)

    def collected() -> list[Any]:
        if sequence is not None and not is_counted:
            return _over(sequence, made, access)
        return packed([x for x in made(it) if x is not ABSENT])

    if is_list:
        return collected()
    plain = (x for x in made(it) if x is not ABSENT) if is_counted else iter(it)
    return Pending(collected, plain, it, made)


def _of_generated(made: Made, it: Generated, access: Access, *, is_list: bool) -> Any:
    """The same of what a generator yields."""

    def collected() -> list[Any]:
        found: list[Any] = []
        with also_reached((found, made)):
            it.push(lambda value: each(made, value, access, found.append))
        return found

    if is_list:
        return collected()
    return Pending(collected, (x for x in made(it) if x is not ABSENT), it, made)


def _over(sequence: Sequence, made: Made, access: Access) -> list[Any]:
    """The elements for a list whose length is a value."""
    found: list[Any] = []

    def step(i: Any) -> None:
        each(made, sequence.at(i), access, found.append)

    with also_reached(found):
        assert isinstance(sequence.length, Tracer)
        emit(trace_loop(Loop(step, None, sequence.length, sequence.most, access)))
    return found


def each(made: Made, given: Any, access: Access, take: Callable[[Any], Any]) -> None:
    """Hand on the elements that a comprehension makes of one."""
    for x in made([given]):
        if type(x) is Perhaps:
            capture_branch(x.held, (_nothing, lambda x=x: take(x.value)), access)
        elif x is not ABSENT:
            take(x)


def _nothing() -> None:
    """An element that is left out."""
