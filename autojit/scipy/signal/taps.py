"""Designs of filters without feedback (FIR), and parameters of windows.

SciPy's documentation of each function has its formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.functions.checks import ensured
from autojit.scipy.arguments import either, floating, known, known_integer, refused
from autojit.scipy.registry import answers, original

_PASSES = {"lowpass": True, "bandstop": True, "highpass": False, "bandpass": False}


def _window(window: Any, size: int, of: str) -> Any:
    return original("scipy.signal.get_window")(known(window, "window", of), size, fftbins=False)


@answers("scipy.signal.kaiser_beta")
def kaiser_beta(a: Any) -> Any:
    """The parameter of a Kaiser window for an attenuation in decibels.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import kaiser_beta
    >>> grad(kaiser_beta)(60.0)
    np.float64(0.1102)
    """
    a = floating(a)
    middle = a > 21
    excess = np.where(middle, a - 21, 1.0)
    bent = np.where(middle, 0.5842 * excess**0.4 + 0.07886 * excess, 0.0)
    return np.where(a > 50, 0.1102 * (a - 8.7), bent)


@answers("scipy.signal.kaiser_atten")
def kaiser_atten(numtaps: Any, width: Any) -> Any:
    """The attenuation in decibels of a Kaiser design; ``width`` is relative to Nyquist's frequency.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import kaiser_atten
    >>> round(float(grad(kaiser_atten, 1)(3, 0.5)), 6)
    14.357078
    """
    return 2.285 * (floating(numtaps) - 1) * np.pi * floating(width) + 7.95


@answers("scipy.signal.firwin", tuples=("window",))
def firwin(
    numtaps: int, cutoff: Any, *, width: Any = None, window: Any = "hamming",
    pass_zero: Any = True, scale: bool = True, fs: Any = None,
) -> Any:  # fmt: skip
    """The taps of a filter designed by the window method, with given cutoff frequencies.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import firwin
    >>> grad(lambda c: firwin(3, c, window="boxcar", scale=False)[1])(0.3)
    np.float64(1.0)
    """
    n = known_integer(numtaps, "numtaps", "firwin")
    nyquist = 1.0 if fs is None else fs / 2
    cutoff = np.atleast_1d(floating(cutoff)) / nyquist
    if width is not None:
        decibels = kaiser_atten(n, float(known(width, "width", "firwin")) / nyquist)
        window = ("kaiser", float(known(original("scipy.signal.kaiser_beta")(
            known(decibels, "width", "firwin")), "width", "firwin")))  # fmt: skip
    count = cutoff.shape[0]
    if isinstance(pass_zero, str):
        single = pass_zero in ("lowpass", "highpass")
        if pass_zero not in _PASSES or single != (count == 1):
            raise ValueError(f"pass_zero={pass_zero!r} does not fit {count} cutoff frequencies")
        pass_zero = _PASSES[pass_zero]
    to_nyquist = (count % 2 == 0) == bool(pass_zero)
    if to_nyquist and n % 2 == 0:
        raise ValueError(
            "A filter with an even number of coefficients must have zero response at the Nyquist "
            "frequency."
        )
    words = "Invalid cutoff frequency: frequencies must be greater than 0 and less than fs/2."
    cutoff = ensured(cutoff, np.all((cutoff > 0) & (cutoff < 1)), ValueError(words))
    ends = [np.zeros(int(bool(pass_zero))), cutoff, np.ones(int(to_nyquist))]
    bands = np.reshape(np.concatenate(ends), (-1, 2))
    m = np.arange(n) - 0.5 * (n - 1)
    taps: Any = 0.0
    for j in range(bands.shape[0]):
        left, right = bands[j, 0], bands[j, 1]
        taps = taps + right * np.sinc(right * m) - left * np.sinc(left * m)
    taps = taps * _window(window, n, "firwin")
    if not scale:
        return taps
    if pass_zero:
        middle: Any = 0.0
    elif to_nyquist and count == 1:
        middle = 1.0
    else:
        middle = (bands[0, 0] + bands[0, 1]) / 2
    return taps / np.sum(taps * np.cos(np.pi * m * middle))


@answers("scipy.signal.firls")
def firls(numtaps: int, bands: Any, desired: Any, *, weight: Any = None, fs: Any = None) -> Any:
    """The taps of an odd number whose response is nearest to straight lines over bands, by least
    squares.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import firls
    >>> middle = lambda gain: firls(3, [0.0, 1.0], [gain, gain])[1]
    >>> round(float(grad(middle)(1.0)), 9)
    1.0
    """
    n = known_integer(numtaps, "numtaps", "firls")
    if n % 2 == 0 or n < 1:
        raise ValueError("numtaps must be odd and >= 1")
    nyquist = 1.0 if fs is None else fs / 2
    edges = np.ravel(floating(bands)) / nyquist
    gains: Any = np.ravel(floating(desired))
    if edges.shape[0] % 2 or edges.shape != gains.shape:
        raise ValueError(f"bands are pairs of frequencies, each with an entry of desired; got "
                         f"{edges.shape[0]} frequencies and {gains.shape[0]} gains.")  # fmt: skip
    edges = np.reshape(edges, (-1, 2))
    gains = np.reshape(gains, (-1, 2))
    weights = np.ones(edges.shape[0]) if weight is None else np.ravel(floating(weight))
    if weights.shape[0] != edges.shape[0]:
        raise ValueError(f"weight must be the same size as the number of band pairs "
                         f"({edges.shape[0]}).")  # fmt: skip
    half = (n - 1) // 2
    low: Any
    low, high = edges[:, 0], edges[:, 1]
    words = "bands must not overlap, be within 0 and fs/2, and have a width above 0."
    fits = np.all(low < high) & np.all(high[:-1] <= low[1:]) & (low[0] >= 0) & (high[-1] <= 1)
    low = ensured(low, fits, ValueError(words))
    words = "desired and weight must be non-negative."
    gains = ensured(gains, np.all(gains >= 0) & np.all(weights >= 0), ValueError(words))
    # Integrals over each band of cos(pi k f), and of that times the line (slope f + offset).
    k = np.arange(n)[:, None]
    q = (high * np.sinc(high * k) - low * np.sinc(low * k)) @ weights
    i = np.arange(half + 1)
    matrix = q[np.abs(i[:, None] - i)] + q[i[:, None] + i]
    slope = (gains[:, 1] - gains[:, 0]) / (high - low)
    offset = gains[:, 0] - low * slope

    def antiderivative(f: Any) -> Any:
        k = np.arange(1, half + 1)[:, None]
        waves = (
            f * (slope * f + offset) * np.sinc(f * k)
            + slope * np.cos(np.pi * k * f) / (np.pi * k) ** 2
        )
        return np.concatenate([(f * (slope * f / 2 + offset))[None], waves])

    a = np.linalg.solve(matrix, (antiderivative(high) - antiderivative(low)) @ weights)
    return np.concatenate([a[:0:-1], 2 * a[:1], a[1:]])


@answers("scipy.signal.firwin2", tuples=("window",))
def firwin2(
    numtaps: int, freq: Any, gain: Any, *, nfreqs: Any = None, window: Any = "hamming",
    antisymmetric: bool = False, fs: Any = None,
) -> Any:  # fmt: skip
    """The taps of a filter with given gains at known frequencies, by sampling its response.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import firwin2
    >>> round(float(grad(lambda g: np.sum(firwin2(5, [0.0, 1.0], g)))(np.ones(2))[0]), 6)
    0.721688
    """
    n = known_integer(numtaps, "numtaps", "firwin2")
    nyquist = 1.0 if fs is None else float(known(fs, "fs", "firwin2")) / 2
    places = np.asarray(known(freq, "freq", "firwin2"), float)
    gain = floating(gain)
    if places[0] != 0 or places[-1] != nyquist or np.any(np.diff(places) <= 0):
        raise refused("scipy.signal.firwin2", "frequencies must increase strictly from 0 to fs/2.")
    size = 1 + 2 ** math.ceil(math.log(n, 2)) if nfreqs is None else int(nfreqs)
    if n >= size:
        raise ValueError(f"ntaps must be less than nfreqs, but {n} and {size} were given")
    kind = (3 if n % 2 else 4) if antisymmetric else (1 if n % 2 else 2)
    gain = _without_ends(gain, kind)
    x = np.linspace(0.0, nyquist, size)
    shift = np.exp(-(n - 1) / 2.0 * 1j * np.pi * x / nyquist) * (1j if kind > 2 else 1)
    taps = np.fft.irfft(np.interp(x, places, gain) * shift)[:n]
    if window is not None:
        taps = taps * _window(window, n, "firwin2")
    return taps * (np.arange(n) != n // 2) if kind == 3 else taps


def _without_ends(gain: Any, kind: int) -> Any:
    """The gains, checked to be zero at the ends where a filter of this kind has no gain."""
    words = f"A Type {'I' * kind if kind < 4 else 'IV'} filter must have zero gain at "
    if kind in (2, 3):
        gain = ensured(gain, gain[-1] == 0, ValueError(words + "the Nyquist frequency."))
    if kind in (3, 4):
        gain = ensured(gain, gain[0] == 0, ValueError(words + "zero frequency."))
    return gain


@answers("scipy.signal.minimum_phase")
def minimum_phase(
    h: Any, method: str = "homomorphic", n_fft: Any = None, *, half: bool = True
) -> Any:
    """A filter of minimal phase from one of linear phase."""
    h = floating(h)
    n = h.shape[0]
    if h.ndim != 1 or n <= 2 or h.dtype.kind == "c":
        raise ValueError("h must be 1-D, real, and more than 2 samples long")
    if method not in ("homomorphic", "hilbert") or (method == "hilbert" and not half):
        raise ValueError(f"SciPy has no method={method!r} with half={half}")
    size = 2 ** math.ceil(math.log2(2 * (n - 1) / 0.01)) if n_fft is None else int(n_fft)
    if size < n:
        raise ValueError(f"n_fft must be at least len(h)=={n}")
    made = _by_hilbert(h, size) if method == "hilbert" else _by_logarithm(h, size, half)
    return made[: n // 2 + n % 2 if half else n]


def _by_logarithm(h: Any, size: int, half: bool) -> Any:
    magnitude = np.abs(np.fft.fft(h, size))
    magnitude = magnitude + 1e-7 * np.min(np.where(magnitude > 0, magnitude, np.inf))
    cepstrum = np.real(np.fft.ifft(np.log(magnitude) * (0.5 if half else 1.0)))
    window = np.zeros(size)
    window[0] = 1
    window[1 : size // 2] = 2
    if size % 2:
        window[size // 2] = 1
    return np.real(np.fft.ifft(np.exp(np.fft.fft(cepstrum * window))))


def _by_hilbert(h: Any, size: int) -> Any:
    turned = np.exp(1j * np.arange(size) * (2 * np.pi / size * (h.shape[0] // 2)))
    response = np.real(np.fft.fft(h, size) * turned)
    high, low = np.max(response) - 1, -np.min(response)
    scale = 4.0 / (np.sqrt(1 + high + low) + np.sqrt(1 - high + low)) ** 2
    squares = (response + low) * scale
    above = squares > 0  # all except the minimum, whose derivative is 0
    magnitude = np.where(above, np.sqrt(np.where(above, squares, 1.0)), 0.0) + 1e-10
    sign = np.zeros(size)
    sign[1 : size // 2], sign[size // 2 + 1 :] = 1, -1
    phase = np.fft.fft(sign * np.fft.ifft(np.log(magnitude)))
    return np.real(np.fft.ifft(magnitude * np.exp(phase)))


@answers("scipy.signal.gauss_spline")
def gauss_spline(x: Any, n: int) -> Any:
    """The normal density with the variance of a B-spline of degree n.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import gauss_spline
    >>> round(float(grad(lambda x: gauss_spline(x, 11))(1.0)), 6)
    -0.241971
    """
    variance = (n + 1) / 12.0
    return np.exp(-(either(x) ** 2) / 2 / variance) / math.sqrt(2 * math.pi * variance)


@answers("scipy.signal.gammatone")
def gammatone(
    freq: Any, ftype: str, order: Any = None, numtaps: Any = None, fs: Any = None, *,
    xp: Any = None, device: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``(b, a)`` of a model of the ear at a frequency.

    Slaney, "An efficient implementation of the Patterson-Holdsworth auditory filter bank", Apple
    Computer Technical Report 35 (1993).

    >>> from autojit import jit
    >>> from autojit.scipy.signal import gammatone
    >>> jit(lambda f: gammatone(f, "fir", 1, 1, 16000.0)[0])(440.0).round(6)
    array([0.057778])
    """
    f, fs = floating(freq), 2.0 if fs is None else float(known(fs, "fs", "gammatone"))
    words = f"The frequency must be between 0 and {fs / 2} (Nyquist)"
    f = ensured(f, (f > 0) & (f < fs / 2), ValueError(words))
    width = 2 * np.pi * 1.019 * (f / 9.26449 + 24.7)
    if ftype.lower() == "fir":
        degree = 4 if order is None else int(order)
        count = max(int(fs * 0.015), 15) if numtaps is None else int(numtaps)
        t = np.arange(count) / fs
        scale = 2 * width**degree / math.factorial(degree - 1) / fs
        taps = t ** (degree - 1) * np.exp(-width * t) * np.cos(2 * np.pi * f * t)
        return taps * scale, np.ones(1)
    if ftype.lower() != "iir":
        raise ValueError("ftype must be either fir or iir.")
    return _recursive_gammatone(width / fs, 2 * np.pi * f / fs, 1 / fs)


