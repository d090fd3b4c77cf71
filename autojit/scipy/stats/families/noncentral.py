"""Noncentral chi-squared, F and t distributions, and the Rice distribution.

There is no derivative by the degrees of freedom if the function of `scipy.special` has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import POSITIVE, REAL, Family, family
from .half_line import above_or
from .real_line import LOG_2


def _ncx2(z: Any, df: Any, nc: Any) -> Any:
    """The log-density, by a Bessel function; at noncentrality 0, that of ``chi2``."""
    central = nc == 0
    mean, order = np.where(central, 1.0, nc), df / 2 - 1
    x, y = np.sqrt(z), np.sqrt(mean)
    away = sc.xlogy(order / 2, z / mean) - (x - y) ** 2 / 2 + np.log(sc.ive(order, x * y)) - LOG_2
    near = sc.xlogy(order, z) - z / 2 - sc.gammaln(df / 2) - LOG_2 * df / 2
    return np.where(central, near, away)


def _ncx2_cdf(z: Any, df: Any, nc: Any) -> Any:
    central = nc == 0
    away = sc.chndtr(z, df, np.where(central, 1.0, nc))
    return np.where(central, sc.gammainc(df / 2, z / 2), away)


ncx2: Family = family(
    "ncx2", POSITIVE, _ncx2, inside=1.0, is_finite=True,
    valid=lambda df, nc: (df > 0) & np.isfinite(df) & (nc >= 0),
    cdf=_ncx2_cdf,
    ppf=lambda q, df, nc: sc.chndtrix(q, df, nc),
    mean=lambda df, nc: df + nc, var=lambda df, nc: 2 * (df + 2 * nc),
)  # fmt: skip


def _rice_mean(b: Any) -> Any:
    return np.sqrt(np.pi / 2) * np.exp(-b * b / 2) * sc.hyp1f1(1.5, 1.0, b * b / 2)


rice: Family = family(
    "rice", POSITIVE,
    lambda z, b: np.log(z) - (z - b) ** 2 / 2 + np.log(sc.i0e(z * b)),
    inside=1.0, is_finite=True, valid=lambda b: b >= 0,
    density=lambda z, b: z * np.exp(-((z - b) ** 2) / 2) * sc.i0e(z * b),
    cdf=lambda z, b: sc.chndtr(z * z, 2.0, b * b),
    ppf=lambda q, b: np.sqrt(sc.chndtrix(q, 2.0, b * b)),
    mean=_rice_mean, var=lambda b: 2 + b * b - _rice_mean(b) ** 2,
)  # fmt: skip


def _nct_mean(df: Any, nc: Any) -> Any:
    return nc * np.sqrt(df / 2) * np.exp(sc.gammaln((df - 1) / 2) - sc.gammaln(df / 2))


def _ncf_var(n: Any, m: Any, nc: Any) -> Any:
    shifted = n + nc
    return 2 * (m / n) ** 2 * (shifted**2 + (shifted + nc) * (m - 2)) / ((m - 2) ** 2 * (m - 4))


nct: Family = family(
    "nct", REAL, None, valid=lambda df, nc: (df > 0) & (nc == nc),
    cdf=lambda z, df, nc: sc.nctdtr(df, nc, z),
    ppf=lambda q, df, nc: np.where(  # SciPy's function is inf at both ends
        q == 0, -np.inf, sc.nctdtrit(df, nc, np.where(q == 0, 0.5, q))
    ),
    mean=lambda df, nc: above_or(1, df, lambda df: _nct_mean(df, nc), np.nan),
    var=lambda df, nc: above_or(
        2, df, lambda df: df * (1 + nc * nc) / (df - 2) - _nct_mean(df, nc) ** 2, np.nan
    ),
)  # fmt: skip

ncf: Family = family(
    "ncf", POSITIVE, None, inside=1.0,
    valid=lambda n, m, nc: (n > 0) & (m > 0) & (nc >= 0),
    cdf=lambda z, n, m, nc: sc.ncfdtr(n, m, nc, z),
    ppf=lambda q, n, m, nc: sc.ncfdtri(n, m, nc, q),
    mean=lambda n, m, nc: above_or(2, m, lambda m: m * (n + nc) / (n * (m - 2)), np.nan),
    var=lambda n, m, nc: above_or(4, m, lambda m: _ncf_var(n, m, nc), np.nan),
)  # fmt: skip
