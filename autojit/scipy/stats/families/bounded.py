"""More families on a known interval: sines, powers, polygons, and families on a circle."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import UNIT, Family, family, positive
from .intervals import beta_entropy, beta_log_density
from .real_line import LOG_2, LOG_PI, LOG_ROOT

QUARTER, HALF_TURN, TURN = float(np.pi / 4), float(np.pi), float(2 * np.pi)

anglit: Family = family(
    "anglit", (-QUARTER, QUARTER), lambda z: np.log(np.cos(2 * z)),
    density=lambda z: np.cos(2 * z),
    cdf=lambda z: np.sin(z + np.pi / 4) ** 2,
    sf=lambda z: np.cos(z + np.pi / 4) ** 2,
    ppf=lambda q: np.arcsin(np.sqrt(q)) - np.pi / 4,
    isf=lambda q: np.pi / 4 - np.arcsin(np.sqrt(q)),
    median=lambda: 0.0, entropy=lambda: 1 - LOG_2, mean=lambda: 0.0,
    var=lambda: np.pi**2 / 16 - 0.5,
)  # fmt: skip

arcsine: Family = family(
    "arcsine", UNIT, lambda z: -LOG_PI - (np.log(z) + np.log1p(-z)) / 2, inside=0.5,
    density=lambda z: 1 / (np.pi * np.sqrt(z * (1 - z))),
    cdf=lambda z: 2 / np.pi * np.arcsin(np.sqrt(z)),
    sf=lambda z: 2 / np.pi * np.arcsin(np.sqrt(1 - z)),
    ppf=lambda q: np.sin(np.pi / 2 * q) ** 2,
    isf=lambda q: np.cos(np.pi / 2 * q) ** 2,
    median=lambda: 0.5, entropy=lambda: LOG_PI - 2 * LOG_2, mean=lambda: 0.5, var=lambda: 0.125,
    skew=lambda: 0.0, kurtosis=lambda: -1.5,
)  # fmt: skip

# -- Argus' distribution -------------------------------------------------------------------


def _argus_mass(chi: Any) -> Any:
    return sc.gammainc(1.5, chi * chi / 2) / 2


def _argus_mean(chi: Any) -> Any:
    return np.sqrt(np.pi / 8) * chi * sc.i1e(chi * chi / 4) / _argus_mass(chi)


def _argus_second(chi: Any) -> Any:
    """The second moment; for small chi, by its Taylor series, to 1e-15."""
    small = chi <= 0.1
    c, near = np.where(small, 1.0, chi), np.where(small, chi, 0.1)
    away = 1 - 3 / c**2 + c * np.exp(-c * c / 2 - LOG_ROOT) / _argus_mass(c)
    s = near * near
    series = 0.4 + s * (6 / 175 + s * (2 / 2625 + s * (-94 / 1010625 - s * 358 / 65690625)))
    return np.where(small, series, away)


argus: Family = family(
    "argus", UNIT,
    lambda z, chi: (
        3 * np.log(chi) - LOG_ROOT - np.log(_argus_mass(chi)) + np.log(z) + np.log1p(-z * z) / 2
        - chi * chi * (1 - z * z) / 2
    ),
    inside=0.5, is_open=True, valid=positive,
    sf=lambda z, chi: _argus_mass(chi * np.sqrt((1 - z) * (1 + z))) / _argus_mass(chi),
    isf=lambda q, chi: np.sqrt(
        1 - 2 * sc.gammaincinv(1.5, 2 * q * _argus_mass(chi)) / (chi * chi)
    ),
    mean=_argus_mean, var=lambda chi: _argus_second(chi) - _argus_mean(chi) ** 2,
)  # fmt: skip

# -- powers --------------------------------------------------------------------------------

bradford: Family = family(
    "bradford", UNIT, lambda z, c: np.log(c) - np.log1p(c * z) - np.log(np.log1p(c)),
    inside=0.5, valid=positive,
    cdf=lambda z, c: np.log1p(c * z) / np.log1p(c),
    ppf=lambda q, c: np.expm1(q * np.log1p(c)) / c,
    entropy=lambda c: np.log1p(c) / 2 - np.log(c / np.log1p(c)),
    mean=lambda c: (c - np.log1p(c)) / (c * np.log1p(c)),
    var=lambda c: ((c + 2) * np.log1p(c) - 2 * c) / (2 * c * np.log1p(c) ** 2),
)  # fmt: skip


def _hyper_moment(n: int, a: Any, b: Any, c: Any, z: Any) -> Any:
    powers = np.exp(sc.betaln(a + n, b) - sc.betaln(a, b))
    return powers * sc.hyp2f1(c, a + n, a + b + n, -z) / sc.hyp2f1(c, a, a + b, -z)


gausshyper: Family = family(
    "gausshyper", UNIT,
    lambda x, a, b, c, z: (
        sc.xlogy(a - 1, x) + sc.xlog1py(b - 1, -x) - c * np.log1p(z * x) - sc.betaln(a, b)
        - np.log(sc.hyp2f1(c, a, a + b, -z))
    ),
    inside=0.5, valid=lambda a, b, c, z: (a > 0) & (b > 0) & (c == c) & (z > -1),
    mean=lambda *shapes: _hyper_moment(1, *shapes),
    var=lambda *shapes: _hyper_moment(2, *shapes) - _hyper_moment(1, *shapes) ** 2,
)  # fmt: skip


def _odds(z: Any, a: Any, b: Any) -> Any:
    return a + b * sc.logit(z)


johnsonsb: Family = family(
    "johnsonsb", UNIT,
    lambda z, a, b: np.log(b) - np.log(z) - np.log1p(-z) - _odds(z, a, b) ** 2 / 2 - LOG_ROOT,
    inside=0.5, is_open=True, valid=lambda a, b: (b > 0) & (a == a),
    cdf=lambda z, a, b: sc.ndtr(_odds(z, a, b)),
    logcdf=lambda z, a, b: sc.log_ndtr(_odds(z, a, b)),
    sf=lambda z, a, b: sc.ndtr(-_odds(z, a, b)),
    logsf=lambda z, a, b: sc.log_ndtr(-_odds(z, a, b)),
    ppf=lambda q, a, b: sc.expit((sc.ndtri(q) - a) / b),
    isf=lambda q, a, b: sc.expit((-sc.ndtri(q) - a) / b),
)  # fmt: skip

rdist: Family = family(
    "rdist", (-1.0, 1.0),
    lambda z, c: beta_log_density((z + 1) / 2, c / 2, c / 2) - LOG_2,
    valid=positive,
    cdf=lambda z, c: sc.betainc(c / 2, c / 2, (1 + z) / 2),
    sf=lambda z, c: sc.betainc(c / 2, c / 2, (1 - z) / 2),
    ppf=lambda q, c: 2 * sc.betaincinv(c / 2, c / 2, q) - 1,
    isf=lambda q, c: 1 - 2 * sc.betaincinv(c / 2, c / 2, q),
    median=lambda c: 0.0 * c,
    entropy=lambda c: beta_entropy(c / 2, c / 2) + LOG_2,
    mean=lambda c: 0.0 * c, var=lambda c: 1 / (c + 1),
    skew=lambda c: 0.0 * c, kurtosis=lambda c: -6 / (c + 3),
)  # fmt: skip


def _circle(z: Any) -> Any:
    return (z * np.sqrt((1 - z) * (1 + z)) + np.arcsin(z)) / np.pi


semicircular: Family = family(
    "semicircular", (-1.0, 1.0),
    lambda z: LOG_2 - LOG_PI + np.log1p(-z * z) / 2, is_open=True,
    density=lambda z: 2 / np.pi * np.sqrt((1 - z) * (1 + z)),
    cdf=lambda z: 0.5 + _circle(z), sf=lambda z: 0.5 - _circle(z),
    ppf=lambda q: 2 * sc.betaincinv(1.5, 1.5, q) - 1,
    isf=lambda q: 1 - 2 * sc.betaincinv(1.5, 1.5, q),
    median=lambda: 0.0, entropy=lambda: LOG_PI - 0.5, mean=lambda: 0.0, var=lambda: 0.25,
)  # fmt: skip

# -- a trapezoid ---------------------------------------------------------------------------


def _pieces(z: Any, c: Any, d: Any, rising: Any, level: Any, falling: Any) -> Any:
    """One formula up to c, one from c to d, and one beyond.

    The first and the last one divide by the width of their part.
    """
    left, right = z < c, z > d
    first = rising(np.where(left, z, 0.0), np.where(left, c, 1.0))
    final = falling(np.where(right, 1 - z, 0.0), np.where(right, 1 - d, 1.0))
    return np.where(left, first, np.where(right, final, level))


def _trapezoid_cdf(z: Any, c: Any, d: Any) -> Any:
    whole = d - c + 1
    return _pieces(
        z, c, d, lambda z, c: z * z / c / whole, (2 * z - c) / whole,
        lambda rest, width: 1 - rest * rest / width / whole,
    )  # fmt: skip


def _trapezoid_ppf(q: Any, c: Any, d: Any) -> Any:
    whole = d - c + 1
    left, right = q < c / whole, q > (2 * d - c) / whole
    rising = np.sqrt(np.where(left, q * c, 1.0) * whole)
    falling = 1 - np.sqrt(np.where(right, (1 - q) * (1 - d), 1.0) * whole)
    return np.where(left, rising, np.where(right, falling, (q * whole + c) / 2))


def _trapezoid_moment(n: int, c: Any, d: Any) -> Any:
    """``2 / (1 + d - c)`` times ``(1 + d + ... + d**(n+1) - c**(n+1)) / ((n + 1) (n + 2))``."""
    powers = sum(d**k for k in range(n + 2)) - c ** (n + 1)
    return 2 / (1 + d - c) * powers / ((n + 1) * (n + 2))


def _trapezoid_density(z: Any, c: Any, d: Any) -> Any:
    top = 2 / (d - c + 1)
    return _pieces(
        z, c, d, lambda z, c: top * z / c, top + 0.0 * z, lambda rest, width: top * rest / width
    )


trapezoid: Family = family(
    "trapezoid", UNIT, lambda z, c, d: np.log(_trapezoid_density(z, c, d)),
    inside=0.5, valid=lambda c, d: (c >= 0) & (c <= 1) & (d >= 0) & (d <= 1) & (d >= c),
    density=_trapezoid_density,
    cdf=_trapezoid_cdf, sf=lambda z, c, d: _trapezoid_cdf(1 - z, 1 - d, 1 - c),
    ppf=_trapezoid_ppf, isf=lambda q, c, d: 1 - _trapezoid_ppf(q, 1 - d, 1 - c),
    entropy=lambda c, d: (1 - d + c) / (1 + d - c) / 2 + np.log((1 + d - c) / 2),
    mean=lambda c, d: _trapezoid_moment(1, c, d),
    var=lambda c, d: _trapezoid_moment(2, c, d) - _trapezoid_moment(1, c, d) ** 2,
)  # fmt: skip

# -- the one-sided statistic of Kolmogorov and Smirnov -------------------------------------

ksone: Family = family(
    "ksone", UNIT, None, inside=0.5, valid=lambda n: n >= 1, whole=(0,),
    sf=lambda z, n: sc.smirnov(n, z),
    isf=lambda q, n: sc.smirnovi(n, q),
)  # fmt: skip

# -- on a circle ---------------------------------------------------------------------------


def _behind_sine(y: Any) -> Any:
    """``y - sin(y)``; near 0, by its series, to 1e-16."""
    near = y < 0.5
    s = np.where(near, y * y, 0.25)
    series = 1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156))))
    return np.where(near, y * s / 6 * series, y - np.sin(y))


def _cosine_cdf(z: Any) -> Any:
    right = z > 0
    tail = _behind_sine(np.pi + np.where(right, -z, z)) / TURN
    return np.where(right, 1 - tail, tail)


cosine: Family = family(
    "cosine", (-HALF_TURN, HALF_TURN),
    lambda z: np.log1p(np.cos(z)) - np.log(2 * np.pi), is_open=True,
    cdf=_cosine_cdf, sf=lambda z: _cosine_cdf(-z),
    median=lambda: 0.0, entropy=lambda: np.log(4 * np.pi) - 1, mean=lambda: 0.0,
    var=lambda: np.pi**2 / 3 - 2,
)  # fmt: skip

vonmises_line: Family = family(
    "vonmises_line", (-HALF_TURN, HALF_TURN),
    lambda z, kappa: kappa * sc.cosm1(z) - np.log(2 * np.pi) - np.log(sc.i0e(kappa)),
    valid=lambda kappa: kappa >= 0,
    entropy=lambda kappa: (
        np.log(2 * np.pi) + np.log(sc.i0e(kappa)) + kappa - kappa * sc.i1e(kappa) / sc.i0e(kappa)
    ),
    median=lambda kappa: 0.0 * kappa, mean=lambda kappa: 0.0 * kappa,
)  # fmt: skip


def _wrapped(angle: Any, factor: Any) -> Any:
    """The angle from 0 to pi whose tangent is a factor times that of the given angle."""
    return np.arctan2(factor * np.sin(angle), np.cos(angle))


wrapcauchy: Family = family(
    "wrapcauchy", (0.0, TURN),
    lambda z, c: (
        np.log1p(-c * c) - np.log(2 * np.pi) - np.log((1 - c) ** 2 + 4 * c * np.sin(z / 2) ** 2)
    ),
    inside=1.0, valid=lambda c: (c > 0) & (c < 1),
    cdf=lambda z, c: _wrapped(z / 2, (1 + c) / (1 - c)) / np.pi,
    sf=lambda z, c: _wrapped(np.pi - z / 2, (1 + c) / (1 - c)) / np.pi,
    ppf=lambda q, c: 2 * _wrapped(np.pi * q, (1 - c) / (1 + c)),
    entropy=lambda c: np.log(2 * np.pi * (1 - c * c)),
    mean=lambda c: np.pi + 0.0 * c,
)  # fmt: skip
