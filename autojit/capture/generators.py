"""What functions do that yield and that run from one ``yield`` to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.lists import library
from autojit.capture.lists.lazy import Pending
from autojit.capture.lists.resumable import generator, is_generator
from autojit.capture.runs.active import active_run
from autojit.capture.runs.steps import Step
from autojit.capture.state.heap import also_reached
from autojit.capture.state.stretch import has_stretch, stretch_in
from autojit.errors import CaptureError, with_place
from autojit.tracing.protocol import with_bounds
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from . import calls
from .recursion import Recursive
from .rewriting.callees import FORMS
from .sequences import is_finite
from .values.ranges import Enumerate, Reversed, TracedRange, Zip, length


class Resuming(Recursive):
    """The methods that generator functions use (see `rewriting.generators`)."""

    def generator(self, function: Any, pushed: Any, resumed: Any) -> None:
        setattr(function, FORMS, (pushed, resumed))

    def yields(self, s: int, value: Any) -> Any:
        run = active_run()
        assert isinstance(run, Step)
        return run.leave(self.sites[s], value)

    def delegate(self, iterable: Any) -> Any:
        """What ``yield from`` runs through, as a generator."""
        return one_by_one(iterable)

    def advanced(self, part: Any, sent: Any) -> Any:
        """Go to the next element of ``yield from``; return whether there is one."""
        return calls.not_(part.advance(sent))

    def current(self, part: Any) -> Any:
        """The present element of ``yield from``."""
        return part.current()

    def returned(self, part: Any) -> Any:
        """The value of ``yield from``."""
        return part.returned()


def one_by_one(iterable: Any) -> Any:
    """An iterable as a generator."""
    if isinstance(iterable, Pending):
        return iterable.steps
    return iterable if is_generator(iterable) else generator(library.each, (iterable,), {})


# -- loops with a `yield` -----------------------------------------------------------------------


def loop_for(
    run: Step, s: int, it: Any, item: Callable[[Any], Any], go_on: Callable[[], Any] | None,
    body: Callable[[], Any], while_: Callable[[Callable[[], Any], Callable[[], Any]], None],
) -> None:  # fmt: skip
    """Run a ``for`` as a ``while``, whose position the generator holds."""
    is_begun = run.skips is not None
    pair = run.take_loop(s) if is_begun else [held(it), 0, s]
    run.loops.append(pair)

    def is_left() -> Any:
        if is_generator(pair[0]):
            return calls.not_(pair[0].advance())
        return True if pair[0] is None else np.less(pair[1], _length(pair[0]))

    def test() -> Any:
        return is_left() if go_on is None else calls.and_(go_on(), is_left)

    def step() -> None:
        if is_generator(pair[0]):
            item(pair[0].current())
        else:
            at = pair[1]
            pair[1] = at + 1
            item(_item(pair[0], at))
        body()

    try:
        with also_reached(pair):
            if is_begun:
                body()  # the rest of the step in which the function was left
            while_(test, step)
    finally:
        run.loops.pop()


def held(it: Any) -> Any:
    """An iterable as a generator holds it: an array, a list, or words for what it consists of."""
    if isinstance(it, range):
        return "range", it.start, it.step, len(it)
    if isinstance(it, TracedRange):
        return "range", it.start, it.step, it.count()
    if isinstance(it, (list, Tracer, np.ndarray)) or is_generator(it):
        return it
    if isinstance(it, Pending):
        return it.steps
    if isinstance(it, tuple):
        return "tuple", it
    if isinstance(it, (Zip, Enumerate, Reversed)) and not it.started:
        parts = [held(part) for part in it.parts]
        if not any(map(is_generator, parts)):
            return type(it).__name__, getattr(it, "start", 0), *parts
    if not is_finite(it):
        raise CaptureError(with_place(_NOT_HELD, user_source()))
    return "tuple", tuple(it)


_NOT_HELD = (
    "A generator with traced steps yields in a loop over an iterator of Python's, whose position "
    "compiled code cannot hold. Make a list of its elements first:\n"
    "    for x in list(iterator): ..."
)


def _length(x: Any) -> Any:
    if type(x) is not tuple:
        return stretch_in(x).count if has_stretch(x) else length(x)
    word, *parts = x
    if word == "range":
        return parts[-1]
    if word == "tuple":
        return len(parts[0])
    lengths = [_length(part) for part in parts[1:]]
    return calls.call(min, tuple(lengths), {}, _itself) if len(lengths) > 1 else lengths[0]


def _itself(f: Any) -> Any:
    return f


def _item(x: Any, at: Any) -> Any:
    if type(x) is not tuple:
        return calls.item(x, at)
    word, *parts = x
    if word == "range":
        start, step, count = parts
        if isinstance(at, Tracer) and type(count) is int:
            with_bounds(at, (0, max(count - 1, 0)))
        return start + at * step
    if word == "tuple":
        return calls.item(parts[0], at)
    start, *parts = parts
    if word == "Reversed":
        return _item(parts[0], _length(parts[0]) - 1 - at)
    items = tuple([_item(part, at) for part in parts])
    return items if word == "Zip" else (start + at, *items)
