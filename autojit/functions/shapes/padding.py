"""``np.pad`` in each of its modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.ir.core.shapes import normalize_axis
from autojit.ir.ops import move
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, tracer
from autojit.protocols.registry import implements, uncovered
from autojit.tracing.tracer import Tracer

_Widths = tuple[int, int]


@implements(np.pad, known=("pad_width",))
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if callable(mode):
        raise uncovered("np.pad", " with a function as its mode")
    array = as_tracer(array)
    widths = _widths(pad_width, array.ndim)
    allowed = _KEYWORDS.get(mode)
    if allowed is None:
        raise ValueError(f"np.pad: mode={mode!r} is none of {', '.join(_KEYWORDS)}")
    unknown = set(kwargs) - set(allowed)
    if unknown:
        raise ValueError(f"np.pad: mode={mode!r} takes no {', '.join(sorted(unknown))}=")
    if mode in _REPEATING and kwargs.get("reflect_type", "even") == "even":
        return _repeated(array, widths, mode)
    if mode in ("constant", "empty"):
        return _constant(array, widths, kwargs.get("constant_values", 0))
    for axis, width in enumerate(widths):
        array = _along(array, axis, width, mode, kwargs)
    return array


#: The keywords of each mode.
_KEYWORDS = {
    "constant": ("constant_values",),
    "empty": (),
    "edge": (),
    "wrap": (),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "linear_ramp": ("end_values",),
    **dict.fromkeys(("maximum", "minimum", "mean", "median"), ("stat_length",)),
}

#: Modes that repeat elements of the array itself.
_REPEATING = ("edge", "reflect", "symmetric", "wrap")


def _widths(pad_width: Any, ndim: int) -> list[_Widths]:
    if isinstance(pad_width, dict):  # axis -> width, since NumPy 2.3
        pairs = {normalize_axis(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(pairs.get(i, 0), 2) for i in range(ndim)]
    found = np.broadcast_to(np.asarray(pad_width), (ndim, 2))
    if np.any(found < 0):
        raise ValueError("np.pad: pad_width must not be negative")
    return [(int(low), int(high)) for low, high in found]


def _repeated(array: Tracer, widths: list[_Widths], mode: str) -> Any:
    for axis, width in enumerate(widths):
        places = np.pad(np.arange(array.shape[axis]), width, mode)  # type: ignore[call-overload]
        array = np.take(array, places, axis=axis)
    return array


def _constant(array: Tracer, widths: list[_Widths], fill: Any) -> Any:
    if isinstance(fill, (int, float)) and not fill:
        low, high = zip(*widths, strict=True) if widths else ((), ())
        return tracer(move.pad(as_value(array), low=low, high=high, interior=(0,) * len(low)))
    fills = np.broadcast_to(fill, (array.ndim, 2))
    for axis, width in enumerate(widths):
        shape = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
        ends = [np.broadcast_to(fills[axis, side], shape) for side in (0, 1)]
        array = _with_margins(array, axis, width, ends)
    return array


def _with_margins(array: Any, axis: int, widths: _Widths, ends: Any) -> Any:
    """Pad with two rows, repeated before and after the array."""
    margins = [
        np.repeat(as_tracer(end).astype(array.dtype), width, axis)
        for width, end in zip(widths, ends, strict=True)
    ]
    return np.concatenate([margins[0], array, margins[1]], axis)


def _part(array: Any, axis: int, start: Any, stop: Any) -> Any:
    return array[(slice(None),) * axis + (slice(start, stop),)]


def _along(array: Any, axis: int, width: _Widths, mode: str, kwargs: dict[str, Any]) -> Any:
    if mode == "linear_ramp":
        ends = np.broadcast_to(kwargs.get("end_values", 0), (array.ndim, 2))[axis]
        return _ramps(array, axis, width, ends)
    if mode in _REPEATING:
        return _mirrored(array, axis, width, mode)
    lengths = np.broadcast_to(kwargs.get("stat_length") or array.shape[axis], (array.ndim, 2))[axis]
    low, high = (min(int(n), array.shape[axis]) for n in lengths)
    count = array.shape[axis]
    ends = [_statistic(_part(array, axis, 0, low), axis, mode),
            _statistic(_part(array, axis, count - high, count), axis, mode)]  # fmt: skip
    return _with_margins(array, axis, width, ends)


_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median,
}  # fmt: skip


def _statistic(part: Any, axis: int, mode: str) -> Any:
    value = _STATISTICS[mode](part, axis=axis, keepdims=True)
    rounds = dtype_of(part).kind in "iu" and kind_of(dtype_of(value)) == "f"
    return np.rint(value) if rounds else value


def _ramps(array: Any, axis: int, widths: _Widths, ends: Any) -> Any:
    """Pad with evenly spaced values from the end values to the edges."""
    kind, count = array.dtype, array.shape[axis]
    edges = _part(array, axis, 0, 1), _part(array, axis, count - 1, count)
    ramps = []
    for edge, width, end in zip(edges, widths, ends, strict=True):
        steps = np.arange(width).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        ramp = end + (edge - end) * (steps / max(width, 1))
        ramps.append(as_tracer(np.floor(ramp) if kind.kind in "iu" else ramp).astype(kind))
    return np.concatenate([ramps[0], array, np.flip(ramps[1], axis)], axis)


def _mirrored(array: Any, axis: int, widths: _Widths, mode: str) -> Any:
    """Reflect at the edge with ``reflect_type="odd"``, which mirrors the values too."""
    skipped = 1 if mode == "reflect" else 0
    for side, width in enumerate(widths):
        if side:
            array = np.flip(array, axis)
        while width > 0:
            period = array.shape[axis] - skipped
            if not period:  # repeat the only element
                array = np.concatenate([np.repeat(array, width, axis), array], axis)
                break
            taken = min(width, period)
            edge = _part(array, axis, 0, 1)
            mirror = 2 * edge - np.flip(_part(array, axis, skipped, skipped + taken), axis)
            array, width = np.concatenate([mirror, array], axis), width - taken
        if side:
            array = np.flip(array, axis)
    return array
