"""Convolutions and correlations of ``scipy.signal``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import known, pad
from autojit.scipy.registry import answers

MODES = ("full", "same", "valid")


def _given(in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    a, b = as_tracer(in1), as_tracer(in2)
    if a.ndim != b.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in MODES:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    return a, b


def _swapped(a: Any, b: Any, mode: str, axes: Any) -> bool:
    """Whether b is the larger array, so that mode "valid" slides a over b."""
    if mode != "valid":
        return False
    if all(a.shape[i] >= b.shape[i] for i in axes):
        return False
    if all(b.shape[i] >= a.shape[i] for i in axes):
        return True
    raise ValueError(
        "For 'valid' mode, one must be at least as large as the other in every dimension"
    )


def _cut(full: Any, shape: tuple[int, ...], lengths: tuple[int, ...], mode: str) -> Any:
    """The part of a full convolution that a mode returns."""
    if mode == "full":
        return full
    if mode == "valid":
        lengths = tuple(abs(n - k) + 1 for n, k in zip(shape, lengths, strict=True))
    else:
        lengths = shape
    starts = [(f - n) // 2 for f, n in zip(full.shape, lengths, strict=True)]
    return full[tuple(slice(s, s + n) for s, n in zip(starts, lengths, strict=True))]


def direct(a: Any, b: Any) -> Any:
    """The full convolution: the smaller array slides over the larger one."""
    if np.size(a) < np.size(b):
        a, b = b, a
    if a.ndim == 0:
        return a * b
    if a.ndim == 1:
        return np.convolve(a, b)
    padded = np.pad(a, [(k - 1, k - 1) for k in b.shape])
    return windowed(padded, b[tuple([slice(None, None, -1)] * b.ndim)])


def windowed(padded: Any, weights: Any) -> Any:
    """The weighted sum of each window of an array."""
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
    return np.tensordot(windows, weights, axes=weights.ndim)


@answers("scipy.signal.convolve")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays, computed by sums unless ``method`` is ``"fft"``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import convolve
    >>> grad(lambda x: convolve(x, [1.0, 2.0, 3.0], "same").sum())(np.ones(3))
    array([5., 6., 3.])
    """
    a, b = _given(in1, in2, mode)
    if method == "fft":
        return fftconvolve(a, b, mode)
    if method not in ("auto", "direct"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    _swapped(a, b, mode, range(a.ndim))
    return _cut(direct(a, b), a.shape, b.shape, mode)


@answers("scipy.signal.correlate")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays, ``sum(in1[l + k] * conj(in2[l]))``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import correlate
    >>> grad(lambda x: correlate(x, [1.0, 2.0], "valid")[0])(np.ones(3))
    array([1., 2., 0.])
    """
    a, b = _given(in1, in2, mode)
    turned = np.conjugate(b[tuple([slice(None, None, -1)] * b.ndim)])
    return convolve(a, turned, mode, method)


@answers("scipy.signal.fftconvolve")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution of two arrays by Fourier transforms, along some axes.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import fftconvolve
    >>> jit(fftconvolve)(np.array([1.0, 2.0]), np.array([3.0, 4.0])).round(9)
    array([ 3., 10.,  8.])
    """
    a, b = _given(in1, in2, mode)
    axes = range(a.ndim) if axes is None else np.atleast_1d(known(axes, "axes", "fftconvolve"))
    along = sorted(normalize_axis(int(i), a.ndim) for i in axes)
    _swapped(a, b, mode, along)
    lengths = [a.shape[i] + b.shape[i] - 1 for i in along]
    full = a * b if not along else _by_transforms(a, b, lengths, along)
    others = [i not in along for i in range(a.ndim)]
    shape = tuple(full.shape[i] if o else a.shape[i] for i, o in enumerate(others))
    kernel = tuple(1 if o else b.shape[i] for i, o in enumerate(others))
    return _cut(full, shape, kernel, mode)


def _by_transforms(a: Any, b: Any, lengths: list[int], axes: list[int]) -> Any:
    sizes = [_good_length(n) for n in lengths]
    made: Any
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        made = np.fft.ifftn(np.fft.fftn(a, sizes, axes) * np.fft.fftn(b, sizes, axes), sizes, axes)
    else:
        made = np.fft.irfftn(
            np.fft.rfftn(a, sizes, axes) * np.fft.rfftn(b, sizes, axes), sizes, axes
        )
    places = [slice(None)] * made.ndim
    for n, axis in zip(lengths, axes, strict=True):
        places[axis] = slice(0, n)
    return made[tuple(places)]


def _good_length(n: int) -> int:
    from scipy.fft import next_fast_len

    return int(next_fast_len(n, True))


@answers("scipy.signal.oaconvolve")
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution of two arrays by Fourier transforms; traced arrays use :func:`fftconvolve`.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import oaconvolve
    >>> jit(oaconvolve)(np.array([1.0, 2.0]), np.array([3.0, 4.0])).round(9)
    array([ 3., 10.,  8.])
    """
    return fftconvolve(in1, in2, mode, axes)


#: The mode of np.pad for each boundary of convolve2d.
_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "circular": "wrap", "pad": "constant",
               "symm": "symmetric", "symmetric": "symmetric"}  # fmt: skip


@answers("scipy.signal.convolve2d")
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """The convolution of two matrices; in1 is filled, repeated or mirrored beyond its edge.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import convolve2d
    >>> grad(lambda k: convolve2d(np.ones((3, 3)), k, "valid").sum())(np.ones((2, 2)))
    array([[4., 4.],
           [4., 4.]])
    """
    return _of_matrices(in1, in2, mode, boundary, fillvalue, True)


@answers("scipy.signal.correlate2d")
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """The correlation of two matrices; see :func:`convolve2d`.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import correlate2d
    >>> jit(correlate2d)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[ 4., 11.,  6.]])
    """
    return _of_matrices(in1, in2, mode, boundary, fillvalue, False)


def _of_matrices(
    in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, convolved: bool
) -> Any:
    a, b = _given(in1, in2, mode)
    if a.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary not in _BOUNDARIES:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and "
                         "'symmetric' (or 'symm').")  # fmt: skip
    swapped = _swapped(a, b, mode, (0, 1))
    a, b = (b, a) if swapped else (a, b)
    turn = slice(None, None, -1)
    weights = b[turn, turn] if convolved else np.conjugate(b)
    how = _BOUNDARIES[boundary]
    padding = {
        "full": [(k - 1, k - 1) for k in b.shape],
        # A correlation is centred on the middle of in2, a convolution on that of in2 reversed.
        "same": [(k // 2, k - 1 - k // 2) if convolved else ((k - 1) // 2, k // 2)
                 for k in b.shape],
        "valid": [(0, 0), (0, 0)],
    }[mode]  # fmt: skip
    made = windowed(pad(a, padding, how, fillvalue), weights)
    if not swapped or convolved:
        return made
    return np.conjugate(made[turn, turn])
