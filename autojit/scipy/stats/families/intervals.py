"""Families whose support has a finite end, which may depend on a shape parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .double_exponential import along_nodes, over_half
from .family import UNIT, Family, family, positive
from .half_line import above_or, weibull_entropy
from .real_line import EULER, LOG_2, LOG_ROOT

uniform: Family = family(
    "uniform", UNIT, lambda z: 0.0 * z, inside=0.5,
    density=lambda z: 1.0 + 0.0 * z,
    cdf=lambda z: z, sf=lambda z: 1 - z,
    ppf=lambda q: q, isf=lambda q: 1 - q,
    entropy=lambda: 0.0, mean=lambda: 0.5, var=lambda: 1 / 12,
)  # fmt: skip


def beta_log_density(z: Any, a: Any, b: Any) -> Any:
    return sc.xlog1py(b - 1, -z) + sc.xlogy(a - 1, z) - sc.betaln(a, b)


def beta_entropy(a: Any, b: Any) -> Any:
    by_shapes = (a - 1) * sc.digamma(a) + (b - 1) * sc.digamma(b)
    return sc.betaln(a, b) - by_shapes + (a + b - 2) * sc.digamma(a + b)


beta: Family = family(
    "beta", UNIT, beta_log_density,
    inside=0.5, valid=positive,
    cdf=lambda z, a, b: sc.betainc(a, b, z),
    sf=lambda z, a, b: sc.betainc(b, a, 1 - z),
    ppf=lambda q, a, b: sc.betaincinv(a, b, q),
    isf=lambda q, a, b: 1 - sc.betaincinv(b, a, q),
    entropy=beta_entropy,
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    skew=lambda a, b: 2 * (b - a) * np.sqrt(a + b + 1) / ((a + b + 2) * np.sqrt(a * b)),
    kurtosis=lambda a, b: (
        6 * ((a - b) ** 2 * (a + b + 1) / (a * b * (a + b + 2)) - 1) / (a + b + 3)),
)  # fmt: skip


def _sides(z: Any, c: Any, rising: Any, falling: Any) -> Any:
    """One formula to the left of the mode c and another to its right, each with its own divisor."""
    left = z < c
    return np.where(left, rising(np.where(left, c, 1.0)), falling(np.where(left, 1.0, 1 - c)))


def _triangle(z: Any, c: Any) -> Any:
    at_the_end = c >= 1
    right = 2 * (1 - z)
    falling = _sides(z, c, lambda c: 2 * z / c, lambda d: right / np.where(d == 0, 1.0, d))
    return np.where((z >= c) & at_the_end, 2.0, falling)


triang: Family = family(
    "triang", UNIT, lambda z, c: np.log(_triangle(z, c)), inside=0.5,
    valid=lambda c: (c >= 0) & (c <= 1),
    density=_triangle,
    cdf=lambda z, c: _sides(z, c, lambda c: z * z / c, lambda d: 1 - (1 - z) ** 2 / d),
    sf=lambda z, c: _sides(z, c, lambda c: 1 - z * z / c, lambda d: (1 - z) ** 2 / d),
    ppf=lambda q, c: np.where(q < c, np.sqrt(np.where(q < c, c * q, 1.0)),
                              1 - np.sqrt(np.where(q < c, 1.0, (1 - c) * (1 - q)))),
    entropy=lambda c: 0.5 - LOG_2 + 0.0 * c,
    mean=lambda c: (c + 1) / 3, var=lambda c: (1 - c + c * c) / 18,
    skew=lambda c: np.sqrt(2) * (2 * c - 1) * (c + 1) * (c - 2) / (5 * (1 - c + c * c) ** 1.5),
    kurtosis=lambda c: 0.0 * c - 0.6,
)  # fmt: skip

powerlaw: Family = family(
    "powerlaw", UNIT, lambda z, a: np.log(a) + sc.xlogy(a - 1, z), inside=0.5, valid=positive,
    cdf=lambda z, a: z**a,
    logcdf=lambda z, a: a * np.log(z),
    sf=lambda z, a: -np.expm1(a * np.log(z)),
    ppf=lambda q, a: q ** (1 / a),
    entropy=lambda a: 1 - 1 / a - np.log(a),
    mean=lambda a: a / (a + 1), var=lambda a: a / ((a + 2) * (a + 1) ** 2),
)  # fmt: skip


def _width(a: Any, b: Any) -> Any:
    return np.log(b) - np.log(a)


def _loguniform(name: str) -> Any:
    return family(
        name, lambda a, b: (a, b), lambda z, a, b: -np.log(z) - np.log(_width(a, b)),
        inside=lambda a, b: a, valid=lambda a, b: (a > 0) & (b > a),
        cdf=lambda z, a, b: (np.log(z) - np.log(a)) / _width(a, b),
        sf=lambda z, a, b: (np.log(b) - np.log(z)) / _width(a, b),
        ppf=lambda q, a, b: np.exp(np.log(a) + q * _width(a, b)),
        isf=lambda q, a, b: np.exp(np.log(b) - q * _width(a, b)),
        entropy=lambda a, b: (np.log(a) + np.log(b)) / 2 + np.log(_width(a, b)),
        mean=lambda a, b: (b - a) / _width(a, b),
        var=lambda a, b: (b * b - a * a) / 2 / _width(a, b) - ((b - a) / _width(a, b)) ** 2,
    )  # fmt: skip


loguniform: Any = _loguniform("loguniform")
reciprocal: Any = _loguniform("reciprocal")

# -- the truncated normal distribution ---------------------------------------------------


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the mass of a normal distribution between two points.

    It is computed in the left tail, where nothing cancels.
    """
    turned = a + b > 0
    low, high = np.where(turned, -b, a), np.where(turned, -a, b)
    return sc.log_ndtr(high) + np.log1p(-np.exp(sc.log_ndtr(low) - sc.log_ndtr(high)))


