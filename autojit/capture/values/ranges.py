"""Ranges with traced bounds, and ``zip``, ``enumerate`` and ``reversed`` that hold their parts.

A loop over one of these can be captured as one operation, because the capture can read its bounds
and rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from autojit.capture.state.stretch import note_made
from autojit.capture.users.classes import special
from autojit.functions.checks import ensured
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import floor_divide, maximum, select
from autojit.protocols.lifting import as_value
from autojit.tracing.array_methods import Flat
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import LARGEST, with_bounds
from autojit.tracing.tracer import Tracer

from .refusals import refuse
from .scalars import any_traced, is_integer, is_traced, python_number, settled

#: A loop over an array that has more rows than this may be captured.
FEW_ROWS = 4

_LOOP = (
    "A traced range works in a `for` statement of a function whose source is available, or with\n"
    "    fori_loop(0, n, lambda i, x: step(x, i), x)"
)


_NO_STEP = "range() arg 3 must not be zero"


class TracedRange:
    """``range(start, stop, step)`` with a traced part; its elements are Python integers."""

    __slots__ = ("start", "step", "stop")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        note_made()
        self.start, self.stop, self.step = start, stop, step

    @property
    def sign(self) -> int | None:
        """The sign of the step; None if it is not known."""
        return None if is_traced(self.step) else (1 if self.step > 0 else -1)

    def count(self) -> Any:
        """The number of its integers, as a traced Python integer."""
        start, stop, step = (as_value(x, np.dtype(np.int64)) for x in self._parts)
        up = (stop - start + step - 1, step)
        down = (start - stop - step - 1, -step)
        if self.sign is None:
            rising = as_value(self.step > 0)
            counted = floor_divide(*(select(rising, a, b) for a, b in zip(up, down, strict=True)))
        else:
            counted = floor_divide(*(up if self.sign > 0 else down))
        return with_bounds(python_number(maximum(counted, 0), int), (0, LARGEST))

    def backwards(self) -> TracedRange:
        """The same integers from the last to the first."""
        last = self.start + (self.count() - 1) * self.step
        return TracedRange(last, self.start - self.step, -self.step)

    @property
    def _parts(self) -> tuple[Any, Any, Any]:
        return self.start, self.stop, self.step

    def __repr__(self) -> str:
        return f"range({self.start!r}, {self.stop!r}, {self.step!r})"

    def _refuse(self, *args: Any) -> NoReturn:
        refuse("Iterating in Python over a range with traced bounds", _LOOP)

    __iter__ = __getitem__ = __bool__ = __reversed__ = __contains__ = _refuse

    def __len__(self) -> int:
        refuse("len() of a range with traced bounds", "Compute it: max(0, stop - start).")


def range_(*args: Any) -> Any:
    """``range(stop)`` and ``range(start, stop, step)``."""
    if not any_traced(args) or not 1 <= len(args) <= 3:
        return range(*args)
    bounds = [bound(x) for x in args]
    if not any_traced(bounds):
        return range(*bounds)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if is_traced(step):
        step = ensured(step, step != 0, ValueError(_NO_STEP))
    elif step == 0:
        raise ValueError(_NO_STEP)
    return TracedRange(start, stop, step)


def bound(x: Any) -> Any:
    x = settled(x)
    if not is_traced(x):
        return x.__index__()
    if not is_integer(x):
        name = "float" if kind_of(x.dtype) == "f" and not np.shape(x) else f"traced {x.type}"
        raise TypeError(f"{name!r} object cannot be interpreted as an integer")
    return x if x.weak is int else python_number(as_value(x), int)


def is_long(x: Any) -> bool:
    """Whether a loop over a value may be captured: a range, an array of more than a few rows, or an
    iterator that holds one."""
    kind = type(x)
    if kind is list or kind is tuple:
        return False
    if kind in _RANGES or isinstance(x, Parts):
        return True
    if kind is Flat:
        return len(x) > FEW_ROWS and not x.index
    if isinstance(x, np.ndarray) or is_traced(x):
        shape = np.shape(x)
        return bool(shape) and (is_traced(x) or shape[0] > FEW_ROWS)
    return False


class Parts:
    """A Python iterator over known parts; `started` is true once it has been used."""

    def __init__(self) -> None:
        self.started = False
        #: What it runs through.
        self.parts: tuple[Any, ...] = ()
        self._iterator: Any = None

    def made(self) -> Any:
        """The Python iterator."""
        raise NotImplementedError

    def end(self) -> None:
        """Note that something has run through all parts."""
        self.started, self._iterator = True, iter(())

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self.started, self._iterator = True, self.made()
        return next(self._iterator)


class Zip(Parts):
    """``zip(*parts, strict=strict)``."""

    def __init__(self, *parts: Any, strict: bool = False) -> None:
        super().__init__()
        self.parts, self.strict = parts, strict

    def made(self) -> Any:
        return zip(*self.parts, strict=self.strict)


class Enumerate(Parts):
    """``enumerate(part, start)``."""

    def __init__(self, part: Any, start: Any = 0) -> None:
        super().__init__()
        self.part, self.parts, self.start = part, (part,), start

    def made(self) -> Any:
        return enumerate(self.part, self.start)


class Reversed(Parts):
    """``reversed(part)``."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part, self.parts = part, (part,)

    def made(self) -> Any:
        return reversed(self.part)


