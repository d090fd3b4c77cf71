"""``sum``, ``max`` and the like of ranges of traced length and generator expressions over these.

They run through the elements in a loop and keep none of them, so their number has no bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.state.optional import Optional
from autojit.capture.values.ranges import TracedRange
from autojit.capture.values.scalars import is_integer
from autojit.tracing.hooks import hooks
from autojit.tracing.known import arguments_are_known, at_hand
from autojit.tracing.tracer import Tracer

from . import library
from .extremes import words_of
from .lazy import Pending
from .resumable import Lazy, refusing

_ABSENT: Any = object()
Call = Callable[..., Any]


#: The most elements that Python always makes one by one, if there are no conditions. This takes 0.2
#: ms for each.
FEW_ELEMENTS = 256


def is_long_array(x: Any) -> bool:
    """Whether a value is an array with so many elements, of a known number, that loops run through
    them."""
    is_array = isinstance(x, Tracer) and bool(x.ndim) and not x.is_bounded
    return is_array and x.shape[0] > FEW_ELEMENTS and not arguments_are_known()


def is_open(x: Any) -> bool:
    """Whether a traced value decides the number of elements, and nothing bounds it."""
    return type(x) is TracedRange or (isinstance(x, Pending) and x.is_open and not x.started)


def repeated(call: Call, a: Any, b: Any) -> Any:
    """``a * b`` where one operand is a list and the other may be a traced integer."""
    items, times = (a, b) if isinstance(a, list) else (b, a)
    if not isinstance(times, Tracer) or not is_integer(times) or at_hand(times) is not None:
        return a * b
    return call(library.repeated, items, times)


def python_iterator(iterable: Any) -> Any:
    """The iterator for Python, which refuses to fetch elements of a range of traced length."""
    return refusing() if type(iterable) is TracedRange else iter(iterable)


def listed(call: Call, x: Any) -> Any:
    """A generator or a range of traced length as a list; anything else unchanged."""
    if type(x) is TracedRange:
        return call(library.listed, x)
    return x.collected() if isinstance(x, Lazy) else x


def _sum(call: Call, iterable: Any, /, start: Any = 0) -> Any:
    found = call(library.total, iterable, start)
    if type(found) is not Optional:
        return start if found is None else found
    return or_start(found.__aj_is_none__(), lambda: found.__aj_value__, start)


def or_start(is_empty: Any, value: Callable[[], Any], start: Any) -> Any:
    """The sum of some elements, or ``start`` if there are none. The code fails if there are none,
    and the sum of some has another shape."""
    found = value()
    if np.shape(found) == np.shape(start):
        return hooks.choose(is_empty, lambda: start, lambda: found)
    hooks.fail_where(is_empty, ValueError(_NO_ROWS))
    return found


_NO_ROWS = (
    "a compiled function adds up no arrays at all. In Python, the result would be the number 0. "
    "Begin with zeros: sum(rows, np.zeros(3))"
)


def _or(found: Any, default: Callable[[], Any]) -> Any:
    """A value that is None if there was no element, or else the default."""
    return hooks.choose(found.__aj_is_none__(), default, lambda: found.__aj_value__)


def _extreme(original: Any, comes_first: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def answered(call: Call, iterable: Any, *, key: Any = None, default: Any = _ABSENT) -> Any:
        by = library.itself if key is None else key
        found = call(library.extreme, iterable, by, comes_first)
        if type(found) is Optional:
            if default is not _ABSENT:
                return _or(found, lambda: default)
            hooks.fail_where(found.__aj_is_none__(), ValueError(words_of(original, [])))
            return found.__aj_value__
        if found is None:  # which holds while Python runs through known elements
            return original([]) if default is _ABSENT else default
        return found

    return answered


def _answer(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, *args, **kwargs: call(of, *args, **kwargs)


#: Answers, by the functions that they stand for.
RUNNING: dict[Any, Callable[..., Any]] = {
    sum: _sum, any: _answer(library.some), all: _answer(library.every),
    max: _extreme(max, library.is_greater), min: _extreme(min, library.is_less),
    math.prod: _answer(library.product), list: _answer(library.listed),
    Counter: lambda call, iterable: call(library.count_up, Counter(), iterable),
}  # fmt: skip
