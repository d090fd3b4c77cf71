"""The points in a ``try`` at which it may raise an exception, and runs of it up to one of them.

A point is named by the way to it: the number of each branch on the way among the branches of its
block, and the side that is taken there. The number says the same in each run of the ``try``, since
all runs begin with the same state, and go the same way up to the point.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from autojit.tracing.context import current_trace

#: The name of a point: the steps of the way to it.
Point = tuple[Any, ...]


#: The key of a block in which a ``try`` is searched for points.
SEARCH = object()


class Stop(BaseException):
    """A run of a ``try`` has met a point, in the given trace; nothing is known about what follows.
    Without a trace, a run to a point has gone another way than the search, which is a defect. No
    ``except Exception`` of the user's stops this exception."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace


class Run:
    """A run of a ``try``: up to a point that is not passed; or ``to`` a point, where it raises the
    exception; or, if it is neither a search nor to a point, to its end."""

    def __init__(self, key: Any, passed: frozenset[Point], *, to: Point | None = None,
                 is_search: bool = False, loops: int = 0) -> None:  # fmt: skip
        self.key = key
        self.passed, self.to, self.is_search = passed, to, is_search
        #: How many loops are being traced around it.
        self.loops = loops
        #: Whether it has met a point that it searches for, or raised the exception.
        self.has_ended = False
        #: The frame that calls the ``try``, and the number of blocks around it.
        self.frame: FrameType | None = None
        self.depth = 0

    def point(self, step: Any) -> Point:
        """The name of the point that is reached by one more step."""
        keys = tuple(each.key for each in _local.blocks[self.depth :])
        return (*keys, step)


class _Block:
    def __init__(self, key: Any) -> None:
        self.key = key
        self.branches = self.checks = self.tries = 0


class _Local(threading.local):
    def __init__(self) -> None:
        self.blocks: list[_Block] = [_Block(None)]
        self.runs: list[Run] = []


_local = _Local()


@contextmanager
def running(run: Run) -> Iterator[None]:
    """A context in which a ``try`` is run by the caller of its caller."""
    run.frame = sys._getframe(2)
    run.depth = len(_local.blocks)
    _local.blocks.append(_Block(run.key))
    _local.runs.append(run)
    try:
        yield
    finally:
        _local.runs.pop()
        _local.blocks.pop()


@contextmanager
def searching() -> Iterator[None]:
    """A context for a search, which ends no other run: the points that it meets are met again."""
    ended = [(run, run.has_ended) for run in _local.runs]
    try:
        yield
    finally:
        for run, has_ended in ended:
            run.has_ended = has_ended


@contextmanager
def inside(key: Any) -> Iterator[None]:
    """A context in which branches and checks are counted anew, as in a block of their own. With the
    key SEARCH they are counted on, as in the run that follows the search."""
    if key is SEARCH:
        yield
        return
    _local.blocks.append(_Block(key))
    try:
        yield
    finally:
        _local.blocks.pop()


class Branch(NamedTuple):
    """A branch by its number in its block, and its place in the source."""

    number: int
    source: Any

    def side(self, way: int) -> Any:
        """The step to one of its ways, or to the end of that way if it raises an exception."""
        return self.number, self.source, way


def next_branch(source: Any) -> Branch:
    """The branch that begins now."""
    block = _local.blocks[-1]
    block.branches += 1
    return Branch(block.branches, source)


def way_to_point(branch: Branch) -> int | None:
    """The way of a branch that leads to the point of a run; None if there is no such run."""
    for run in _local.runs:
        here = run.point(None)[:-1]
        if run.to is None or run.to[: len(here)] != here:
            continue
        step, *rest = run.to[len(here) :]
        if step[0] == branch.number:
            if step[1] != branch.source:
                raise Stop(None)
            run.has_ended |= not rest
            way: int = step[2]
            return way
    return None


def next_try(source: Any) -> Any:
    """The key of the ``try`` that begins now."""
    block = _local.blocks[-1]
    block.tries += 1
    return "try", block.tries, source


def next_check() -> Any:
    """The last step to a point in the current block, which is no branch."""
    block = _local.blocks[-1]
    block.checks += 1
    return "check", block.checks


def run_of(frame: FrameType) -> Run | None:
    """The run in whose ``try`` a frame is."""
    return next((run for run in reversed(_local.runs) if run.frame is frame.f_back), None)


def is_searched_in(run: Run) -> bool:
    """Whether a ``try`` inside the one of a run is searched for points."""
    return any(each.is_search for each in _local.runs[_local.runs.index(run) + 1 :])


def is_inside() -> bool:
    """Whether a ``try`` is being run."""
    return bool(_local.runs)


def stop() -> Stop:
    """The exception that ends a search in the current trace."""
    return Stop(current_trace())
