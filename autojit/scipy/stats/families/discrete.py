"""Families on the integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import POSITIVE, UNIT, Family, discrete, positive
from .half_line import above_or


def _probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def log_choose(n: Any, k: Any) -> Any:
    return sc.gammaln(n + 1) - sc.gammaln(k + 1) - sc.gammaln(n - k + 1)


bernoulli: Family = discrete(
    "bernoulli", UNIT, lambda k, p: sc.xlogy(k, p) + sc.xlog1py(1 - k, -p),
    valid=_probability,
    cdf=lambda k, p: 1 - p + 0.0 * k, sf=lambda k, p: p + 0.0 * k,
    entropy=lambda p: -sc.xlogy(p, p) - sc.xlog1py(1 - p, -p),
    mean=lambda p: p, var=lambda p: p * (1 - p),
)  # fmt: skip

binom: Family = discrete(
    "binom", lambda n, p: (0.0, n),
    lambda k, n, p: log_choose(n, k) + sc.xlogy(k, p) + sc.xlog1py(n - k, -p),
    valid=lambda n, p: (n >= 0) & _probability(p), whole=(0,),
    cdf=lambda k, n, p: sc.betainc(n - k, k + 1, 1 - p),
    sf=lambda k, n, p: sc.betainc(k + 1, n - k, p),
    mean=lambda n, p: n * p, var=lambda n, p: n * p * (1 - p),
)  # fmt: skip

nbinom: Family = discrete(
    "nbinom", POSITIVE,
    lambda k, n, p: (
        sc.gammaln(n + k) - sc.gammaln(k + 1) - sc.gammaln(n) + n * np.log(p) + sc.xlog1py(k, -p)
    ),
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    cdf=lambda k, n, p: sc.betainc(n, k + 1, p),
    sf=lambda k, n, p: sc.betainc(k + 1, n, 1 - p),
    mean=lambda n, p: n * (1 - p) / p, var=lambda n, p: n * (1 - p) / (p * p),
)  # fmt: skip

poisson: Family = discrete(
    "poisson", POSITIVE, lambda k, mu: sc.xlogy(k, mu) - sc.gammaln(k + 1) - mu,
    valid=lambda mu: mu >= 0,
    cdf=lambda k, mu: sc.gammaincc(k + 1, mu),
    sf=lambda k, mu: sc.gammainc(k + 1, mu),
    mean=lambda mu: mu, var=lambda mu: mu,
)  # fmt: skip

geom: Family = discrete(
    "geom", (1.0, np.inf), lambda k, p: sc.xlog1py(k - 1, -p) + np.log(p), inside=1.0,
    valid=lambda p: (p > 0) & (p <= 1),
    cdf=lambda k, p: -np.expm1(k * np.log1p(-p)),
    sf=lambda k, p: np.exp(k * np.log1p(-p)),
    logsf=lambda k, p: k * np.log1p(-p),
    entropy=lambda p: -np.log(p) - sc.xlog1py(1 - p, -p) / p,
    mean=lambda p: 1 / p, var=lambda p: (1 - p) / (p * p),
)  # fmt: skip

betabinom: Family = discrete(
    "betabinom", lambda n, a, b: (0.0, n),
    lambda k, n, a, b: (
        -np.log(n + 1) - sc.betaln(n - k + 1, k + 1) + sc.betaln(k + a, n - k + b)
        - sc.betaln(a, b)
    ),
    valid=lambda n, a, b: (n >= 0) & (a > 0) & (b > 0), whole=(0,),
    mean=lambda n, a, b: n * a / (a + b),
    var=lambda n, a, b: n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1)),
)  # fmt: skip

betanbinom: Family = discrete(
    "betanbinom", POSITIVE,
    lambda k, n, a, b: (
        -np.log(n + k) - sc.betaln(n, k + 1) - sc.betaln(a, b) + sc.betaln(a + n, b + k)
    ),
    valid=positive, whole=(0,), has_long_tail=True,
    mean=lambda n, a, b: above_or(1, a, lambda a: n * b / (a - 1), np.inf),
    var=lambda n, a, b: above_or(
        2, a, lambda a: n * b * (n + a - 1) * (a + b - 1) / ((a - 2) * (a - 1) ** 2), np.inf
    ),
)  # fmt: skip


def _hypergeom(k: Any, total: Any, good: Any, drawn: Any) -> Any:
    bad = total - good
    return log_choose(good, k) + log_choose(bad, drawn - k) - log_choose(total, drawn)


hypergeom: Family = discrete(
    "hypergeom",
    lambda total, good, drawn: (
        np.maximum(drawn - (total - good), 0.0), np.minimum(good, drawn)
    ),
    _hypergeom,
    inside=lambda total, good, drawn: np.minimum(good, drawn),
    valid=lambda total, good, drawn: (
        (total > 0) & (good >= 0) & (drawn >= 0) & (good <= total) & (drawn <= total)
    ),
    whole=(0, 1, 2),
    mean=lambda total, good, drawn: drawn * good / total,
    var=lambda total, good, drawn: (
        drawn * good * (total - good) * (total - drawn) / (total * total * (total - 1))
    ),
)  # fmt: skip

randint: Family = discrete(
    "randint", lambda low, high: (low, high - 1), lambda k, low, high: 0.0 * k - np.log(high - low),
    inside=lambda low, high: low, valid=lambda low, high: high > low, whole=(0, 1),
    cdf=lambda k, low, high: (k - low + 1) / (high - low),
    entropy=lambda low, high: np.log(high - low),
    mean=lambda low, high: (high + low - 1) / 2,
    var=lambda low, high: ((high - low) ** 2 - 1) / 12,
)  # fmt: skip


def _zipf_var(a: Any) -> Any:
    total = sc.zeta(a, 1.0)
    return sc.zeta(a - 2, 1.0) / total - (sc.zeta(a - 1, 1.0) / total) ** 2


zipf: Family = discrete(
    "zipf", (1.0, np.inf), lambda k, a: -a * np.log(k) - np.log(sc.zeta(a, 1.0)),
    inside=1.0, valid=lambda a: a > 1, has_long_tail=True,
    mean=lambda a: above_or(2, a, lambda a: sc.zeta(a - 1, 1.0) / sc.zeta(a, 1.0), np.inf),
    var=lambda a: above_or(3, a, _zipf_var, np.inf),
)  # fmt: skip

logser: Family = discrete(
    "logser", (1.0, np.inf), lambda k, p: sc.xlogy(k, p) - np.log(k) - np.log(-np.log1p(-p)),
    inside=1.0, valid=lambda p: (p > 0) & (p < 1),
    mean=lambda p: p / ((p - 1) * np.log1p(-p)),
    var=lambda p: -p * (p + np.log1p(-p)) / ((1 - p) * np.log1p(-p)) ** 2,
)  # fmt: skip


def _tail(k: Any, a: Any) -> Any:
    """The mass above k >= 0 of ``dlaplace``."""
    return np.exp(-a * np.maximum(k, 0.0)) / (np.exp(a) + 1)


dlaplace: Family = discrete(
    "dlaplace", (-np.inf, np.inf), lambda k, a: np.log(np.tanh(a / 2)) - a * np.abs(k),
    valid=positive,
    cdf=lambda k, a: np.where(k >= 0, 1 - _tail(k, a), _tail(-1 - k, a)),
    sf=lambda k, a: np.where(k >= 0, _tail(k, a), 1 - _tail(-1 - k, a)),
    mean=lambda a: 0.0 * a, var=lambda a: 0.5 / np.sinh(a / 2) ** 2,
    entropy=lambda a: a / np.sinh(a) - np.log(np.tanh(a / 2)),
)  # fmt: skip
