"""Comprehensions over lists and ranges of traced length, or with conditions that are traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from autojit.capture.state.heap import Spent, also_reached
from autojit.capture.state.resized import check_counted
from autojit.capture.state.sharing import notice
from autojit.capture.state.state import Access, Before
from autojit.capture.state.stretch import has_stretch, stretch_in
from autojit.errors import raised
from autojit.session.frames import is_defect
from autojit.tracing.known import arguments_are_known
from autojit.tracing.tracer import Tracer

from .blocks.block import Block
from .branches import capture_branch
from .calls import item as item_of
from .calls.logic import and_, not_
from .lists.elements import add
from .lists.lazy import Pending, Perhaps, packed
from .lists.library import choose_all
from .lists.resumable import ENDED, Lazy, generator
from .lists.running import FEW_ELEMENTS
from .lists.stretches import Stretched, watching
from .loop import Loop
from .loop_ops import emit
from .loops import trace_loop
from .rewriting.plain import ABSENT
from .sequences import Sequence, sequence_of
from .truth import unknown
from .unrolling import FEW, between, is_so
from .values.ranges import Enumerate
from .values.scalars import holds_traced, truth

Made = Callable[[Any], Any]

#: The number of elements that are made to find out whether one is traced.
_FIRST = 4


class Comprehension(NamedTuple):
    """A comprehension: its site, the function of its iterable that makes its elements, and what it
    is. ``is_filter`` says that it has conditions."""

    site: int
    made: Made
    access: Access
    is_list: bool
    is_filter: bool


def elements(runtime: Any, it: Any, c: Comprehension) -> Any:
    """The result of a comprehension over ``it``: a list, or the stand-in for a generator."""
    return watching(_elements(runtime, it, c))


def is_long(it: Any, is_filter: bool) -> bool:
    """Whether a comprehension over ``it`` has a known number of elements, and many."""
    sequence = None if arguments_are_known() or isinstance(it, Lazy) else sequence_of(it)
    if sequence is None or isinstance(sequence.length, Tracer):
        return False
    return sequence.length > (FEW if is_filter else FEW_ELEMENTS)


def chosen(call: Callable[..., Any], is_dict: bool, elements: Any) -> Any:
    """The set or dict of a comprehension: its elements are functions, each with a test."""
    made: Any = {} if is_dict else set()
    rest = iter(elements)
    for test, element in rest:
        if unknown(test) is not None:
            return call(choose_all, call(choose_all, made, [(test, element)]), rest)
        if test and is_dict:
            key, value = element()
            made[key] = value
        elif test:
            made.add(element())
    return made


def _elements(runtime: Any, it: Any, c: Comprehension) -> Any:
    made, access = c.made, c.access
    if isinstance(it, generator):
        return _of_generated(made, it, access, is_list=c.is_list)
    sequence = sequence_of(it)
    is_counted = sequence is None or not isinstance(sequence.length, Tracer)
    by_loop = is_counted and is_long(it, c.is_filter) and _is_traced(sequence, c)
    if is_counted and not (c.is_filter or by_loop):
        return made(it)

    def collected() -> list[Any]:
        if by_loop:
            return _by_loop(runtime, it, c)
        if sequence is not None and not is_counted:
            return _over(sequence, made, access)
        return packed([x for x in made(it) if x is not ABSENT])

    if c.is_list:
        return collected()
    is_open = by_loop or (sequence is not None and not (is_counted or sequence.lists))
    return Pending(collected, it, made, is_open=is_open)


def _is_traced(sequence: Any, c: Comprehension) -> bool:
    """Whether one of the first elements depends on traced values: Python makes known ones."""

    def make() -> bool:
        found = (x for number in range(_FIRST) for x in c.made([sequence.at(number)]))
        return any(type(x) is Perhaps or holds_traced(x) for x in found)

    return is_so(c.access, make)


def _by_loop(runtime: Any, it: Any, c: Comprehension) -> list[Any]:
    """The elements, appended by a loop that is unrolled or captured like a ``for``."""
    found: list[Any] = []
    take, given = functools.partial(add, found), [None]

    def receive(value: Any) -> None:
        given[0] = value

    def step() -> None:
        each(c.made, given[0], c.access, take)

    get, put, seen = c.access.get, c.access.put, c.access.seen
    with also_reached((found, c.made)):
        runtime.loop_for(c.site, it, receive, None, step, get, put, seen)
    return found


def _of_generated(made: Made, it: generator, access: Access, *, is_list: bool) -> Any:
    """The result of a comprehension over a generator."""

    def collected() -> list[Any]:
        found: list[Any] = []
        take = functools.partial(add, found)

        def consume(value: Any) -> None:
            each(made, value, access, take)

        with also_reached((found, made)):
            it.push(consume)
        return found

    if is_list:
        return collected()
    return Pending(collected, it, made)


def _over(sequence: Sequence, made: Made, access: Access) -> list[Any]:
    """The elements made from a list, or a range, of traced length."""
    found: list[Any] = []
    take = functools.partial(add, found)

    def step(i: Any) -> None:
        each(made, sequence.at(i), access, take)

    with also_reached(found):
        assert isinstance(sequence.length, Tracer)
        emit(trace_loop(Loop(step, None, sequence.length, sequence.most, access)))
    return found


def each(made: Made, given: Any, access: Access, take: Callable[[Any], Any]) -> None:
    """Hand on the elements that a comprehension makes from one element."""
    for x in made([given]):
        if type(x) is Perhaps:
            capture_branch(x.held, (_nothing, functools.partial(take, x.value)), access)
        elif x is not ABSENT:
            take(x)


def _nothing() -> None:
    """Do nothing for an element that is left out."""


# -- loops --------------------------------------------------------------------------------


class Steps(NamedTuple):
    """A ``for`` statement: its site, its parts, and the names that it reads and sets."""

    site: int
    item: Callable[[Any], Any]
    go_on: Callable[[], Any] | None
    body: Callable[[], Any]
    access: Access


def run_otherwise(runtime: Any, it: Any, loop: Steps) -> bool:
    """Run a loop that cannot run as in Python; return whether it has been run."""
    if is_lazy(it):
        run_through(runtime, it, loop)
    elif _names_resizing(loop.body.__code__) and is_resized(it, loop):
        run_along(runtime, it, loop)
    else:
        return False
    return True


def is_lazy(it: Any) -> bool:
    """Whether a loop over an iterable runs differently than in Python."""
    return isinstance(it, Lazy)


def run_through(runtime: Any, it: Any, loop: Steps) -> None:
    """Run a loop over a generator or a generator expression."""
    if isinstance(it, generator):
        _hand_on(it, loop)
    elif it.started:
        _hand_on(it.steps, loop)
    else:
        _each_step(runtime, it, loop)


def _hand_on(it: generator, loop: Steps) -> None:
    """Run a loop over a generator, which calls the loop's body with each value that it yields."""

    def consume(value: Any) -> Any:
        loop.item(value)
        loop.body()
        return False if loop.go_on is None else not_(loop.go_on())

    site = loop.access.site
    with also_reached((loop.item, loop.body, loop.go_on)):
        stops = not it.is_alone and (site.may_stop or site.text in site.reads)
        it.push(consume, stops=stops)
    if loop.go_on is None:
        it.place = ENDED


