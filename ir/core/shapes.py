"""Shape arithmetic: the one place that computes with extents.

Ops call these functions and never compute with extents themselves, so that
symbolic extents can be introduced here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index

from .types import NoSuchAxis, TypeMismatch

Shape = tuple[int, ...]


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape by NumPy's rule: align at the right, 1 stretches.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    ndim = max((len(s) for s in shapes), default=0)
    result = []
    for axis in range(-ndim, 0):
        extents = {s[axis] for s in shapes if -axis <= len(s)} - {1}
        if len(extents) > 1:
            listed = " and ".join(str(s) for s in shapes)
            raise TypeMismatch(f"shapes {listed} do not broadcast together")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def normalize_axis(axis: int, ndim: int) -> int:
    """An axis counted from the left, as a Python int; negative ones count from the right."""
    if not hasattr(axis, "__index__"):
        raise TypeMismatch(f"an axis must be an integer, not {axis!r:.60}")
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise NoSuchAxis(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def normalize_axes(axes: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Sorted distinct axes; ``None`` means all of them."""
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, Sequence):
        axes = (axes,)
    result = sorted(normalize_axis(a, ndim) for a in axes)
    if len(set(result)) < len(result):
        raise TypeMismatch(f"axis {tuple(axes)} names the same axis twice")
    return tuple(result)


def reduced_axes(axes: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The same for a reduction, which takes axis 0 and -1 of an array without axes.

    >>> reduced_axes(-1, 0)
    ()
    """
    if ndim or not hasattr(axes, "__index__"):
        return normalize_axes(axes, ndim)
    normalize_axes(axes, 1)
    return ()


def without_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with some axes taken out."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def keep_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with some axes set to 1."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def resolve_reshape(old: Shape, new: Sequence[int]) -> Shape:
    """The shape that ``reshape`` gives, with one -1 filled in.

    >>> resolve_reshape((3, 4), (2, -1))
    (2, 6)
    """
    new = tuple(int(n) for n in new)
    size = prod(old)
    unknown = [i for i, n in enumerate(new) if n == -1]
    known = prod(n for n in new if n != -1)
    fits = size == known if not unknown else known > 0 and size % known == 0
    if len(unknown) > 1 or not fits or any(n < -1 for n in new):
        words = f"cannot reshape an array of shape {old} into {new}"
        if not unknown and min(new, default=0) >= 0:
            words += f": it has {size} elements, but the new shape has {known}"
        raise TypeMismatch(words)
    return tuple(size // known if n == -1 else n for n in new)


def slice_extent(start: int, stop: int, stride: int) -> int:
    """Number of elements of ``range(start, stop, stride)`` for a positive stride."""
    return max(0, -((start - stop) // stride))


def padded_extent(extent: int, low: int, high: int, interior: int) -> int:
    """The extent after padding, ``interior`` zeros going between neighbours."""
    return low + extent + max(0, extent - 1) * interior + high


def row_major_strides(shape: Shape) -> Shape:
    """Strides in elements of a C-contiguous array."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def concatenated(shapes: Sequence[Shape], axis: int) -> Shape:
    """The shape of arrays joined along an axis."""
    first = shapes[0]
    for shape in shapes[1:]:
        if len(shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(shape, first, strict=True)) if i != axis
        ):
            raise TypeMismatch(
                f"cannot concatenate shapes {first} and {shape} along axis {axis}: "
                "all other extents must be equal"
            )
    total = sum(shape[axis] for shape in shapes)
    return (*first[:axis], total, *first[axis + 1 :])


def even_steps(values: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """By how much tuples of integers grow from one to the next, if that is always the same."""
    n = len(values)
    if n < 2 or not values[0]:
        return None
    steps = tuple([b - a for a, b in zip(values[0], values[1], strict=True)])
    for k, by in enumerate(steps):
        first = values[0][k]
        wanted = list(range(first, first + n * by, by)) if by else [first] * n
        if [v[k] for v in values] != wanted:
            return None
    return steps
