"""Multivariate distributions of SciPy on traced values, beside SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from autojit import grad, jit, trace
from autojit.errors import DerivativeError, ShapeError, UncoveredFunctionError
from tests.autojit.scipy.checks import assert_same, by_scipy, check_derivatives, interpreted

RNG = np.random.default_rng(5)
POINTS, MEAN = RNG.normal(size=(4, 3)), RNG.normal(size=3)
ROOT = RNG.normal(size=(3, 3))
MATRICES = RNG.normal(size=(2, 3, 2))
SMALL = RNG.normal(size=(2, 2))
SIMPLEX = np.array([[0.2, 0.5], [0.5, 0.2], [0.3, 0.3]])
ALPHA = np.array([1.3, 2.1, 0.8])


def spread(root: Any) -> Any:
    """A positive definite matrix, which stays symmetric when its root changes."""
    return root @ root.T + np.eye(root.shape[0])


def stacked(root: Any) -> Any:
    """Two of them, along the last axis."""
    return np.stack([spread(root), 2 * spread(root.T)], axis=-1)


def unit(x: Any) -> Any:
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True))


def chances(p: Any) -> Any:
    return p / np.sum(p)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "normal": (
        lambda x, m, a: st.multivariate_normal.logpdf(x, m, spread(a)), (POINTS, MEAN, ROOT)
    ),
    "normal of one point": (
        lambda x, m, a: st.multivariate_normal.pdf(x, m, spread(a)), (POINTS[0], MEAN, ROOT)
    ),
    "normal of one dimension": (
        lambda x, m, s: st.multivariate_normal.logpdf(x, m, s), (POINTS[:, 0], 0.5, 1.7)
    ),
    "normal with variances": (
        lambda x, v: st.multivariate_normal.logpdf(x, MEAN, v), (POINTS, ALPHA)
    ),
    "frozen normal": (
        lambda x, m, a: st.multivariate_normal(m, spread(a)).logpdf(x), (POINTS, MEAN, ROOT)
    ),
    "frozen by keyword": (
        lambda x, a: st.multivariate_normal(mean=MEAN, cov=spread(a)).pdf(x), (POINTS, ROOT)
    ),
    "frozen by SciPy": (st.multivariate_normal(MEAN, spread(ROOT)).logpdf, (POINTS,)),
    "normal entropy": (lambda a: st.multivariate_normal.entropy(None, spread(a)), (ROOT,)),
    "t": (
        lambda x, m, a, df: st.multivariate_t.logpdf(x, m, spread(a), df),
        (POINTS, MEAN, ROOT, 3.3),
    ),
    "frozen t": (lambda x, df: st.multivariate_t(MEAN, np.eye(3), df).pdf(x), (POINTS, 3.3)),
    "t frozen by SciPy": (st.multivariate_t(MEAN, spread(ROOT), 3.3).logpdf, (POINTS,)),
    "t entropy": (lambda a, df: st.multivariate_t.entropy(MEAN, spread(a), df), (ROOT, 3.3)),
    "matrix normal": (
        lambda x, m, r, c: st.matrix_normal.logpdf(x, m, spread(r), spread(c)),
        (MATRICES, MATRICES[1], ROOT, SMALL),
    ),
    "one matrix": (
        lambda x, r: st.matrix_normal.pdf(x, MATRICES[1], spread(r)), (MATRICES[0], ROOT)
    ),
    "dirichlet": (lambda a: st.dirichlet.logpdf(SIMPLEX, a), (ALPHA,)),
    "dirichlet by the first of a point": (
        lambda x, a: st.dirichlet.pdf(x, a), (SIMPLEX[:2, 0], ALPHA)
    ),
    "frozen dirichlet": (lambda a: st.dirichlet(a).logpdf(SIMPLEX), (ALPHA,)),
    "dirichlet mean": (lambda a: st.dirichlet.mean(a), (ALPHA,)),
    "dirichlet var": (lambda a: st.dirichlet(a).var(), (ALPHA,)),
    "dirichlet entropy": (lambda a: st.dirichlet.entropy(a), (ALPHA,)),
    "multinomial": (
        lambda p: st.multinomial.logpmf([[1, 2, 0], [0, 1, 2]], 3, chances(p)), (ALPHA,)
    ),
    "frozen multinomial": (lambda p: st.multinomial(3, chances(p)).pmf([1, 2, 0]), (ALPHA,)),
    "dirichlet multinomial": (
        lambda a: st.dirichlet_multinomial.logpmf([[1, 2, 0], [0, 1, 2]], a, 3), (ALPHA,)
    ),
    "moments of a dirichlet multinomial": (
        lambda a: [getattr(st.dirichlet_multinomial(a, 3), m)() for m in ("mean", "var", "cov")],
        (ALPHA,),
    ),
    "frozen dirichlet multinomial": (
        lambda a: st.dirichlet_multinomial(a, 3).pmf([1, 2, 0]), (ALPHA,)
    ),
    "von Mises and Fisher": (
        lambda x, m, k: st.vonmises_fisher.logpdf(unit(x), unit(m), k), (POINTS, MEAN, 1.7)
    ),
    "von Mises and Fisher by SciPy": (
        lambda x: st.vonmises_fisher([0.6, 0.8, 0.0], 1.7).pdf(unit(x)), (POINTS[0],)
    ),
    "entropy of von Mises and Fisher": (
        lambda k: st.vonmises_fisher.entropy(np.array([0.6, 0.8, 0.0]), k), (1.7,)
    ),
    "matrix t": (
        lambda x, m, r, c, df: st.matrix_t.logpdf(x, m, spread(r), spread(c), df),
        (MATRICES, MATRICES[1], ROOT, SMALL, 3.3),
    ),
    "matrix t by SciPy": (
        lambda x: st.matrix_t(MATRICES[1], np.eye(3), np.eye(2), 3.3).pdf(x), (MATRICES[0],)
    ),
    "normal inverse gamma": (
        st.normal_inverse_gamma.logpdf, (ALPHA, ALPHA[::-1], 0.3, 1.2, 2.4, 0.7)
    ),
    "normal inverse gamma by SciPy": (st.normal_inverse_gamma(0.3, 1.2, 2.4, 0.7).pdf, (0.7, 1.2)),
    "moments of a normal inverse gamma": (
        lambda *a: [*st.normal_inverse_gamma.mean(*a), *st.normal_inverse_gamma.var(*a)],
        (0.3, 1.2, np.array([2.4, 5.1]), 0.7),
    ),
    "wishart": (
        lambda x, df, s: st.wishart.logpdf(spread(x), df, spread(s)), (ROOT, 4.3, ROOT.T)
    ),
    "two of wishart": (lambda x, df: st.wishart(df, np.eye(3)).logpdf(stacked(x)), (ROOT, 4.3)),
    "wishart mean": (lambda df, s: st.wishart.mean(df, spread(s)), (4.3, ROOT)),
    "invwishart": (
        lambda x, df, s: st.invwishart.logpdf(spread(x), df, spread(s)), (ROOT, 4.3, ROOT.T)
    ),
    "two of invwishart": (lambda x: st.invwishart(4.3, np.eye(3)).pdf(stacked(x)), (ROOT,)),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, arguments = CASES[name]
    want = by_scipy(f, *arguments)
    assert_same(interpreted(f, *arguments), want, rtol=1e-10)
    check_derivatives(f, arguments)


def test_compiled() -> None:
    f, arguments = CASES["normal"]
    found = jit(grad(lambda *a: np.sum(f(*a)), argnums=(0, 1, 2)))(*arguments)
    precision = np.linalg.inv(spread(ROOT))
    deviations = POINTS - MEAN
    np.testing.assert_allclose(found[0], -deviations @ precision)
    np.testing.assert_allclose(found[1], np.sum(deviations @ precision, axis=0))


def test_impossible_counts_and_probabilities() -> None:
    assert jit(lambda a: st.dirichlet_multinomial.logpmf([1, 1, 0], a, 3))(ALPHA) == -np.inf
    f = jit(lambda x, p: st.multinomial.logpmf(x, 3, p))
    x = np.array([[1, 2, 1], [3, 0, 0]])
    np.testing.assert_array_equal(f(x, np.array([1.0, 0.0, 0.0])), [-np.inf, 0.0])
    assert np.isnan(f(x, np.array([1.5, -0.5, 0.0]))).all()


SINGULAR = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("cov", [SINGULAR, SINGULAR + np.eye(3)], ids=["singular", "regular"])
def test_singular_covariances(cov: Any) -> None:
    def f(mean: Any, scale: Any) -> Any:
        points = np.array([[0.3, -0.2, 0.7], [1.0, 0.4, 0.7], [1.0, 0.4, 0.9]])
        model = st.multivariate_normal(mean, scale * cov, allow_singular=True)
        return model.logpdf(points), st.multivariate_normal.pdf(points, mean, cov, True)

    arguments = np.array([0.1, 0.2, 0.7]), 1.3
    for got, want in zip(jit(f)(*arguments), f(*arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    first = lambda m, s: f(np.append(m, 0.7), s)[0][0]  # noqa: E731
    given = (np.array([0.1, 0.2]), 1.3)
    for i, found in enumerate(grad(first, (0, 1))(*given)):
        for place in np.ndindex(np.shape(given[i])):
            step = np.zeros(np.shape(given[i]))
            step[place] = 1e-6
            ends = [first(*(x + sign * step if i == j else x for j, x in enumerate(given)))
                    for sign in (1, -1)]  # fmt: skip
            assert abs(found[place] - (ends[0] - ends[1]) / 2e-6) < 1e-7


REFUSED = {
    "scipy.stats.multivariate_normal.cdf": lambda x: st.multivariate_normal.cdf(x, MEAN),
    "scipy.stats.multivariate_normal.rvs": lambda x: st.multivariate_normal(x).rvs(),
    "scipy.stats.multivariate_t with allow_singular=True": (
        lambda x: st.multivariate_t(x, np.eye(3), 2.0, allow_singular=True).logpdf(MEAN)
    ),
    "scipy.stats.vonmises_fisher.rvs": (
        lambda x: st.vonmises_fisher.rvs(np.array([0.0, 0.0, 1.0]), x[0])
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str) -> None:
    with pytest.raises(UncoveredFunctionError) as caught:
        trace(REFUSED[words])(MEAN)
    assert str(caught.value).startswith(words + " of traced values is not covered")
    assert "test_multivariate.py" in str(caught.value)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(
        ShapeError, match=r"cov has the shape \(3, 2\); for 3 dimensions it must be a"
    ):
        trace(lambda x: st.multivariate_normal.logpdf(x, MEAN, np.ones((3, 2))))(MEAN)
    with pytest.raises(ValueError, match="'mu' must be a unit vector"):
        trace(lambda k: st.vonmises_fisher.logpdf(MEAN, np.ones(3), k))(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sigma'"):
        trace(lambda x: st.multivariate_normal(x, sigma=2.0))(MEAN)
    with pytest.raises(DerivativeError, match="must be an integer"):
        grad(lambda n: st.multinomial.logpmf([1, 2, 0], n, [0.2, 0.3, 0.5]))(3.0)
