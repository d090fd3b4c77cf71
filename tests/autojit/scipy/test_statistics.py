"""Statistics of samples on traced values, beside SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from autojit import grad, jit, trace
from autojit.errors import UncoveredFunctionError
from tests.autojit.scipy.checks import assert_same, by_scipy, check_derivatives, interpreted

RNG = np.random.default_rng(9)
A = RNG.uniform(0.5, 2.0, size=(5, 3))
X, Y = RNG.normal(size=7), RNG.normal(size=7)
W = RNG.uniform(0.5, 2.0, size=7)
POINTS = np.array([[0.1, 0.5, -0.7], [0.3, -0.2, 0.9]])
PLANE = np.stack([X, Y])
LINE = st.gaussian_kde(X)
FLAT = st.gaussian_kde(PLANE, weights=W)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gmean": (lambda a: st.gmean(a), (A,)),
    "gmean of all with weights": (lambda a, w: st.gmean(a, weights=w), (W, W[::-1])),
    "hmean": (lambda a: st.hmean(a, axis=1, keepdims=True), (A,)),
    "pmean": (lambda a, p: st.pmean(a, p, axis=None), (A, 1.7)),
    "trim_mean": (lambda a: st.trim_mean(a, 0.2), (A,)),
    "moment": (lambda a: st.moment(a, 3, axis=1), (A,)),
    "moment about a center": (lambda a, c: st.moment(a, 2, center=c), (A, 0.3)),
    "first moment": (lambda a: st.moment(a), (A,)),
    "skew": (lambda a: st.skew(a), (A,)),
    "skew without bias": (lambda a: st.skew(a, axis=None, bias=False), (A,)),
    "kurtosis": (lambda a: st.kurtosis(a, keepdims=True), (A,)),
    "kurtosis without bias": (lambda a: st.kurtosis(a, None, False, False), (A,)),
    "sem": (lambda a: st.sem(a, axis=1), (A,)),
    "variation": (lambda a: st.variation(a, ddof=1), (A,)),
    "describe": (lambda a: tuple(st.describe(a))[1:], (A,)),
    "zscore": (lambda a: st.zscore(a, axis=1, ddof=1), (A,)),
    "zmap": (lambda s, a: st.zmap(s, a), (X, Y)),
    "gzscore": (lambda a: st.gzscore(a), (A,)),
    "iqr": (lambda a: st.iqr(a, axis=0, rng=(20, 70), scale="normal"), (A,)),
    "median_abs_deviation": (lambda a: st.median_abs_deviation(a, scale="normal"), (A,)),
    "entropy": (lambda a: st.entropy(a, base=2), (A,)),
    "relative entropy": (lambda a, b: st.entropy(a, b, axis=1), (A, A[::-1])),
    "boxcox_llf": (lambda q, a: st.boxcox_llf(q, a), (0.4, W)),
    "pearsonr": (lambda x, y: tuple(st.pearsonr(x, y)), (X, Y)),
    "pearsonr less": (lambda x, y: tuple(st.pearsonr(x, y, alternative="less")), (X, Y)),
    "linregress": (lambda x, y: tuple(st.linregress(x, y)), (X, Y)),
    "kde of a line": (lambda d, x: st.gaussian_kde(d)(x), (X, POINTS[0])),
    "kde with weights": (
        lambda d, w, x: st.gaussian_kde(d, weights=w).logpdf(x), (PLANE, W, POINTS)
    ),
    "kde with a bandwidth": (lambda d, h: st.gaussian_kde(d, h).evaluate(POINTS), (PLANE, 0.6)),
    "kde after Silverman": (lambda d: st.gaussian_kde(d, "silverman").pdf(0.2), (X,)),
    "kde at traced points": (lambda x: LINE(x), (POINTS[0],)),
    "pdf of a kde at traced points": (lambda x: FLAT.pdf(x), (POINTS,)),
    "logpdf of a kde at a traced point": (lambda x: FLAT.logpdf(x), (POINTS[:, 0],)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, arguments = CASES[name]
    want = by_scipy(f, *arguments)
    assert_same(interpreted(f, *arguments), want, rtol=1e-9, atol=1e-14)
    check_derivatives(f, arguments)


def test_ranks() -> None:
    a, b = np.array([3.0, 1.0, 3.0, 2.0, 5.0]), np.array([1.0, 2.0, 0.0, 4.0, 3.0])
    for method in ("average", "min", "max"):
        f = jit(lambda x, m=method: st.rankdata(x, m))
        np.testing.assert_array_equal(f(a), st.rankdata(a, method))
    found, want = jit(lambda x, y: st.spearmanr(x, y))(a, b), st.spearmanr(a, b)
    np.testing.assert_allclose(found, want, rtol=1e-9)
    assert found.correlation == found.statistic
    np.testing.assert_array_equal(grad(lambda x: st.spearmanr(x, b).statistic)(a), np.zeros(5))


def test_boxcox_at_zero() -> None:
    at_zero, near = (grad(st.boxcox_llf)(q, W) for q in (0.0, 1e-9))
    step = 1e-4
    difference = (st.boxcox_llf(step, W) - st.boxcox_llf(-step, W)) / (2 * step)
    np.testing.assert_allclose([at_zero, near], difference, rtol=1e-6)


def test_dtypes() -> None:
    for f in (st.gmean, st.zscore, st.skew):
        assert jit(f)(A.astype("f4")).dtype == f(A.astype("f4")).dtype
        assert jit(f)(np.arange(1, 5)).dtype == np.float64


REFUSED = {
    "scipy.stats.gmean with nan_policy='omit'": lambda x: st.gmean(x, nan_policy="omit"),
    "scipy.stats.pearsonr of arrays of the shapes": lambda x: st.pearsonr(A, A * x[0]),
    "scipy.stats.rankdata with method='dense'": lambda x: st.rankdata(x, "dense"),
    "scipy.stats.gaussian_kde with bw_method=": lambda x: st.gaussian_kde(x, lambda k: 1.0),
    "scipy.stats.kstest": lambda x: st.kstest(x, "norm"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str) -> None:
    with pytest.raises(UncoveredFunctionError) as caught:
        trace(REFUSED[words])(X)
    assert str(caught.value).startswith(words)
    assert "not covered by autojit" in str(caught.value)
    assert "test_statistics.py" in str(caught.value)
