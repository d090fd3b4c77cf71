"""Integrals of sampled functions, with the formulas of ``scipy.integrate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, known, known_integer, last, refused, unlast
from autojit.scipy.registry import answers


def _spacings(x: Any, y: Any, axis: int) -> Any:
    """The differences of sample points, along the last axis, as in y."""
    points = floating(x)
    if points.ndim not in (1, y.ndim):
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    points = last(points, axis) if points.ndim == y.ndim else points
    if points.shape[-1] != y.shape[-1]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return points[..., 1:] - points[..., :-1]


@answers("scipy.integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule, ``sum((y[1:] + y[:-1]) * diff(x) / 2)``.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import trapezoid
    >>> grad(trapezoid)(np.zeros(3))
    array([0.5, 1. , 0.5])
    """
    rows = last(floating(y), axis)
    d = floating(dx) if x is None else _spacings(x, rows, axis)
    if x is None and d.ndim:
        d = last(np.broadcast_to(d, tuple(_shortened(y, axis))), axis)
    return np.sum(d * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1)


def _shortened(y: Any, axis: int) -> list[int]:
    shape = list(np.shape(y))
    shape[axis] -= 1
    return shape


@answers("scipy.integrate.cumulative_trapezoid")
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The integral up to each sample by the trapezoidal rule.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import cumulative_trapezoid
    >>> grad(lambda y: cumulative_trapezoid(y)[1])(np.zeros(4))
    array([0.5, 1. , 0.5, 0. ])
    """
    rows = last(floating(y), axis)
    if rows.shape[-1] == 0:
        raise ValueError("At least one point is required along `axis`.")
    d = floating(dx) if x is None else _spacings(x, rows, axis)
    result = np.cumsum(d * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        if known(initial, "initial", "cumulative_trapezoid") != 0:
            raise ValueError("`initial` must be `None` or `0`.")
        result = np.concatenate([np.zeros((*result.shape[:-1], 1)), result], axis=-1)
    return unlast(result, axis)


@answers("scipy.integrate.simpson")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by Simpson's rule.

    If the number of samples is even, the last interval is integrated with the parabola through the
    last three samples (Cartwright, J. Math. Sci. Math. Educ. 12 (2017), equation 8), as in SciPy.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import simpson
    >>> 3 * grad(simpson)(np.zeros(5))
    array([1., 4., 2., 4., 1.])
    """
    rows = last(floating(y), axis)
    n = rows.shape[-1]
    d = floating(dx) if x is None else _spacings(x, rows, axis)
    gaps = np.broadcast_to(d[..., None] if x is None else d, (*rows.shape[:-1], n - 1))
    if n == 2:
        return 0.5 * gaps[..., 0] * (rows[..., 0] + rows[..., 1])
    odd = n - 1 + n % 2
    total = _parabolas(rows[..., :odd], gaps[..., : odd - 1])
    return total if n % 2 else total + _last_interval(rows[..., -3:], gaps[..., -2:])


def _parabolas(y: Any, h: Any) -> Any:
    """The sum of the integrals of the parabolas over pairs of intervals."""
    h0, h1 = h[..., ::2], h[..., 1::2]
    both, ratio = h0 + h1, _quotient(h0, h1)
    terms = (
        y[..., :-2:2] * (2.0 - _quotient(1.0, ratio))
        + y[..., 1:-1:2] * (both * _quotient(both, h0 * h1))
        + y[..., 2::2] * (2.0 - ratio)
    )
    return np.sum(both / 6.0 * terms, axis=-1)


def _last_interval(y: Any, h: Any) -> Any:
    h0, h1 = h[..., 0], h[..., 1]
    alpha = _quotient(2 * h1**2 + 3 * h0 * h1, 6 * (h1 + h0))
    beta = _quotient(h1**2 + 3.0 * h0 * h1, 6 * h0)
    eta = _quotient(h1**3, 6 * h0 * (h0 + h1))
    return alpha * y[..., 2] + beta * y[..., 1] - eta * y[..., 0]


def _quotient(a: Any, b: Any) -> Any:
    """``a / b``, and 0 where b is 0."""
    zero = b == 0
    return np.where(zero, 0.0, a / np.where(zero, 1.0, b))


