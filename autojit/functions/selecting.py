"""Functions whose result has a length that depends on values.

They work if the values are known (see `autojit.tracing.known`), that is, without ``jit``. The
selected elements come from the traced array and keep their derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.functions.indexing import check_axes
from autojit.ir.core import shapes
from autojit.protocols.lifting import as_tracer
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import fresh, is_traced
from autojit.tracing.known import value_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer


def _values(name: str, x: Any) -> np.ndarray:
    """The values that determine the length of the result."""
    found = value_of(x) if isinstance(x, Tracer) or is_traced(x) else x
    if found is None:
        raise UncoveredFunctionError(
            with_place(
                f"{name} of a traced array is not covered by autojit under jit, because the "
                f"shape of the result depends on the values. {_REWRITES[name]}",
                user_source(),
            )
        )
    return np.asarray(found)


_MASKED = "Keep the shape, and mask elements instead of removing them:\n    np.where(x > 0, x, 0)"
_SORTED = (
    "Keep the shape: sort, and mark the first of each group of equal elements:\n"
    "    s = np.sort(x)\n"
    "    first = np.append(True, s[1:] != s[:-1])   # np.sum(first) is how many there are"
)

#: Suggested code that keeps the shape.
_REWRITES = {
    **dict.fromkeys(("np.nonzero", "np.flatnonzero", "np.argwhere"), _MASKED),
    **dict.fromkeys(("np.extract", "np.compress", "np.trim_zeros"), _MASKED),
    **dict.fromkeys(("np.unique", "np.unique_all", "np.unique_counts"), _SORTED),
    **dict.fromkeys(("np.unique_inverse", "np.unique_values"), _SORTED),
    **dict.fromkeys(("np.union1d", "np.intersect1d", "np.setdiff1d", "np.setxor1d"),
                    "Ask which elements the other array holds:\n    np.isin(x, y)"),
}  # fmt: skip


@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    check_axes(a)
    return fresh(np.nonzero(_values("np.nonzero", a)))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return fresh(np.flatnonzero(_values("np.flatnonzero", a)))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    return fresh(np.argwhere(_values("np.argwhere", a)))


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    chosen = np.flatnonzero(_values("np.extract", condition))
    return np.take(np.ravel(as_tracer(arr)), chosen)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    chosen = np.flatnonzero(_values("np.compress", condition))
    return np.take(np.ravel(a) if axis is None else a, chosen, axis=axis or 0)


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
) -> Any:  # fmt: skip
    settings = {"return_inverse": return_inverse, "return_counts": return_counts, "axis": axis}
    find: Any = np.unique
    found = find(_values("np.unique", ar), True, equal_nan=equal_nan, **settings)
    flat = np.ravel(ar) if axis is None else ar
    picked = np.take(flat, found[1], axis=0 if axis is None else axis)
    rest = found[1:] if return_index else found[2:]
    return (picked, *fresh(tuple(rest))) if rest else picked


@implements(np.unique_all)
def unique_all(x: Any, /) -> Any:
    _values("np.unique_all", x)
    found = unique(x, True, True, True, equal_nan=False)
    return type(np.unique_all(np.zeros(0)))(*found)


@implements(np.unique_counts)
def unique_counts(x: Any, /) -> Any:
    _values("np.unique_counts", x)
    found = unique(x, return_counts=True, equal_nan=False)
    return type(np.unique_counts(np.zeros(0)))(*found)


@implements(np.unique_inverse)
def unique_inverse(x: Any, /) -> Any:
    _values("np.unique_inverse", x)
    found = unique(x, return_inverse=True, equal_nan=False)
    return type(np.unique_inverse(np.zeros(0)))(*found)


@implements(np.unique_values)
def unique_values(x: Any, /) -> Any:
    _values("np.unique_values", x)
    return unique(x, equal_nan=False)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    return filt[_support(_values("np.trim_zeros", filt), trim, axis)]


def _support(values: np.ndarray, trim: str, axis: Any) -> tuple[slice, ...]:
    """The slices that enclose the nonzero elements along the axes."""
    axes = shapes.normalize_axes(axis, values.ndim)
    found, trim = np.argwhere(values), trim.lower()
    parts = [slice(None)] * values.ndim
    for i in axes:
        if not len(found):
            parts[i] = slice(0, 0)
            continue
        low = int(found[:, i].min()) if "f" in trim else None
        high = int(found[:, i].max()) + 1 if "b" in trim else None
        parts[i] = slice(low, high)
    return tuple(parts)


# -- sets -----------------------------------------------------------------------------


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    for x in (ar1, ar2):
        _values("np.union1d", x)
    return unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))


def _picked(name: str, x: Any, y: Any, keep: Any) -> Any:
    """The distinct elements of x for which ``keep(values of x, values of y)`` is true."""
    values, others = _values(name, x), _values(name, y)
    found, first = np.unique(values, return_index=True)
    return np.take(np.ravel(x), first[keep(found, others)])


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    return _picked("np.setdiff1d", ar1, ar2, lambda x, y: ~np.isin(x, y))


@implements(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    common = _picked("np.intersect1d", ar1, ar2, np.isin)
    if not return_indices:
        return common
    values = [_values("np.intersect1d", x) for x in (ar1, ar2)]
    find: Any = np.intersect1d
    places = find(*values, return_indices=True)[1:]
    return (common, *fresh(tuple(places)))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    name = "np.setxor1d"
    parts = [_picked(name, a, b, lambda x, y: ~np.isin(x, y)) for a, b in ((ar1, ar2), (ar2, ar1))]
    return np.sort(np.concatenate(parts))
