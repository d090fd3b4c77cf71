"""Iterators of the standard library over generators, and over lists of traced length."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.state.stretch import has_stretch
from autojit.capture.values import ranges
from autojit.capture.values.scalars import is_integer, is_traced, settled
from autojit.capture.values.table import When, answers
from autojit.tracing.hooks import hooks

from . import library
from .resumable import Lazy, handed_on, in_trace, refusing


def _plain(x: Any) -> Any:
    """The iterable for Python's own iterator; asking a list or range of traced length is
    refused."""
    return refusing() if _is_traced_length(x) else x


def _is_traced_length(x: Any) -> bool:
    return type(x) is ranges.TracedRange or has_stretch(x)


def _enumerated(iterable: Any, start: Any = 0) -> Any:
    return handed_on(
        lambda: enumerate(_plain(iterable), start), library.numbered, (iterable, start)
    )


def _mapped(function: Any, iterable: Any, *others: Any) -> Any:
    plain = map(function, *map(_plain, (iterable, *others)))
    if not others:
        return handed_on(lambda: plain, library.mapped, (function, iterable))
    if any(map(_is_traced_length, (iterable, *others))):
        return handed_on(lambda: plain, library.mapped_all, (function, (iterable, *others)))
    return plain


def _starmapped(function: Any, iterable: Any) -> Any:
    plain = itertools.starmap(function, _plain(iterable))
    return handed_on(lambda: plain, library.starmapped, (function, iterable))


@answers(iter, when=When.ALWAYS)
def iterated(x: Any, *last: Any) -> Any:
    """``iter``."""
    if not in_trace() or isinstance(x, Lazy):
        return x if isinstance(x, Lazy) else iter(x, *last)
    if last:
        return handed_on(lambda: iter(x, *last), library.repeatedly, (x, *last))
    if not isinstance(x, _INDEXED) and not (is_traced(x) and np.shape(x)):
        return iter(x)
    return handed_on(lambda: iter(_plain(x)), library.each, (x,))


#: Types of iterables whose iterators are generators in a trace, so that loops can carry them.
_INDEXED = (list, tuple, range, ranges.TracedRange, np.ndarray, ranges.Parts)


def _zipped(*parts: Any, strict: bool = False) -> Any:
    """``zip``; only its first part may be a generator or a list of traced length."""
    first, *others = parts
    plain = zip(*parts, strict=strict)
    if strict or not all(isinstance(x, (list, tuple)) or is_traced(x) for x in others):
        return plain
    return handed_on(lambda: plain, library.zipped_with, (first, tuple(others)))


def _islice(iterable: Any, *bounds: Any) -> Any:
    bounds = tuple(map(settled, bounds))
    first, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    first, step = 0 if first is None else first, 1 if step is None else step
    given = iterable, first, stop, step
    if not any(map(is_traced, bounds)):
        plain = itertools.islice(_plain(iterable), *bounds)
        return handed_on(lambda: plain, library.islice, given)
    for bound, least, words in ((first, 0, _BOUND), (stop, 0, _BOUND), (step, 1, _STEP)):
        if bound is None:
            continue
        if is_traced(bound) and not is_integer(bound):
            raise ValueError(words)
        hooks.fail_where(np.less(bound, least), ValueError(words))
    return handed_on(refusing, library.islice, given)


_BOUND = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."
_STEP = "Step for islice() must be a positive integer or None."


def _chained(*iterables: Any) -> Any:
    return handed_on(
        lambda: itertools.chain(*map(_plain, iterables)), library.chained, (iterables,)
    )


def _pairwise(iterable: Any) -> Any:
    return handed_on(lambda: itertools.pairwise(_plain(iterable)), library.pairs, (iterable,))


def _accumulated(iterable: Any, function: Any = operator.add, *, initial: Any = None) -> Any:
    plain = itertools.accumulate(_plain(iterable), function, initial=initial)
    if initial is not None:
        return handed_on(lambda: plain, library.sums_from, (iterable, function, initial))
    return handed_on(lambda: plain, library.sums, (iterable, function))


#: Answers for the standard library's iterators over generators and lists of traced length.
IN_PYTHON: dict[Any, Callable[..., Any]] = {
    enumerate: _enumerated, map: _mapped, zip: _zipped, itertools.islice: _islice,
    itertools.chain: _chained, itertools.pairwise: _pairwise, itertools.accumulate: _accumulated,
    itertools.starmap: _starmapped, iter: iterated,
}  # fmt: skip
