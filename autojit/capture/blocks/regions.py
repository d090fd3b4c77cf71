"""Code that runs only where no exception occurs that the function handles.

A region is a part of a function: a way of a branch, a step of a loop, or a ``try``. Where an
operation in it may raise an exception that the function handles, the code up to the end of the
region becomes a block, a layer. The layers become branches when the region ends.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.state.maybe import Maybe
from autojit.capture.state.resized import Resized
from autojit.capture.state.state import Access, Before
from autojit.capture.values.trying import is_inside_try
from autojit.errors import AutojitError, HandledFailureError, TracingError, with_place
from autojit.ir.core.program import Source
from autojit.session.frames import is_defect
from autojit.tracing.context import Trace, current_trace

from .block import Block
from .messages import reporting


class Failure(NamedTuple):
    """An exception and the line that raises it."""

    error: Exception
    source: Source | None
    #: Whether a ``try`` of the function handles it; then the code after it runs only where it does
    #: not occur.
    is_handled: bool = False
    #: Whether that code could not be held back.
    is_lost: bool = False


def failing(where: Any, error: Exception, source: Source | None) -> None:
    """Make the function fail with an exception if the traced bool ``where`` holds.

    If the user's function handles it, the code after it, up to the end of the block or of the
    ``try``, becomes a branch. Raises HandledFailureError if that cannot be compiled.
    """
    trace = current_trace()
    assert trace is not None
    error = error.with_traceback(None)
    if is_handled(type(error)):
        hold_back(np.logical_not(where), Failure(error, source, is_handled=True))
        return
    trace.builder.check_raise(type(error), source)
    held = reporting(np.logical_not(where), error, source)
    trace.checks.append((held, Failure(error, source)))


def is_handled(error: type[BaseException]) -> bool:
    """Whether a ``try`` that can be compiled handles an exception that is raised now."""
    trace = current_trace()
    if trace is None or not is_inside_try():
        return False
    frame = trace.builder.handler(error)
    return frame is not None and frame.f_back is not None and frame.f_back.f_code in STATEMENTS


Code = Callable[[], Any]
#: The code of the functions that run a ``try`` statement.
STATEMENTS: set[Any] = set()


class Layer(NamedTuple):
    """The code after a point at which an exception may be raised, as a block."""

    held: Any
    failure: Failure
    before: Before
    block: Block
    stack: contextlib.ExitStack
    #: What Python does where the exception occurs, up to the end of the region.
    fails: Code
    number: int


class Region:
    """A part of the function of which the code after an exception is held back: a way of a branch,
    a step of a loop, or a ``try``."""

    def __init__(self, access: Access, fails: Callable[[Code], Code]) -> None:
        self.access = access
        self.fails = fails
        self.layers: list[Layer] = []
        self.trace = current_trace()
        self.is_ending = False

    def active(self) -> Trace | None:
        """The innermost trace of its layers."""
        return self.layers[-1].block.trace if self.layers else self.trace


class _Local(threading.local):
    def __init__(self) -> None:
        self.regions: list[Region] = []
        #: The number of layers begun, and what is known about lists at the beginning of each.
        self.layers = 0
        self.uneven: dict[int, list[Any]] = {}


local = _Local()


def can_hold_back() -> bool:
    """Whether the code that follows can be held back."""
    region = local.regions[-1] if local.regions else None
    return region is not None and not region.is_ending and region.active() is current_trace()


def hold_back(held: Any, failure: Failure, raises: Code | None = None) -> None:
    """Run the code from here to the end of the region only where ``held`` holds; elsewhere,
    ``raises`` raises the exception."""
    trace = current_trace()
    assert trace is not None
    region = local.regions[-1] if local.regions else None
    if region is None or region.active() is not trace:
        trace.checks.append((held, failure._replace(is_lost=True)))
        return
    if region.is_ending:
        trace.checks.append((held, failure))
        return
    line = trace.builder.manager_line(STATEMENTS)
    if line is not None:
        raise HandledFailureError(with_place(_MANAGED.format(line), failure.source))
    before = Before(region.access)
    number = local.layers = local.layers + 1
    for resize in local.uneven.get(number, ()):
        resize(before.heap)
        before = Before(region.access)
    if not before.heap.can_be_restored():
        raise HandledFailureError(with_place(_SPENT, failure.source))
    block, stack = Block(begins_inside=True), contextlib.ExitStack()
    fails = region.fails(raises or raising(failure.error))
    stack.enter_context(block.running())
    region.layers.append(Layer(held, failure, before, block, stack, fails, number))


_SPENT = (
    "A `try` handles an exception that depends on a traced value, and its code after the "
    "exception reads a file or uses up an iterator, which compiled code cannot undo. Make a list "
    "of the elements before the `try`:\n"
    "    values = list(it)"
)


_MANAGED = (
    "A `try` handles an exception that depends on a traced value, and that leaves the `with` in "
    "line {}, whose context manager may do something then. Put the `try` inside the `with`:\n"
    "    with manager:\n"
    "        try:\n"
    "            y = math.log(x)\n"
    "        except ValueError:\n"
    "            y = 0.0"
)


def guarded(access: Access, run: Callable[[], Any]) -> None:
    """Run the code of a block; exceptions in it that a ``try`` around the block handles leave the
    block as checks."""
    if is_inside_try():
        run_region(Region(access, lambda raises: raises), run)
    else:
        run()


def raising(error: BaseException) -> Code:
    """Code that raises an exception."""

    def raise_the_users() -> None:
        raise error

    return raise_the_users


def settled(access: Access) -> None:
    """Take names as bound that are so where a construct has ended without an exception."""
    names, values = access.site.names, access.get()
    known = [type(v) is Maybe and n in access.site.definite
             for n, v in zip(names, values, strict=True)]  # fmt: skip
    if any(known) and can_hold_back():
        pairs = zip(values, known, strict=True)
        access.put(tuple(v.value if is_bound else v for v, is_bound in pairs))


def run_region(region: Region, run: Callable[[], Any]) -> None:
    """Run the code of a region, and end its layers."""
    local.regions.append(region)
    found: Exception | None = None
    try:
        try:
            run()
        except (AutojitError, Resized):
            raise
        except Exception as error:
            if is_defect(error) or not region.layers:
                raise
            found = error
        region.is_ending = True
        while region.layers:
            found = _ended(region, found)
    finally:
        while region.layers:
            region.layers.pop().stack.close()
        local.regions.pop()
    if found is not None:
        raising(found)()


class _Later:
    """What modules above this one do."""

    #: Ends the last layer of a region, given the exception that has ended its code; returns the one
    #: that it raises in any case.
    close: Callable[[Region, Exception | None], Exception | None]


later = _Later()


def _ended(region: Region, error: Exception | None) -> Exception | None:
    """End the last layer. A handler of the user's must not get an error of autojit itself."""
    try:
        return later.close(region, error)
    except (AutojitError, Resized):
        raise
    except Exception as defect:
        words = f"autojit has failed to compile a `try`: {defect!r}"
        raise TracingError(with_place(words, region.access.source)) from defect


