"""Statistics of samples on traced values, beside SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from autojit import grad, hessian, jit, trace, vmap
from autojit.errors import DerivativeError, UncoveredFunctionError
from autojit.scipy.stats.statistics.ranks import FOUND
from tests.autojit.scipy.checks import assert_same, by_scipy, check_derivatives, interpreted

RNG = np.random.default_rng(9)
A = RNG.uniform(0.5, 2.0, size=(5, 3))
X, Y = RNG.normal(size=7), RNG.normal(size=7)
W = RNG.uniform(0.5, 2.0, size=7)
POINTS = np.array([[0.1, 0.5, -0.7], [0.3, -0.2, 0.9]])
PLANE = np.stack([X, Y])
LINE = st.gaussian_kde(X)
FLAT = st.gaussian_kde(PLANE, weights=W)


def both(found: Any) -> tuple[Any, Any]:
    return found.statistic, found.pvalue


PLACES, VALUES = np.linspace(0, 2, 9) ** 1.3, np.cos(np.arange(9.0) ** 2)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "binned_statistic": (lambda v: st.binned_statistic(PLACES, v, bins=3)[0], (VALUES,)),
    "binned_statistic of rows": (lambda v: st.binned_statistic(
        PLACES, np.stack([v, v**2]), "std", [0.0, 1.1, 2.0])[0], (VALUES,)),
    "binned_statistic by a function": (lambda v: st.binned_statistic(
        PLACES, v, np.ptp, bins=2)[0], (VALUES,)),
    "binned_statistic_2d": (lambda v: st.binned_statistic_2d(
        PLACES, PLACES**2, v, "median", [2, 1])[0], (VALUES,)),
    "binned_statistic_dd": (lambda v: st.binned_statistic_dd(
        [PLACES, PLACES**2, PLACES[::-1]], np.stack([v, v**2]), "sum", [2, 3, [0.0, 1.1, 2.5]])[0],
        (VALUES,)),
    "theilslopes": (lambda y, x: tuple(st.theilslopes(y, x, 0.9)), (X, Y)),
    "theilslopes joint": (lambda y: tuple(st.theilslopes(y, method="joint")), (W,)),
    "theilslopes with ties": (lambda x: tuple(st.theilslopes(np.round(X), x, 0.7)), (Y,)),
    "siegelslopes": (lambda y, x: tuple(st.siegelslopes(y, x)), (X, Y)),
    "siegelslopes separate": (lambda y: tuple(st.siegelslopes(y, method="separate")), (W,)),
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
    "ttest_1samp": (lambda a, m: tuple(st.ttest_1samp(a, m, axis=1)), (A, 0.7)),
    "ttest_ind": (lambda x, y: tuple(st.ttest_ind(x, y, alternative="less")), (X, Y[:5])),
    "ttest_ind after Welch": (lambda x, y: tuple(st.ttest_ind(x, y, equal_var=False)), (X, Y[:5])),
    "ttest_rel": (lambda x, y: tuple(st.ttest_rel(x, y, alternative="greater")), (X, Y)),
    "ttest of moments": (
        lambda m, s: tuple(st.ttest_ind_from_stats(m, s, 7, 0.2, 1.1, 9, False)), (0.5, 0.8)
    ),
    "f_oneway": (lambda a, x: tuple(st.f_oneway(a[:, 0], a[:, 1], x)), (A, X)),
    "chisquare": (lambda a: tuple(st.chisquare(a)), (A,)),
    "power_divergence": (
        lambda a: tuple(st.power_divergence(a, lambda_="cressie-read", axis=None, ddof=1)), (A,)
    ),
    "G test": (lambda a: tuple(st.power_divergence(a, lambda_="log-likelihood")), (A,)),
    "normaltest": (lambda a: tuple(st.normaltest(a, axis=None)), (A,)),
    "skewtest": (lambda a: tuple(st.skewtest(a, axis=None, alternative="less")), (A,)),
    "jarque_bera": (lambda a: tuple(st.jarque_bera(a)), (A,)),
    "tmean": (lambda a: st.tmean(a, (0.8, 1.7)), (A,)),
    "tvar": (lambda a: st.tvar(a, (None, 1.9)), (A,)),
    "tstd": (lambda a: st.tstd(a, axis=None, ddof=0), (A,)),
    "tsem": (lambda a: st.tsem(a, (0.7, None), (False, True), axis=None), (A,)),
    "tmin": (lambda a: (st.tmin(a, axis=None), st.tmax(a)), (A,)),
    "levene": (lambda a, x: tuple(st.levene(a[:, 0], a[:, 1], x, center="mean")), (A, X)),
    "bartlett": (lambda a, x: tuple(st.bartlett(a[:, 0], a[:, 1], x)), (A, X)),
    "pointbiserialr": (lambda x: tuple(st.pointbiserialr(np.arange(7) % 2, x)), (X,)),
    "yeojohnson_llf": (lambda x: st.yeojohnson_llf(0.4, x), (X,)),
    "gstd": (lambda a: st.gstd(a), (A,)),
    "kstat": (lambda a: tuple(st.kstat(a, n, axis=0) for n in (1, 2, 3, 4)), (A,)),
    "kstatvar": (lambda a: tuple(st.kstatvar(a, n) for n in (1, 2)), (A,)),
    "circmean": (lambda a: st.circmean(a, high=3.0, low=-1.0, axis=0), (A,)),
    "circvar": (lambda a: st.circvar(a), (A,)),
    "circstd": (lambda a: st.circstd(a, high=4.0, axis=1), (A,)),
    "boxcox": (lambda a, q: st.boxcox(a, q), (W, 0.4)),
    "yeojohnson": (lambda x: st.yeojohnson(x, 0.4), (X,)),
    "differential_entropy": (
        lambda a: tuple(st.differential_entropy(a, axis=None, base=2, method=m)
                        for m in ("vasicek", "van es", "ebrahimi", "correa", "auto")), (A,)
    ),
    "wasserstein_distance": (
        lambda x, y, w: st.wasserstein_distance(x, y, v_weights=w), (X, Y[:5], W[:5])
    ),
    "energy_distance": (lambda x, y: st.energy_distance(x, y), (X, Y[:5])),
    "trimboth": (lambda a: np.sort(st.trimboth(a, 0.3), 0), (A,)),
    "trim1": (lambda a: np.sort(st.trim1(a, 0.3, "left", None)), (A,)),
    "scoreatpercentile": (lambda a, q: st.scoreatpercentile(a, q, axis=0), (A, 37.0)),
    "lmoment": (lambda a: st.lmoment(a, axis=0), (A,)),
    "one lmoment": (lambda a: st.lmoment(a, 3, axis=1, standardize=False), (A,)),
    "quantile": (lambda a: st.quantile(a, 0.37, method="hazen", axis=0), (A,)),
    "expectile": (lambda x, q, w: st.expectile(x, q, weights=w), (X, 0.7, W)),
    "low expectile": (lambda x: st.expectile(x, 0.2), (X,)),
    "obrientransform": (lambda a: st.obrientransform(a[:, 0], a[:, 1]), (A,)),
    **{f"combine_pvalues {m}": (lambda p, m=m: tuple(st.combine_pvalues(p, m, axis=0)), (A / 3,))
       for m in ("fisher", "pearson", "mudholkar_george", "tippett", "stouffer")},
    "combine_pvalues with weights": (
        lambda p, w: tuple(st.combine_pvalues(p, "stouffer", weights=w)), (W / 3, W[::-1])
    ),
    "false_discovery_control": (
        lambda p: (
            st.false_discovery_control(p), st.false_discovery_control(p, axis=1, method="by")
        ),
        (A / 7,),
    ),
    "chi2_contingency": (
        lambda a: (*tuple(st.chi2_contingency(a))[:2], st.chi2_contingency(a).expected_freq), (A,)
    ),
    "chi2_contingency of two": (
        lambda a: tuple(st.chi2_contingency(a, lambda_="log-likelihood"))[:2], (A[:2, :2] * 9,)
    ),
    "directional_stats": (
        lambda a: (st.directional_stats(a).mean_direction,
                   st.directional_stats(a, normalize=False).mean_resultant_length), (A,)
    ),
    "kde of a line": (lambda d, x: st.gaussian_kde(d)(x), (X, POINTS[0])),
    "kde with weights": (
        lambda d, w, x: st.gaussian_kde(d, weights=w).logpdf(x), (PLANE, W, POINTS)
    ),
    "kde with a bandwidth": (lambda d, h: st.gaussian_kde(d, h).evaluate(POINTS), (PLANE, 0.6)),
    "kde after Silverman": (lambda d: st.gaussian_kde(d, "silverman").pdf(0.2), (X,)),
    "kde at traced points": (lambda x: LINE(x), (POINTS[0],)),
    "kstest": (lambda x: both(st.kstest(x, "norm")), (X,)),
    "ks_1samp of rows": (lambda x: both(st.ks_1samp(
        x, st.norm.cdf, (0.2, 1.3), "less", axis=1, keepdims=True)), (PLANE,)),
    "kstest by its limit": (lambda x: both(st.kstest(x, "norm", method="asymp")), (X,)),
    "anderson": (lambda x: st.anderson(x, method="interpolate").statistic, (X,)),
    "anderson of waiting times": (
        lambda x: both(st.anderson(x, "expon", method="interpolate")), (W,)),
    "alexandergovern": (lambda x, y: both(st.alexandergovern(x, y, W)), (X, Y)),
    "probplot": (lambda x: (*st.probplot(x)[0], *st.probplot(x)[1]), (X,)),
    "probplot of a family": (lambda x: st.probplot(x, 5.0, "t", fit=False), (X,)),
    "pdf of a kde at traced points": (lambda x: FLAT.pdf(x), (POINTS,)),
    "logpdf of a kde at a traced point": (lambda x: FLAT.logpdf(x), (POINTS[:, 0],)),
}  # fmt: skip


@pytest.mark.sampled(7)
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


FEW = {"fligner", "friedmanchisquare", "kruskal"}
RANKS: dict[str, Callable[..., Any]] = {
    **{name: lambda x, name=name: both(getattr(st, name)(x, Y)) for name in FOUND
       if name not in (*FEW, "page_trend_test")},
    **{name: lambda x, name=name: both(getattr(st, name)(x, Y, W)) for name in FEW},
    "page_trend_test": lambda x: both(st.page_trend_test(A * x[0])),
    "wilcoxon of one sample": lambda x: both(st.wilcoxon(x, alternative="less")),
    "mannwhitneyu of columns": lambda x: both(st.mannwhitneyu(A * x[0], A[1:] + 0.1)),
    "mannwhitneyu of rows": lambda x: both(st.mannwhitneyu(
        A * x[0], A[:, 1:], axis=1, keepdims=True)),
    "kruskal of all": lambda x: both(st.kruskal(A * x[0], A + 1, axis=None)),
    "kruskal without NaN": lambda x: both(st.kruskal(
        x, np.where(Y > 0, Y, np.nan), nan_policy="omit")),
    "kstest of two samples": lambda x: both(st.kstest(x, Y)),
    "tiecorrect": lambda x: (st.tiecorrect(np.round(x)),),
    "percentileofscore": lambda x: st.percentileofscore(x, [0.0, 0.3]),
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", RANKS)
def test_tests_of_ranks(name: str) -> None:
    f = RANKS[name]
    assert_same(jit(f)(X), by_scipy(f, X), rtol=1e-12)
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.stack(f(x))))(X), np.zeros(X.size))
    np.testing.assert_allclose(vmap(f)(np.stack([X, X[::-1]]))[0][0], f(X)[0])


def test_shapiro() -> None:
    rng = np.random.default_rng(3)
    for n in (3, 4, 6, 11, 12, 30):  # SciPy's quantiles have nine digits
        x = rng.normal(size=n)
        f = jit(lambda x: both(st.shapiro(x)))
        np.testing.assert_allclose(f(x), by_scipy(lambda x: both(st.shapiro(x)), x), rtol=2e-8)
    check_derivatives(lambda x: both(st.shapiro(x)), (x,))
    check_derivatives(lambda x: both(st.shapiro(x)), (x[:7],))


def test_the_exact_test_of_kolmogorov_has_no_second_derivative() -> None:
    with pytest.raises(DerivativeError):
        hessian(lambda x: st.kstest(x, "norm").pvalue)(X)


@pytest.mark.parametrize(("f", "x"), [
    (st.boxcox, W), (st.yeojohnson, X), (lambda x: st.boxcox_normmax(x, method="all"), W)],
    ids=["boxcox", "yeojohnson", "boxcox_normmax"])  # fmt: skip
def test_lambdas_of_greatest_likelihood(f: Callable[..., Any], x: np.ndarray) -> None:
    found = jit(f)(x)
    for made, want in zip(found, by_scipy(f, x), strict=True):  # SciPy's search has eight digits
        np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-7)
    last = jit(lambda x: np.sum(f(x)[-1] ** 2))
    step = 1e-4 * np.cos(np.arange(x.size))
    difference = (last(x + step) - last(x - step)) / 2
    np.testing.assert_allclose(grad(last)(x) @ step, difference, rtol=1e-5)


def test_boxcox_at_zero() -> None:
    at_zero, near = (grad(st.boxcox_llf)(q, W) for q in (0.0, 1e-9))
    step = 1e-4
    difference = (st.boxcox_llf(step, W) - st.boxcox_llf(-step, W)) / (2 * step)
    np.testing.assert_allclose([at_zero, near], difference, rtol=1e-6)


def test_sums_of_frequencies_are_compared() -> None:
    seen, expected = np.array([4.0, 6.0]), np.array([5.0, 5.0])
    f = jit(lambda a, b: st.chisquare(a, b).statistic)
    assert f(seen, expected) == st.chisquare(seen, expected).statistic
    with pytest.raises(ValueError, match="sum of the observed frequencies must agree"):
        f(seen, expected * 1.1)
    loose = jit(lambda a, b: st.chisquare(a, b, sum_check=False).statistic)
    np.testing.assert_allclose(loose(seen, expected * 1.1), 1.5**2 / 5.5 + 0.5**2 / 5.5)


def test_expectiles_at_the_ends() -> None:
    for level in (0.0, 1.0):
        np.testing.assert_allclose(jit(st.expectile)(X, level), (X.min(), X.max())[int(level)])


def test_dtypes() -> None:
    for f in (st.gmean, st.zscore, st.skew):
        assert jit(f)(A.astype("f4")).dtype == f(A.astype("f4")).dtype
        assert jit(f)(np.arange(1, 5)).dtype == np.float64


REFUSED = {
    "scipy.stats.gmean with nan_policy='omit'": lambda x: st.gmean(x, nan_policy="omit"),
    "scipy.stats.pearsonr of arrays of the shapes": lambda x: st.pearsonr(A, A * x[0]),
    "scipy.stats.rankdata with method='dense'": lambda x: st.rankdata(x, "dense"),
    "scipy.stats.gaussian_kde with bw_method=": lambda x: st.gaussian_kde(x, lambda k: 1.0),
    "scipy.stats.kstest of random numbers": lambda x: st.kstest("norm", x),
    "scipy.stats.shapiro of several samples": lambda x: st.shapiro(A * x[0], axis=1),
    "scipy.stats.boxcox with alpha=": lambda x: st.boxcox(x, alpha=0.1),
    "scipy.stats.cramervonmises": lambda x: st.cramervonmises(x, "norm"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str) -> None:
    with pytest.raises(UncoveredFunctionError) as caught:
        trace(REFUSED[words])(X)
    assert str(caught.value).startswith(words)
    assert "not covered by autojit" in str(caught.value)
    assert "test_statistics.py" in str(caught.value)
