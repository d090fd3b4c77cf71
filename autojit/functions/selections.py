"""Selections made by an index: a window of an array, or places along axes of a window."""

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

#: Known places that form at most this many runs are joined slices; more are a gather.
MOST_RUNS = 4


class Window(NamedTuple):
    """The selection by integers, slices and ``None``.

    It is a range of each axis, some of them reversed, in a final shape.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    stride: tuple[int, ...]
    flips: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def copies(self) -> bool:
        """Whether reading makes a copy in NumPy rather than a view."""
        return False

    @property
    def extents(self) -> shapes.Shape:
        """The number of selected elements of each axis."""
        return tuple(map(shapes.slice_extent, self.start, self.stop, self.stride))

    def read(self, x: Value) -> Value:
        """The selected part of an array."""
        if self.extents != x.shape or max(self.stride, default=1) > 1:
            x = move.slice_(x, start=self.start, stop=self.stop, stride=self.stride)
        if self.flips:
            x = move.flip(x, axes=self.flips)
        return move.reshape(x, shape=self.shape) if x.shape != self.shape else x

    def write(self, x: Value, part: Value) -> Value:
        """The array with another part in place of the selected one."""
        if part.shape != self.extents:
            part = move.reshape(part, shape=self.extents)
        if self.flips:
            part = move.flip(part, axes=self.flips)
        if part.shape == x.shape:
            return part
        return update(x, part, start=self.start, stride=self.stride)


@dataclass(frozen=True)
class Places:
    """The selection by index arrays along ``axes`` of a window.

    The axes of the index arrays come at ``at`` in the result.
    """

    around: Window
    axes: tuple[int, ...]
    #: Counted from 0; known places are NumPy arrays.
    places: tuple[Value | np.ndarray, ...]
    #: The shape to which they broadcast together.
    extents: shapes.Shape
    at: int
    copies: bool

    @property
    def shape(self) -> shapes.Shape:
        rest = shapes.without_axes(self.around.shape, self.axes)
        return (*rest[: self.at], *self.extents, *rest[self.at :])

    def within(self, take: Callable[[Value], Value]) -> Places:
        """The same selection inside a block, which receives outer values through ``take``."""
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
        """The runs, concatenated."""
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
        """The array with these elements set; for a repeated place, the last value counts."""
        return self._changed(scatter, x, part)

    def add(self, x: Value, part: Value) -> Value:
        """The array with values added at the places; values at repeated places add up."""
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
    """The first and last place of each run of consecutive known places; none if there are many."""
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
    """``np.arange(n)`` and other even steps along one axis as an iota; None for other places."""
    long = [axis for axis, extent in enumerate(places.shape) if extent > 1]
    if len(long) != 1 or not places.size:
        return None
    flat = places.ravel()
    start, step = int(flat[0]), int(flat[1] - flat[0])
    if np.any(np.diff(flat) != step):
        return None
    counted: Value = iota(dtype=places.dtype, shape=places.shape, axis=long[0])
    return counted * step + start
