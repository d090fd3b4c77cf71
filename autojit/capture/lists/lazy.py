"""Generator expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.rewriting.plain import ABSENT
from autojit.capture.state.optional import Optional
from autojit.capture.state.stretch import elements_of, made_of
from autojit.capture.values.scalars import python_number
from autojit.protocols.lifting import as_tracer, as_value
from autojit.tracing.hooks import hooks

from . import library
from .resumable import ENDED, Lazy, generator, refuse_again

_INT = np.dtype(np.int64)


class Pending(Lazy):
    """A generator expression; a traced value may leave out some of its elements."""

    #: Constructs carry what it refers to.
    __aj_object__ = True

    def __init__(
        self, collected: Callable[[], list[Any]], it: Any, made: Callable[[Any], Any], *,
        is_open: bool = False,
    ) -> None:  # fmt: skip
        self._collected = collected
        #: Whether it runs through a range of traced length, which may be long.
        self.is_open = is_open
        #: The iterable that it runs through, and the function that makes its elements.
        self.it, self.made = it, made
        #: The same elements one by one; constructs carry its state.
        self.steps = generator(library.picked, (it, self._element), {})

    @property
    def started(self) -> bool:
        return self.steps.started

    def begin(self) -> None:
        """Begin to run through it as a whole; refuse if something already has begun."""
        if self.started:
            refuse_again()
        self.steps.place = ENDED

    def collected(self) -> list[Any]:
        if self.started:
            return self.steps.collected()
        self.begin()
        return self._collected()

    def _element(self, given: Any) -> tuple[Any, Any]:
        """The element that is made from one of the iterable, and whether there is one."""
        found = self.made([given])
        made = [x for x in found if x is not ABSENT]
        if len(made) > 1:
            refuse_again()
        if not made:
            return False, None
        (x,) = made
        return (x.held, x.value) if type(x) is Perhaps else (True, x)

    def next(self, *default: Any) -> Any:
        return self.steps.next(*default)

    def __next__(self) -> Any:
        return next(self.steps)


class Perhaps(NamedTuple):
    """An element that a comprehension has only if a condition holds."""

    held: Any
    value: Any


def perhaps(held: Any, value: Callable[[], Any]) -> Perhaps:
    """An element that exists only if a traced condition holds."""
    found = hooks.choose(held, value, lambda: None)
    return Perhaps(held, found.__aj_value__ if isinstance(found, Optional) else found)


def packed(found: list[Any]) -> list[Any]:
    """A list without the elements that are left out."""
    if not any(type(x) is Perhaps for x in found):
        return found
    values = [x.value if type(x) is Perhaps else x for x in found]
    held = [x.held if type(x) is Perhaps else np.True_ for x in found]
    s = made_of(values, elements_of(values))
    flags = hooks.stack_nested([as_tracer(h) for h in held])
    counted = np.cumsum(flags.astype(_INT))
    places = np.searchsorted(counted, np.arange(1, s.room + 1))
    count = python_number(as_value(counted[len(held) - 1]), int)
    return [s.picked(as_value(places, _INT), count, len(held))]
