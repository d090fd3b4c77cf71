"""Interpolation in tables, unwrapping of phases, convolution and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.functions.manipulation import sliding_window_view
from autojit.functions.mathematics import conjugate
from autojit.ir.core.halves import kind_of
from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import as_tracer, result_dtype, shape_of
from autojit.protocols.registry import implements
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

#: Tables up to this length are searched by comparison with each entry.
_SHORT = 32


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    x, places, heights = (as_tracer(a) for a in (x, xp, fp))
    if "c" in (x.dtype.kind, places.dtype.kind):
        raise TypeError("np.interp: x and xp must be real, not complex")
    x, places = x.astype(np.float64), places.astype(np.float64)
    heights = heights.astype(np.result_type(heights, np.float64))
    if period is not None:
        x, places, heights = _periodic(x, places, heights, period)
        left = right = None
    (n,) = shape_of(places)
    # The interval that contains x: for short tables, counting is as fast as searching.
    if n <= _SHORT:
        below = np.sum(x[..., None] >= places, axis=-1)
    else:
        below = np.searchsorted(places, x, "right")
    i = np.clip(below - 1, 0, max(n - 2, 0))
    slope = (heights[i + 1] - heights[i]) / (places[i + 1] - places[i]) if n > 1 else 0.0
    inside = heights[i] + slope * (x - places[i])
    low = heights[0] if left is None else left
    high = heights[-1] if right is None else right
    return np.where(x < places[0], low, np.where(x > places[-1], high, inside))


def _periodic(x: Any, places: Any, heights: Any, period: Any) -> tuple[Any, Any, Any]:
    """The places within one period, sorted, and one more at either end."""
    if not is_tracer(period) and period == 0:
        raise ValueError("np.interp: period must be a non-zero value")
    period = np.abs(period)
    x, places = x % period, places % period
    order = np.argsort(places)
    places, heights = places[order], heights[order]
    places = np.concatenate([places[-1:] - period, places, places[:1] + period])
    return x, places, np.concatenate([heights[-1:], heights, heights[:1]])


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    p = as_tracer(p)
    steps = np.diff(p, axis=axis)
    kind = result_dtype(steps, period)
    half: Any = period / 2
    ambiguous: Any = True
    if kind.kind in "iu":
        half, rest = divmod(period, 2)
        ambiguous = rest == 0
    discont = period / 2 if discont is None else discont
    wrapped = np.mod(steps + half, period) - half
    wrapped = np.where(ambiguous & (wrapped == -half) & (steps > 0), half, wrapped)
    jumps = np.where(np.abs(steps) < discont, np.zeros((), steps.dtype), wrapped - steps)
    first = p[(slice(None),) * (normalize_axis(axis, p.ndim)) + (slice(0, 1),)].astype(kind)
    rest = p[(slice(None),) * (normalize_axis(axis, p.ndim)) + (slice(1, None),)]
    rest = (rest + np.cumsum(jumps, axis)).astype(kind)
    return np.concatenate([first, rest], axis)


@implements(np.i0)
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    import scipy.special

    x = as_tracer(x)
    if x.dtype.kind == "c":
        raise TypeError("np.i0: not supported for complex values")
    if kind_of(x.dtype) != "f":
        return scipy.special.i0(x.astype(np.float64))
    return scipy.special.i0(x).astype(x.dtype)


# -- filters --------------------------------------------------


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = np.ravel(as_tracer(a)), np.ravel(as_tracer(v))
    if a.size < v.size:
        a, v = v, a
    m = v.size
    margins = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}
    if mode not in margins or not m:
        words = "both arrays must have elements" if not m else "use 'full', 'same' or 'valid'"
        raise ShapeError(with_place(f"np.convolve, mode {mode!r}: {words}", user_source()))
    return sliding_window_view(np.pad(a, margins[mode]), m) @ v[::-1]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = np.ravel(as_tracer(a)), np.ravel(as_tracer(v))
    if a.size < v.size:
        return conjugate(correlate(v, a, mode))[::-1]
    return convolve(a, conjugate(v)[::-1], mode)
