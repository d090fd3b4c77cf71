"""Sorting and functions based on it: partitions, search in tables, membership.

The order itself has no derivative. Sorted values are elements at permuted places, so a gradient
goes back to the place of each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.halves import kind_of
from autojit.ir.linalg import order as ordering
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, shape_of, tracer
from autojit.protocols.registry import implements, reject
from autojit.tracing.tracer import Tracer

from .assignment import setitem
from .indexing import take_along_axis
from .manipulation import along_one_axis, moveaxis
from .reductions import check_ordered


def _places(name: str, a: Any, axis: int, kind: Any, order: Any, stable: Any) -> Tracer:
    """The permutation that sorts along an axis; it is always stable, which suits every ``kind``."""
    axis = _checked(name, a, axis, kind, order, stable)
    last = moveaxis(as_tracer(a), axis, -1)
    return moveaxis(_order(_keys(last)), -1, axis)


def _checked(name: str, a: Any, axis: int, kind: Any, order: Any, stable: Any) -> int:
    """The normalized axis; raise for settings that NumPy does not accept."""
    reject(name, order=order)
    if kind not in (None, "quicksort", "heapsort", "stable", "mergesort"):
        raise ValueError(f"{name}: kind= must be 'quicksort', 'heapsort' or 'stable'; got {kind!r}")
    if kind is not None and stable is not None:
        raise ValueError(f"{name}: kind= and stable= cannot both be given")
    return shapes.normalize_axis(axis, len(shape_of(a)))


def _keys(x: Tracer) -> tuple[Any, ...]:
    """Real sort keys, the most significant first.

    Complex numbers are sorted as in NumPy: by the real part, then by the imaginary part. Numbers
    with NaN in the imaginary part follow, then numbers with NaN in the real part.
    """
    if x.dtype.kind != "c":
        return (x,)
    real, imag = np.real(x), np.imag(x)
    last = 2 * np.isnan(real).astype(np.int8) + np.isnan(imag)
    return last, real, imag


def _order(keys: Sequence[Any]) -> Tracer:
    """The permutation that sorts the last axis by keys, the most significant first.

    It sorts by the last key, then by each key before it; each sort is stable.
    """
    places: Any = None
    for key in reversed(keys):
        key = key.astype(np.uint8) if key.dtype.kind == "b" else key
        moved = key if places is None else take_along_axis(key, places, -1)
        step = tracer(ordering.argsort(as_value(moved)))
        places = step if places is None else take_along_axis(places, step, -1)
    return places


@implements(np.argsort)
def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    a, axis = along_one_axis(a, axis)
    return _places("np.argsort", a, axis, kind, order, stable)


@implements(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if axis is None:
        a, axis = np.ravel(a), -1
    if dtype_of(a).kind == "c":
        return take_along_axis(a, _places("np.sort", a, axis, kind, order, stable), axis)
    axis = _checked("np.sort", a, axis, kind, order, stable)
    last = moveaxis(as_tracer(a), axis, -1)
    truth = last.dtype.kind == "b"
    made = tracer(ordering.sort(as_value(last.astype(np.uint8) if truth else last)))
    return moveaxis(made.astype(np.bool_) if truth else made, -1, axis)


def sort_in_place(
    self: Tracer, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """``x.sort()``."""
    setitem(self, ..., sort(self, axis, kind, order, stable=stable))


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    single = dtype_of(a) in map(np.dtype, (np.int8, np.uint8, np.int16, np.uint16, np.float32))
    complex_ = np.complex64 if single else np.complex128
    return sort(a if dtype_of(a).kind == "c" else as_tracer(a).astype(complex_))


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The last key is the most significant one."""
    if len(shape_of(keys)) == 1 and not shape_of(keys[0]):
        return np.int64(0)
    rows = [moveaxis(as_tracer(key), axis, -1) for key in keys]
    return moveaxis(_order([k for row in reversed(rows) for k in _keys(row)]), -1, axis)


def _check_places(name: str, kth: Any, extent: int) -> None:
    places = np.asarray(kth)
    if places.dtype.kind not in "iu" or np.any((places < -extent) | (places >= extent)):
        raise ValueError(f"{name}: kth={kth!r} is out of bounds for {extent} elements")


@implements(np.partition, known=("kth",))
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """Sort the whole axis, which is a partition at every place."""
    a, axis = along_one_axis(a, axis)
    _check_places("np.partition", kth, shape_of(a)[axis])
    return sort(a, axis, order=order)


@implements(np.argpartition, known=("kth",))
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    a, axis = along_one_axis(a, axis)
    _check_places("np.argpartition", kth, shape_of(a)[axis])
    return argsort(a, axis, order=order)


# -- places in tables ---------------------------------------------------------


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Search by bisection, with one read of the table for each binary digit of its length."""
    if sorter is not None:
        a = np.take(a, sorter)
    if side not in ("left", "right"):
        raise ValueError(f"np.searchsorted: side must be 'left' or 'right'; got {side!r}")
    if len(shape_of(a)) != 1:
        raise ValueError(f"np.searchsorted: a must have one axis; got shape {shape_of(a)}")
    dtype = np.result_type(dtype_of(a), dtype_of(v))
    check_ordered("np.searchsorted", dtype)
    table, sought = as_tracer(a).astype(dtype), as_tracer(v).astype(dtype)
    (n,) = table.shape
    before = _less if side == "left" else _not_greater
    found: Any = np.zeros(sought.shape, np.int64)
    for digit in reversed(range(n.bit_length())):
        probe = found + (1 << digit)
        element = table[np.minimum(probe, n) - 1]
        found = np.where((probe <= n) & before(element, sought), probe, found)
    return found


def _less(a: Any, b: Any) -> Any:
    """Whether a < b in NumPy's order, in which NaN comes last."""
    return (a < b) | (np.isnan(b) & ~np.isnan(a)) if kind_of(a.dtype) == "f" else a < b


def _not_greater(a: Any, b: Any) -> Any:
    return (a <= b) | np.isnan(b) if kind_of(a.dtype) == "f" else a <= b


#: Up to this many elements, x is compared with each of them.
_FEW = 32


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None,
) -> Any:  # fmt: skip
    x, table = as_tracer(element), np.ravel(as_tracer(test_elements))
    (n,) = table.shape
    if not n:
        return np.full(x.shape, invert)
    if n <= _FEW or np.result_type(x.dtype, table.dtype).kind == "c":
        found = np.any(x[..., None] == table, axis=-1)
    else:
        table = np.sort(table)
        found = table[np.minimum(searchsorted(table, x), n - 1)] == x
    return ~found if invert else found


if hasattr(np, "in1d"):  # until NumPy 2.4

    @implements(np.in1d)
    def in1d(
        ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
    ) -> Any:
        return isin(np.ravel(as_tracer(ar1)), ar2, invert=invert)
