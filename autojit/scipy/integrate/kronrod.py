"""Adaptive integration by the 21-point Gauss-Kronrod rule, like QUADPACK's QAG.

The rule and its error estimate are those of Piessens, de Doncker-Kapenga, Überhuber and Kahaner,
"QUADPACK" (1983), routine DQK21. The interval with the largest estimate is halved until the sum of
the estimates is small enough. The choice of the intervals has no derivative, but the integral over
them has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.control_flow.control import fori_loop, while_loop
from autojit.scipy.arguments import floating
from autojit.tracing.created_arrays import is_traced
from autojit.transformations.batching import vmap
from autojit.transformations.derivatives import stop_gradient

#: Nodes in (0, 1), from the outermost; Kronrod's weights at these and at 0; and the weights of
#: Gauss's rule, which has every second node.
_NODES = (
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
    0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
    0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
    0.294392862701460198131126603103866, 0.148874338981631210884826001129720,
)  # fmt: skip
_WEIGHTS = (
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390,
    0.054755896574351996031381300244580, 0.075039674810919952767043140916190,
    0.093125454583697605535465065483366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109831074, 0.134709217311473325928054001771707,
    0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
)  # fmt: skip
_MIDDLE = 0.149445554002916905664936468389821
_GAUSS = (
    0.066671344308688137593568809893332, 0.149451349150580593145776339657697,
    0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
    0.295524224714752870173892994651338,
)  # fmt: skip
NODES = np.array([*_NODES, 0.0, *(-x for x in _NODES[::-1])])
KRONROD = np.array([*_WEIGHTS, _MIDDLE, *_WEIGHTS[::-1]])
GAUSS = np.zeros(NODES.size)
GAUSS[1::2] = [*_GAUSS, *_GAUSS[::-1]]

#: The integrand of one traced number; it returns an array of any shape.
Integrand = Callable[[Any], Any]


class Tolerance(NamedTuple):
    """When to stop: the error allowed, the most intervals, and the norm of an array."""

    epsabs: float
    epsrel: float
    limit: int
    norm: Callable[[Any], Any]


def integral(f: Integrand, a: Any, b: Any, points: Any, tolerance: Tolerance) -> tuple[Any, Any]:
    """``(integral, estimate of its error)`` of f from a to b; known limits may be infinite.

    ``points`` are known places between the limits at which intervals end.
    """
    g, low, high, points = _finite(f, _still(a), _still(b), points)
    lefts, rights, count, error = _intervals(g, low, high, points, tolerance)
    first = _rule(g, lefts[:1], rights[:1])[0][0]

    def add(k: Any, total: Any) -> Any:
        return total + _rule(g, lefts[k][None], rights[k][None])[0][0]

    total = fori_loop(1, count, add, first)
    for end, sign in ((a, -1.0), (b, 1.0)):
        if is_traced(end):
            total = total + sign * _moved(f, end)
    return total, error


def _still(end: Any) -> Any:
    return stop_gradient(floating(end)) if is_traced(end) else float(end)


def _finite(f: Integrand, a: Any, b: Any, points: Any) -> tuple[Integrand, Any, Any, Any]:
    """The integrand and the limits in a variable t of finite range: ``x = a + (1 - t) / t``."""
    infinite = [not is_traced(end) and np.isinf(end) for end in (a, b)]
    if not any(infinite):
        return f, a, b, points
    if points is not None:
        raise ValueError("Infinity inputs cannot be used with break points.")
    if all(infinite):
        if a == b:
            return lambda t: 0.0 * f(0.0 * t), 0.0, 1.0, None
        sign = 1.0 if a < b else -1.0
        return (
            lambda t: sign * (f((1 - t) / t) + f((t - 1) / t)) / t**2, 0.0, 1.0, None,
        )  # fmt: skip
    end, far = (b, a) if infinite[0] else (a, b)
    way = 1.0 if far > 0 else -1.0
    sign = way if infinite[1] else -way
    return lambda t: sign * f(end + way * (1 - t) / t) / t**2, 0.0, 1.0, None


def _intervals(
    f: Integrand, a: Any, b: Any, points: Any, tolerance: Tolerance
) -> tuple[Any, Any, Any, Any]:
    """The ends of the intervals, their number, and the estimate of the error."""
    inner = np.zeros(0) if points is None else np.unique(np.asarray(points, float))
    inner = inner[::-1] if not is_traced((a, b)) and a > b else inner
    ends = np.stack([floating(x) for x in (a, *inner, b)])
    start, limit = inner.size + 1, max(int(tolerance.limit), inner.size + 1)
    values, errors = _measured(f, ends[:-1], ends[1:], tolerance)

    def room(x: Any) -> Any:
        rest = np.zeros((limit - start, *x.shape[1:]), x.dtype)
        return np.concatenate([stop_gradient(x), rest])

    def unfinished(state: Any) -> Any:
        _, _, values, errors, n = state
        size = tolerance.norm(np.sum(values, axis=0))
        allowed = np.maximum(tolerance.epsabs, tolerance.epsrel * size)
        return np.logical_and(n < limit, np.sum(errors) > allowed)

    def halve(state: Any) -> Any:
        lefts, rights, values, errors, n = state
        k = np.argmax(errors)
        middle = (lefts[k] + rights[k]) / 2
        two_lefts, two_rights = np.stack([lefts[k], middle]), np.stack([middle, rights[k]])
        two_values, two_errors = _measured(f, two_lefts, two_rights, tolerance)
        new = []
        pairs = ((lefts, two_lefts), (rights, two_rights), (values, two_values),
                 (errors, two_errors))  # fmt: skip
        for old, two in pairs:
            changed = old.copy()
            changed[k] = two[0]
            changed[n] = two[1]
            new.append(changed)
        return (*new, n + 1)

    first = (room(ends[:-1]), room(ends[1:]), room(values), room(errors), np.int64(start))
    lefts, rights, _, errors, n = while_loop(unfinished, halve, first)
    return stop_gradient(lefts), stop_gradient(rights), n, stop_gradient(np.sum(errors))


def _rule(f: Integrand, lefts: Any, rights: Any) -> tuple[Any, Any, Any]:
    """The integrals over intervals, the values of f there, and half the lengths."""
    half = (rights - lefts) / 2
    nodes = ((lefts + rights) / 2)[:, None] + half[:, None] * NODES
    values = vmap(f)(np.reshape(nodes, (-1,)))
    values = np.reshape(values, (*nodes.shape, *values.shape[1:]))
    half = np.reshape(half, (-1, *[1] * (values.ndim - 2)))
    return half * np.einsum("j,ij...->i...", KRONROD, values), values, half


def _measured(f: Integrand, lefts: Any, rights: Any, tolerance: Tolerance) -> tuple[Any, Any]:
    """The integrals over intervals, and the estimates of their errors (DQK21)."""
    totals, values, half = _rule(f, lefts, rights)
    norm = vmap(tolerance.norm)
    off = norm(half * np.einsum("j,ij...->i...", KRONROD - GAUSS, values))
    mean = (np.einsum("j,ij...->i...", KRONROD, values) / 2)[:, None]
    spread = norm(np.abs(half) * np.einsum("j,ij...->i...", KRONROD, np.abs(values - mean)))
    size = norm(np.abs(half) * np.einsum("j,ij...->i...", KRONROD, np.abs(values)))
    some = np.logical_and(spread != 0, off != 0)
    ratio = 200 * off / np.where(some, spread, 1.0)
    error = np.where(some, spread * np.minimum(1.0, ratio * np.sqrt(ratio)), off)
    rounding = 50 * np.finfo(float).eps * size
    return totals, stop_gradient(np.maximum(rounding, error))


#: Gauss's rule of three points on (0, 1) is exact up to degree 5, so derivatives by a limit are
#: exact up to order 6.
_S, _W = np.polynomial.legendre.leggauss(3)
_S, _W = (_S + 1) / 2, _W / 2


def _moved(f: Integrand, end: Any) -> Any:
    """The change of the integral as a limit moves (Leibniz): 0, with the derivative f(end)."""
    end = floating(end)
    here = stop_gradient(end)
    d = end - here
    values = vmap(f)(here + d * _S)
    largest = np.finfo(float).max
    real = values.dtype.kind != "c"
    values = np.clip(values, -largest, largest) if real else values
    return d * np.einsum("j,j...->...", _W, values)