def _edge(x: Any, mass: Any, times: Any = 1.0) -> Any:
    """A number times the density of the truncated distribution at an end; 0 at infinity."""
    finite = np.isfinite(x)
    safe = np.where(finite, x, 0.0)
    by = safe if times is x else times
    return np.where(finite, by * np.exp(-safe * safe / 2 - LOG_ROOT - mass), 0.0)


def _truncated_mean(a: Any, b: Any) -> Any:
    mass = _log_mass(a, b)
    return _edge(a, mass) - _edge(b, mass)


def _moment_at_ends(a: Any, b: Any) -> Any:
    mass = _log_mass(a, b)
    return _edge(a, mass, a) - _edge(b, mass, b)


def _point_of_mass(a: Any, b: Any, log_below: Any, log_above: Any) -> Any:
    """The point with a given share of the mass below it, from the tail that has the interval."""
    mass = _log_mass(a, b)
    left = np.logaddexp(sc.log_ndtr(a), log_below + mass)
    right = np.logaddexp(sc.log_ndtr(-b), log_above + mass)
    turned = a + b > 0
    point = sc.ndtri_exp(np.where(turned, right, left))
    return np.where(turned, -point, point)


truncnorm: Family = family(
    "truncnorm", lambda a, b: (a, b),
    lambda z, a, b: -(z**2) / 2 - LOG_ROOT - _log_mass(a, b),
    inside=lambda a, b: np.clip(0.0, a, b), valid=lambda a, b: a < b,
    cdf=lambda z, a, b: np.exp(_log_mass(a, z) - _log_mass(a, b)),
    logcdf=lambda z, a, b: _log_mass(a, z) - _log_mass(a, b),
    sf=lambda z, a, b: np.exp(_log_mass(z, b) - _log_mass(a, b)),
    logsf=lambda z, a, b: _log_mass(z, b) - _log_mass(a, b),
    ppf=lambda q, a, b: _point_of_mass(a, b, np.log(q), np.log1p(-q)),
    isf=lambda q, a, b: _point_of_mass(a, b, np.log1p(-q), np.log(q)),
    mean=_truncated_mean,
    var=lambda a, b: 1 + _moment_at_ends(a, b) - _truncated_mean(a, b) ** 2,
    entropy=lambda a, b: LOG_ROOT + 0.5 + _log_mass(a, b) + _moment_at_ends(a, b) / 2,
)  # fmt: skip

# -- extreme values -----------------------------------------------------------------------

weibull_max: Family = family(
    "weibull_max", (-np.inf, 0.0), lambda z, c: np.log(c) + sc.xlogy(c - 1, -z) - (-z) ** c,
    inside=-1.0, valid=positive,
    cdf=lambda z, c: np.exp(-((-z) ** c)),
    logcdf=lambda z, c: -((-z) ** c),
    sf=lambda z, c: -np.expm1(-((-z) ** c)),
    ppf=lambda q, c: -((-np.log(q)) ** (1 / c)),
    isf=lambda q, c: -((-np.log1p(-q)) ** (1 / c)),
    entropy=weibull_entropy,
    mean=lambda c: -np.exp(sc.gammaln(1 + 1 / c)),
    var=lambda c: np.exp(sc.gammaln(1 + 2 / c)) - np.exp(2 * sc.gammaln(1 + 1 / c)),
)  # fmt: skip

#: Below this, a quotient that is 0/0 at 0 comes from its series, to within rounding.
NEAR_ZERO = 1e-3


def log1p_quotient(c: Any, z: Any) -> Any:
    """``log1p(c z) / c``, which is z at c = 0 (DLMF 4.6.1)."""
    near = np.abs(c * z) < NEAR_ZERO
    w = np.where(near, z, 0.0)
    u = c * w
    series = w * (1 + u * (-1 / 2 + u * (1 / 3 + u * (-1 / 4 + u * (1 / 5 - u / 6)))))
    away = np.log1p(np.where(near, 1.0, c * z)) / np.where(near, 1.0, c)
    return np.where(near, series, away)


