"""Spectral estimates of ``scipy.signal``, from Fourier transforms of windowed segments.

Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE Trans. Audio
Electroacoust. 15 (1967), 70-73. Windows are SciPy's own, or known or traced arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import floating, known_integer, last, refused
from autojit.scipy.registry import answers, original

from .smoothing import detrend as without_trend


class Segments(NamedTuple):
    """How a signal is cut into segments.

    The fields are the window, the step from one segment to the next, the length of the transform,
    the trend to remove from each segment, and whether only frequencies of 0 and above are computed.
    """

    window: Any
    step: int
    length: int
    detrend: Any
    onesided: bool

    @property
    def size(self) -> int:
        return int(np.shape(self.window)[0])

    def frequencies(self, fs: Any) -> Any:
        return (np.fft.rfftfreq if self.onesided else np.fft.fftfreq)(self.length) * fs

    def scale(self, fs: Any, scaling: str) -> Any:
        """The factor by which squared transforms are multiplied."""
        if scaling == "density":
            return 1.0 / (fs * np.sum(self.window**2))
        if scaling == "spectrum":
            return 1.0 / np.sum(self.window) ** 2
        raise ValueError(f"Unknown scaling: {scaling!r}")


def _whole(value: Any, default: int, name: str, of: str) -> int:
    return default if value is None else known_integer(value, name, of)


def _segments(
    of: str, n: int, is_complex: bool, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
    detrend: Any, onesided: bool, overlapping: int = 2,
) -> Segments:  # fmt: skip
    """The segments of n samples; they overlap by 1 / ``overlapping`` of their length by default."""
    if isinstance(window, (str, tuple)):
        size = min(_whole(nperseg, 256, "nperseg", of), n)
        if size < 1:
            raise ValueError("nperseg must be a positive integer")
        window = original("scipy.signal.get_window")(window, size)
    else:
        window = floating(window)
        size = _whole(nperseg, window.shape[0], "nperseg", of)
        if window.shape != (size,) or size > n:
            raise ValueError(
                "the window must have nperseg elements, which must not exceed the length of the "
                "signal"
            )
    if window.dtype.kind == "c":
        raise refused(f"scipy.signal.{of}", "complex windows are not covered; pass a real one.")
    length = _whole(nfft, size, "nfft", of)
    if length < size:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    overlap = _whole(noverlap, size // overlapping, "noverlap", of)
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    return Segments(window, size - overlap, length, detrend, bool(onesided) and not is_complex)


def _transformed(rows: Any, how: Segments) -> Any:
    """The transforms of the segments, of shape (..., segments, frequencies)."""
    cut = np.lib.stride_tricks.sliding_window_view(rows, how.size, axis=-1)[..., :: how.step, :]
    if callable(how.detrend):
        cut = how.detrend(cut)
    elif how.detrend:
        cut = without_trend(cut, type=how.detrend, axis=-1)
    transform: Callable[..., Any] = np.fft.rfft if how.onesided else np.fft.fft
    return transform(cut * how.window, how.length, axis=-1)


def _doubled(power: Any, how: Segments) -> Any:
    """The power, doubled at frequencies whose negative counterparts are left out."""
    if not how.onesided:
        return power
    count = how.length // 2 + 1
    alone = np.isin(np.arange(count), [0, how.length // 2 if how.length % 2 == 0 else 0])
    return power * np.where(alone, 1.0, 2.0)


def _averaged(power: Any, average: str) -> Any:
    """The mean over segments, or their median divided by its bias.

    The bias is the expected median of that many exponential variables.
    """
    count = power.shape[-2]
    if average == "mean" or count == 1:
        return np.mean(power, axis=-2)
    if average != "median":
        raise ValueError(f"Parameter average={average!r} must be 'median' or 'mean'!")
    even = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (even + 1) - 1 / even)
    if power.dtype.kind == "c":
        parts = np.median(power.real, axis=-2), np.median(power.imag, axis=-2)
        return (parts[0] + 1j * parts[1]) / bias
    return np.median(power, axis=-2) / bias


@answers("scipy.signal.csd", tuples=("window",))
def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """``(frequencies, cross spectral density)`` by Welch's method.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import csd
    >>> x = np.array([1.0, 0.0, 2.0, 0.0])
    >>> grad(lambda y: csd(x, y, window="boxcar", detrend=False)[1][0].real)(x)
    array([0.75, 0.75, 0.75, 0.75])
    """
    a, b = (last(floating(v), axis) for v in (x, y))
    n = max(a.shape[-1], b.shape[-1])
    a, b = (np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, n - v.shape[-1])]) for v in (a, b))
    is_complex = "c" in (a.dtype.kind, b.dtype.kind)
    how = _segments("csd", n, is_complex, window, nperseg, noverlap, nfft, detrend,
                    return_onesided)  # fmt: skip
    power = np.conj(_transformed(a, how)) * _transformed(b, how) * how.scale(fs, scaling)
    made = np.moveaxis(_averaged(_doubled(power, how), average), -1, axis)
    return how.frequencies(fs), made


@answers("scipy.signal.welch", tuples=("window",))
def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """``(frequencies, power spectral density)`` by Welch's method.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import welch
    >>> x = np.array([1.0, 0.0, 2.0, 0.0])
    >>> grad(lambda x: welch(x, window="boxcar", detrend=False)[1][0])(x)
    array([1.5, 1.5, 1.5, 1.5])
    """
    rows = last(floating(x), axis)
    how = _segments("welch", rows.shape[-1], rows.dtype.kind == "c", window, nperseg, noverlap,
                    nfft, detrend, return_onesided)  # fmt: skip
    power = _power(_transformed(rows, how)) * how.scale(fs, scaling)
    made = np.moveaxis(_averaged(_doubled(power, how), average), -1, axis)
    return how.frequencies(fs), made


def _power(z: Any) -> Any:
    return np.real(z) ** 2 + np.imag(z) ** 2


@answers("scipy.signal.periodogram", tuples=("window",))
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """``(frequencies, power spectral density)`` of the whole signal.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import periodogram
    >>> x = np.array([1.0, 0.0, 2.0, 0.0])
    >>> grad(lambda x: periodogram(x, detrend=False)[1][0])(x)
    array([1.5, 1.5, 1.5, 1.5])
    """
    rows = last(floating(x), axis)
    length = _whole(nfft, rows.shape[-1], "nfft", "periodogram")
    rows = rows[..., :length]
    found = welch(rows, fs, "boxcar" if window is None else window, rows.shape[-1], 0, length,
                  detrend, return_onesided, scaling)  # fmt: skip
    return found[0], np.moveaxis(found[1], -1, axis)


@answers("scipy.signal.coherence", tuples=("window",))
def coherence(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant", axis: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """``(frequencies, squared coherence)``: ``abs(csd(x, y))**2 / welch(x) / welch(y)``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import coherence
    >>> jit(lambda x: coherence(x, 2 * x, nperseg=4)[1])(np.sin(np.arange(9.0))).round(9)
    array([1., 1., 1.])
    """
    more = (fs, window, nperseg, noverlap, nfft, detrend)
    frequencies, xx = welch(x, *more, axis=axis)
    yy, xy = welch(y, *more, axis=axis)[1], csd(x, y, *more, axis=axis)[1]
    return frequencies, _power(xy) / xx / yy


_EXTENSIONS = {"even": "reflect", "odd": "reflect", "constant": "edge", "zeros": "constant"}


def _extended(rows: Any, n: int, how: str) -> Any:
    """The rows with n more samples at each end."""
    widths = [(0, 0)] * (rows.ndim - 1) + [(n, n)]
    if how == "odd":
        return np.pad(rows, widths, mode="reflect", reflect_type="odd")
    pad: Any = np.pad
    return pad(rows, widths, mode=_EXTENSIONS[how])


@answers("scipy.signal.stft", tuples=("window",))
def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None,
    nfft: Any = None, detrend: Any = False, return_onesided: bool = True,
    boundary: Any = "zeros", padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """``(frequencies, times, transforms of the segments)``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import stft
    >>> loudest = lambda x: (abs(stft(x, nperseg=2, window="boxcar")[2]) ** 2).sum()
    >>> grad(loudest)(np.array([1.0, -2.0, 0.5]))
    array([ 2., -4.,  1.])
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    if boundary is not None and boundary not in _EXTENSIONS:
        raise ValueError(f"Unknown boundary option '{boundary}'")
    rows = last(floating(x), axis)
    how = _segments("stft", rows.shape[-1], rows.dtype.kind == "c", window, nperseg, noverlap,
                    nfft, detrend, return_onesided)  # fmt: skip
    if boundary is not None:
        rows = _extended(rows, how.size // 2, boundary)
    if padded:
        missing = (-(rows.shape[-1] - how.size) % how.step) % how.size
        rows = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)])
    scale = np.sqrt(how.scale(fs, "density" if scaling == "psd" else scaling))
    made = _placed(_transformed(rows, how) * scale, axis)
    before = 0.0 if boundary is None else how.size / 2
    return how.frequencies(fs), (_centers(rows, how) - before) / fs, made


