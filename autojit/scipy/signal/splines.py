"""B-splines through evenly spaced samples, with mirrored ends: Unser, "Splines: a perfect fit for
signal and image processing", IEEE Signal Process. Mag. 16 (1999), 22-38."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, refused
from autojit.scipy.ndimage import convolve1d, rank_filter
from autojit.scipy.registry import answers

from .filtering import lfilter


def _coefficients(signal: Any, root: float, gain: float) -> Any:
    """The coefficients of a spline, by a recursive filter forwards and backwards."""
    x = floating(signal)
    n = x.shape[0]
    start = np.sum(root ** np.arange(n) * x)
    if n == 1:
        return np.reshape(gain * root / (root - 1) * (x[0] + root * start), (1,))
    forward, _ = lfilter([1.0], [1.0, -root], x, zi=np.reshape(root * start, (1,)))
    final = root / (root - 1) * forward[-1:]
    backward, _ = lfilter([-root], [1.0, -root], forward[-2::-1], zi=root * final)
    return gain * np.concatenate([backward[::-1], final])


@answers("scipy.signal.cspline1d")
def cspline1d(signal: Any, lamb: float = 0.0) -> Any:
    """The coefficients of the cubic spline through samples.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import cspline1d, cspline1d_eval
    >>> through = lambda x: cspline1d_eval(cspline1d(x), [1.0])[0]
    >>> grad(through)(np.zeros(3)).round(9) + 0.0
    array([0., 1., 0.])
    """
    if lamb != 0.0:
        raise refused("scipy.signal.cspline1d", "smoothing (lamb=) is not covered.")
    return _coefficients(signal, math.sqrt(3) - 2, 6.0)


@answers("scipy.signal.qspline1d")
def qspline1d(signal: Any, lamb: float = 0.0) -> Any:
    """The coefficients of the quadratic spline through samples."""
    if lamb != 0.0:
        raise ValueError("Smoothing quadratic splines not supported yet.")
    return _coefficients(signal, 2 * math.sqrt(2.0) - 3, 8.0)


def _cubic(x: Any) -> Any:
    near = np.abs(x)
    return np.where(near < 1, 2 / 3 - near**2 * (1 - near / 2), (2 - near) ** 3 / 6)


def _quadratic(x: Any) -> Any:
    near = np.abs(x)
    return np.where(near < 0.5, 0.75 - near**2, (1.5 - near) ** 2 / 2)


def _evaluated(c: Any, at: Any, dx: Any, x0: Any, spline: Callable[[Any], Any], width: int) -> Any:
    c, x = floating(c), (floating(at) - x0) / dx
    last = c.shape[0] - 1
    if last < 0:
        raise ValueError("Spline coefficients 'cj' must not be empty.")
    if last:
        x = np.abs(np.mod(x + last, 2 * last) - last)
    first = np.floor(x - width / 2).astype(int) + 1
    total: Any = 0.0
    for i in range(width):
        total = total + c[np.clip(first + i, 0, last)] * spline(x - (first + i))
    return total


@answers("scipy.signal.cspline1d_eval")
def cspline1d_eval(cj: Any, newx: Any, dx: Any = 1.0, x0: Any = 0) -> Any:
    """The cubic spline with coefficients ``cj`` at points; it is mirrored beyond the ends."""
    return _evaluated(cj, newx, dx, x0, _cubic, 4)


@answers("scipy.signal.qspline1d_eval")
def qspline1d_eval(cj: Any, newx: Any, dx: Any = 1.0, x0: Any = 0) -> Any:
    """The quadratic spline with coefficients ``cj`` at points; it is mirrored beyond the ends."""
    return _evaluated(cj, newx, dx, x0, _quadratic, 3)


@answers("scipy.signal.sepfir2d")
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """An image convolved with one filter along rows and one along columns, with mirrored ends.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import sepfir2d
    >>> grad(lambda h: sepfir2d(np.eye(3), h, [1.0])[1, 1])(np.zeros(3))
    array([0., 1., 0.])
    """
    rows = convolve1d(floating(input), floating(hrow), axis=1, mode="reflect")
    return convolve1d(rows, floating(hcol), axis=0, mode="reflect")


@answers("scipy.signal.order_filter")
def order_filter(a: Any, domain: Any, rank: int) -> Any:
    """The element of a given rank in each neighbourhood, with zeros beyond the ends.

    The sides of the neighbourhood must be odd.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import order_filter
    >>> grad(lambda x: order_filter(x, np.ones(3), 1)[1])(np.array([3.0, 1.0, 2.0]))
    array([0., 0., 1.])
    """
    if any(size % 2 == 0 for size in np.shape(domain)):
        raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    return rank_filter(a, rank, footprint=domain, mode="constant")
