"""Waveforms and frequency responses of ``scipy.signal``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers, returns_array

_LINEAR, _QUADRATIC = ("linear", "lin", "li"), ("quadratic", "quad", "q")
_LOGARITHMIC, _HYPERBOLIC = ("logarithmic", "log", "lo"), ("hyperbolic", "hyp")


@answers("scipy.signal.chirp")
def chirp(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", phi: Any = 0,
    vertex_zero: bool = True, *, complex: bool = False,
) -> Any:  # fmt: skip
    """A cosine whose frequency is f0 at time 0 and f1 at t1.

    In logarithmic and hyperbolic chirps, f0 and f1 must differ; traced ones are not checked.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import chirp
    >>> round(float(grad(lambda f0: chirp(0.25, f0, 1.0, f0))(1.0)), 6)     # -pi / 2
    -1.570796
    """
    t, f0, t1, f1 = (floating(x) for x in (t, f0, t1, f1))
    phase = 2 * np.pi * _cycles(t, f0, t1, f1, method, vertex_zero) + np.deg2rad(floating(phi))
    return np.exp(1j * phase) if complex else np.cos(phase)


def _cycles(t: Any, f0: Any, t1: Any, f1: Any, method: str, vertex_zero: bool) -> Any:
    if method in _LINEAR:
        return f0 * t + 0.5 * (f1 - f0) / t1 * t * t
    if method in _QUADRATIC:
        beta = (f1 - f0) / t1**2
        if vertex_zero:
            return f0 * t + beta * t**3 / 3
        return f1 * t + beta * ((t1 - t) ** 3 - t1**3) / 3
    if method in _LOGARITHMIC:
        ratio = f1 / f0
        return t1 / np.log(ratio) * f0 * (ratio ** (t / t1) - 1.0)
    if method in _HYPERBOLIC:
        pole = -f1 * t1 / (f0 - f1)
        return -pole * f0 * np.log(np.abs(1 - t / pole))
    raise ValueError(
        "method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', but a value of "
        f"{method!r} was given."
    )


@answers("scipy.signal.sawtooth")
@returns_array
def sawtooth(t: Any, width: Any = 1) -> Any:
    """A wave of period 2 pi that rises from -1 to 1 in the share ``width`` of it, then falls.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import sawtooth
    >>> round(float(grad(sawtooth)(1.0)), 6)                                # 1 / pi
    0.31831
    """
    t, w = floating(t), floating(width)
    phase = np.mod(t, 2 * np.pi)
    rises = phase < w * 2 * np.pi
    up = phase / (np.pi * np.where(rises, w, 1.0)) - 1
    down = (np.pi * (w + 1) - phase) / (np.pi * np.where(rises, 1.0, 1 - w))
    inside = np.logical_and(w >= 0, w <= 1)
    return np.where(inside, np.where(rises, up, down), np.nan)


@answers("scipy.signal.square")
@returns_array
def square(t: Any, duty: Any = 0.5) -> Any:
    """A wave of period 2 pi that is 1 in the share ``duty`` of it, then -1; its derivative is 0.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import square
    >>> jit(square)(np.array([0.5, 4.0]))
    array([ 1., -1.])
    """
    t, w = floating(t), floating(duty)
    high = np.mod(t, 2 * np.pi) < w * 2 * np.pi
    inside = np.logical_and(w >= 0, w <= 1)
    return np.where(inside, np.where(high, 1.0, -1.0), np.nan) + 0.0 * (t + w)


@answers("scipy.signal.gausspulse")
def gausspulse(
    t: Any, fc: Any = 1000, bw: Any = 0.5, bwr: Any = -6, tpr: Any = -60, retquad: bool = False,
    retenv: bool = False,
) -> Any:  # fmt: skip
    """A cosine of frequency fc under a Gaussian of relative bandwidth bw at bwr decibels.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import gausspulse
    >>> round(float(grad(lambda fc: gausspulse(0.25, fc))(1.0)), 6)
    -1.48553
    """
    fc, bw = floating(fc), floating(bw)
    a = -((np.pi * fc * bw) ** 2) / (4.0 * np.log(10.0 ** (floating(bwr) / 20.0)))
    if isinstance(t, str):
        if t != "cutoff":
            raise ValueError("If `t` is a string, it must be 'cutoff'")
        return np.sqrt(-np.log(10.0 ** (floating(tpr) / 20.0)) / a)
    t = floating(t)
    envelope = np.exp(-a * t * t)
    results = [envelope * np.cos(2 * np.pi * fc * t)]
    if retquad:
        results.append(envelope * np.sin(2 * np.pi * fc * t))
    if retenv:
        results.append(envelope)
    return tuple(results) if len(results) > 1 else results[0]


def frequencies(worN: Any, whole: bool, fs: Any, include_nyquist: bool) -> tuple[Any, Any]:
    """The frequencies in radians per sample, and in the units of ``fs``."""
    worN = 512 if worN is None else worN
    if isinstance(worN, (int, np.integer)):
        end = 2 * np.pi if whole else np.pi
        w = np.linspace(0, end, int(worN), endpoint=include_nyquist and not whole)
        return w, w * (known(fs, "fs", "freqz") / (2 * np.pi))
    given = np.atleast_1d(floating(worN))
    return 2 * np.pi * given / fs, given


def _polynomial(c: Any, w: Any) -> Any:
    """``sum(c[k] exp(-i k w))``."""
    phase = w[:, None] * np.arange(c.shape[0])
    return np.cos(phase) @ c - 1j * (np.sin(phase) @ c)


@answers("scipy.signal.freqz")
def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None,
    fs: Any = 2 * np.pi, include_nyquist: bool = False,
) -> Any:  # fmt: skip
    """``(w, h)``: frequencies, and the response of a digital filter to them.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import freqz
    >>> grad(lambda b: np.abs(freqz(b, worN=[0.0])[1][0]))(np.array([0.5, 0.5]))
    array([1., 1.])
    """
    b, a = np.atleast_1d(floating(b)), np.atleast_1d(floating(a))
    if b.ndim > 1 or a.ndim > 1:
        raise refused("scipy.signal.freqz", "b and a must be rows of coefficients; loop over rows.")
    w, shown = frequencies(worN, whole, fs, include_nyquist)
    return shown, _polynomial(b, w) / _polynomial(a, w)


@answers("scipy.signal.freqz_sos")
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * np.pi) -> Any:
    """``(w, h)``: frequencies, and the response of second-order filters in series to them.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import freqz_sos
    >>> grad(lambda s: abs(freqz_sos(s, [0.0])[1][0]))(np.array([[1.0, 1.0, 0, 1.0, 0, 0]]))
    array([[ 1.,  1.,  1., -2., -2., -2.]])
    """
    rows = floating(sos)
    w, shown = frequencies(worN, whole, fs, False)
    h: Any = 1.0
    for i in range(rows.shape[0]):
        h = h * (_polynomial(rows[i, :3], w) / _polynomial(rows[i, 3:], w))
    return shown, h


@answers("scipy.signal.sosfreqz")
def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * np.pi) -> Any:
    """The same as :func:`freqz_sos`."""
    return freqz_sos(sos, worN, whole, fs)


@answers("scipy.signal.sweep_poly")
def sweep_poly(t: Any, poly: Any, phi: Any = 0) -> Any:
    """A cosine whose frequency is a polynomial of time, given by its coefficients.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import sweep_poly
    >>> round(float(grad(sweep_poly, 1)(0.5, np.array([1.0]))[0]), 6)
    -0.0
    """
    coefficients = poly.coeffs if isinstance(poly, np.poly1d) else floating(poly)
    phase = 2 * np.pi * np.polyval(np.polyint(coefficients), floating(t))
    return np.cos(phase + floating(phi) * np.pi / 180)
