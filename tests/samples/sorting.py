"""Sorted values, medians and quantiles, searches in tables, sums by label."""

from __future__ import annotations

import numpy as np

from tests.samples.kinds import Sample, distinct, real, step, whole

LABELS = np.array([2, 0, 2, 5, 0])

SORTING = [
    Sample("sort", lambda x: np.sort(x) ** 2 * np.arange(6), (distinct(6),),
           lambda t, x: t.sort(x).values ** 2 * t.arange(6)),
    Sample("sort axis", lambda x: np.sort(x * x, axis=0), (distinct(4, 3),)),
    Sample("sort flat", lambda x: np.sort(x, axis=None, kind="stable"), (distinct(2, 3),)),
    Sample("sort of nothing", np.sort, (real(0, 2),)),
    step("argsort", np.argsort, distinct(3, 5)),
    step("argsort axis", lambda x: np.argsort(x, axis=0, stable=True), distinct(5, 3)),
    step("argsort of int", lambda i: i.argsort(kind="stable"), whole(9, dtype=np.int16)),
    Sample("median odd", np.median, (distinct(5),), lambda t, x: t.median(x)),
    Sample("median axes", lambda x: np.median(x * x, axis=(0, 2), keepdims=True),
           (distinct(2, 3, 2),)),
    Sample("quantile", lambda x: np.quantile(x, 0.3, axis=1), (distinct(2, 7),),
           lambda t, x: t.quantile(x, 0.3, dim=1)),
    Sample("quantiles", lambda x: np.quantile(x, [[0.0, 0.21], [0.6, 1.0]]), (distinct(6),)),
    Sample("percentile", lambda x, q: np.percentile(x, q), (distinct(6), real(low=31, high=39))),
    step("searchsorted", np.searchsorted, lambda rng: np.sort(rng.uniform(-2, 2, 9)), real(4, 2)),
    step("searchsorted right", lambda i, j: i.searchsorted(j, "right"),
         lambda rng: np.sort(rng.integers(-9, 9, 12)), whole(8)),
    Sample("bincount", lambda w: np.bincount(LABELS, w, minlength=7) ** 2, (real(5),)),
    Sample("interp in a long table", lambda x, y: np.interp(x, np.linspace(-3, 3, 40), y),
           (real(4), real(40))),
]  # fmt: skip