def _centers(rows: Any, how: Segments) -> Any:
    return np.arange(how.size / 2, rows.shape[-1] - how.size / 2 + 1, how.step)


def _placed(made: Any, axis: int) -> Any:
    """Move the segments to the last axis and the frequencies to the axis of the samples."""
    return np.moveaxis(made, -1, axis - 1 if axis < 0 else axis)


@answers("scipy.signal.spectrogram", tuples=("window",))
def spectrogram(
    x: Any, fs: Any = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """``(frequencies, times, spectra of the segments)``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import spectrogram
    >>> total = lambda x: spectrogram(x, window="boxcar", nperseg=2, detrend=False)[2].sum()
    >>> grad(total)(np.array([1.0, -2.0]))
    array([ 2., -4.])
    """
    modes = ["psd", "complex", "magnitude", "angle", "phase"]
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {modes}")
    rows = last(floating(x), axis)
    how = _segments("spectrogram", rows.shape[-1], rows.dtype.kind == "c", window, nperseg,
                    noverlap, nfft, detrend, return_onesided, overlapping=8)  # fmt: skip
    found, scale = _transformed(rows, how), how.scale(fs, scaling)
    if mode == "psd":
        made = _placed(_doubled(_power(found) * scale, how), axis)
    else:
        made = _placed(found * np.sqrt(scale), axis)
        made = _in_mode(made, mode, axis - 1 if axis < 0 else axis)
    return how.frequencies(fs), _centers(rows, how) / fs, made


def _in_mode(made: Any, mode: str, axis: int) -> Any:
    if mode == "magnitude":
        return np.abs(made)
    if mode == "complex":
        return made
    angles = np.angle(made)
    return np.unwrap(angles, axis=axis) if mode == "phase" else angles


@answers("scipy.signal.istft", tuples=("window",))
def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
    freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple[Any, Any]:  # fmt: skip
    """``(times, signal)`` of the signal whose short-time transform is nearest to the given one.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import istft, stft
    >>> jit(lambda x: istft(stft(x, nperseg=4)[2], nperseg=4)[1])(np.arange(4.0)).round(9)
    array([0., 1., 2., 3.])
    """
    z = np.moveaxis(floating(Zxx), (freq_axis, time_axis), (-2, -1))
    usual = 2 * (z.shape[-2] - 1) if input_onesided else z.shape[-2]
    size = _whole(nperseg, usual, "nperseg", "istft")
    length = _whole(nfft, size if input_onesided and size == usual + 1 else usual, "nfft", "istft")
    count = z.shape[-1]
    how = _segments("istft", size, not input_onesided, window, size, noverlap, length, False,
                    input_onesided)  # fmt: skip
    back: Callable[..., Any] = np.fft.irfft if input_onesided else np.fft.ifft
    segments = np.moveaxis(back(z, length, axis=-2)[..., :size, :], -1, -2)
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    scale = np.sqrt(how.scale(fs, "density" if scaling == "psd" else scaling))
    total = size + (count - 1) * how.step
    weights = _overlaid(np.broadcast_to(how.window**2, (count, size)), how.step, total)
    x = _overlaid(segments / scale * how.window, how.step, total)
    x = x / np.where(weights > 1e-10, weights, 1.0)
    if boundary:
        x = x[..., size // 2 : total - size // 2]
    return np.arange(x.shape[0]) / fs, _back_in_place(x, z.ndim, time_axis, freq_axis)


def _back_in_place(x: Any, ndim: int, time_axis: int, freq_axis: int) -> Any:
    time_axis, freq_axis = (normalize_axis(k, ndim) for k in (time_axis, freq_axis))
    return np.moveaxis(x, -1, time_axis - (freq_axis < time_axis))


def _overlaid(segments: Any, step: int, total: int) -> Any:
    """The sum of the segments, each at its place in the signal."""
    count, size = segments.shape[-2:]
    widths = [(0, 0)] * (segments.ndim - 2)
    rows = [
        np.pad(segments[..., i, :], [*widths, (i * step, total - i * step - size)])
        for i in range(count)
    ]
    return sum(rows[1:], start=rows[0])
