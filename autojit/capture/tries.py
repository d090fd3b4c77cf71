"""``try`` whose exceptions depend on traced values.

    try:                         y = 0.0; ok = x >= 0
        y = 0.0                  if ok:
        y = math.sqrt(x)   ->        y = math.sqrt(x)       # the layer: all code up to the end
        z = 2 * y                    z = 2 * y
    except ValueError:           else:
        z = y                        z = y                  # the handler

Where an operation may raise an exception that a ``try`` handles, the code after it is a block of
its own, a layer, up to the end of the region: a way of a branch, a step of a loop, or the ``try``.
When a region ends, its layers become branches, the innermost first. On the other way of a layer
the state is the one at the exception. There a ``try`` runs again with the exception in place of
the block that has raised it, so that Python itself finds the handler. An exception that leaves a
way or a step is a bool among its results, behind which the next layer begins; a loop ends by it.
Each part of the code is traced once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from autojit.capture.runs.active import active_run
from autojit.capture.state.heap import Heap
from autojit.capture.state.resized import Resized
from autojit.capture.state.state import Access, Before
from autojit.errors import AutojitError, CaptureError, with_place
from autojit.session.frames import is_defect
from autojit.tracing.context import current_trace

from .blocks.block import thrown_away
from .blocks.regions import (
    STATEMENTS,
    Failure,
    Region,
    distinct,
    escaped,
    guarded,
    later,
    local,
    raising,
    run_region,
    settled,
)
from .blocks.ways import ended_way, traced_way
from .branches import check_lengths, joined_ways
from .rewriting.normal_forms import BODY, FINALLY, ORELSE
from .truth import truth_of
from .values.trying import inside_try, is_inside_try

Body = Callable[[], Any]


class _Run:
    """A run of a ``try`` statement, with other code in place of some of its blocks."""

    def __init__(self, instead: Mapping[int, Body], access: Access) -> None:
        self.instead, self.access = instead, access
        #: The block that is being run, and the exception that its handler handles.
        self.part: int | None = None
        self.handled: BaseException | None = None

    def run(self, number: int, block: Body) -> None:
        """Run a block of the statement."""
        around, self.part = self.part, number
        if number not in (BODY, ORELSE, FINALLY):
            self.handled = sys.exception()
        try:
            code = self.instead.get(number, block)
            if number == BODY and self.access.site in _local.joined:
                left = _left_by(lambda: guarded(_read_behind(self.access), code))
                for held, failure in distinct(left):
                    escaped(held, failure)
                if left:
                    settled(self.access)
            else:
                code()
        finally:
            self.part = around

    def behind(self, raises: Body) -> dict[int, Body] | None:
        """The code that leads to the present block, which raises an exception at once; None if no
        other block follows."""
        if self.part in (None, FINALLY):
            return None
        instead = dict(self.instead)
        if self.part == ORELSE:
            instead[BODY] = _nothing
        elif self.part != BODY:
            assert self.handled is not None
            instead[BODY] = raising(self.handled)
        assert self.part is not None
        return {**instead, self.part: raises}


#: The most exceptions of a ``try`` that get a copy of its handlers each. The handlers of one with
#: more run behind its body, once for each class and message.
MOST_COPIES = 4


#: How often the lists of a layer get other room before the ``try`` is refused.
MOST_ROUNDS = 4

_UNEVEN = (
    "A `try` handles an exception that depends on a traced value, and the length that a list has "
    "then cannot be found. Append to lists before and after the `try`, and store numbers in an "
    "array inside it."
)


class _Local(threading.local):
    def __init__(self) -> None:
        self.runs: list[_Run] = []
        #: The ``try`` statements whose handlers run behind the body.
        self.joined: set[Any] = set()
        #: How many copies of handlers are being run, one inside another.
        self.copies = 0


_local = _Local()


def run_part(number: int, block: Body) -> None:
    """Run a block of the innermost ``try``."""
    if _local.runs:
        _local.runs[-1].run(number, block)
    else:
        block()


def _read_behind(access: Access) -> Access:
    """The access of the body of a ``try``, of which the handlers may read all names."""
    site = access.site
    return access._replace(site=site._replace(live_out=frozenset(site.names)))


class _Many(BaseException):
    """A ``try`` may raise more exceptions than get copies of its handlers."""

    def __init__(self, site: Any) -> None:
        self.site = site


class _Uneven(BaseException):
    """The ways of a layer leave lists with different lengths: they get stretches when it begins.
    No handler of the user's ends this exception."""

    def __init__(self, number: int, convert: Callable[[Heap], None]) -> None:
        self.number, self.convert = number, convert


