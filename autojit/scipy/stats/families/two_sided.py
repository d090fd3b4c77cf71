"""Families on the whole real line with a different formula on each side of a point."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import REAL, Family, family, positive
from .half_line import above_or, gamma_entropy, weibull_entropy
from .real_line import LOG_2, LOG_PI, LOG_ROOT, folded


def _sides(z: Any) -> tuple[Any, Any, Any]:
    """Whether a point is at least 0, and its positive and negative parts."""
    right = z >= 0
    return right, np.where(right, z, 0.0), np.where(right, 0.0, z)


def _asymmetric_cdf(z: Any, kappa: Any) -> Any:
    right, up, down = _sides(z)
    total = kappa + 1 / kappa
    low, high = np.exp(down / kappa) * kappa / total, np.exp(-up * kappa) / kappa / total
    return np.where(right, 1 - high, low)


def _asymmetric_ppf(q: Any, kappa: Any) -> Any:
    total = kappa + 1 / kappa
    right = q >= kappa / total
    share = np.where(right, 0.5, q)
    up = -np.log(np.where(right, 1 - q, 0.5) * total * kappa) / kappa
    return np.where(right, up, np.log(share * total / kappa) * kappa)


laplace_asymmetric: Family = family(
    "laplace_asymmetric", REAL,
    lambda z, kappa: np.where(z >= 0, -z * kappa, z / kappa) - np.log(kappa + 1 / kappa),
    valid=positive,
    cdf=_asymmetric_cdf,
    sf=lambda z, kappa: _asymmetric_cdf(-z, 1 / kappa),
    ppf=_asymmetric_ppf,
    isf=lambda q, kappa: -_asymmetric_ppf(q, 1 / kappa),
    entropy=lambda kappa: 1 + np.log(kappa + 1 / kappa),
    mean=lambda kappa: 1 / kappa - kappa,
    var=lambda kappa: kappa**-2 + kappa**2,
)  # fmt: skip


def _skewcauchy_cdf(z: Any, a: Any) -> Any:
    right, up, down = _sides(z)
    high = (1 + a) / np.pi * np.arctan2(1.0, up / (1 + a))
    return np.where(right, 1 - high, (1 - a) / np.pi * np.arctan2(1.0, -down / (1 - a)))


def _skewcauchy_ppf(q: Any, a: Any) -> Any:
    width = np.where(q < (1 - a) / 2, 1 - a, 1 + a)
    return np.tan(np.pi / width * (q - (1 - a) / 2)) * width


skewcauchy: Family = family(
    "skewcauchy", REAL,
    lambda z, a: -LOG_PI - np.log1p((z / np.where(z > 0, 1 + a, 1 - a)) ** 2),
    valid=lambda a: np.abs(a) < 1,
    cdf=_skewcauchy_cdf,
    sf=lambda z, a: _skewcauchy_cdf(-z, -a),
    ppf=_skewcauchy_ppf,
    mean=lambda a: np.nan * a, var=lambda a: np.nan * a,
    entropy=lambda a: LOG_PI + 2 * LOG_2 + 0.0 * a,  # each half is that of a Cauchy distribution
)  # fmt: skip


def _ball_parts(beta: Any, m: Any) -> tuple[Any, Any, Any]:
    """The ratio m / beta of the power law, the mass below -beta, and the total mass."""
    ratio = m / beta
    tail = ratio / (m - 1) * np.exp(-beta * beta / 2)
    return ratio, tail, tail + np.exp(LOG_ROOT) * sc.ndtr(beta)


def _ball_logpdf(z: Any, beta: Any, m: Any) -> Any:
    ratio, _, total = _ball_parts(beta, m)
    right = z > -beta
    far = m * (np.log(ratio) - np.log(ratio - beta - np.where(right, -beta, z))) - beta * beta / 2
    return np.where(right, -z * z / 2, far) - np.log(total)


def _ball_cdf(z: Any, beta: Any, m: Any) -> Any:
    ratio, tail, total = _ball_parts(beta, m)
    right = z > -beta
    moved = ratio - beta - np.where(right, -beta, z)
    near = 1 - np.exp(LOG_ROOT) * sc.ndtr(-z) / total
    return np.where(right, near, tail * (moved / ratio) ** (1 - m) / total)


def _ball_ppf(q: Any, beta: Any, m: Any) -> Any:
    ratio, tail, total = _ball_parts(beta, m)
    low = q < tail / total
    far = ratio - beta - ratio * (np.where(low, q, 0.5) * total / tail) ** (1 / (1 - m))
    near = -sc.ndtri((1 - np.where(low, 0.5, q)) * total / np.exp(LOG_ROOT))
    return np.where(low, far, near)


def _ball_mean(beta: Any, m: Any) -> Any:
    ratio, _, total = _ball_parts(beta, m)
    b = ratio - beta
    left = b * ratio / (m - 1) - ratio**2 / (m - 2)
    return np.exp(-beta * beta / 2) * (left + 1) / total


def _ball_var(beta: Any, m: Any) -> Any:
    ratio, _, total = _ball_parts(beta, m)
    b = ratio - beta
    left = b * b * ratio / (m - 1) - 2 * b * ratio**2 / (m - 2) + ratio**3 / (m - 3)
    right = np.sqrt(np.pi / 2) * (1 + sc.gammainc(1.5, beta * beta / 2))
    return (np.exp(-beta * beta / 2) * left + right) / total - _ball_mean(beta, m) ** 2


crystalball: Family = family(
    "crystalball", REAL, _ball_logpdf,
    valid=lambda beta, m: (m > 1) & (beta > 0),
    kink=lambda beta, m: np.where(beta < 8, -beta, 0.0),
    cdf=_ball_cdf,
    sf=lambda z, beta, m: np.where(
        z > -beta, np.exp(LOG_ROOT) * sc.ndtr(-z) / _ball_parts(beta, m)[2],
        1 - _ball_cdf(z, beta, m),
    ),
    ppf=_ball_ppf,
    mean=lambda beta, m: above_or(2, m, lambda m: _ball_mean(beta, m), np.inf),
    var=lambda beta, m: above_or(3, m, lambda m: _ball_var(beta, m), np.inf),
)  # fmt: skip

# -- Jones and Faddy's: Student's t with different tails -----------------------------------


def _tails(z: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """``(1 + w) / 2`` and ``(1 - w) / 2`` for ``w = z / sqrt(a + b + z**2)``.

    Nothing cancels, so both are accurate to the last digit.
    """
    size = folded(z)
    s = np.sqrt(a + b + size * size)
    large, small = (1 + size / s) / 2, (a + b) / (2 * s * (s + size))
    return np.where(z > 0, large, small), np.where(z > 0, small, large)


def _jones_logpdf(z: Any, a: Any, b: Any) -> Any:
    left, right = _tails(z, a, b)
    powers = (a + 0.5) * np.log(left) + (b + 0.5) * np.log(right)
    return powers + 2 * LOG_2 - sc.betaln(a, b) - np.log(a + b) / 2


def _jones_ppf(q: Any, a: Any, b: Any) -> Any:
    low, high = sc.betaincinv(a, b, q), 1 - sc.betaincinv(a, b, q)
    return (low - high) * np.sqrt(a + b) / (2 * np.sqrt(low * high))


def _jones_mean(a: Any, b: Any) -> Any:
    ratio = np.exp(sc.betaln(a + 0.5, b - 0.5) - sc.betaln(a, b))
    return np.sqrt(a + b) / 2 * (ratio - np.exp(sc.betaln(a - 0.5, b + 0.5) - sc.betaln(a, b)))


def _jones_var(a: Any, b: Any) -> Any:
    second = (a + b) / 4 * (a / (b - 1) - 2 + b / (a - 1))
    return second - _jones_mean(a, b) ** 2


jf_skew_t: Family = family(
    "jf_skew_t", REAL, _jones_logpdf,
    valid=positive,
    is_finite=True,
    cdf=lambda z, a, b: sc.betainc(a, b, _tails(z, a, b)[0]),
    sf=lambda z, a, b: sc.betainc(b, a, _tails(z, a, b)[1]),
    ppf=_jones_ppf,
    isf=lambda q, a, b: -_jones_ppf(q, b, a),
    mean=lambda a, b: np.where((a > 0.5) & (b > 0.5), _jones_mean(
        np.where(a > 0.5, a, 1.0), np.where(b > 0.5, b, 1.0)), np.nan),
    var=lambda a, b: np.where((a > 1) & (b > 1), _jones_var(
        np.where(a > 1, a, 2.0), np.where(b > 1, b, 2.0)), np.nan),
)  # fmt: skip

# -- families mirrored at 0 ----------------------------------------------------------------


def _dgamma_side(z: Any, a: Any) -> Any:
    size = folded(z)
    return np.where(z > 0, 0.5 + sc.gammainc(a, size) / 2, sc.gammaincc(a, size) / 2)


def _dgamma_ppf(q: Any, a: Any) -> Any:
    right = q > 0.5
    up = sc.gammainccinv(a, 2 * np.where(right, 1 - q, 0.25))
    return np.where(right, up, -sc.gammainccinv(a, 2 * np.where(right, 0.25, q)))


dgamma: Family = family(
    "dgamma", REAL,
    lambda z, a: sc.xlogy(a - 1, np.abs(z)) - np.abs(z) - LOG_2 - sc.gammaln(a),
    valid=positive, is_finite=True,
    cdf=_dgamma_side, sf=lambda z, a: _dgamma_side(-z, a),
    ppf=_dgamma_ppf, isf=lambda q, a: -_dgamma_ppf(q, a),
    median=lambda a: 0.0 * a,
    entropy=lambda a: gamma_entropy(a) + LOG_2,
    mean=lambda a: 0.0 * a, var=lambda a: a * (a + 1),
)  # fmt: skip


def _dweibull_side(z: Any, c: Any) -> Any:
    half = np.exp(-(folded(z) ** c)) / 2
    return np.where(z > 0, 1 - half, half)


def _dweibull_ppf(q: Any, c: Any) -> Any:
    right = q > 0.5
    tail = (-np.log(2 * np.where(right, 1 - q, q))) ** (1 / c)
    return np.where(right, tail, -tail)


dweibull: Family = family(
    "dweibull", REAL,
    lambda z, c: np.log(c) - LOG_2 + sc.xlogy(c - 1, np.abs(z)) - np.abs(z) ** c,
    valid=positive, is_finite=True,
    cdf=_dweibull_side, sf=lambda z, c: _dweibull_side(-z, c),
    ppf=_dweibull_ppf, isf=lambda q, c: -_dweibull_ppf(q, c),
    median=lambda c: 0.0 * c,
    entropy=lambda c: weibull_entropy(c) + LOG_2,
    mean=lambda c: 0.0 * c, var=lambda c: sc.gamma(1 + 2 / c),
)  # fmt: skip
