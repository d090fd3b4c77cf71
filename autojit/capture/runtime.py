"""The runtime of twins: plain Python where values are known, capture where they are not.

A branch on a traced condition becomes a ``switch``, whose results are what its ways change; a loop
becomes a ``scan`` or a ``while``. Loops with a known number of steps are unrolled if that is short,
since the passes make better code of short straight lines and of steps that are independent.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from autojit.capture.lists.deques import watched
from autojit.capture.lists.dicts import iterated, joined, whole
from autojit.capture.lists.resumable import asks
from autojit.capture.lists.running import repeated
from autojit.capture.runs.attempts import DEEPEST, TooDeep, is_attempted
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.one_of import any_one_of, resolved
from autojit.capture.state.optional import Optional, assume, implied, without_none
from autojit.capture.state.resized import check_counted, refuse_resized
from autojit.capture.state.sharing import check_apart, notice
from autojit.capture.state.state import Access, note
from autojit.capture.state.stretch import any_made, has_stretch
from autojit.capture.values.ownership import owned
from autojit.capture.values.ranges import lists_under
from autojit.errors import CaptureError, with_place
from autojit.staging.numba_functions import numba_kind
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import arguments_are_known
from autojit.tracing.source import source_of, user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer

from . import calls, recursion
from .blocks.regions import failing, ops_so_far
from .branches import capture_branch, capture_choice
from .calls import reasons  # noqa: F401 - registers itself
from .comprehensions import Comprehension, Steps, chosen, elements, is_long, noticing, run_otherwise
from .generators import Resuming
from .generators import loop_for as resumed_loop
from .loop import Loop
from .loop_ops import emit_begun, emit_if_begun, emit_tested
from .results import late  # noqa: F401 - registers itself
from .results.variants import result
from .rewriting.callees import converted, handing_on, resuming
from .runs.steps import Step
from .sequences import is_finite, left, sequence_of
from .tries import capture_try, run_part
from .truth import truth, truth_of, unknown
from .unrolling import UNROLLED, becomes_unknown, captured_whole, unroll
from .values.trying import is_inside_try
from .values.unbound import checked

_RECURSION = (
    "The function calls itself, and `{}`, which depends on a traced value, decides how often. "
    "This works if functions call themselves and each other by their names, or as methods of "
    "`self`, but not if they get each other as arguments, as in `map(f, x)`.\n"
    "Write a loop:\n"
    "    result = 1.0\n"
    "    while n > 1:                       # not: n * f(n - 1)\n"
    "        result, n = result * n, n - 1\n"
    "or call the function without jit, where Python goes its own way:\n"
    "    grad(f)(x)                         # not: jit(grad(f))(x)"
)

_NO_ITEM = "'NoneType' object is not subscriptable"
_NO_INDEX = "indices must be integers or slices, not NoneType"


class _Depths(threading.local):
    def __init__(self) -> None:
        self.of: dict[Any, int] = {}


_local = _Depths()

Get = Callable[[], tuple[Any, ...]]
Put = Callable[[tuple[Any, ...]], None]


class Runtime(Resuming):
    """The runtime of one twin."""

    numpy_names = calls.NUMPY_NAMES

    # -- branches -------------------------------------------------------------------

    def branch(
        self, s: int, test: Any, then: Callable[[], Any], orelse: Callable[[], Any] | None,
        get: Get, put: Put, seen: Get,
    ) -> None:  # fmt: skip
        condition = unknown(test)
        if condition is None:
            super().branch(s, test, then, orelse, get, put, seen)
            return
        access = self._access(s, (then, orelse), get, put, seen)
        with self._nested(access):
            capture_branch(condition, (orelse or _nothing, then), access)

    def choose(self, s: int, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        condition = unknown(test)
        if condition is None:
            return super().choose(s, test, then, orelse)
        access = self._access(s, (then, orelse), tuple, _nothing, tuple)
        with self._nested(access):
            return capture_choice(condition, (orelse, then), access)

    def kept(self, test: Any, value: Callable[[], Any], neutral: Any) -> Any:
        condition = unknown(test)
        if condition is None:
            return super().kept(truth(test), value, neutral)
        return hooks.choose(condition, value, lambda: neutral)

    def perhaps(self, test: Any, value: Callable[[], Any]) -> Any:
        condition = unknown(test)
        if condition is None:
            return super().perhaps(truth(test), value)
        return calls.perhaps(truth_of(condition), value)

    def chosen(self, is_dict: bool, elements: Any) -> Any:
        return chosen(self.call, is_dict, elements)

    def elements(
        self, s: int, made: Callable[[Any], Any], it: Any, is_list: bool, is_filter: bool
    ) -> Any:
        it = iterated(without_none(it, "'NoneType' object is not iterable"))
        asks(it)
        is_part = isinstance(it, Tracer) and it.is_bounded
        if not (is_filter or is_part or any_made() or is_long(it, is_filter)):
            return made(it)  # no generator
        access = self._access(s, (made,), tuple, _nothing, tuple)
        return elements(self, it, Comprehension(s, made, access, is_list, is_filter))

    def assert_(self, s: int, test: Any, message: Callable[[], Any] | None) -> None:
        condition = unknown(test)
        if condition is None:
            super().assert_(s, test, message)  # noqa: PT009
            return
        error = AssertionError() if message is None else AssertionError(message())
        failing(np.logical_not(truth_of(condition)), error, user_source())
        assume(implied(condition, True))

    def try_(self, s: int, body: Callable[[], Any], get: Get, put: Put, seen: Get) -> None:
        if current_trace() is None or arguments_are_known():
            super().try_(s, body, get, put, seen)
        else:
            capture_try(body, self._access(s, (body,), get, put, seen))

    def part(self, number: int, block: Callable[[], Any]) -> None:
        run_part(number, block)

    def bound(self, value: Any, name: str, free: bool = False) -> Any:
        return checked(value, name) if type(value) is Maybe else super().bound(value, name, free)

    # -- loops ----------------------------------------------------------------------

    def loop_while(
        self, s: int, test: Callable[[], Any], body: Callable[[], Any], get: Get, put: Put,
        seen: Get,
    ) -> None:  # fmt: skip
        trace = current_trace()
        if trace is None:
            super().loop_while(s, test, body, get, put, seen)
            return
        run = recursion.loop_in(self, self.sites[s])
        if run is not None and run.skips is not None:
            body()  # the rest of the step in which the function was left
        access = self._access(s, (body, test), get, put, seen)
        loop = Loop(lambda _: body(), test, None, None, access)
        began, checks = ops_so_far(), len(trace.checks)
        is_first = True
        while True:
            found = test()
            condition = unknown(found)
            if condition is not None and run is not None and self.sites[s].is_left:
                self.branch(s, condition, body, None, get, put, seen)
                return
            if condition is not None:
                record = functools.partial(emit_if_begun, begins=condition)
                emit_tested(loop, test, truth_of(condition), record)
                return
            if not truth(found):
                note(access, "unrolled", "unrolled: its condition is known before each step")
                return
            may_end = is_tracer(found) or len(trace.checks) > checks  # by an exception
            may_end |= current_trace() is not trace
            is_long = may_end and ops_so_far() - began > UNROLLED
            if is_long or (is_first and becomes_unknown(loop, None)):
                emit_tested(loop, test, True, emit_begun)
                return
            is_first = False
            body()

    def loop_for(
        self, s: int, it: Any, item: Callable[[Any], Any], go_on: Callable[[], Any] | None,
        body: Callable[[], Any], get: Get, put: Put, seen: Get,
    ) -> None:  # fmt: skip
        run = recursion.loop_in(self, self.sites[s])
        it = () if run is not None and run.skips is not None else it  # the frame holds it
        it = iterated(without_none(it, "'NoneType' object is not iterable"))
        asks(it)
        it, body = watched(it, body)
        if run is not None:
            parts = item, go_on, body, lambda t, step: self.loop_while(s, t, step, get, put, seen)
            if isinstance(run, Step):
                resumed_loop(run, s, it, *parts)
            else:
                recursion.loop_for(run, self.sites[s], it, *parts)
            return
        self._steps(s, it, item, go_on, body, get, put, seen)

    def _steps(
        self, s: int, it: Any, item: Callable[[Any], Any], go_on: Callable[[], Any] | None,
        body: Callable[[], Any], get: Get, put: Put, seen: Get,
    ) -> None:  # fmt: skip
        """Unroll or capture a ``for``."""
        trace = current_trace()
        if trace is not None:
            access = self._access(s, (body, item, go_on), get, put, seen)
            if run_otherwise(self, it, Steps(s, item, go_on, body, access)):
                return
        sequence = None if trace is None else sequence_of(it)
        if sequence is None and (trace is None or go_on is None or not is_finite(it)):
            lists = [] if trace is None else lists_under(it)
            super().loop_for(s, it, noticing(item, lists), go_on, body, get, put, seen)
            check_counted(lists)
            return
        access = self._access(s, (body, item, go_on), get, put, seen)
        if sequence is None:
            unroll(Loop(lambda _: body(), go_on, None, None, access), it, item, body)
            left(it, go_on)
            return
        lists = [x for x in lists_under(it) if not has_stretch(x)]

        def step(i: Any) -> None:
            item(sequence.at(i))
            lengths = sequence.lengths_now()
            body()
            if any(a is not b for a, b in zip(lengths, sequence.lengths_now(), strict=True)):
                refuse_resized()
            check_counted(lists)

        loop = Loop(step, go_on, sequence.length, sequence.most, access)
        if isinstance(sequence.length, Tracer):
            emit_if_begun(loop, sequence.length > 0)
        elif not captured_whole(loop, sequence):
            unroll(loop, it, item, body)
        left(it, go_on)

    # -- calls and operators --------------------------------------------------------

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = calls.call(f, args, kwargs, entry)
        notice()
        return result

    notice = staticmethod(notice)

    def ordered(self, compare: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return self.call(compare, a, b) if isinstance(a, (tuple, list)) else compare(a, b)

    def is_(self, a: Any, b: Any) -> Any:
        if a is b:
            return True
        if type(a) is Optional or type(b) is Optional:
            return calls.is_optional(a, b)
        if any_one_of((a, b)):
            return calls.is_one_of(a, b)
        check_apart(a, b)
        return calls.is_singleton(a, b)

    def matched(self, value: Any) -> Any:
        return calls.check_subject(value)

    def is_sequence(self, value: Any, least: int, is_open: bool) -> bool:
        if any_made() and has_stretch(value):
            calls.refused()
        return super().is_sequence(value, least, is_open)

    def own(self, x: Any) -> Any:  # a call counts as a reference to x
        return owned(x)

    def and_(self, first: Any, *rest: Callable[[], Any]) -> Any:
        return calls.and_(first, *rest)

    def or_(self, first: Any, *rest: Callable[[], Any]) -> Any:
        return calls.or_(first, *rest)

    def not_(self, x: Any) -> Any:
        return calls.not_(x)

    def joined(self, a: Any, b: Any) -> Any:
        return joined(self.call, a, b)

    def repeated(self, a: Any, b: Any) -> Any:
        return repeated(self.call, a, b)

    def whole(self, x: Any) -> Any:
        return whole(x)

    def has_keys(self, value: Any, keys: tuple[Any, ...]) -> bool:
        return super().has_keys(whole(value), keys)

    class_of, attribute = staticmethod(calls.class_of), staticmethod(calls.attribute)

    def in_(self, x: Any, container: Any) -> Any:
        return calls.in_(x, container)

    result, formatted = staticmethod(result), staticmethod(calls.formatted)
    equal, unequal = staticmethod(calls.is_equal), staticmethod(calls.is_unequal)

    def unpacked(self, x: Any, count: int) -> Any:
        return calls.unpacked(x, count)

    def iterable(self, x: Any) -> Any:
        return calls.stretched(x)

    def delete_item(self, x: Any, index: Any) -> None:
        calls.delete_item(x, index)
        notice()

    def item(self, x: Any, index: Any) -> Any:
        if any_one_of((x, index)):
            return resolved([x, index], calls.item)
        return calls.item(without_none(x, _NO_ITEM), without_none(index, _NO_INDEX))

    def set_item(self, x: Any, index: Any, value: Any) -> None:
        if any_one_of((x, index)):
            resolved([x, index], lambda x, index: calls.set_item(x, index, value))
        else:
            calls.set_item(without_none(x, _NO_ITEM), without_none(index, _NO_INDEX), value)
        notice()

    def update_item(self, x: Any, index: Any, operator: str, value: Callable[[], Any]) -> None:
        x, index = without_none(x, _NO_ITEM), without_none(index, _NO_INDEX)
        resolved([x, index], lambda x, index: calls.update_item(x, index, operator, value))
        notice()

    @contextmanager
    def _nested(self, access: Access) -> Iterator[None]:
        """A context that traces a construct; one inside itself belongs to a recursive function."""
        depth = _local.of.get(access.site, 0)
        if depth >= DEEPEST:
            if is_attempted():
                raise TooDeep(has_no_end=True)
            raise CaptureError(with_place(_RECURSION.format(access.site.text), access.source))
        _local.of[access.site] = depth + 1
        try:
            yield
        finally:
            _local.of[access.site] = depth

    def _access(self, s: int, functions: tuple[Any, ...], get: Get, put: Put, seen: Get) -> Access:
        site = self.sites[s]
        code = functions[0].__code__
        source = source_of(site.file, site.line, code.co_name)
        return Access(site, get, put, seen, source, functions)


class _Trying(Runtime):  # of a function that is called inside a `try`
    asks_attributes = True


def twin(f: Any) -> Any:
    """A function with its control flow captured; the function itself if it has none, or no
    source."""
    return converted(f, _Trying if is_inside_try() else Runtime)


def entry(f: Any, has_cache: bool = False) -> Any:
    """Like `twin`, for a function that is called from elsewhere. It may also call itself, have a
    cache, be Numba's or ``np.vectorize``'s, or be built into Python."""
    if type(f) is calls.CACHED:
        return entry(f.__wrapped__, True)
    builtin = isinstance(f, BuiltinFunctionType | np.vectorize)
    if builtin or numba_kind(type(f)) or calls.dispatches(f):
        return functools.wraps(f)(lambda *args, **kwargs: calls.call(f, args, kwargs, twin))
    made = twin(f)
    if not recursion.calls_itself(made):
        return made
    return functools.wraps(made)(recursion.caller(f, made, has_cache))


def _nothing(*values: Any) -> None:
    """The missing ``else`` of an ``if``; an expression, which sets no names."""


hooks.handing_on = functools.partial(handing_on, runtime=Runtime)
hooks.resuming = functools.partial(resuming, runtime=Runtime)
hooks.converted = entry
hooks.called = functools.partial(calls.call, converted=entry)
