"""Generators and generator expressions that nothing has run through yet."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from autojit.capture.state.heap import Heap, also_reached
from autojit.capture.state.optional import Optional
from autojit.capture.state.stretch import elements_of, made_of, note_made
from autojit.capture.values.scalars import python_number
from autojit.capture.values.table import When, answers
from autojit.errors import AutojitError, CaptureError, raised, with_place
from autojit.protocols.lifting import as_tracer, as_value
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import arguments_are_known
from autojit.tracing.source import user_source

from .elements import add

_INT = np.dtype(np.int64)


class Lazy:
    """An iterator that a loop may run through as a whole, without asking it for each element."""

    __aj_internal__ = True

    def __init__(self, plain: Iterator[Any]) -> None:
        note_made()
        self._plain = plain
        #: Whether something has begun to run through it.
        self.started = False
        #: Whether it has been run through as a whole.
        self._is_spent = False

    def collected(self) -> list[Any]:
        """All elements, as a list."""
        raise NotImplementedError

    def first(self) -> list[Any] | None:
        """The first element as a list of at most one; None if Python should be asked for it."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin to run through it; refuse if something already has begun."""
        if self.started:
            refuse_again()
        self.started = self._is_spent = True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._is_spent:
            refuse_again()
        self.started = True
        found = next(self._plain)
        return refuse_again() if type(found) is Perhaps else found


def refuse_again() -> NoReturn:
    """Raise CaptureError for a generator that is asked for its elements one by one."""
    raise CaptureError(with_place(_AGAIN, user_source()))


def refusing() -> Iterator[Any]:
    """An iterator that refuses to be asked for its elements one by one."""
    yield refuse_again()


_AGAIN = (
    "The elements of this generator depend on traced values, and are fetched one at a time. "
    "Consume it once, with a loop or with a function such as sum, list or next:\n"
    "    values = list(steps(x))            # once\n"
    "    first, second = values[0], values[1]"
)


class Count:
    """``itertools.count(first, step)`` in a trace: a loop may run through it as a whole."""

    __aj_internal__ = True

    def __init__(self, first: Any, step: Any) -> None:
        self.first, self.step = first, step
        self._is_spent = False

    def spend(self) -> None:
        """Begin to run through it; how far the loop goes is known when the compiled code runs."""
        if self._is_spent:
            refuse_again()
        self._is_spent = True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._is_spent:
            refuse_again()
        found = self.first
        self.first = found + self.step
        return found


@answers(itertools.count, when=When.ALWAYS)
def count(start: Any = 0, step: Any = 1) -> Any:
    """``itertools.count``."""
    if current_trace() is None or arguments_are_known():
        return itertools.count(start, step)
    return Count(start, step)


class Pending(Lazy):
    """A generator expression; a traced value may leave out some of its elements."""

    def __init__(
        self, collected: Callable[[], list[Any]], plain: Iterator[Any], it: Any,
        made: Callable[[Any], Any], *, is_open: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(plain)
        self._collected = collected
        #: Whether it runs through a range of traced length, which may be long.
        self.is_open = is_open
        #: The iterable that it runs through, and the function that makes its elements.
        self.it, self.made = it, made

    def collected(self) -> list[Any]:
        self.begin()
        return self._collected()

    def first(self) -> list[Any]:
        return self.collected()


class Generated(Lazy):
    """A user's generator; ``push(consume)`` runs through it until ``consume`` returns True."""

    def __init__(
        self, plain: Any, push: Callable[[Callable[[Any], Any]], None], roots: Any
    ) -> None:
        super().__init__(plain)
        self._push, self._roots = push, roots

    def push(self, consume: Callable[[Any], Any]) -> None:
        """Run through it."""
        self.begin()
        self._push(consume)

    def collected(self) -> list[Any]:
        found: list[Any] = []

        def take(value: Any) -> None:
            add(found, value)

        with also_reached(found):
            self.push(take)
        return found

    def first(self) -> list[Any] | None:
        if self.started:
            return None
        mark, before = len(raised.errors or ()), Heap(self._roots)
        try:
            found = [next(self._plain)]
        except StopIteration:
            return []
        except AutojitError:  # Python cannot know what it yields
            del (raised.errors or [])[mark:]
            before.restore()
        else:
            self.started = True
            return found
        found = []

        def stop(value: Any) -> bool:
            found.append(value)
            return True

        with also_reached(found):
            self.push(stop)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


def generated(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call of a generator function."""
    return handed_on(f(*args, **kwargs), f, args, kwargs)


def handed_on(
    plain: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
    always: bool = False,
) -> Any:  # fmt: skip
    """``plain``, or in a trace a stand-in for it that runs through ``f(*args, **kwargs)``, which
    yields the same elements. With ``always``, also in a trace whose arguments are known."""
    in_trace = current_trace() is not None and (always or not arguments_are_known())
    handing_on = hooks.handing_on(f) if in_trace else None
    if handing_on is None:
        return plain
    named = kwargs or {}

    def push(consume: Callable[[Any], Any]) -> None:
        handing_on(*args, **named, __aj_consume__=consume)

    return Generated(plain, push, (f, args, named))


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
