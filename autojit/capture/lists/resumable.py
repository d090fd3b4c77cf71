"""Generators that are left at a ``yield`` and continued there.

A generator is an object of the trace, as an object of a user's class is: its attributes are the
variables that are read later, the loops around the present place, and the place itself. Branches
and loops carry them. Where a traced condition decides the place, ``next`` is a branch on a code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any, NoReturn

import numpy as np

from autojit.capture.rewriting.callees import is_users
from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.rewriting.twins import CLOSED_GENERATOR
from autojit.capture.state.heap import also_reached
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.one_of import OneOf, alternatives, resolved
from autojit.capture.state.optional import Optional
from autojit.capture.state.stretch import note_made
from autojit.capture.values.stopping import as_it_leaves, of_consumer, of_generator
from autojit.capture.values.table import When, answers
from autojit.errors import CaptureError, with_place
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import arguments_are_known
from autojit.tracing.running.as_written import answering, asks_below
from autojit.tracing.running.asked import is_iterator, is_lost, note_asked
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from . import library
from .elements import add

#: The place of a generator that nothing has asked for an element; of one that is at its end; and of
#: one that a loop may have left anywhere, because it called the loop's body with each element.
START, ENDED, PASSED = "its beginning", "its end", "a place in a loop"


class Lazy:
    """An iterator that a loop may run through as a whole, without asking it for each element."""

    __aj_internal__ = True

    @property
    def started(self) -> bool:
        """Whether something has begun to run through it."""
        raise NotImplementedError

    def collected(self) -> list[Any]:
        """All elements, as a list."""
        raise NotImplementedError

    def next(self, *default: Any) -> Any:
        """``next(self, *default)``."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError


class generator(Lazy):
    """A generator of a function; ``place`` is the number of the ``yield`` at which it is, as text,
    or one of the places above."""

    #: Constructs carry its attributes, as those of an object of a user's class.
    __aj_object__ = True

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The type that Python's type tests see."""
        return GeneratorType

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        refusal: Callable[[], NoReturn] | None = None,
    ) -> None:  # fmt: skip
        note_made()
        self.function = function
        #: Raises the error for a function of Python's that asks for its elements one by one.
        self.refusal = refusal or refuse_again
        #: The arguments, until it begins.
        self.given: Any = args, tuple(kwargs.items())
        self.place: Any = START
        #: Whether nobody else has it: a loop has made it of a dict or an object.
        self.is_alone = False
        #: The element at the present place, and the value that the function has returned.
        self.value: Any = UNBOUND
        self.result: Any = UNBOUND
        for name in hooks.variables(function):
            setattr(self, name, UNBOUND)

    @property
    def started(self) -> bool:
        return self.place is not START

    def alone(self) -> generator:
        """The same generator, which nobody but a loop has."""
        self.is_alone = True
        return self

    # -- one element after another

    def advance(self, sent: Any = None) -> Any:
        """Go to the next ``yield``, whose value is then the present one; return whether there is
        none, which may be traced."""
        with also_reached(self):
            resolved([self.place], lambda place: self._continue(place, sent))
        return self.has_ended()

    def _continue(self, place: Any, sent: Any) -> None:
        if place == PASSED or is_lost(self):
            refuse_again()
        if place == ENDED:
            return
        if sent is not None:
            self._check_sent(place, sent)
        args, kwargs = self.take() if place == START else ((), ())
        self.place, self.value = ENDED, UNBOUND  # holds if it raises an exception
        hooks.step(self, place, sent, args, dict(kwargs))

    def take(self) -> Any:
        """The arguments of the function, which begins now."""
        given, self.given = bound(self.given), UNBOUND
        return given

    def _check_sent(self, place: Any, sent: Any) -> None:
        """Raise Python's error for a value other than None that cannot be sent to it."""
        if self.function.__module__ == library.__name__:
            error: Exception = AttributeError("an iterator has no attribute 'send'")
        elif place == START:
            error = TypeError("can't send non-None value to a just-started generator")
        else:
            return
        if type(sent) is not Optional:
            raise error
        hooks.fail_where(np.logical_not(sent.__aj_is_none__()), error)

    def has_ended(self) -> Any:
        """Whether it is at its end."""
        return self.place == ENDED

    def current(self) -> Any:
        """The element at the present place."""
        return bound(self.value)

    def returned(self) -> Any:
        """The value that the function has returned, at its end."""
        found = bound(self.result)
        return None if found is UNBOUND else found

    def next(self, *default: Any) -> Any:
        return self._answered(self.advance(), default)

    def _answered(self, ended: Any, default: tuple[Any, ...]) -> Any:
        if isinstance(ended, Tracer):
            if default:
                return hooks.choose(ended, lambda: default[0], self.current)
            hooks.fail_where(ended, as_it_leaves(self._stop()))
        elif ended:
            if default:
                return default[0]
            raise self._stop()
        return self.current()

    def _stop(self) -> StopIteration:
        found = self.returned()
        return StopIteration() if found is None else StopIteration(found)

    def __next__(self) -> Any:
        ended = self.advance()
        if isinstance(ended, Tracer):
            self.refusal()
        return self._answered(ended, ())

    def send(self, value: Any) -> Any:
        """``generator.send(value)``."""
        return self._answered(self.advance(value), ())

    def close(self) -> None:
        """``generator.close()``; no ``finally`` is around a ``yield`` of such a generator."""
        self.place = ENDED

    def throw(self, *error: Any) -> Any:
        """Raise CaptureError for ``generator.throw``."""
        raise CaptureError(with_place(_THROW, user_source()))

    # -- as a whole

    def push(self, consume: Callable[[Any], Any], *, stops: bool = False) -> None:
        """Call ``consume`` with each element, until it returns True. With ``stops`` it may do so,
        and somebody may ask for more elements then."""
        if is_lost(self):
            refuse_again()
        handing_on = hooks.handing_on(self.function) if self.place is START else None
        if handing_on is None or stops:
            hooks.called(library.drained, (self, consume), {})
            return
        args, kwargs = self.take()
        self.place, taken = PASSED, of_consumer(consume)
        with also_reached(self):
            of_generator(lambda: handing_on(*args, **dict(kwargs), __aj_consume__=taken))

    def collected(self) -> list[Any]:
        found: list[Any] = []

        def take(value: Any) -> None:
            add(found, value)

        with also_reached(found):
            self.push(take)
        self.place = ENDED
        return found


