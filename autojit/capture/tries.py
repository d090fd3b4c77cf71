"""``try`` whose exceptions depend on traced values.

    try:                          if x > 3:       # the `try`, up to the exception
        if x > 3:                     y = 0.0
            raise ValueError  ->  else:           # the `try`, without it
        y = 2 * x                     y = 2 * x
    except ValueError:
        y = 0.0

The statement is traced up to the first points at which it may raise an exception that it handles
itself. There it becomes a branch. On one way the statement runs to the point and raises the
exception, so that Python finds the handler; on the other way the point is passed, and the next
points are looked for. No code runs behind a point that is not passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.state.state import Access, Before
from autojit.errors import AutojitError, CaptureError, HandledFailureError, with_place
from autojit.ir.core.program import current_builder
from autojit.protocols.lifting import tracer
from autojit.session.frames import is_defect
from autojit.staging.bodies import merged
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .block import Block
from .branches import capture_branch
from .loops import loops_around
from .values.points import SEARCH, Point, Run, Stop, next_try, running, searching

#: The most points of a ``try``: with each, the code before it is traced twice more.
MOST_POINTS = 12

Body = Callable[[], Any]


def capture_try(body: Body, access: Access) -> None:
    """Run ``body``, a ``try`` statement."""
    try:
        _Try(body, access, next_try(access.site[:2])).go_on(frozenset())
    except Stop as stop:
        if stop.trace is not None:
            raise
        raise HandledFailureError(with_place(_ELSEWHERE, access.source)) from None


class _Try(NamedTuple):
    """A ``try`` statement, and its key on the way to points."""

    body: Body
    access: Access
    key: Any

    def go_on(self, passed: frozenset[Point]) -> None:
        """Run it, where the exceptions at the points in ``passed`` do not occur. A statement that
        may use up iterators or read files runs once; an exception that it handles is refused."""
        before = Before(self.access)
        found = self._search(passed, before) if before.heap.can_be_restored() else []
        if len(passed) + len(found) > MOST_POINTS:
            raise CaptureError(with_place(_MANY.format(MOST_POINTS), self.access.source))
        if found:
            self._branch(passed, found, passed.union(point for _, point in found))
        else:
            once(self.body, Run(self.key, passed, loops=loops_around()))

    def _branch(
        self, passed: frozenset[Point], found: Sequence[tuple[Tracer, Point]],
        following: frozenset[Point],
    ) -> None:  # fmt: skip
        """Branch on whether the exception at the first of some points occurs. At most one of them
        does."""
        (held, point), *rest = found

        def goes_on() -> None:
            if rest:
                self._branch(passed, rest, following)
            else:
                self.go_on(following)

        def raises() -> None:
            run = Run(self.key, passed, to=point, loops=loops_around())
            once(self.body, run)
            if not run.has_ended:
                raise Stop(None)

        fails: Any = np.logical_not(held)
        capture_branch(fails, (goes_on, raises), self.access)

    def _search(self, passed: frozenset[Point], before: Before) -> list[tuple[Tracer, Point]]:
        """The next points, each with a bool that is false where its exception occurs."""
        run = Run(self.key, passed, is_search=True, loops=loops_around())
        block = Block()
        try:
            with block.running(SEARCH), searching():
                try:
                    once(self.body, run)
                except Stop as stop:
                    if stop.trace is not block.trace:
                        raise self._refused() from None
                    run.has_ended = False
                except AutojitError:
                    raise
                except Exception as error:  # the statement will raise it again
                    if is_defect(error):
                        raise
        finally:
            before.restore()
        if run.has_ended:
            raise self._refused()
        mine = [(held, f.point) for held, f in block.trace.checks if f.run is run]
        if not mine:
            return []
        outputs = block.recorded(lambda: [lift(held) for held, _ in mine])
        (program,), captured = merged([block.finish(outputs, "raises")])
        values = current_builder().inline(program, captured)
        return [(tracer(value), point) for value, (_, point) in zip(values, mine, strict=True)]

    def _refused(self) -> HandledFailureError:
        return HandledFailureError(with_place(_ELSEWHERE, self.access.source))


def once(body: Body, run: Run) -> None:
    """Run a statement."""
    with running(run):
        body()


_ELSEWHERE = (
    "A `try` handles an exception that depends on a traced value, and that is raised where its "
    "handler cannot be compiled: in a `with` or `finally` that ends it, or in recursion. Test the "
    "condition with `if`:\n"
    "    if x > 0:                          # not: try: ... except ValueError:\n"
    "        y = math.log(x)"
)
_MANY = (
    "More than {} operations in a `try` may raise the exception that it handles, depending on "
    "traced values. Each becomes a branch. Test the conditions with `if`, or call fewer operations "
    "in the `try`."
)