def capture_try(statement: Body, access: Access) -> None:
    """Run a ``try`` statement."""
    if is_inside_try():
        _run(statement, access, {})
        return
    before = Before(access)
    local.uneven, _local.joined = {}, set()
    with inside_try():
        if before.heap.can_be_restored():
            _prepare(statement, access, before)
        local.layers = 0
        try:
            _run(statement, access, {})
        except (_Uneven, _Many):
            raise CaptureError(with_place(_UNEVEN, access.source)) from None


def _prepare(statement: Body, access: Access, before: Before) -> None:
    """Run the outermost ``try`` in a block that is thrown away, until it is known which lists get
    stretches and which handlers are shared."""
    run = active_run()
    skips = None if run is None else run.skips
    while True:
        local.layers = 0
        if run is not None:  # it continues at a call in the statement once more
            run.skips = skips
        try:
            with thrown_away(before):
                try:
                    _run(statement, access, {})
                except AutojitError:
                    raise
                except Exception as error:  # the statement will raise it again
                    if is_defect(error):
                        raise
            if run is not None:
                run.skips = skips
            return
        except _Uneven as uneven:
            known = local.uneven.setdefault(uneven.number, [])
            if len(known) == MOST_ROUNDS:
                raise CaptureError(with_place(_UNEVEN, access.source)) from None
            known.append(uneven.convert)
        except _Many as many:
            _local.joined.add(many.site)
            local.uneven = {}


def _run(statement: Body, access: Access, instead: Mapping[int, Body]) -> None:
    run = _Run(instead, access)

    def fails(raises: Body) -> Body:
        code = run.behind(raises)
        most = 1 if _local.copies else MOST_COPIES
        is_many = len(region.layers) >= most and access.site not in _local.joined
        if is_many and before.heap.can_be_restored():
            raise _Many(access.site)
        return raises if code is None else lambda: _copied(lambda: _run(statement, access, code))

    before = Before(access)
    region = Region(access, fails)
    left = _left_by(lambda: run_region(region, lambda: _statement(statement, run)))
    for held, failure in left:  # exceptions that a statement around it handles
        escaped(held, failure)
    if left:
        settled(access)


def _copied(run: Body) -> None:
    """Run a copy of the handlers of a ``try``."""
    _local.copies += 1
    try:
        run()
    finally:
        _local.copies -= 1


def _left_by(run: Body) -> list[tuple[Any, Failure]]:
    """Run a region; return the checks of the exceptions that it leaves, which are handled."""
    trace = current_trace()
    assert trace is not None
    known = len(trace.checks)
    try:
        run()
    finally:
        found = trace.checks[known:]
        trace.checks[known:] = [check for check in found if not check[1].is_handled]
    return [check for check in found if check[1].is_handled]


def _statement(statement: Body, run: _Run) -> None:
    _local.runs.append(run)
    try:
        statement()
    finally:
        _local.runs.pop()


STATEMENTS.add(_statement.__code__)


def _close(region: Region, error: Exception | None) -> Exception | None:
    """End the last layer of a region."""
    layer = region.layers[-1]
    before, found = layer.before, None
    try:
        goes_on = ended_way(layer.block, before, error)
    except Resized as resized:
        found = resized
    finally:
        region.layers.pop()
        layer.stack.close()
        before.restore()
    try:
        if found is not None:
            raise found
        fails = traced_way(layer.fails, before, ())
        check_lengths([fails, goes_on], before)
    except Resized as resized:
        raise _Uneven(layer.number, _converter(resized, before.heap)) from None
    return joined_ways(truth_of(layer.held), [fails, goes_on], before)


later.close = _close


def _converter(resized: Resized, heap: Heap) -> Callable[[Heap], None]:
    """A function that does the same to the lists of another run."""
    places = {number: k for k, number in enumerate(heap.held)}
    lists: list[Any] = [(places[id(items)], *rest) for items, *rest in resized.lists]
    dicts: list[Any] = [(places[id(x)], *rest) for x, *rest in resized.dicts]

    def convert(heap: Heap) -> None:
        held = [x for x, _ in heap.held.values()]
        mine: Any = [(held[k], *rest) for k, *rest in lists]
        others: Any = [(held[k], *rest) for k, *rest in dicts]
        Resized(mine, others).convert()

    return convert


def _nothing() -> None:
    """Do nothing, since the block has run before."""
