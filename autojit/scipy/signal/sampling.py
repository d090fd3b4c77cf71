"""Changes of the sampling rate, as in ``scipy.signal``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, known_integer, last, pad, refused, unlast
from autojit.scipy.registry import answers, original

from .filtering import sosfilt, sosfiltfilt

#: The mode of np.pad for each mode of upfirdn.
_EDGES = {"constant": "constant", "edge": "edge", "symmetric": "symmetric", "reflect": "reflect",
          "wrap": "wrap"}  # fmt: skip


@answers("scipy.signal.upfirdn")
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
    cval: Any = 0,
) -> Any:  # fmt: skip
    """Insert ``up - 1`` zeros between samples, apply a filter h, keep every ``down``-th sample.

    Modes are ``"constant"``, ``"edge"``, ``"symmetric"``, ``"reflect"`` and ``"wrap"``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import upfirdn
    >>> grad(lambda h: upfirdn(h, np.array([1.0, 2.0]), 2).sum())(np.ones(2))
    array([3., 3.])
    """
    up, down = known_integer(up, "up", "upfirdn"), known_integer(down, "down", "upfirdn")
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    if mode not in _EDGES:
        raise refused("scipy.signal.upfirdn", f"mode={mode!r} is not covered; pad x first.")
    h, rows = np.ravel(floating(h)), last(floating(x), axis)
    n, taps = rows.shape[-1], h.shape[0]
    count = -(-((n - 1) * up + taps) // down)
    beyond = 0 if mode == "constant" and isinstance(cval, (int, float)) and cval == 0 else (
        -(-taps // up) + 1)  # fmt: skip
    if beyond:
        widths = [(0, 0)] * (rows.ndim - 1) + [(beyond, beyond)]
        rows = pad(rows, widths, _EDGES[mode], cval)
    spread = _spread(rows, up)
    widths = [(0, 0)] * (rows.ndim - 1) + [(taps - 1, taps - 1 + up * down)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(spread, widths), taps, axis=-1)
    start = beyond * up
    kept = windows[..., start : start + (count - 1) * down + 1 : down, :]
    return unlast(kept @ h[::-1], axis)


def _spread(rows: Any, up: int) -> Any:
    """Samples with ``up - 1`` zeros between them."""
    if up == 1:
        return rows
    wide = np.concatenate([rows[..., None], np.zeros((*rows.shape, up - 1), rows.dtype)], axis=-1)
    return np.reshape(wide, (*rows.shape[:-1], -1))[..., : rows.shape[-1] * up - up + 1]


@answers("scipy.signal.resample_poly", tuples=("window",))
def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0),
    padtype: str = "constant", cval: Any = None,
) -> Any:  # fmt: skip
    """Samples at ``up / down`` times the rate, by a zero-phase filter (see :func:`upfirdn`)."""
    up = known_integer(up, "up", "resample_poly")
    down = known_integer(down, "down", "resample_poly")
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    if cval is not None and padtype != "constant":
        raise ValueError("cval has no effect when padtype is ", padtype)
    x = floating(x)
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down == 1:
        return 1.0 * x
    n = x.shape[axis]
    count = -(-n * up // down)
    h, half = _lowpass(window, up, down, x.dtype)
    before = down - half % down
    skipped = (half + before) // down
    length = (skipped + count - 1) * down + 1 - ((n - 1) * up)
    h = np.pad(h * up, (before, max(0, length - h.shape[0] - before)))
    level, settings = _background(x, axis, padtype, cval)
    made = upfirdn(h, x if level is None else x - level, up, down, axis, **settings)
    made = np.moveaxis(np.moveaxis(made, axis, 0)[skipped : skipped + count], 0, axis)
    return made if level is None else made + level


def _lowpass(window: Any, up: int, down: int, dtype: Any) -> tuple[Any, int]:
    if isinstance(window, list) or hasattr(window, "shape"):
        h = floating(window)
        return h, (h.shape[0] - 1) // 2
    fastest = max(up, down)
    h = original("scipy.signal.firwin")(20 * fastest + 1, 1.0 / fastest, window=window)
    return h.astype(dtype), 10 * fastest


def _background(x: Any, axis: int, padtype: str, cval: Any) -> tuple[Any, dict[str, Any]]:
    levels: dict[str, Any] = {
        "mean": np.mean,
        "median": np.median,
        "minimum": np.min,
        "maximum": np.max,
    }
    if padtype in levels:
        return levels[padtype](x, axis=axis, keepdims=True), {}
    settings = {"mode": padtype}
    return None, settings | ({"cval": cval or 0} if padtype == "constant" else {})


@answers("scipy.signal.decimate")
def decimate(
    x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> Any:
    """Every q-th sample of the filtered data.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import decimate
    >>> jit(lambda x: decimate(x, 2))(np.ones(40)).shape
    (20,)
    """
    x, q = floating(x), known_integer(q, "q", "decimate")
    if ftype == "fir":
        order = 20 * q if n is None else known_integer(n, "n", "decimate")
        b = original("scipy.signal.firwin")(order + 1, 1.0 / q, window="hamming").astype(x.dtype)
        if zero_phase:
            return resample_poly(x, 1, q, axis, b)
        made = upfirdn(b, x, 1, q, axis)
        return unlast(last(made, axis)[..., : -(-x.shape[axis] // q)], axis)
    if ftype != "iir":
        raise refused("scipy.signal.decimate", "ftype is 'iir' or 'fir'.")
    order = 8 if n is None else known_integer(n, "n", "decimate")
    sos = original("scipy.signal.cheby1")(order, 0.05, 0.8 / q, output="sos").astype(x.dtype)
    made = (sosfiltfilt if zero_phase else sosfilt)(sos, x, axis)
    return unlast(last(made, axis)[..., ::q], axis)


@answers("scipy.signal.hilbert")
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """The analytic signal of real samples: negative frequencies are removed.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import hilbert
    >>> jit(lambda x: hilbert(x).imag)(np.array([1.0, 0.0, -1.0, 0.0])).round(9) + 0.0
    array([ 0.,  1.,  0., -1.])
    """
    x = floating(x)
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    n = x.shape[axis] if N is None else known_integer(N, "N", "hilbert")
    if n <= 0:
        raise ValueError("N must be positive.")
    weights = np.zeros(n)
    weights[0] = 1
    weights[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        weights[n // 2] = 1
    rows = np.fft.fft(last(x, axis), n) * weights
    return unlast(np.fft.ifft(rows), axis)


@answers("scipy.signal.resample")
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Samples at another rate, by Fourier transforms.

    ``t``, ``window``, ``domain="freq"`` and complex data are refused.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import resample
    >>> grad(lambda x: resample(x, 4)[0])(np.ones(2)).round(9) + 0.0
    array([1., 0.])
    """
    num = known_integer(num, "num", "resample")
    x = floating(x)
    if t is not None or window is not None or domain != "time" or x.dtype.kind == "c":
        raise refused("scipy.signal.resample", "t, window, domain='freq' and complex data are not "
                      "covered.")  # fmt: skip
    rows = last(x, axis)
    n = rows.shape[-1]
    smaller = min(n, num)
    weights = np.ones(smaller // 2 + 1)
    if smaller % 2 == 0 and n != num:
        weights[-1] = 2.0 if num < n else 0.5
    spectrum = np.fft.rfft(rows)[..., : smaller // 2 + 1] * weights
    return unlast(np.fft.irfft(spectrum, num) * (num / n), axis)