def _recursive_gammatone(w: Any, turn: Any, step: float) -> tuple[Any, Any]:
    cosine = np.cos(turn)
    start, middle = -2 * np.exp(2j * turn) * step, 2 * np.exp(-w + 1j * turn) * step
    gain: Any = 1.0
    for sign in (-1, 1):
        for root in (math.sqrt(3 - 2**1.5), math.sqrt(3 + 2**1.5)):
            gain = gain * (start + middle * (cosine + sign * root * np.sin(turn)))
    twice = np.exp(2j * turn)
    gain = np.abs(gain / (-2 / np.exp(2 * w) - 2 * twice + 2 * (1 + twice) / np.exp(w)) ** 4)
    b = [math.comb(4, k) * (-1) ** k * np.cos(k * turn) * np.exp(-k * w) for k in range(5)]
    one = np.array([1.0, 0.0, 0.0]) + 0.0 * cosine
    pair = one + np.stack([0.0 * w, -2 * cosine * np.exp(-w), np.exp(-2 * w)])
    a: Any = np.ones(1)
    for _ in range(4):
        a = np.convolve(a, pair)
    return step**4 / gain * np.stack(b), a


@answers("scipy.signal.firwin_2d", tuples=("hsize", "window"))
def firwin_2d(
    hsize: Any, window: Any, *, fc: Any = None, fs: Any = 2, circular: bool = False,
    pass_zero: Any = True, scale: bool = True,
) -> Any:  # fmt: skip
    """A filter of two dimensions, from one design per axis.

    With ``circular``, a single design is rotated around the middle.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import firwin_2d
    >>> middle = lambda c: firwin_2d((3, 3), ("hamming", "hamming"), fc=c)[1, 1]
    >>> round(float(grad(middle)(0.5)), 6)
    0.304566
    """
    if len(hsize) != 2:
        raise ValueError("hsize must be a 2-element tuple or list")
    rows, columns = (known_integer(n, "hsize", "firwin_2d") for n in hsize)
    if not circular:
        if len(window) != 2:
            raise ValueError("window must be a 2-element tuple or list")
        along = [
            firwin(n, fc, window=w, fs=fs) for n, w in zip((rows, columns), window, strict=True)
        ]
        return np.outer(*along)
    if fc is None:
        raise ValueError("Cutoff frequency `fc` must be provided when `circular` is True")
    count = max(rows, columns) * 8
    radial = firwin(count, fc, window=window, fs=fs)
    f1, f2 = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns))
    return np.interp(np.sqrt(f1**2 + f2**2), np.linspace(0, 1, count), radial)
