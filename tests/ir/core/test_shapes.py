from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autojit.ir.core import shapes
from autojit.ir.core.types import TypeMismatch

EXTENTS = st.integers(0, 3)
SHAPES = st.lists(EXTENTS, max_size=3).map(tuple)


@given(st.lists(SHAPES, max_size=3))
def test_broadcast_as_numpy(given_shapes: list[shapes.Shape]) -> None:
    try:
        wanted = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(TypeMismatch, match="do not broadcast together"):
            shapes.broadcast_shapes(*given_shapes)
    else:
        assert shapes.broadcast_shapes(*given_shapes) == wanted


@given(SHAPES, st.lists(st.integers(-2, 6), max_size=3).map(tuple))
def test_reshape_as_numpy(old: shapes.Shape, new: tuple[int, ...]) -> None:
    try:
        wanted = np.zeros(old).reshape(new).shape
    except ValueError:
        with pytest.raises(TypeMismatch, match="cannot reshape"):
            shapes.resolve_reshape(old, new)
    else:
        if min(new, default=0) >= -1:  # NumPy takes any negative number for -1
            assert shapes.resolve_reshape(old, new) == wanted


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 4))
def test_slice_extent(start: int, stop: int, stride: int) -> None:
    assert shapes.slice_extent(start, stop, stride) == len(range(start, stop, stride))


@given(EXTENTS, EXTENTS, EXTENTS, EXTENTS)
def test_padded_extent(extent: int, low: int, high: int, interior: int) -> None:
    spread = len(" " * interior + "".join("x" + " " * interior for _ in range(extent)))
    inner = spread - 2 * interior if extent else 0
    assert shapes.padded_extent(extent, low, high, interior) == low + inner + high


@given(SHAPES)
def test_strides_as_numpy(shape: shapes.Shape) -> None:
    if 0 not in shape:
        strides = [s // 8 for s in np.zeros(shape).strides]
        assert shapes.row_major_strides(shape) == tuple(strides)


@pytest.mark.parametrize(("axis", "ndim", "wanted"), [(0, 2, 0), (-1, 2, 1), (-2, 2, 0), (1, 2, 1)])
def test_axis(axis: int, ndim: int, wanted: int) -> None:
    assert shapes.normalize_axis(axis, ndim) == wanted


@pytest.mark.parametrize("axis", [2, -3])
def test_axis_out_of_bounds(axis: int) -> None:
    with pytest.raises(TypeMismatch, match=f"axis {axis} is out of bounds for an array of 2"):
        shapes.normalize_axis(axis, 2)


def test_axes() -> None:
    assert shapes.normalize_axes(None, 3) == (0, 1, 2)
    assert shapes.normalize_axes((), 3) == ()
    assert shapes.normalize_axes(-1, 3) == (2,)
    assert shapes.normalize_axes((2, -3), 3) == (0, 2)
    with pytest.raises(TypeMismatch, match="same axis twice"):
        shapes.normalize_axes((0, -3), 3)


def test_without_and_keep() -> None:
    assert shapes.without_axes((2, 3, 4), (0, 2)) == (3,)
    assert shapes.keep_axes((2, 3, 4), (0, 2)) == (1, 3, 1)


def test_concatenated() -> None:
    assert shapes.concatenated([(2, 3), (2, 0), (2, 4)], 1) == (2, 7)
    for other in [(3, 3), (2, 3, 1)]:
        with pytest.raises(TypeMismatch, match="all other extents must be equal"):
            shapes.concatenated([(2, 3), other], 1)
