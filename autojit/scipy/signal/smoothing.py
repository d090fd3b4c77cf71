"""Smoothing, trends and medians of ``scipy.signal``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, known_integer, last, pad, unlast
from autojit.scipy.registry import answers, original

#: The mode of np.pad for each mode of a smoothing filter.
_EDGES = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


@answers("scipy.signal.savgol_filter")
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """The filter of Savitzky and Golay: fit polynomials to windows. All settings must be known.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import savgol_filter
    >>> (35 * grad(lambda x: savgol_filter(x, 5, 2)[2])(np.zeros(5))).round(9)
    array([-3., 12., 17., 12., -3.])
    """
    given = {"window_length": window_length, "polyorder": polyorder, "deriv": deriv,
             "delta": delta}  # fmt: skip
    for name, value in given.items():
        known(value, name, "savgol_filter")
    if mode not in (*_EDGES, "interp"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    weights = original("scipy.signal.savgol_coeffs")(window_length, polyorder, deriv, delta)
    rows = last(floating(x), axis)
    weights, size = weights.astype(rows.dtype)[::-1], int(window_length)
    if mode == "interp":
        if size > rows.shape[-1]:
            raise ValueError(
                "If mode is 'interp', window_length must be less than or equal to the size of x."
            )
        made = _interpolated(rows, weights, size, tuple(given.values()))
    else:
        made = _windows(_padded(rows, (size - 1) // 2, size, mode, cval), weights)
    return unlast(made, axis)


def _padded(rows: Any, before: int, size: int, mode: str, cval: float) -> Any:
    widths = [(0, 0)] * (rows.ndim - 1) + [(before, size - 1 - before)]
    return pad(rows, widths, _EDGES[mode], cval)


def _windows(rows: Any, weights: np.ndarray) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(rows, len(weights), axis=-1)
    return windows @ weights


def _interpolated(rows: Any, weights: np.ndarray, size: int, settings: tuple[Any, ...]) -> Any:
    """The filtered rows; the first and last half windows come from a polynomial fit at the edge."""
    half = size // 2
    table = original("scipy.signal.savgol_filter")(np.eye(size), *settings, axis=0)
    inner = _windows(rows, weights)
    left = rows[..., :size] @ table[:half].T
    right = rows[..., -size:] @ table[size - half :].T
    start = half - (size - 1) // 2
    inner = inner[..., start : start + rows.shape[-1] - 2 * half]
    return np.concatenate([left, inner, right], axis=-1)


@answers("scipy.signal.detrend")
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """The data minus their mean, or minus lines fitted between the known break points.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import detrend
    >>> grad(lambda x: detrend(x, type="constant")[0])(np.zeros(4))
    array([ 0.75, -0.25, -0.25, -0.25])
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    rows = last(floating(data), axis)
    n = rows.shape[-1]
    if type in ("constant", "c"):
        return unlast(rows - np.mean(rows, axis=-1, keepdims=True), axis)
    breaks = np.unique([0, *np.atleast_1d(known(bp, "bp", "detrend")).tolist(), n])
    if breaks[-1] > n:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    parts = []
    for start, end in zip(breaks[:-1].tolist(), breaks[1:].tolist(), strict=True):
        line = np.stack([np.ones(end - start), np.arange(end - start) / (end - start)], axis=1)
        basis = np.linalg.qr(line)[0][:, : end - start].astype(rows.dtype)
        part = rows[..., start:end]
        parts.append(part - (part @ basis) @ basis.T)
    return unlast(np.concatenate(parts, axis=-1), axis)


def _sizes(size: Any, ndim: int) -> list[int]:
    found = np.atleast_1d(size).astype(int).tolist()
    return found * ndim if len(found) == 1 else found


@answers("scipy.signal.medfilt")
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """The median of each window, with zeros beyond the edge; the derivative is the median's.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import medfilt
    >>> grad(lambda x: medfilt(x, 3)[1])(np.array([1.0, 5.0, 2.0]))
    array([0., 0., 1.])
    """
    x = as_tracer(volume)
    kernel_size = 3 if kernel_size is None else known(kernel_size, "kernel_size", "medfilt")
    sizes = _sizes(kernel_size, x.ndim)
    if any(k % 2 == 0 for k in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    padded = np.pad(x, [(k // 2, k // 2) for k in sizes])
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(sizes))
    windows = np.reshape(windows, (*x.shape, math.prod(sizes)))
    if x.dtype.kind in "iu":
        return np.sort(windows, axis=-1)[..., math.prod(sizes) // 2]
    return np.median(windows, axis=-1)


@answers("scipy.signal.medfilt2d")
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """The same as :func:`medfilt`, for matrices.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import medfilt2d
    >>> jit(medfilt2d)(np.ones((1, 3)))
    array([[0., 0., 0.]])
    """
    return medfilt(input, kernel_size)


@answers("scipy.signal.wiener")
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """A Wiener filter from local means and variances, with zeros beyond the edge.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import wiener
    >>> jit(lambda x: wiener(x, 3))(np.array([1.0, 2.0, 3.0])).round(6)
    array([1.      , 2.      , 2.174603])
    """
    x = floating(im)
    sizes = _sizes(3 if mysize is None else known(mysize, "mysize", "wiener"), x.ndim)
    padded = np.pad(x, [(k // 2, k - 1 - k // 2) for k in sizes])
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(sizes))
    windows = np.reshape(windows, (*x.shape, math.prod(sizes)))
    mean = np.mean(windows, axis=-1)
    variance = np.mean(windows**2, axis=-1) - mean**2
    noise = np.mean(variance) if noise is None else noise
    quiet = variance < noise
    share = 1 - noise / np.where(quiet, 1.0, variance)
    return np.where(quiet, mean, (x - mean) * share + mean)


@answers("scipy.signal.savgol_coeffs")
def savgol_coeffs(
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    pos: Any = None,
    use: str = "conv",
) -> Any:
    """The weights of :func:`savgol_filter`; a traced ``delta`` scales them.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import savgol_coeffs
    >>> round(float(grad(lambda d: savgol_coeffs(3, 1, 1, d)[0])(0.5)), 9)
    -2.0
    """
    whole = {"window_length": window_length, "polyorder": polyorder, "deriv": deriv}
    size, order, derivative = (known_integer(v, n, "savgol_coeffs") for n, v in whole.items())
    made = original("scipy.signal.savgol_coeffs")(size, order, derivative, 1.0, pos, use)
    return made / floating(delta) ** derivative