def expm1_quotient(c: Any, w: Any) -> Any:
    """``expm1(c w) / c``, which is w at c = 0 (DLMF 4.2.19)."""
    near = np.abs(c * w) < NEAR_ZERO
    v = np.where(near, w, 0.0)
    u = c * v
    series = v * (1 + u * (1 / 2 + u * (1 / 6 + u * (1 / 24 + u * (1 / 120 + u / 720)))))
    away = np.expm1(np.where(near, 1.0, c * w)) / np.where(near, 1.0, c)
    return np.where(near, series, away)


def _reciprocal_where(holds: Any, c: Any, otherwise: float) -> Any:
    return np.where(holds, 1 / np.where(holds, c, 1.0), otherwise)


def _log_density_of_extremes(z: Any, c: Any) -> Any:
    end = c * z == 1
    safe = np.where(end, 0.0, z)
    quotient = log1p_quotient(-c, safe)
    inner = -np.exp(-quotient) - quotient - np.log1p(-c * safe)
    return np.where(end, np.where(c == 1, 0.0, -np.inf), inner)


def _log_density_of_excesses(z: Any, c: Any) -> Any:
    level = (c == -1) & (z == 1)  # a uniform distribution, at its end
    return np.where(level, 0.0, -(c + 1) * log1p_quotient(c, np.where(level, 0.0, z)))


#: For shape parameters below this, the closed forms of the moments lose digits.
_FLAT = 0.05


def _extremes_by_quantiles(c: Any, power: int) -> Any:
    """The mean of a power for shape parameters near 0, as an integral over probabilities."""
    small = along_nodes(np.where(np.abs(c) < _FLAT, c, 0.0))
    below = over_half(lambda q: (-expm1_quotient(small, np.log(-np.log(q)))) ** power)
    return below + over_half(lambda q: (-expm1_quotient(small, np.log(-np.log1p(-q)))) ** power)


def _mean_of_extremes(c: Any) -> Any:
    away = np.where((np.abs(c) < _FLAT) | (c <= -1), 1.0, c)
    outside = np.where(c == -1, np.inf, np.nan)
    closed = np.where(c <= -1, outside, -np.expm1(sc.gammaln(1 + away)) / away)
    return np.where(np.abs(c) < _FLAT, _extremes_by_quantiles(c, 1), closed)


def _var_of_extremes(c: Any) -> Any:
    away = np.where((np.abs(c) < _FLAT) | (c <= -0.5), 1.0, c)
    first, second = np.exp(sc.gammaln(1 + away)), np.exp(sc.gammaln(1 + 2 * away))
    outside = np.where(c == -0.5, np.inf, np.nan)
    closed = np.where(c <= -0.5, outside, (second - first * first) / away**2)
    near = _extremes_by_quantiles(c, 2) - _extremes_by_quantiles(c, 1) ** 2
    return np.where(np.abs(c) < _FLAT, near, closed)


genextreme: Family = family(
    "genextreme",
    lambda c: (_reciprocal_where(c < 0, c, -np.inf), _reciprocal_where(c > 0, c, np.inf)),
    _log_density_of_extremes,
    inside=0.0, is_finite=True, valid=lambda c: np.isfinite(c),
    cdf=lambda z, c: np.exp(-np.exp(-log1p_quotient(-c, z))),
    logcdf=lambda z, c: -np.exp(-log1p_quotient(-c, z)),
    sf=lambda z, c: -np.expm1(-np.exp(-log1p_quotient(-c, z))),
    ppf=lambda q, c: -expm1_quotient(c, np.log(-np.log(q))),
    isf=lambda q, c: -expm1_quotient(c, np.log(-np.log1p(-q))),
    entropy=lambda c: EULER * (1 - c) + 1,
    mean=_mean_of_extremes, var=_var_of_extremes,
)  # fmt: skip

genpareto: Family = family(
    "genpareto", lambda c: (0.0, _reciprocal_where(c < 0, -c, np.inf)),
    _log_density_of_excesses,
    inside=0.0, is_finite=True, valid=lambda c: np.isfinite(c),
    cdf=lambda z, c: -np.expm1(-log1p_quotient(c, z)),
    sf=lambda z, c: np.exp(-log1p_quotient(c, z)),
    logsf=lambda z, c: -log1p_quotient(c, z),
    ppf=lambda q, c: expm1_quotient(c, -np.log1p(-q)),
    isf=lambda q, c: expm1_quotient(c, -np.log(q)),
    entropy=lambda c: 1 + c,
    mean=lambda c: above_or(-1, -c, lambda d: 1 / (1 + d), np.inf),
    var=lambda c: above_or(-0.5, -c, lambda d: 1 / ((1 + d) ** 2 * (1 + 2 * d)), np.inf),
    skew=lambda c: above_or(
        -1 / 3, -c, lambda d: 2 * (1 - d) * np.sqrt(1 + 2 * d) / (1 + 3 * d), np.nan),
    kurtosis=lambda c: above_or(
        -0.25, -c,
        lambda d: 3 * (1 + 2 * d) * (2 * d * d - d + 3) / ((1 + 3 * d) * (1 + 4 * d)) - 3,
        np.nan),
)  # fmt: skip
