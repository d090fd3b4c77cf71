"""More families on the integers: geometric families, power laws, and draws from urns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from autojit.tracing.tracer import Tracer

from .conditions import Uncovered
from .discrete import log_choose
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
    inside=1.0, valid=positive, has_long_tail=True,
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
    """The distribution function, from those of noncentral chi-squared distributions.

    Johnson, Kemp & Kotz, "Univariate discrete distributions", 4.12.
    """
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


# -- sums over a known number of counts ------------------------------------------------------

#: The greatest number of terms of a sum.
_MOST = 100_000


def _counts(n: Any) -> np.ndarray:
    """The integers from 0 to the greatest element of n, which must be known."""
    most = np.inf if isinstance(n, Tracer) else np.max(n, initial=0.0)
    if not most <= _MOST:
        raise Uncovered
    return np.arange(most + 1.0)


def _harmonic(a: Any, low: Any, high: Any, n: Any) -> Any:
    """The sum of ``j**-a`` for j from ``low`` to ``high``, where ``high`` is at most n."""
    j = _counts(n)[1:]
    low, high, a = (np.asarray(x)[..., None] if not isinstance(x, Tracer) else x[..., None]
                    for x in (low, high, a))  # fmt: skip
    terms = np.where((j >= low) & (j <= high), np.exp(-a * np.log(j)), 0.0)
    return np.sum(terms + 0.0 * (low + high), axis=-1)  # keeps NaN


def _zipfian_moment(power: int, a: Any, n: Any) -> Any:
    return _harmonic(a - power, 1.0, n, n) / _harmonic(a, 1.0, n, n)


zipfian = discrete(
    "zipfian", lambda a, n: (1.0, n),
    lambda k, a, n: -a * np.log(k) - np.log(_harmonic(a, 1.0, n, n)),
    inside=1.0, valid=lambda a, n: (a >= 0) & (n >= 1), whole=(1,),
    cdf=lambda k, a, n: _harmonic(a, 1.0, k, n) / _harmonic(a, 1.0, n, n),
    sf=lambda k, a, n: _harmonic(a, k + 1, n, n) / _harmonic(a, 1.0, n, n),
    mean=lambda a, n: _zipfian_moment(1, a, n),
    var=lambda a, n: _zipfian_moment(2, a, n) - _zipfian_moment(1, a, n) ** 2,
)  # fmt: skip


def _fisher_terms(k: Any, total: Any, good: Any, drawn: Any, odds: Any) -> Any:
    return log_choose(good, k) + log_choose(total - good, drawn - k) + k * np.log(odds)


def _fisher_bounds(total: Any, good: Any, drawn: Any, odds: Any) -> Any:
    return np.maximum(0.0, drawn - (total - good)), np.minimum(drawn, good)


def _fisher_sum(weight: Any, total: Any, good: Any, drawn: Any, odds: Any) -> Any:
    """The logarithm of the sum of all terms or, with a weight, the mean of the weight."""
    shapes = [x[..., None] if np.ndim(x) or isinstance(x, Tracer) else x
              for x in (total, good, drawn, odds)]  # fmt: skip
    low, high = _fisher_bounds(*shapes)
    j = _counts(drawn)
    inside = (j >= low) & (j <= high)
    terms = np.where(inside, _fisher_terms(np.where(inside, j, low), *shapes), -np.inf)
    whole = sc.logsumexp(terms, axis=-1)
    if weight is None:
        return whole
    return np.sum(np.exp(terms - whole[..., None]) * weight(j), axis=-1)


nchypergeom_fisher = discrete(
    "nchypergeom_fisher", _fisher_bounds,
    lambda k, *shapes: _fisher_terms(k, *shapes) - _fisher_sum(None, *shapes),
    inside=lambda *shapes: _fisher_bounds(*shapes)[0],
    valid=lambda total, good, drawn, odds: (
        (total >= 0) & (good >= 0) & (drawn >= 0) & (odds > 0) & (good <= total)
        & (drawn <= total)
    ),
    whole=(0, 1, 2),
    mean=lambda *shapes: _fisher_sum(lambda j: j, *shapes),
    var=lambda *shapes: (
        _fisher_sum(lambda j: j * j, *shapes)
        - _fisher_sum(lambda j: j, *shapes) ** 2
    ),
)  # fmt: skip