def distinct(checks: Sequence[tuple[Any, Failure]]) -> list[tuple[Any, Failure]]:
    """Checks, of which those of handled exceptions are one for each class and message."""
    found: dict[Any, tuple[Any, Failure]] = {}
    for held, failure in checks:
        args = failure.error.args
        is_plain = failure.is_handled and all(isinstance(x, str | int | float) for x in args)
        key = (type(failure.error), args, failure.is_lost) if is_plain else (None, len(found))
        if key in found:
            others, failure = found[key]
            held = np.logical_and(others, held)
        found[key] = held, failure
    return list(found.values())


def escaped(held: Any, failure: Failure) -> None:
    """Take over the check of a block that has ended."""
    trace = current_trace()
    assert trace is not None
    if failure.is_lost:
        raise HandledFailureError(with_place(ELSEWHERE, failure.source))
    if failure.is_handled:
        hold_back(held, failure)
    else:
        trace.checks.append((held, failure))


ELSEWHERE = (
    "A `try` handles an exception that depends on a traced value, and that is raised where its "
    "handler cannot be compiled, as in recursion. Test the condition with `if`:\n"
    "    if x > 0:                          # not: try: ... except ValueError:\n"
    "        y = math.log(x)"
)


def ops_so_far() -> int:
    """The number of operations recorded so far in the present block, and in the layers of its
    region."""
    trace = current_trace()
    if trace is None:
        return 0
    region = local.regions[-1] if local.regions else None
    if region is None or region.active() is not trace:
        return len(trace.builder.ops)
    around = [layer.block.trace for layer in region.layers]
    assert region.trace is not None
    return sum(len(each.builder.ops) for each in (region.trace, *around))
