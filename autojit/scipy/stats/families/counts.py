"""More families on the integers: geometric ones, power laws, and what is drawn from urns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import POSITIVE, REAL, discrete, positive
from .half_line import above_or

planck = discrete(
    "planck", POSITIVE, lambda k, lam: np.log(-np.expm1(-lam)) - lam * k, valid=positive,
    cdf=lambda k, lam: -np.expm1(-lam * (k + 1)),
    sf=lambda k, lam: np.exp(-lam * (k + 1)),
    logsf=lambda k, lam: -lam * (k + 1),
    entropy=lambda lam: lam / np.expm1(lam) - np.log(-np.expm1(-lam)),
    mean=lambda lam: 1 / np.expm1(lam), var=lambda lam: np.exp(-lam) / np.expm1(-lam) ** 2,
)  # fmt: skip


def _boltzmann_moment(lam: Any, n: Any) -> Any:
    return 1 / np.expm1(lam) - n / np.expm1(lam * n)


boltzmann = discrete(
    "boltzmann", lambda lam, n: (0.0, n - 1),
    lambda k, lam, n: np.log(np.expm1(-lam) / np.expm1(-lam * n)) - lam * k,
    valid=lambda lam, n: (lam > 0) & (n > 0), whole=(1,),
    cdf=lambda k, lam, n: np.expm1(-lam * (k + 1)) / np.expm1(-lam * n),
    mean=_boltzmann_moment,
    var=lambda lam, n: (
        np.exp(-lam) / np.expm1(-lam) ** 2 - n * n * np.exp(-lam * n) / np.expm1(-lam * n) ** 2
    ),
)  # fmt: skip

yulesimon = discrete(
    "yulesimon", (1.0, np.inf), lambda k, a: np.log(a) + sc.betaln(k, a + 1),
    inside=1.0, valid=positive,
    cdf=lambda k, a: 1 - k * np.exp(sc.betaln(k, a + 1)),
    sf=lambda k, a: k * np.exp(sc.betaln(k, a + 1)),
    logsf=lambda k, a: np.log(k) + sc.betaln(k, a + 1),
    mean=lambda a: above_or(1, a, lambda a: a / (a - 1), np.inf),
    var=lambda a: np.where(
        a > 1, above_or(2, a, lambda a: a * a / ((a - 2) * (a - 1) ** 2), np.inf), np.nan
    ),
)  # fmt: skip


def _left(k: Any, total: Any, good: Any, bad: Any) -> Any:
    certain = (bad == 0) & (k == 0)
    r = np.where(certain, 1.0, bad)
    ways = -sc.betaln(k + 1, r) + sc.betaln(k + r, 1.0)
    rest = -sc.betaln(good - k + 1, total - r - good + 1) + sc.betaln(total - r - k + 1, 1.0)
    found = ways + rest + sc.betaln(good + 1, total - good + 1) - sc.betaln(total + 1, 1.0)
    return np.where(certain, 0.0, found)


nhypergeom = discrete(
    "nhypergeom", lambda total, good, bad: (0.0, good), _left,
    valid=lambda total, good, bad: (
        (good >= 0) & (good <= total) & (bad >= 0) & (bad <= total - good)
    ),
    whole=(0, 1, 2),
    mean=lambda total, good, bad: bad * good / (total - good + 1),
    var=lambda total, good, bad: (
        bad * (total + 1) * good / ((total - good + 1) * (total - good + 2))
        * (1 - bad / (total - good + 1))
    ),
)  # fmt: skip


def _skellam_cdf(k: Any, a: Any, b: Any) -> Any:
    """By noncentral chi-squared ones: Johnson, Kemp & Kotz, "Univariate discrete distributions",
    4.12."""
    low = k < 0
    below = sc.chndtr(2 * b, np.where(low, -2 * k, 2.0), 2 * a)
    above = sc.chndtr(2 * a, np.where(low, 2.0, 2 * (k + 1)), 2 * b)
    return np.where(low, below, 1 - above)


skellam = discrete(
    "skellam", REAL,
    lambda k, a, b: (
        k / 2 * (np.log(a) - np.log(b)) - (np.sqrt(a) - np.sqrt(b)) ** 2
        + np.log(sc.ive(np.abs(k), 2 * np.sqrt(a * b)))
    ),
    valid=positive, is_finite=True,
    cdf=_skellam_cdf,
    mean=lambda a, b: a - b, var=lambda a, b: a + b,
)  # fmt: skip
