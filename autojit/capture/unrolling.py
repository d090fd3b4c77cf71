"""Loops of a known number of steps: unrolled, as Python runs them, or captured whole.

Short loops are unrolled.  The passes then make one straight line of them, roll up what repeats
itself, and find steps that are independent of each other.  A long loop takes long to trace, so its
body is traced once.  A loop whose body needs its index as a number of Python's, or whose arrays
change their shapes, can only be unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autojit.errors import AutojitError, raised

from .block import Block
from .branches import capture_branch
from .heap import Spent
from .loop_ops import emit
from .loops import Captured, Loop, trace_loop
from .sequences import Sequence
from .state import Before, ShapesDiffer
from .truth import truth, truth_of, unknown

#: Steps up to which a loop is unrolled without a look at its body.
FEW = 8
#: Operations up to which a loop is unrolled: 30 us each to trace, before anything is rolled up.
UNROLLED = 2_000


def captured_whole(loop: Loop, sequence: Sequence) -> bool:
    """Capture a loop of a known number of steps, where that is better than to unroll it."""
    n = sequence.length
    breaks = loop.holds is not None and n > 0 and becomes_unknown(loop, 0)
    if n <= FEW and not breaks:
        return False
    peeled = False
    with _tried() as tried:
        try:
            found = trace_loop(loop)
        except ShapesDiffer:
            if loop.holds is not None:
                raise
            tried.forget()
            peeled, found = True, _after_first(loop, sequence)
        tried.succeeded = True
    if not tried.succeeded or (n * found.size <= UNROLLED and not breaks):
        return False
    if peeled:
        loop.step(0)
        found = trace_loop(_rest(loop))
    emit(found)
    return True


def _after_first(loop: Loop, sequence: Sequence) -> Captured:
    """The loop from its second step on, from which the shapes of its carry do not change."""
    before = Before(loop.access)
    try:
        with Block().running():
            loop.step(0)
            return trace_loop(_rest(loop))
    finally:
        before.restore()


def _rest(loop: Loop) -> Loop:
    n = loop.length - 1
    return loop._replace(step=lambda i: loop.step(i + 1), length=n, most=n)


class _Try:
    def __init__(self) -> None:
        self.succeeded = False
        self._mark = len(raised.errors or ())

    def forget(self) -> None:
        """What was raised so far is not the user's: something else is tried."""
        del (raised.errors or [])[self._mark :]


@contextmanager
def _tried() -> Iterator[_Try]:
    """A context whose errors mean that something cannot be captured."""
    result = _Try()
    try:
        yield result
    except AutojitError:
        result.forget()
    except Exception:
        pass


def becomes_unknown(loop: Loop, first: Any) -> bool:
    """Whether a loop's condition depends on what is not known once its body has run."""
    assert loop.holds is not None
    before, found = Before(loop.access), False
    try:
        with _tried(), Block().running():
            loop.step(first)
            found = unknown(loop.holds()) is not None
    finally:
        before.restore()
    return found


def unroll(loop: Loop, it: Any, item: Callable[[Any], Any], body: Callable[[], Any]) -> None:
    """Run a loop step by step; steps behind a condition that is not known become branches."""
    for value in it:

        def step(value: Any = value) -> None:
            item(value)
            body()

        held = None if loop.holds is None else loop.holds()
        condition = unknown(held)
        if condition is not None:
            capture_branch(truth_of(condition), (_nothing, step), loop.access)
        elif held is None or truth(held):
            step()
        else:
            return


def _nothing() -> None:
    """What is left of a loop that has ended."""
