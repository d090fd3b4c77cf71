"""Responses of filters and systems at given frequencies.

A system is ``(numerator, denominator)``, ``(zeros, poles, gain)`` or ``(A, B, C, D)``; a system in
discrete time also has its time step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers

from .systems import freqs, freqs_zpk
from .waveforms import frequencies


def _response(parts: tuple[Any, ...], points: Any, of: str) -> Any:
    """A system's transfer function at complex points."""
    if len(parts) == 2:
        b, a = (np.atleast_1d(floating(part)) for part in parts)
        return np.polyval(b, points) / np.polyval(a, points)
    if len(parts) == 3:
        z, p = (np.atleast_1d(floating(part)) for part in parts[:2])
        return floating(parts[2]) * _distances(points, z) / _distances(points, p)
    if len(parts) != 4:
        raise refused(
            f"scipy.signal.{of}",
            "pass the system as (numerator, denominator), (zeros, poles, gain) or (A, B, C, D).",
        )
    a, b, c, d = (np.atleast_2d(floating(part)) for part in parts)
    if b.shape[1] != 1 or c.shape[0] != 1:
        raise ValueError(f"{of}() requires a SISO (single input, single output) system.")
    shifted = points[:, None, None] * np.eye(a.shape[0]) - a
    states = np.linalg.solve(shifted, np.broadcast_to(b + 0j, (points.shape[0], *b.shape)))
    return (c @ states + d)[:, 0, 0]


def _distances(points: Any, roots: Any) -> Any:
    return np.prod(points[..., None] - roots, axis=-1)


def _frequencies_of(w: Any, of: str) -> Any:
    if w is None:
        raise refused(f"scipy.signal.{of}", "pass the frequencies:\n"
                      f"    {of}(system, w=np.logspace(-1, 1, 100))")  # fmt: skip
    return np.atleast_1d(floating(w))


@answers("scipy.signal.freqresp", tuples=("system",))
def freqresp(system: Any, w: Any = None, n: int = 10000) -> tuple[Any, Any]:
    """``(w, h)``: angular frequencies, and the response to them in continuous time.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import freqresp
    >>> grad(lambda a: abs(freqresp(([1.0], [1.0, a]), [0.0])[1][0]))(2.0)
    np.float64(-0.25)
    """
    w = _frequencies_of(w, "freqresp")
    parts = tuple(system)
    if len(parts) == 2:
        return w, freqs(parts[0], parts[1], w)[1]
    if len(parts) == 3:
        return w, freqs_zpk(parts[0], parts[1], parts[2], w)[1]
    return w, _response(parts, 1j * w, "freqresp")


def _bode(h: Any) -> tuple[Any, Any]:
    """The magnitude in decibels and the phase in degrees."""
    phase = np.unwrap(np.arctan2(np.imag(h), np.real(h)))
    return 20.0 * np.log10(np.abs(h)), phase * 180.0 / np.pi


@answers("scipy.signal.bode", tuples=("system",))
def bode(system: Any, w: Any = None, n: int = 100) -> tuple[Any, Any, Any]:
    """``(w, decibels, degrees)`` of :func:`freqresp`.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import bode
    >>> grad(lambda a: bode(([1.0], [1.0, a]), [1.0])[2][0])(1.0).round(6)
    np.float64(28.64789)
    """
    w, h = freqresp(system, _frequencies_of(w, "bode"), n)
    return (w, *_bode(h))


@answers("scipy.signal.dfreqresp", tuples=("system",))
def dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> tuple[Any, Any]:
    """``(w, h)``: frequencies in radians per step, and the response to them in discrete time.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import dfreqresp
    >>> grad(lambda a: abs(dfreqresp(([1.0], [1.0, a], 0.1), [0.0])[1][0]))(1.0)
    np.float64(-0.25)
    """
    w = _frequencies_of(w, "dfreqresp")
    return w, _response(tuple(system)[:-1], np.exp(1j * w), "dfreqresp")


@answers("scipy.signal.dbode", tuples=("system",))
def dbode(system: Any, w: Any = None, n: int = 100) -> tuple[Any, Any, Any]:
    """``(w / dt, decibels, degrees)`` of :func:`dfreqresp`."""
    w, h = dfreqresp(system, _frequencies_of(w, "dbode"), n)
    return (w / tuple(system)[-1], *_bode(h))


@answers("scipy.signal.freqz_zpk")
def freqz_zpk(
    z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * np.pi
) -> tuple[Any, Any]:
    """``(w, h)``: frequencies, and the response of a digital filter given by its roots.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import freqz_zpk
    >>> grad(lambda p: abs(freqz_zpk([], p, 1.0, [0.0])[1][0]))(np.array([0.5]))
    array([4.])
    """
    w, shown = frequencies(worN, whole, fs, False)
    points = np.exp(1j * w)
    roots = (np.atleast_1d(floating(part)) for part in (z, p))
    above, below = (_distances(points, part) for part in roots)
    return shown, floating(k) * above / below


@answers("scipy.signal.group_delay", tuples=("system",))
def group_delay(
    system: Any, w: Any = 512, whole: bool = False, fs: Any = 2 * np.pi
) -> tuple[Any, Any]:
    """``(w, delays)`` of a digital filter, in samples; the delay is 0 if it is not finite.

    Smith, "Introduction to digital filters", "Numerical computation of group delay".

    >>> from autojit import grad
    >>> from autojit.scipy.signal import group_delay
    >>> grad(lambda b: group_delay((b, [1.0]), [0.0])[1][0])(np.array([1.0, 1.0]))
    array([-0.25,  0.25])
    """
    b, a = (np.atleast_1d(floating(part)) for part in system)
    radians, shown = frequencies(w, whole, fs, False)
    c = np.convolve(b, np.conj(a[::-1]))
    z = np.exp(-1j * radians)
    above = np.polyval((c * np.arange(c.shape[0]))[::-1], z)
    below = np.polyval(c[::-1], z)
    regular = below != 0
    delays = np.real(above / np.where(regular, below, 1.0)) - (a.shape[0] - 1)
    return shown, np.where(regular, delays, 0.0)