_RANGES = frozenset({range, TracedRange})


def zip_(*parts: Any, strict: bool = False) -> Any:
    """``zip``; the result holds its parts if a loop over it may be captured."""
    if not any(map(is_long, parts)):
        return zip(*parts, strict=strict)
    for number, part in enumerate(parts):
        _check_iterable(part, f"zip argument #{number + 1} must support iteration")
    return Zip(*parts, strict=strict)


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``, in the same way; a traced start is added."""
    start = settled(start)
    if is_traced(start):
        first = bound(start)
        return ((first + i, item) for i, item in enumerate(iterable))
    if not is_long(iterable):
        return enumerate(iterable, start)
    _check_iterable(iterable, "iteration over a 0-d array")
    return Enumerate(iterable, start)


def reversed_(sequence: Any) -> Any:
    """``reversed``, in the same way."""
    if isinstance(sequence, TracedRange):
        return sequence.backwards()
    if isinstance(sequence, Parts):
        raise TypeError(f"{type(sequence).__name__.lower()!r} object is not reversible")
    return Reversed(sequence) if is_long(sequence) else reversed(sequence)


def _check_iterable(part: Any, words: str) -> None:
    """Raise Python's TypeError for a part that is not iterable, before any part is run through."""
    if isinstance(part, np.ndarray) or is_traced(part):
        if not np.shape(part):
            raise TypeError(words)
    elif not isinstance(part, TracedRange):
        iter(part)


def length(x: Any) -> Any:
    """``len(x)``, traced for a range with traced bounds."""
    if type(x) in (list, dict):
        hooks.check_length(x)
    if type(x) is TracedRange:
        return x.count()
    method = special(x, "__len__")
    if method is not None:
        return method()
    is_part = isinstance(x, Tracer) and x.is_bounded and x.ndim
    return x.shape[0] if is_part else len(x)


def arange_of(r: range) -> Value:
    """The integers of a known range as an array."""
    return as_value(np.arange(r.start, r.stop, r.step, dtype=np.int64))


def lists_under(it: Any) -> list[list[Any]]:
    """The lists that an iterable runs through."""
    if type(it) in (list, tuple):
        return [it] if type(it) is list else []
    if isinstance(it, _ITERATORS):
        parts = it.__reduce__()[1]
    else:
        parts = it.parts if isinstance(it, Parts) else ()
    return [x for part in parts for x in lists_under(part)]


_ITERATORS: tuple[Any, ...] = (zip, enumerate, map, filter, type(iter([])), type(reversed([])))