def _each_step(runtime: Any, it: Pending, loop: Steps) -> None:
    """Run a loop over a generator expression; each step makes its elements when it begins."""
    it.begin()
    given: list[Any] = [None]
    functions = (*loop.access.functions, it.made)
    access = between(loop.access._replace(functions=functions))

    def take(value: Any) -> None:
        loop.item(value)
        loop.body()

    def receive(value: Any) -> None:
        given[0] = value

    def step() -> None:
        each(it.made, given[0], access, take)

    runtime.loop_for(
        loop.site, it.it, receive, loop.go_on, step, access.get, access.put, access.seen
    )


def noticing(item: Callable[[Any], Any], lists: list[list[Any]]) -> Callable[[Any], Any]:
    """The first part of a step, which follows the iterator's own work."""

    def begun(value: Any) -> None:
        notice()
        check_counted(lists)
        item(value)

    return begun


# -- loops over lists that their steps lengthen or shorten ------------------------------------

_RESIZING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "delete_item"})


@functools.cache
def _names_resizing(code: CodeType) -> bool:
    """Whether a loop's body names a method that changes the length of a list."""
    parts = (c for c in code.co_consts if isinstance(c, CodeType))
    return not _RESIZING.isdisjoint(code.co_names) or any(map(_names_resizing, parts))


class _Items(NamedTuple):
    """A list that a loop runs through, and the number of its first element under ``enumerate``."""

    items: list[Any]
    start: Any = None

    def at(self, number: Any) -> Any:
        found = item_of(self.items, number)
        return found if self.start is None else (self.start + number, found)


def _items_of(it: Any) -> _Items | None:
    """The list under an iterable that nothing has run through yet; None if there is none."""
    if type(it) is list:
        return _Items(it)
    if isinstance(it, Stretched):
        return _Items(it.items)
    if type(it) is Enumerate and not it.started and isinstance(it.part, Stretched):
        return _Items(it.part.items, it.start)
    if type(it) is enumerate:
        reduced: Any = it.__reduce__()
        iterator, start = reduced[1]
        if type(iterator) is not type(iter([])):  # others need not have a state
            return None
        state: Any = iterator.__reduce__()
        return _Items(state[1][0], start) if state[-1] == 0 and len(state) == 3 else None
    return None


def is_resized(it: Any, loop: Steps) -> bool:
    """Whether a traced value decides what the first step of a loop appends to, or removes from, the
    list that the loop runs through."""
    found = _items_of(it)
    if found is None or not found.items or arguments_are_known():
        return False
    items = found.items
    count = stretch_in(items).count if has_stretch(items) else None
    before = Before(loop.access)
    if not before.is_outside(items):  # the body does not reach it
        return False
    result = False
    mark = len(raised.errors or ())
    try:
        with Block().running():
            loop.item(found.at(0))
            loop.body()
            result = has_stretch(items) and stretch_in(items).count is not count
    except Spent:
        raise
    except Exception as error:  # the loop itself will raise it
        if is_defect(error):
            raise
        del (raised.errors or [])[mark:]
    finally:
        before.restore()
    return result


def run_along(runtime: Any, it: Any, loop: Steps) -> None:
    """Run a loop over a list as Python does: each step asks whether the list has one more
    element."""
    found = _items_of(it)
    assert found is not None
    number = [0]
    access = loop.access

    def is_left() -> Any:
        return truth(number[0] < runtime.call(len, found.items))

    def holds() -> Any:
        return is_left() if loop.go_on is None else and_(loop.go_on(), is_left)

    def step() -> None:
        here = number[0]
        number[0] = here + 1
        loop.item(found.at(here))
        loop.body()

    with also_reached((number, found.items)):
        runtime.loop_while(loop.site, holds, step, access.get, access.put, access.seen)
