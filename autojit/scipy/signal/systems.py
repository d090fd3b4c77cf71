"""Linear systems of ``scipy.signal``: their representations and their responses to inputs.

A system is ``(numerator, denominator)`` or ``(A, B, C, D)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import scan
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.linalg.matrix_functions import expm
from autojit.scipy.registry import answers


@answers("scipy.signal.zpk2tf")
def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    """``(numerator, denominator)`` from zeros, poles and gain.

    They are complex if the roots are, because only values show whether roots are conjugate pairs.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import zpk2tf
    >>> jit(zpk2tf)(np.array([1.0]), np.array([2.0, 3.0]), 4.0)
    (array([ 4., -4.]), array([ 1., -5.,  6.]))
    """
    return floating(k) * _poly(floating(z)), _poly(floating(p))


def _poly(roots: Any) -> Any:
    made = np.ones(1, roots.dtype)
    for i in range(roots.shape[0]):
        made = np.convolve(made, np.stack([1.0 + 0.0 * roots[i], -roots[i]]))
    return made


@answers("scipy.signal.tf2zpk")
def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """``(zeros, poles, gain)`` of a fraction whose first coefficients are not 0; roots are complex.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import tf2zpk
    >>> jit(lambda b, a: np.sort(tf2zpk(b, a)[1].real))(np.ones(1), np.array([1.0, -5.0, 6.0]))
    array([2., 3.])
    """
    b, a = np.atleast_1d(floating(b)), np.atleast_1d(floating(a))
    gain = b[0] / a[0]
    return np.roots(b / b[0]), np.roots(a / a[0]), gain


@answers("scipy.signal.sos2tf")
def sos2tf(sos: Any) -> tuple[Any, Any]:
    """``(numerator, denominator)`` of second-order sections.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import sos2tf
    >>> jit(sos2tf)(np.array([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]]))
    (array([1., 0., 0.]), array([ 1. , -0.5,  0. ]))
    """
    rows = floating(sos)
    b, a = np.ones(1), np.ones(1)
    for i in range(rows.shape[0]):
        b, a = np.convolve(b, rows[i, :3]), np.convolve(a, rows[i, 3:])
    return b, a


@answers("scipy.signal.bilinear")
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> tuple[Any, Any]:
    """A digital filter from an analog one: ``s = 2 fs (z - 1) / (z + 1)``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import bilinear
    >>> jit(bilinear)(np.ones(1), np.array([1.0, 1.0]), 0.5)
    (array([0.5, 0.5]), array([1., 0.]))
    """
    b, a, fs = np.atleast_1d(floating(b)), np.atleast_1d(floating(a)), floating(fs)
    order = max(b.shape[0], a.shape[0]) - 1
    numerator, denominator = _substituted(b, order, fs), _substituted(a, order, fs)
    return numerator / denominator[0], denominator / denominator[0]


@answers("scipy.signal.lp2lp_zpk")
def lp2lp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Any, Any, Any]:
    """A low-pass filter of frequency 1, moved to another one: ``s -> s / wo``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2lp_zpk
    >>> jit(lp2lp_zpk)(np.zeros(0), np.array([-1.0]), 1.0, 3.0)[:2]
    (array([], dtype=float64), array([-3.]))
    """
    z, p, wo = np.atleast_1d(floating(z)), np.atleast_1d(floating(p)), floating(wo)
    return wo * z, wo * p, floating(k) * wo ** (p.shape[0] - z.shape[0])


@answers("scipy.signal.lp2hp_zpk")
def lp2hp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Any, Any, Any]:
    """A low-pass filter of frequency 1 made a high-pass filter: ``s -> wo / s``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2hp_zpk
    >>> jit(lp2hp_zpk)(np.zeros(0), np.array([-1.0]), 1.0, 3.0)[:2]
    (array([0.]), array([-3.]))
    """
    z, p, wo = np.atleast_1d(floating(z)), np.atleast_1d(floating(p)), floating(wo)
    gain = floating(k) * np.real(np.prod(-z) / np.prod(-p))
    zeros = np.concatenate([wo / z, np.zeros(p.shape[0] - z.shape[0], z.dtype)])
    return zeros, wo / p, gain


@answers("scipy.signal.zpk2ss")
def zpk2ss(z: Any, p: Any, k: Any) -> tuple[Any, Any, Any, Any]:
    """``(A, B, C, D)`` from zeros, poles and gain.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import zpk2ss
    >>> jit(lambda p: zpk2ss([], p, 1.0)[0])(np.array([-2.0]))
    array([[-2.]])
    """
    made: tuple[Any, Any, Any, Any] = tf2ss(*zpk2tf(z, p, k))
    return made


@answers("scipy.signal.freqs")
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> tuple[Any, Any]:
    """``(w, h)``: angular frequencies, and the response of an analog filter to them.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import freqs
    >>> grad(lambda a: abs(freqs([1.0], a, [0.0])[1][0]))(np.array([1.0, 2.0]))
    array([ 0.  , -0.25])
    """
    if plot is not None or isinstance(worN, int):
        raise refused("scipy.signal.freqs", "pass the angular frequencies:\n"
                      "    freqs(b, a, np.logspace(-1, 2, 200))")  # fmt: skip
    w = floating(worN)
    b, a = np.atleast_1d(floating(b)), np.atleast_1d(floating(a))
    return w, np.polyval(b, 1j * w) / np.polyval(a, 1j * w)


@answers("scipy.signal.freqs_zpk")
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> tuple[Any, Any]:
    """``(w, h)`` as in :func:`freqs`, from zeros, poles and gain.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import freqs_zpk
    >>> grad(lambda p: abs(freqs_zpk([], p, 1.0, [0.0])[1][0]))(np.array([-2.0]))
    array([0.25])
    """
    if isinstance(worN, int):
        raise refused("scipy.signal.freqs_zpk", "pass the angular frequencies:\n"
                      "    freqs_zpk(z, p, k, np.logspace(-1, 2, 200))")  # fmt: skip
    w = floating(worN)
    return w, floating(k) * _distances(1j * w, z) / _distances(1j * w, p)


def _distances(points: Any, roots: Any) -> Any:
    """The product of the differences between points and all roots."""
    roots = np.atleast_1d(floating(roots))
    made = 1.0 + 0.0 * points
    for i in range(roots.shape[0]):
        made = made * (points - roots[i])
    return made


@answers("scipy.signal.vectorstrength")
def vectorstrength(events: Any, period: Any) -> tuple[Any, Any]:
    """``(strength, phase)``: how far events agree with a period.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import vectorstrength
    >>> round(float(grad(lambda p: vectorstrength([0.0, 1.0], p)[0])(4.0)), 6)
    0.13884
    """
    events, period = floating(events), floating(period)
    if events.ndim != 1 or period.ndim > 1:
        raise ValueError("events and period cannot have dimensions more than 1")
    angles = (2 * np.pi / np.atleast_1d(period))[:, None] * events
    x, y = np.mean(np.cos(angles), axis=1), np.mean(np.sin(angles), axis=1)
    found = np.sqrt(x**2 + y**2), np.arctan2(y, x)
    return found if period.ndim else (found[0][0], found[1][0])


def _substituted(c: Any, order: int, fs: Any) -> Any:
    """The polynomial in z that replaces c, times (z + 1)**order."""
    total = 0.0
    for power in range(c.shape[0]):
        known = np.poly([1.0] * power + [-1.0] * (order - power)) if order else np.ones(1)
        total = total + c[c.shape[0] - 1 - power] * (2.0 * fs) ** power * known
    return total


@answers("scipy.signal.bilinear_zpk")
def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> tuple[Any, Any, Any]:
    """A digital filter from an analog one, as zeros, poles and gain: see :func:`bilinear`.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import bilinear_zpk
    >>> jit(bilinear_zpk)(np.zeros(0), np.array([-1.0]), 1.0, 0.5)[:2]
    (array([-1.]), array([0.]))
    """
    z, p, twice = np.atleast_1d(floating(z)), np.atleast_1d(floating(p)), 2.0 * floating(fs)
    missing = p.shape[0] - z.shape[0]
    gain = floating(k) * np.real(np.prod(twice - z) / np.prod(twice - p))
    moved = np.concatenate([(twice + z) / (twice - z), -np.ones(missing, z.dtype)])
    return moved, (twice + p) / (twice - p), gain


@answers("scipy.signal.tf2ss")
def tf2ss(num: Any, den: Any) -> tuple[Any, Any, Any, Any]:
    """``(A, B, C, D)`` in controller canonical form, from one numerator and a denominator.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import tf2ss
    >>> jit(lambda a: tf2ss([1.0], a)[0])(np.array([2.0, 4.0, 6.0]))
    array([[-2., -3.],
           [ 1.,  0.]])
    """
    b, a = np.atleast_1d(floating(num)), np.atleast_1d(floating(den))
    if b.ndim != 1:
        raise refused(
            "scipy.signal.tf2ss", "several numerators are not covered; pass them one at a time."
        )
    n = a.shape[0] - 1
    if b.shape[0] > n + 1:
        raise ValueError("Improper transfer function. `num` is longer than `den`.")
    b, a = np.pad(b / a[0], (n + 1 - b.shape[0], 0)), a / a[0]
    if n == 0:
        empty = np.zeros((1, 1), b.dtype)
        return empty, empty, empty, b[:1][:, None]
    first = np.concatenate([-a[None, 1:], np.eye(n - 1, n)])
    return first, np.eye(n, 1), (b[1:] - a[1:] * b[0])[None, :], b[:1][:, None]


def _state_space(system: Any, of: str) -> tuple[Any, Any, Any, Any]:
    parts = tuple(system) if isinstance(system, (tuple, list)) else ()
    if len(parts) == 2:
        parts = tf2ss(*parts)
    if len(parts) != 4:
        raise refused(
            f"scipy.signal.{of}", "pass the system as (numerator, denominator) or (A, B, C, D)."
        )
    a, b, c, d = (np.atleast_2d(floating(part)) for part in parts)
    return a, b, c, d


def _known_times(t: Any, of: str) -> np.ndarray:
    """Known times, checked to be evenly spaced."""
    times = np.asarray(known(t, "T", of), float)
    if times.ndim != 1 or times.size < 2:
        raise ValueError("T must be a 1-D array of at least two times")
    if not np.allclose(np.diff(times), times[1] - times[0]):
        raise ValueError("Time steps are not equally spaced.")
    return times


@answers("scipy.signal.lsim", tuples=("system",))
def lsim(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> tuple[Any, Any, Any]:
    """``(T, outputs, states)`` of a system for given inputs, at known, evenly spaced times.

    Between these times, inputs are straight lines, or constant if ``interp`` is False.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import lsim
    >>> last = lambda a: lsim(([1.0], [1.0, a]), np.ones(3), [0.0, 0.5, 1.0])[1][-1]
    >>> round(float(grad(last)(1.0)), 6)                  # of (1 - exp(-a)) / a
    -0.264241
    """
    times = _known_times(T, "lsim")
    a, b, c, d = _state_space(system, "lsim")
    n, m = b.shape
    u = np.zeros((times.size, m)) if U is None else floating(U)
    u = np.reshape(u, (times.size, m)) if u.ndim < 2 else u
    x0 = np.zeros(n) if X0 is None else np.reshape(floating(X0), (n,))
    by_state, by_now, by_next = _steps(a, b, times[1] - times[0], interp)
    start = x0 + 0 * (by_state @ x0)
    if times[0] > 0:
        start = expm(a * times[0]) @ x0

    def step(x: Any, inputs: Any) -> Any:
        now, then = inputs
        new = by_state @ x + by_now @ now + by_next @ then
        return new, new

    _, later = scan(step, start, (u[:-1], u[1:]))
    states = np.concatenate([start[None], later])
    outputs = states @ c.T + u @ d.T
    single = lambda v: v[:, 0] if v.shape[1] == 1 else v  # noqa: E731
    return times, single(outputs), single(states)


def _steps(a: Any, b: Any, dt: float, lines: bool) -> tuple[Any, Any, Any]:
    """The matrices of one step, for the state and for the inputs before and after it.

    Van Loan, "Computing integrals involving the matrix exponential", IEEE Trans. Autom. Control 23
    (1978), 395-404.
    """
    n, m = b.shape
    rows = [np.concatenate([a * dt, b * dt, np.zeros((n, m))], axis=1),
            np.concatenate([np.zeros((m, n + m)), np.eye(m)], axis=1),
            np.zeros((m, n + 2 * m))]  # fmt: skip
    made = expm(np.concatenate(rows))
    by_next = made[:n, n + m :]
    if not lines:
        return made[:n, :n], made[:n, n : n + m], np.zeros((n, m))
    return made[:n, :n], made[:n, n : n + m] - by_next, by_next


def _times_of(T: Any, of: str) -> np.ndarray:
    if T is None:
        raise refused(
            f"scipy.signal.{of}", f"pass the times:\n    {of}(system, T=np.linspace(0, 10, 100))"
        )
    return _known_times(T, of)


@answers("scipy.signal.impulse", tuples=("system",))
def impulse(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> tuple[Any, Any]:
    """``(T, outputs)`` after an impulse at 0, at known times.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import impulse
    >>> round(float(grad(lambda a: impulse(([1.0], [1.0, a]), T=[0.0, 1.0])[1][-1])(1.0)), 6)
    -0.367879
    """
    times = _times_of(T, "impulse")
    parts = _state_space(system, "impulse")
    start = parts[1][:, 0] if X0 is None else parts[1][:, 0] + floating(X0)
    return times, lsim(parts, None, times, start, interp=False)[1]


@answers("scipy.signal.step", tuples=("system",))
def step(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> tuple[Any, Any]:
    """``(T, outputs)`` of a system whose input is 1 from time 0 on, at known times.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import step
    >>> round(float(grad(lambda a: step(([1.0], [1.0, a]), T=[0.0, 1.0])[1][-1])(1.0)), 6)
    -0.264241
    """
    times = _times_of(T, "step")
    ones = np.ones(times.size)
    return times, lsim(_state_space(system, "step"), ones, times, X0, interp=False)[1]
