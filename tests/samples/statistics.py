"""Quantiles, histograms, polynomials, padding, and functions that NumPy applies to parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from autojit.protocols.registry import FUNCTIONS
from autojit.protocols.ufunc_plans import find_answer
from autojit.tracing.hooks import hooks
from tests.samples.kinds import (
    H,
    Sample,
    complexes,
    constant,
    distinct,
    positive,
    real,
    step,
    whole,
)

POSITIONS = np.array([-2.0, -1.1, 0.3, 0.9, 2.1, 2.5])
NOTHING = np.array([0.0, np.nan, 0.0, 0.0, np.nan, 0.0])
EDGES = [-3.0, -0.4, 0.7, 3.0]

STATISTICS = [
    Sample("quantile methods", lambda x: np.stack([
        np.quantile(x, 0.37, method=method)
        for method in ("hazen", "midpoint", "median_unbiased", "inverted_cdf", "nearest")
    ]), (distinct(7),)),
    Sample("quantile weights",
           lambda x: np.quantile(x * x, 0.4, method="inverted_cdf", weights=[1, 3, 2, 0, 1]),
           (distinct(5),)),
    Sample("nanmedian", lambda x: np.nanmedian(x * x + NOTHING, axis=1), (distinct(2, 6),)),
    Sample("nanquantile", lambda x, q: np.nanquantile(x + NOTHING, q),
           (distinct(6), constant(0.3))),
    Sample("nanpercentile", lambda x: np.nanpercentile(x + NOTHING, 60, axis=1),
           (distinct(2, 6),)),
    step("nanargmax", lambda x: np.nanargmax(x + NOTHING) + np.nanargmin(x + NOTHING),
         distinct(6)),
    Sample("partition", lambda x: np.partition(x, 2)[2] ** 2, (distinct(6),)),
    step("argpartition", lambda x: np.argpartition(x, 2)[2], distinct(6)),
    step("lexsort", lambda i, x: np.lexsort((x, i)), whole(6, low=0, high=3), distinct(6)),
    Sample("sort_complex", lambda z: np.sort_complex(z) * [1, 2, 3], (complexes(3),), **H),
    step("isin", lambda i: np.isin(i, [1, 3]) | np.isin(i, np.arange(-40, -5)), whole(9)),
    step("digitize", lambda x: np.digitize(x, EDGES) + np.digitize(x, EDGES[::-1]), real(6)),
    Sample("histogram", lambda x, w: np.histogram(x, EDGES, weights=w)[0] ** 2,
           (lambda rng: rng.permutation(6) - 2.45, real(6))),
    Sample("histogram edges", lambda x: np.histogram_bin_edges(x, 3) ** 2, (distinct(6),)),
    step("histogram2d", lambda x: np.histogram2d(x, x[::-1], 3, [[-3, 3], [-3, 3]])[0], real(6)),
    Sample("histogramdd", lambda w: np.histogramdd([POSITIONS, -POSITIONS], 2, weights=w)[0] ** 2,
           (real(6),)),
    step("bincount of labels", lambda i: np.bincount(i, minlength=5), whole(8, low=0, high=5)),
    Sample("cov weights", lambda x, w: np.cov(x, aweights=w, fweights=[1, 2, 1, 3]),
           (real(2, 4), positive(4))),
    Sample("gradient positions", lambda x, h: np.gradient(x * x, np.cumsum(h), edge_order=2),
           (real(5), positive(5))),
    Sample("interp period", lambda x, y: np.interp(x, POSITIONS, y, period=5.3),
           (real(4), real(6))),
    Sample("unwrap", lambda x: np.unwrap(5 * x) ** 2, (real(5),)),
    Sample("logspace", lambda x, y: np.logspace(x, y, 4, base=2.0), (real(2), real())),
    Sample("geomspace", lambda x, y: np.geomspace(x, y, 4), (positive(2), positive())),
]  # fmt: skip

POLYNOMIALS = [
    Sample("polyadd", lambda a, b: np.polyadd(a, b) * np.polysub(b, a), (real(4), real(2)), **H),
    Sample("polymul", lambda a, b: np.polymul(a, b), (real(4), real(2)), **H),
    Sample("polydiv", lambda a, b: np.polydiv(a, b)[0] * np.sum(np.polydiv(a, b)[1]),
           (real(5), positive(3)), **H),
    Sample("polyval2d", lambda x, y, c: np.polynomial.polynomial.polyval2d(x, y, c) * np.sum(
        np.polynomial.polynomial.polygrid2d(x, y, c)), (real(2), real(2), real(2, 3)), **H),
    Sample("polyder", lambda a: np.polyder(a * a, 2), (real(5),), **H),
    Sample("polyint", lambda a: np.polyint(a * a, 2, k=3.0), (real(4),), **H),
    Sample("polyfit", lambda x, y: np.polyfit(np.arange(-2.0, 3.0) + x / 10, y, 2),
           (real(5), real(5))),
    Sample("poly", np.poly, (real(4),), **H),
    Sample("poly1d", lambda a, x: (np.poly1d(a) ** 2 - 1.0).deriv()(x), (real(3), real(2))),
    Sample("Chebyshev", lambda a, x: np.polynomial.Chebyshev(a)(x), (real(4), real(2))),
    Sample("Polynomial", lambda a, b: (np.polynomial.Polynomial(a) * np.polynomial.Polynomial(b))
           .integ().coef, (real(3), real(2))),
    *(Sample(f"{kind.__name__}.fit and convert", lambda y, kind=kind: kind.fit(
        np.arange(5.0), y, 2).convert().coef, (real(5),))
      for kind in (np.polynomial.Polynomial, np.polynomial.Legendre)),
    *(Sample(f"{kind.__name__} // %", lambda a, b, kind=kind: np.concatenate(
        [(kind(a) // kind(b)).coef, (a % kind(b)).coef]), (real(4), positive(2)))
      for kind in (np.polynomial.Polynomial, np.polynomial.Chebyshev)),
]  # fmt: skip

PARTS = [
    Sample("pad linear_ramp", lambda x: np.pad(x * x, 2, "linear_ramp", end_values=1.5),
           (real(3),)),
    Sample("pad mean", lambda x: np.pad(x * x, 1, "mean", stat_length=2), (real(3, 3),)),
    Sample("pad odd", lambda x: np.pad(x * x, (4, 1), "reflect", reflect_type="odd"), (real(3),)),
    Sample("pad with traced values", lambda x, v: np.pad(x, 1, constant_values=v),
           (real(3), real())),
    Sample("choose", lambda x, y: np.choose([0, 1, 1], [x, y]) ** 2, (real(3), real(3))),
    Sample("resize", lambda x: np.resize(x * x, (2, 5)), (real(3),)),
    Sample("diagflat", lambda x: np.diagflat(x * x, 1), (real(2, 2),)),
    step("array_equiv", lambda x, y: np.array_equiv(x, y) | np.can_cast(x, complex), real(3),
         real(2, 3)),
    Sample("np.astype", lambda x: np.astype(x, complex) * 1j if hasattr(np, "astype") else x * 1j,
           (real(3),)),
    Sample("indices of a likeness", lambda x: x[np.diag_indices_from(x)] * np.sum(
        x[np.tril_indices_from(x)]) + np.sum(x[np.triu_indices_from(x, 1)]), (real(3, 3),)),
    Sample("ix_", lambda x, i: x[np.ix_(i, [0, 2])] ** 2, (real(3, 4), whole(2, low=0, high=2))),
    Sample("dtypes", lambda x: np.real_if_close(x).astype(np.min_scalar_type(x)) * len(
        np.einsum_path("i,i", x, x)), (real(3),)),
    step("unpackbits", lambda i: np.unpackbits(i.astype(np.uint8), count=12), whole(2, low=0)),
    Sample("unstack", lambda x: x[0] * x[1] if not hasattr(np, "unstack") else
           np.multiply(*np.unstack(x)), (real(2, 3),), **H),
    Sample("piecewise", lambda x: np.piecewise(x, [x < 0, x > 0], [np.square, np.log]),
           (lambda rng: np.array([-1.5, 2.0, 0.7, -0.2]),)),
    Sample("piecewise of parts", lambda x: np.piecewise(
        x, [x < 0, x > 0], [lambda v: v / v.sum(), lambda v: v.max() - v]),
           (lambda rng: np.array([-1.5, 2.0, 0.7, -0.2]),)),
    Sample("apply_along_axis", lambda x: np.apply_along_axis(np.cumprod, 0, x), (real(3, 2),)),
    Sample("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x * x, (0, 2)),
           (real(2, 3, 2),)),
    Sample("reduceat", lambda x: np.multiply.reduceat(x, [0, 2, 1]), (real(5),)),
    Sample("hypot.reduce", lambda x: np.hypot.reduce(x, axis=1), (positive(2, 3),)),
    Sample("multiply.at", lambda x, y: _scaled_at(x, y), (real(4), real(3))),
    Sample("r_ and c_", lambda x, y: np.c_[x, y] * np.r_[x[:1], 0.5], (real(3), real(3))),
    Sample("frexp", lambda x: np.frexp(x)[0] * np.ldexp(x, 3), (constant(0.3, -7.2, 100.1),)),
    step("gcd", lambda i, j: np.gcd(i, j) + np.lcm(i, j), whole(6), whole(6)),
    step("bits", lambda i: np.bitwise_count(i) + np.packbits(i & 1)[0], whole(8)),
    step("ravel_multi_index", lambda i: np.ravel_multi_index(np.unravel_index(i, (3, 4)), (3, 4)),
         whole(5, low=0, high=11)),
    Sample("nextafter", lambda x: np.nextafter(x, 9.0) + np.spacing(x), (real(4),), order=1),
    Sample("complex extremes", lambda z: np.max(z) * np.min(z) + np.maximum(z[:1], z[1:]),
           (complexes(4),), **H),
]  # fmt: skip

#: Functions that are formulas of other functions, which may not be covered.
NEEDS = {np.roots: np.linalg.eigvals, np.i0: scipy.special.i0}


def is_runnable(function: Any) -> bool:
    needed = NEEDS[function]
    return needed in FUNCTIONS or find_answer(needed) is not None


hooks.load()
if is_runnable(np.roots):
    POLYNOMIALS.append(Sample("roots", lambda a: np.sum(np.roots(a).real ** 2), (positive(4),)))
if is_runnable(np.i0):
    PARTS.append(Sample("i0", np.i0, (positive(4),)))


def _scaled_at(x: Any, y: Any) -> Any:
    result = x.copy()
    np.multiply.at(result, np.array([0, 2, 0]), y)
    return result