def bound(x: Any) -> Any:
    """A value that is bound where it is read, whatever its flag says."""
    return x.value if type(x) is Maybe else x


def refuse_again() -> NoReturn:
    """Raise CaptureError for a generator that is asked for its elements one by one."""
    raise CaptureError(with_place(_AGAIN, user_source()))


def asks(x: Any) -> None:
    """Note that something of Python's asks x for its elements, if it is an iterator. Raise
    CaptureError if a loop may have left it anywhere."""
    if is_iterator(x) and not isinstance(x, Lazy):
        if is_lost(x):
            refuse_again()
        note_asked(x)


def refusing() -> Iterator[Any]:
    """An iterator that refuses to be asked for its elements one by one."""
    yield refuse_again()


_AGAIN = (
    "The elements of this iterator depend on traced values, and are fetched one at a time by a "
    "function of Python's, or after a loop over it. Consume it once, with a loop or with a "
    "function such as sum or list:\n"
    "    values = list(steps(x))            # once\n"
    "    first, second = values[0], values[1]"
)
_THROW = (
    "A generator with traced steps is given an exception by `throw`. Send it a value instead, and "
    "let it raise the exception:\n"
    "    steps.send(None)                   # not: steps.throw(ValueError())"
)


def is_generator(x: Any) -> bool:
    """Whether a value is such a generator, or one of several by a condition."""
    if type(x) is OneOf:
        return all(type(each) is generator for each in alternatives(x))
    return type(x) is generator


def in_trace() -> bool:
    """Whether values may be traced that are not known."""
    return current_trace() is not None and not arguments_are_known()


def generated(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call of a generator function."""
    plain = f(*args, **kwargs)  # raises Python's error for arguments that do not fit
    if current_trace() is None or not is_users(f):
        return plain
    if hooks.resuming(f) is not None and (in_trace() or asks_below(f, is_users)):
        return generator(f, args, kwargs, None)
    return answering(f, CLOSED_GENERATOR, is_users)(*args, **kwargs)


def handed_on(
    plain: Callable[[], Any], f: Any, args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None, *, always: bool = False,
    refusal: Callable[[], NoReturn] | None = None,
) -> Any:  # fmt: skip
    """``plain()``, or in a trace a stand-in for it that yields what ``f(*args, **kwargs)`` yields.
    With ``always``, also in a trace whose arguments are known."""
    if not (in_trace() or (always and current_trace() is not None)):
        return plain()
    return plain() if hooks.resuming(f) is None else generator(f, args, kwargs or {}, refusal)


@answers(next, when=When.ALWAYS)
def next_(iterator: Any, *default: Any) -> Any:
    """``next``."""
    asks(iterator)
    return iterator.next(*default) if isinstance(iterator, Lazy) else next(iterator, *default)


@answers(itertools.count, when=When.ALWAYS)
def count(start: Any = 0, step: Any = 1) -> Any:
    """``itertools.count``."""
    return handed_on(lambda: itertools.count(start, step), library.counted, (start, step))
