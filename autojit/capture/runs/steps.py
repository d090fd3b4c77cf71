"""Runs of generators from one ``yield`` to the next (see `lists.resumable`)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from autojit.capture.lists.resumable import START, bound, generator
from autojit.capture.rewriting.context import Site
from autojit.capture.rewriting.plain import LEFT, UNBOUND
from autojit.capture.values.stopping import of_generator
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks

from .active import ActiveRun, runs
from .versions import nothing_for


class Step(ActiveRun):
    """A run of a generator, from its beginning or a ``yield`` to the next one, or to its end."""

    is_left = False  # no `finally` is around a `yield`

    def __init__(self, mine: generator, place: Any, sent: Any) -> None:
        super().__init__(mine.function)
        self.generator, self._sent = mine, sent
        self.skips = None if place == START else int(place)

    def run(self, args: Any, kwargs: Any) -> None:
        """Run the function on; the arguments are for its beginning."""
        mine, trace = self.generator, current_trace()
        assert trace is not None
        if self.skips is not None:
            args, kwargs = nothing_for(mine.function)
        twin, left = hooks.resuming(mine.function), trace.left
        found = of_generator(lambda: self.entered(lambda: twin(*args, **kwargs)))
        here = current_trace()  # another one if an exception is handled that the run may raise
        assert here is not None
        here.left = left and here is trace  # which is about the function that asks for the element
        if found is not LEFT and found is not UNBOUND and found is not None:
            mine.result = found

    def restore(self, put: Callable[[tuple[Any, ...]], None]) -> None:
        if self.skips is not None:
            here = self.site("call", self.skips)
            put(tuple([self._name(name, here) for name in self.site("begin").names]))

    def _name(self, name: str, here: Site) -> Any:
        """The value of a variable at the place where the generator is."""
        if name not in here.live_out:
            return UNBOUND
        found = getattr(self.generator, variable(name))
        return bound(found) if name in here.definite else found

    def answer(self) -> Any:
        self.skips = None
        return self._sent

    def leave(self, here: Site, value: Any) -> Any:
        """Leave the function at a ``yield``."""
        mine, trace = self.generator, current_trace()
        assert trace is not None
        for name, x in zip(self.site("begin").names, self.get(), strict=True):
            if name in here.live_out:
                setattr(mine, variable(name), x)
        for held, at, number in self.loops:
            setattr(mine, loop(number), held)
            setattr(mine, position(number), at)
        mine.value, mine.place = value, sys.intern(str(here.number))
        self.has_left = trace.left = True
        return LEFT

    def is_long(self, count: int) -> str:
        return _LONG.format(name=self.function.__name__, count=count)

    def take_loop(self, number: int) -> list[Any]:
        """The iterable of a loop that the generator is in, the number of steps, and its own."""
        held, at = (getattr(self.generator, name(number)) for name in (loop, position))
        return [bound(held), bound(at), number]


class _Begun(BaseException):
    """A function has begun whose variables are wanted; it goes no further."""


class _Beginning(ActiveRun):
    """A run that ends before the function's first statement."""

    def restore(self, put: Callable[[tuple[Any, ...]], None]) -> None:
        raise _Begun


def variables(function: Any) -> tuple[str, ...]:
    """The attributes of a generator that hold its state."""
    twin = hooks.resuming(function)
    known = _variables.get(twin.__code__)
    if known is None:
        run = _Beginning(function)
        args, kwargs = nothing_for(function)
        with contextlib.suppress(_Begun):
            run.entered(lambda: twin(*args, **kwargs))
        runtime, number = run.frame
        loops = [s for s, site in enumerate(runtime.sites)
                 if site.kind == "for" and site.function == number]  # fmt: skip
        names = [variable(name) for name in run.site("begin").names]
        known = *names, *map(loop, loops), *map(position, loops)
        _variables[twin.__code__] = known
    return known


_variables: WeakKeyDictionary[CodeType, tuple[str, ...]] = WeakKeyDictionary()


def variable(name: str) -> str:
    """The attribute for a variable."""
    return f".{name}"


def loop(number: int) -> str:
    """The attribute for the iterable of a loop."""
    return f".iterable of loop {number}"


def position(number: int) -> str:
    """The attribute for the position in a loop."""
    return f".position in loop {number}"


def step(mine: generator, place: Any, sent: Any, args: Any, kwargs: Any) -> None:
    """Run a generator on."""
    if any(isinstance(run, Step) and run.generator is mine for run in runs()):
        raise ValueError("generator already executing")
    Step(mine, place, sent).run(args, kwargs)


_LONG = (
    "A traced condition decides at which `yield` the generator of `{name}` is, and each `next` has "
    "the code from every `yield` to the following ones: more than {count:,} branches and loops so "
    "far. Ask for elements in one place:\n"
    "    for value in steps: ...            # or one next(steps), in a loop\n"
    "or collect them first:\n"
    "    values = list(steps)               # then values[0], values[k]"
)

hooks.step, hooks.variables = step, variables