@answers("scipy.integrate.cumulative_simpson")
def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The integral up to each sample, by parabolas through three neighbouring samples.

    These are equations 8 and 10 of Cartwright. Traced sample points are not checked to increase.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import cumulative_simpson
    >>> np.round(3 * grad(lambda y: cumulative_simpson(y)[1])(np.zeros(5)), 12)
    array([1., 4., 1., 0., 0.])
    """
    rows = last(floating(y), axis)
    if rows.shape[-1] < 3:
        result = last(cumulative_trapezoid(y, x, dx=dx, axis=axis), axis)
    else:
        result = np.cumsum(_subintegrals(rows, _gaps(rows, x, dx, axis), x is None), axis=-1)
    if initial is not None:
        first = floating(initial)
        first = last(first, axis) if first.ndim else first[..., None]
        first = np.broadcast_to(first, (*result.shape[:-1], 1))
        result = np.concatenate([first, result + first], axis=-1)
    return unlast(result, axis)


def _gaps(rows: Any, x: Any, dx: Any, axis: int) -> Any:
    if x is not None:
        d = _spacings(x, rows, axis)
    else:
        d = floating(dx)
        d = last(d, axis) if d.ndim else d[..., None]
    return np.broadcast_to(d, (*rows.shape[:-1], rows.shape[-1] - 1))


def _subintegrals(y: Any, h: Any, equal: bool) -> Any:
    """The integral over each interval, of the parabola that extends to its right or to its left."""
    rule = _of_equal if equal else _of_unequal
    right = rule(y, h)
    left = rule(y[..., ::-1], h[..., ::-1])[..., ::-1]
    n = h.shape[-1]
    place = np.arange(n)
    take_right = (place % 2 == 0) & (place < n - 1)
    return np.where(
        take_right,
        right[..., np.minimum(place, n - 2)],
        left[..., np.maximum(place - 1, 0)],
    )


def _of_equal(y: Any, h: Any) -> Any:
    return h[..., :-1] / 3 * (5 * y[..., :-2] / 4 + 2 * y[..., 1:-1] - y[..., 2:] / 4)


def _of_unequal(y: Any, h: Any) -> Any:
    first, second = h[..., :-1], h[..., 1:]
    share, ratio = first / (first + second), first / second
    product = share * ratio
    weighted = (
        (3 - share) * y[..., :-2] + (3 + product + share) * y[..., 1:-1] - product * y[..., 2:]
    )
    return first / 6 * weighted


@answers("scipy.integrate.romb")
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Romberg's integral of ``2**k + 1`` equally spaced samples.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import romb
    >>> 45 * grad(romb)(np.zeros(5))
    array([14., 64., 24., 64., 14.])
    """
    if show:
        raise refused("scipy.integrate.romb", "show=True, which prints numbers, is not covered.")
    rows = last(floating(y), axis)
    n = rows.shape[-1] - 1
    levels = max(n, 1).bit_length() - 1
    if n != 1 << levels:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    weights = _romberg(levels)
    return np.sum(rows * weights, axis=-1) * floating(dx)


def _romberg(levels: int) -> np.ndarray:
    """The weights of the samples in the extrapolated trapezoidal rule."""
    n = 1 << levels
    row: list[np.ndarray] = []
    for k in range(levels + 1):
        step = n >> k
        w = np.zeros(n + 1)
        w[::step] = step
        w[[0, -1]] /= 2
        new = [w]
        for m in range(1, k + 1):
            new.append(new[m - 1] + (new[m - 1] - row[m - 1]) / (4.0**m - 1))
        row = new
    return row[-1]


@answers("scipy.integrate.newton_cotes")
def newton_cotes(rn: Any, equal: int = 0) -> Any:
    """Refuse the call: the order, or the nodes, must be known."""
    raise refused("scipy.integrate.newton_cotes", "pass a known order, or known nodes.")


@answers("scipy.integrate.fixed_quad", callables=True)
def fixed_quad(
    func: Any, a: Any, b: Any, args: tuple[Any, ...] = (), n: int = 5
) -> tuple[Any, None]:
    """The integral of a function of arrays by Gauss's rule of order n.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import fixed_quad
    >>> round(float(grad(lambda b: fixed_quad(np.cos, 0.0, b)[0])(1.0)), 6)    # cos(1)
    0.540302
    """
    nodes, weights = np.polynomial.legendre.leggauss(known_integer(n, "n", "fixed_quad"))
    half = (floating(b) - a) / 2
    y = half * (nodes + 1) + a
    return half * np.sum(weights * func(y, *args), axis=-1), None
