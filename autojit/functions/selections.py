"""Selections by an index: a window of an array, and places along some axes of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.program import Value
from autojit.ir.ops import move
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.ir.ops.update import add_at, scatter, update
from autojit.protocols.lifting import as_value

#: Known places in so many runs of neighbours are slices, joined; more are a gather.
MOST_RUNS = 4


class Window(NamedTuple):
    """The selection by integers, slices and ``None``: a range of each axis, some reversed, in a
    shape.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    stride: tuple[int, ...]
    flips: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def copies(self) -> bool:
        """Whether what is read is a copy in NumPy, and not a view."""
        return False

    @property
    def extents(self) -> shapes.Shape:
        """How many elements of each axis are in it."""
        return tuple(map(shapes.slice_extent, self.start, self.stop, self.stride))

    def read(self, x: Value) -> Value:
        """The part of an array."""
        if self.extents != x.shape or max(self.stride, default=1) > 1:
            x = move.slice_(x, start=self.start, stop=self.stop, stride=self.stride)
        if self.flips:
            x = move.flip(x, axes=self.flips)
        return move.reshape(x, shape=self.shape) if x.shape != self.shape else x

    def write(self, x: Value, part: Value) -> Value:
        """The array with that part in place of its own."""
        if part.shape != self.extents:
            part = move.reshape(part, shape=self.extents)
        if self.flips:
            part = move.flip(part, axes=self.flips)
        if part.shape == x.shape:
            return part
        return update(x, part, start=self.start, stride=self.stride)


@dataclass(frozen=True)
class Places:
    """The selection by index arrays along some ``axes`` of a window; the arrays' axes come at
    ``at``.
    """

    around: Window
    axes: tuple[int, ...]
    #: From 0 on; those that are known are arrays of NumPy's.
    places: tuple[Value | np.ndarray, ...]
    #: The shape of all of them together.
    extents: shapes.Shape
    at: int
    copies: bool

    @property
    def shape(self) -> shapes.Shape:
        rest = shapes.without_axes(self.around.shape, self.axes)
        return (*rest[: self.at], *self.extents, *rest[self.at :])

    def within(self, take: Callable[[Value], Value]) -> Places:
        """The same in a block, which takes values from outside."""
        places = tuple([take(p) if isinstance(p, Value) else p for p in self.places])
        return replace(self, places=places)

    @property
    def indices(self) -> tuple[Value, ...]:
        """The places as values."""
        return tuple(move.broadcast_to(_index(p), self.extents) for p in self.places)

    def read(self, x: Value) -> Value:
        """The elements at the places."""
        runs = _runs(self.places)
        if runs:
            return self._joined(self.around.read(x), self.axes[0], runs)
        picked = gather(self.around.read(x), *self.indices, axes=self.axes)
        count = len(self.extents)
        order = range(picked.type.ndim)
        first, rest = order[:count], order[count:]
        return _transposed(picked, (*rest[: self.at], *first, *rest[self.at :]))

    def _joined(self, x: Value, axis: int, runs: Sequence[tuple[int, int]]) -> Value:
        """The runs, one after the other."""
        whole = x.shape
        parts = [
            move.slice_(
                x,
                start=(*(0,) * axis, first, *(0,) * (len(whole) - axis - 1)),
                stop=(*whole[:axis], last + 1, *whole[axis + 1 :]),
                stride=(1,) * len(whole),
            )
            for first, last in runs
        ]
        return move.concatenate(*parts, axis=axis)

    def write(self, x: Value, part: Value) -> Value:
        """The array with those elements set; of several at one place the last stays."""
        return self._changed(scatter, x, part)

    def add(self, x: Value, part: Value) -> Value:
        """The array with all of those elements added to its own."""
        return self._changed(add_at, x, part)

    def _changed(self, change: Any, x: Value, part: Value) -> Value:
        end = self.at + len(self.extents)
        order = range(part.type.ndim)
        part = _transposed(part, (*order[self.at : end], *order[: self.at], *order[end:]))
        changed = change(self.around.read(x), part, *self.indices, axes=self.axes)
        return self.around.write(x, changed)


def _transposed(x: Value, axes: tuple[int, ...]) -> Value:
    return x if axes == tuple(range(len(axes))) else move.transpose(x, axes=axes)


def _runs(places: tuple[Value | np.ndarray, ...]) -> Sequence[tuple[int, int]]:
    """Where the runs of neighbours in one row of known places begin and end; none if they are
    many."""
    known = places[0]
    if len(places) > 1 or not isinstance(known, np.ndarray) or known.ndim != 1 or not known.size:
        return ()
    (ends,) = np.nonzero(np.diff(known) != 1)
    if len(ends) >= MOST_RUNS:
        return ()
    firsts, lasts = known[[0, *(ends + 1)]], known[[*ends, -1]]
    return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _index(places: Value | np.ndarray) -> Value:
    if isinstance(places, Value):
        return places
    return _progression(places) or as_value(places)


def _progression(places: Any) -> Value | None:
    """``np.arange(n)`` and other equal steps along one axis as what they are, not as an array."""
    long = [axis for axis, extent in enumerate(places.shape) if extent > 1]
    if len(long) != 1 or not places.size:
        return None
    flat = places.ravel()
    start, step = int(flat[0]), int(flat[1] - flat[0])
    if np.any(np.diff(flat) != step):
        return None
    counted: Value = iota(dtype=places.dtype, shape=places.shape, axis=long[0])
    return counted * step + start
