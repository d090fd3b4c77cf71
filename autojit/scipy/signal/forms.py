"""Conversions of filters and systems: to other bands, roots, state spaces and discrete time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.control_flow.control import scan
from autojit.functions.checks import ensured
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.linalg.matrix_functions import expm
from autojit.scipy.registry import answers

from .systems import tf2ss, tf2zpk, zpk2ss

# -- polynomials ---------------------------------------------------------------------------


def _row(c: Any) -> Any:
    return np.atleast_1d(floating(c))


@answers("scipy.signal.normalize")
def normalize(b: Any, a: Any) -> tuple[Any, Any]:
    """Divide b and a by ``a[0]``, which must not be 0; leading zeros of b stay.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import normalize
    >>> jit(normalize)(np.array([2.0]), np.array([4.0, 1.0]))
    (array([0.5]), array([1.  , 0.25]))
    """
    b, a = _row(b), _row(a)
    first = ensured(a[0], a[0] != 0, ValueError("the first coefficient of a must not be 0"))
    return b / first, a / first


@answers("scipy.signal.lp2lp")
def lp2lp(b: Any, a: Any, wo: Any = 1.0) -> tuple[Any, Any]:
    """A low-pass filter of frequency 1, moved to another one: ``s -> s / wo``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2lp
    >>> jit(lp2lp)(np.ones(1), np.array([1.0, 1.0]), 3.0)
    (array([3.]), array([1., 3.]))
    """
    b, a, wo = _row(b), _row(a), floating(wo)
    return normalize(
        b * wo ** -np.arange(b.shape[0] - 1.0, -1, -1),
        a * wo ** -np.arange(a.shape[0] - 1.0, -1, -1),
    )


@answers("scipy.signal.lp2hp")
def lp2hp(b: Any, a: Any, wo: Any = 1.0) -> tuple[Any, Any]:
    """A low-pass filter of frequency 1 made a high-pass filter: ``s -> wo / s``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2hp
    >>> jit(lp2hp)(np.ones(1), np.array([1.0, 1.0]), 3.0)
    (array([1., 0.]), array([1., 3.]))
    """
    b, a, wo = _row(b), _row(a), floating(wo)
    n = max(b.shape[0], a.shape[0])
    powers = wo ** np.arange(float(n))
    b, a = (np.pad(c[::-1], (0, n - c.shape[0])) * powers for c in (b, a))
    return normalize(b, a)


@answers("scipy.signal.lp2bp")
def lp2bp(b: Any, a: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Any, Any]:
    """A low-pass filter of frequency 1 made a band-pass filter: ``s -> (s**2 + wo**2) / (s bw)``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2bp
    >>> jit(lp2bp)(np.ones(1), np.array([1.0, 1.0]), 3.0, 0.5)
    (array([0.5, 0. ]), array([1. , 0.5, 9. ]))
    """
    b, a, wo, bw = _row(b), _row(a), floating(wo), floating(bw)
    most = max(b.shape[0], a.shape[0]) - 1

    def moved(c: Any) -> Any:
        size = c.shape[0] - 1 + most
        total: Any = 0.0
        for i in range(c.shape[0]):
            for k in range(i + 1):
                place = np.arange(size + 1) == size - (most - i + 2 * k)
                total = total + place * (
                    math.comb(i, k) * c[c.shape[0] - 1 - i] * wo ** (2 * (i - k)) / bw**i
                )
        return total

    return normalize(moved(b), moved(a))


@answers("scipy.signal.lp2bs")
def lp2bs(b: Any, a: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Any, Any]:
    """A low-pass filter of frequency 1 made a band-stop filter: ``s -> s bw / (s**2 + wo**2)``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2bs
    >>> jit(lp2bs)(np.ones(1), np.array([1.0, 1.0]), 3.0, 0.5)
    (array([1., 0., 9.]), array([1. , 0.5, 9. ]))
    """
    b, a, wo, bw = _row(b), _row(a), floating(wo), floating(bw)
    most = max(b.shape[0], a.shape[0]) - 1

    def moved(c: Any) -> Any:
        total: Any = 0.0
        for i in range(c.shape[0]):
            for k in range(most - i + 1):
                place = np.arange(2 * most + 1) == 2 * most - (i + 2 * k)
                term = math.comb(most - i, k) * c[c.shape[0] - 1 - i]
                total = total + place * (term * wo ** (2 * (most - i - k)) * bw**i)
        return total

    return normalize(moved(b), moved(a))


@answers("scipy.signal.sos2zpk")
def sos2zpk(sos: Any) -> tuple[Any, Any, Any]:
    """``(zeros, poles, gain)`` of second-order sections; no first coefficient may be 0.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import sos2zpk
    >>> jit(lambda s: sos2zpk(s)[2])(np.array([[2.0, 1.0, 0.5, 1.0, 0.5, 0.25]]))
    np.float64(2.0)
    """
    rows = floating(sos)
    parts = [tf2zpk(rows[i, :3], rows[i, 3:]) for i in range(rows.shape[0])]
    gain: Any = 1.0
    for part in parts:
        gain = gain * part[2]
    zeros, poles = (np.concatenate([part[i] for part in parts]) + 0j for i in (0, 1))
    return zeros, poles, gain


# -- states --------------------------------------------------------------------------------


@answers("scipy.signal.abcd_normalize")
def abcd_normalize(A: Any = None, B: Any = None, C: Any = None, D: Any = None) -> Any:
    """The four matrices of a system; a matrix that is not given is zero.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import abcd_normalize
    >>> jit(lambda a: abcd_normalize(a, np.ones((1, 2)), [[1.0]])[3])(2.0)
    array([[0., 0.]])
    """
    given = [np.zeros((0, 0)) if m is None else np.atleast_2d(floating(m)) for m in (A, B, C, D)]
    (a, b, c, d) = (np.shape(m) for m in given)
    n, p, q = a[0] or b[0] or c[1], b[1] or d[1], c[0] or d[0]
    wanted = {"A": (n, n), "B": (n, p), "C": (q, n), "D": (q, p)}
    made = []
    for (name, shape), m in zip(wanted.items(), given, strict=True):
        m = m if np.size(m) else np.zeros(shape)
        if np.shape(m) != shape:
            raise ValueError(f"Parameter {name} has shape {np.shape(m)} but should be {shape}!")
        made.append(m)
    return tuple(made)


def _characteristic(matrix: Any) -> Any:
    """The coefficients of ``det(s - matrix)``, by the algorithm of Faddeev and LeVerrier."""
    n = matrix.shape[0]
    coefficients, m = [1.0 + 0.0 * matrix[0, 0]], np.eye(n)
    for k in range(1, n + 1):
        product = matrix @ m
        coefficients.append(-np.trace(product) / k)
        m = product + coefficients[-1] * np.eye(n)
    return np.stack(coefficients)


@answers("scipy.signal.ss2tf")
def ss2tf(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> tuple[Any, Any]:
    """``(numerators, denominator)`` of a system ``(A, B, C, D)`` for one of its inputs.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import ss2tf
    >>> jit(ss2tf)(np.array([[-2.0]]), np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    (array([[0., 1.]]), array([1., 2.]))
    """
    a, b, c, d = abcd_normalize(A, B, C, D)
    if input >= d.shape[1]:
        raise ValueError("System does not have the input specified.")
    b, d = b[:, input : input + 1], d[:, input]
    denominator = _characteristic(a)
    rows = [
        _characteristic(a - b @ c[k : k + 1]) + (d[k] - 1) * denominator for k in range(d.shape[0])
    ]
    return np.stack(rows), denominator


@answers("scipy.signal.lfiltic")
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """The state of ``lfilter`` after outputs ``y`` and inputs ``x``, both with the latest first.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import lfiltic
    >>> grad(lambda y: lfiltic([1.0], [1.0, -0.5], y)[0])(np.array([3.0]))
    array([0.5])
    """
    b, a, y = _row(b), _row(a), _row(y)
    n, m = a.shape[0] - 1, b.shape[0] - 1
    size = max(n, m)
    x = np.zeros(m) if x is None else _row(x)
    x, y = (np.pad(v, (0, max(0, k - v.shape[0]))) for v, k in ((x, m), (y, n)))
    state: Any = np.zeros(size)
    for k in range(m):
        state = state + (np.arange(size) == k) * np.sum(b[k + 1 :] * x[: m - k])
    for k in range(n):
        state = state - (np.arange(size) == k) * np.sum(a[k + 1 :] * y[: n - k])
    return state / a[0]


# -- discrete time -------------------------------------------------------------------------

_SHARES = {"bilinear": 0.5, "tustin": 0.5, "euler": 0.0, "forward_diff": 0.0, "backward_diff": 1.0}


@answers("scipy.signal.cont2discrete", tuples=("system",))
def cont2discrete(system: Any, dt: Any, method: str = "zoh", alpha: Any = None) -> tuple[Any, ...]:
    """A system in discrete time, in the form in which it was given, followed by its time step.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import cont2discrete
    >>> decay = lambda dt: cont2discrete((-1.0, 1.0, 1.0, 0.0), dt)[0][0, 0]
    >>> round(float(grad(decay)(0.5)), 6)
    -0.606531
    """
    parts = tuple(system)
    if len(parts) == 2:
        return (*ss2tf(*_discrete(tf2ss(*parts), dt, method, alpha)), dt)
    if len(parts) == 3:
        raise refused(
            "scipy.signal.cont2discrete",
            "the number of zeros depends on values. Pass (numerator, denominator) or matrices:\n"
            "    cont2discrete(signal.zpk2ss(z, p, k), dt)",
        )
    if len(parts) != 4:
        raise ValueError(
            "First argument must either be a tuple of 2 (tf), 3 (zpk), or 4 (ss) arrays."
        )
    return (*_discrete(parts, dt, method, alpha), dt)


def _discrete(parts: Any, dt: Any, method: str, alpha: Any) -> tuple[Any, Any, Any, Any]:
    a, b, c, d = (np.atleast_2d(floating(part)) for part in parts)
    dt, n, m = floating(dt), b.shape[0], b.shape[1]
    if method in _SHARES or method == "gbt":
        if method == "gbt" and alpha is None:
            raise ValueError("Alpha parameter must be specified for the gbt method")
        return _by_share(a, b, c, d, dt, _SHARES.get(method, alpha))
    if method == "zoh":
        whole = np.concatenate([np.concatenate([a, b], axis=1), np.zeros((m, n + m))])
        made = expm(whole * dt)
        return made[:n, :n], made[:n, n:], c, d
    if method == "foh":
        return _by_lines(a, b, c, d, dt)
    if method != "impulse":
        raise ValueError(f"Unknown transformation method '{method}'")
    through = ensured(d, np.all(np.abs(d) <= 1e-8), ValueError(
        "Impulse method is only applicable to strictly proper systems"))  # fmt: skip
    by_state = expm(a * dt)
    return by_state, by_state @ b * dt, c, c @ b * dt + 0.0 * through


def _by_share(a: Any, b: Any, c: Any, d: Any, dt: Any, share: Any) -> Any:
    """The generalised bilinear transform: Zhang, Chen & Chen, IEEE Trans. Autom. Control 54 (2009),
    "Performance recovery in digital implementation of analogue systems"."""
    one = np.eye(a.shape[0])
    ahead = one - share * dt * a
    by_input = np.linalg.solve(ahead, dt * b)
    by_state = np.linalg.solve(ahead, one + (1.0 - share) * dt * a)
    return by_state, by_input, np.linalg.solve(ahead.T, c.T).T, d + share * (c @ by_input)


def _by_lines(a: Any, b: Any, c: Any, d: Any, dt: Any) -> Any:
    n, m = b.shape
    rows = [np.concatenate([a * dt, b * dt, np.zeros((n, m))], axis=1),
            np.concatenate([np.zeros((m, n + m)), np.eye(m)], axis=1),
            np.zeros((m, n + 2 * m))]  # fmt: skip
    made = expm(np.concatenate(rows))
    by_state, now, later = made[:n, :n], made[:n, n : n + m], made[:n, n + m :]
    return by_state, now - later + by_state @ later, c, d + c @ later


def _stepped(system: Any, of: str) -> tuple[tuple[Any, Any, Any, Any], float, bool]:
    """The matrices and the known time step of a discrete system, and whether the system was given
    as matrices."""
    parts = tuple(system)
    dt = float(known(parts[-1], "dt", of))
    forms: dict[int, Any] = {3: tf2ss, 4: zpk2ss}
    if len(parts) in forms:
        found = forms[len(parts)](*parts[:-1])
    elif len(parts) == 5:
        found = parts[:-1]
    else:
        raise refused(
            f"scipy.signal.{of}",
            "pass the system as (numerator, denominator, dt), (zeros, poles, gain, dt) or "
            "(A, B, C, D, dt).",
        )
    a, b, c, d = (np.atleast_2d(floating(part)) for part in found)
    return (a, b, c, d), dt, len(parts) == 5


def _simulated(parts: Any, u: Any, x0: Any) -> tuple[Any, Any]:
    """The outputs and the states for inputs ``u``, one row per step."""
    a, b, c, d = parts
    start = np.zeros(a.shape[0]) if x0 is None else np.reshape(floating(x0), (a.shape[0],))
    start = start + 0.0 * (a @ start) + 0.0 * (b @ u[0])

    def step(x: Any, inputs: Any) -> Any:
        return a @ x + b @ inputs, x

    _, states = scan(step, start, u)
    return states @ c.T + u @ d.T, states


@answers("scipy.signal.dlsim", tuples=("system",))
def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> tuple[Any, ...]:
    """``(t, outputs)`` of a system in discrete time, and its states if it is given as matrices.

    ``t`` must be the known times of the steps.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import dlsim
    >>> grad(lambda a: dlsim(([1.0], [1.0, a], 0.5), np.ones(3))[1][-1, 0])(0.25)
    np.float64(-1.0)
    """
    parts, dt, by_matrices = _stepped(system, "dlsim")
    u = floating(u)
    u = u[:, None] if u.ndim == 1 else u
    times = np.arange(u.shape[0]) * dt
    if t is not None and not np.allclose(np.asarray(known(t, "t", "dlsim"), float), times):
        raise refused("scipy.signal.dlsim", "t must be dt * np.arange(len(u)).")
    y, states = _simulated(parts, u, x0)
    return (times, y, states) if by_matrices else (times, y)


def _answers_to(of: str, system: Any, x0: Any, t: Any, n: Any, inputs: Any) -> tuple[Any, Any]:
    parts, dt, _ = _stepped(system, of)
    count = 100 if n is None else int(known(n, "n", of))
    times = np.arange(count) * dt if t is None else np.asarray(known(t, "t", of), float)
    if not np.allclose(times, np.arange(times.size) * dt):
        raise refused(f"scipy.signal.{of}", "t must be dt * np.arange(n).")
    width = parts[1].shape[1]
    columns = [inputs(times.size)[:, None] * (np.arange(width) == i) for i in range(width)]
    return times, tuple(_simulated(parts, floating(u), x0)[0] for u in columns)


@answers("scipy.signal.dimpulse", tuples=("system",))
def dimpulse(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> tuple[Any, Any]:
    """``(t, outputs)`` after an impulse at 0, one array of outputs for each input.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import dimpulse
    >>> grad(lambda a: dimpulse(([1.0], [1.0, a], 0.5), n=3)[1][0][2, 0])(0.25)
    np.float64(-1.0)
    """
    return _answers_to("dimpulse", system, x0, t, n, lambda size: 1.0 * (np.arange(size) == 0))


@answers("scipy.signal.dstep", tuples=("system",))
def dstep(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> tuple[Any, Any]:
    """``(t, outputs)`` for inputs that are 1 from time 0 on: see :func:`dimpulse`."""
    return _answers_to("dstep", system, x0, t, n, np.ones)
