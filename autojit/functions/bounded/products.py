"""Products of bounded vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core.program import Value
from autojit.protocols.lifting import tracer
from autojit.tracing.source import user_source

from .alignment import layout, met, placed, same_length
from .array import Ranges, masked, refuse
from .reductions import wrapped


def _at(x: Any, axis: int, ranges: Ranges, shape: tuple[int, ...]) -> Value:
    """An operand with one axis laid out anew, and 0 at the places that do not count."""
    value, _ = placed(x, ranges, shape)
    return masked(value, ranges, 0)


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """``a @ b`` for vectors and matrices with at least one bounded operand."""
    (ranges_a, shape_a), (ranges_b, shape_b) = layout(a), layout(b)
    if not shape_a or not shape_b:
        return np.multiply(a, b)
    if len(shape_a) > 2 or len(shape_b) > 2 or out is not None:
        refuse("A product of more than two axes, or with out=,")
    axis_a, axis_b = len(shape_a) - 1, 0
    inner_a, inner_b = (ranges_a[axis_a], shape_a[axis_a]), (ranges_b[axis_b], shape_b[axis_b])
    if inner_a[0] is None and inner_b[0] is None and inner_a[1] != inner_b[1]:
        raise _mismatch(inner_a[1], inner_b[1])
    inner = _inner(inner_a, inner_b)
    values = []
    for x, axis, ranges, shape in (
        (a, axis_a, ranges_a, shape_a), (b, axis_b, ranges_b, shape_b),
    ):  # fmt: skip
        found, extent = inner
        new_ranges = (*ranges[:axis], found, *ranges[axis + 1 :])
        new_shape = (*shape[:axis], extent, *shape[axis + 1 :])
        values.append(tracer(_at(x, axis, new_ranges, new_shape)))
    left, right = values
    return wrapped(np.matmul(left, right), (*ranges_a[:axis_a], *ranges_b[1:]))


def _inner(a: Any, b: Any) -> Any:
    """The layout of the contracted axis; an axis of length 1 is not broadcast here."""
    if a[0] is None and b[0] is None:
        return a
    for mine, other in ((a, b), (b, a)):
        if mine[0] is None and mine[1] == 1:  # unlike in broadcasting
            found, extent = met([other])
            assert found is not None
            return found.of_length(same_length(found.length, 1)), extent
    return met([a, b])


def _mismatch(a: int, b: int) -> ShapeError:
    return ShapeError(
        with_place(
            f"The contracted axes of a product have different lengths, {a} and {b}", user_source()
        )
    )


def inner(a: Any, b: Any, /) -> Any:
    if len(layout(a)[1]) > 1 or len(layout(b)[1]) > 1:
        refuse("np.inner of a matrix")
    return matmul(a, b)


def vdot(a: Any, b: Any, /) -> Any:
    if len(layout(a)[1]) > 1 or len(layout(b)[1]) > 1:
        refuse("np.vdot of a matrix")
    return matmul(np.conj(a) if a.dtype.kind == "c" else a, b)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    if len(layout(a)[1]) != 1 or len(layout(b)[1]) != 1 or out is not None:
        refuse("np.outer of other operands than vectors, or with out=,")
    return np.multiply(a[:, None], b[None, :])
