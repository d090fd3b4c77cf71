"""What SciPy's functions refuse on traced values, and what their edges give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse, stats
from scipy.spatial import distance

from autojit import grad, jacfwd, jacrev, jit, trace, vmap
from autojit.errors import (
    ConcreteValueError,
    NotArrayError,
    ShapeError,
    TypeMismatch,
    UncoveredFunctionError,
)
from tests.autojit.scipy.checks import by_scipy, interpreted

TIMES = "solve_ivp(fun, t_span, y0, t_eval=np.linspace(t0, t1, 100))"
PLACES = sparse.csr_array(np.eye(2))
REFUSED = {
    "sparse number": (lambda x: (PLACES * x + 1.0).sum(), "A + x * scipy.sparse.eye_array(n)"),
    "sparse entry": (lambda x: (PLACES * x).__setitem__((0, 1), x), "A = A + scipy.sparse."),
    "sparse sum": (lambda x: (sparse.csr_matrix(PLACES) * x).sum(0), "A @ np.ones(A.shape[1])"),
    "sparse equality": (lambda x: 1.0 * (PLACES * x == PLACES), r"A.toarray() == B"),
    "sparse order": (lambda x: 1.0 * (PLACES * x > 1), r"A.toarray() == B"),
    "sections": (lambda x: signal.sosfiltfilt(
        signal.butter(2, x / 2, output="sos"), np.arange(30.0))[0], "padlen=3 * (2 * len(sos)"),
    "steps": (lambda x: integrate.solve_ivp(lambda t, y: -x * y, (0, 1), [1.0]).y[0, 1], TIMES),
    "events": (lambda x: integrate.solve_ivp(lambda t, y: -x * y, (0, 1), [1.0], t_eval=[1.0],
                                             events=lambda t, y: y[0]).t_events[0][1],
               "or call the function without jit"),
    "weight": (lambda x: integrate.quad(lambda t: x * t, 0, 1, weight="cos", wvar=1.0)[0],
               "write it into the integrand"),
    "funm": (lambda x: linalg.funm(np.eye(2) * x, np.exp)[0, 0], "np.linalg.eig"),
    "gust": (lambda x: signal.filtfilt([1.0], [1.0], x * np.ones(9), method="gust")[0],
             'use method="pad"'),
    "smoothing": (lambda x: interpolate.UnivariateSpline(np.arange(5.0), x * np.arange(5.0))(1.0),
                  "pass s=0"),
    "griddata": (lambda x: interpolate.griddata(np.eye(3)[:, :2] * x, np.ones(3), np.eye(2))[0],
                 "RBFInterpolator(points, values)(xi)"),
    "sigma": (lambda x: ndimage.gaussian_filter1d(np.ones(9), x)[0], "pass radius="),
    "metric": (lambda x: distance.cdist(x * np.eye(2), np.eye(2), "yule")[0, 0], "euclidean"),
    "complex stiff": (lambda x: integrate.solve_ivp(
        lambda t, y: -x * y, (0, 1), np.stack([x + 1j]), "BDF", [1.0]).y[0, 0].real,
        "solve for y.real and y.imag"),
    "another type": (lambda x: ndimage.gaussian_filter(np.ones(9) * x, 1.0, output=np.float32)[0],
                     "astype(np.float32)"),
    "whole images": (lambda x: ndimage.uniform_filter((np.ones(9) * x).astype(int), 3)[0],
                     "image.astype(float)"),
    "smoothed axes": (lambda x: ndimage.gaussian_gradient_magnitude(
        np.ones((9, 9)) * x, 1.0, axes=(0,))[0, 0], "order=1"),
    "keyword": (lambda x: stats.tvar(np.ones(9) * x, keepdims=True)[0], "keepdims= is not"),
    "other axis": (lambda x: stats.levene(np.ones(9) * x, np.ones(9), axis=1)[0], "axis=1"),
    "orders": (lambda x: stats.moment(np.ones(9) * x, (1, 2))[0], "several orders"),
    "estimate": (lambda x: linalg.sqrtm(np.eye(2) * x, disp=False)[0][0, 0], "leave it out"),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_a_way_out(name: str) -> None:
    function, words = REFUSED[name]
    with pytest.raises(UncoveredFunctionError) as caught:
        jit(function)(1.0)
    assert words in str(caught.value)


def test_searches_for_many_numbers_name_a_way_out() -> None:
    elementwise = pytest.importorskip("scipy.optimize.elementwise", reason="since SciPy 1.15")
    for f in (elementwise.find_root, elementwise.bracket_minimum):
        with pytest.raises(UncoveredFunctionError, match=r"vmap\(lambda c: scipy.optimize.brentq"):
            grad(lambda x, f=f: f(lambda u: u - x, (0.0, 2.0)).x)(1.0)


def test_what_decides_about_shapes_must_be_known() -> None:
    with pytest.raises(ConcreteValueError, match="must be known when the function is traced"):
        jit(lambda n: signal.savgol_filter(np.ones(9), n, 2)[0])(5)


@pytest.mark.slow
def test_without_jit_the_steps_are_those_that_scipy_takes() -> None:
    seen = []

    def last(k: Any) -> Any:
        found = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0])
        assert found.success
        seen.append(found.t)
        return found.y[0, -1]

    gradient = grad(last)(0.5)
    own = integrate.solve_ivp(lambda t, y: -0.5 * y, (0.0, 2.0), [1.0])
    assert seen[0].shape == own.t.shape
    assert abs(gradient + 2 * own.y[0, -1]) < 1e-3


def test_a_limit_has_derivatives_of_all_orders() -> None:
    third = grad(grad(grad(lambda b: integrate.quad(np.sin, 0.0, b)[0])))
    assert abs(third(0.4) + np.sin(0.4)) < 1e-12


def test_a_moving_limit_sees_a_jump() -> None:
    step = lambda b: integrate.quad(lambda x: np.where(x > 0.5, b, 0.0), 0.0, b, points=[0.5])[0]  # noqa: E731
    assert abs(grad(step)(1.0) - 1.5) < 1e-9  # of b (b - 1/2)


def test_known_calls_are_scipys() -> None:
    def f(a: Any) -> Any:
        known = integrate.quad(lambda x: x * x, 0.0, 1.0)[0]
        assert isinstance(known, float)
        assert isinstance(optimize.brentq(lambda x: x - 0.25, 0.0, 1.0), float)
        return a * known

    assert jit(grad(f))(1.0) == integrate.quad(lambda x: x * x, 0.0, 1.0)[0]


def test_searches_that_fail_give_nan() -> None:
    assert np.isnan(jit(lambda a: optimize.brentq(lambda x: x * x + a, -1.0, 1.0))(1.0))
    found = jit(grad(lambda a: optimize.newton(lambda x: x * x + a, 1.0)))(1.0)
    assert np.isnan(found)


def test_minima_without_a_derivative() -> None:
    a = np.array([0.3, 0.2])
    twice = [{"type": "eq", "fun": lambda x, k=k: k * (x[0] + x[1] - 1)} for k in (1, 2)]
    near = jit(lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), a, constraints=twice).x)
    np.testing.assert_allclose(near(a), [0.55, 0.45])
    steep = jit(lambda b: optimize.linprog([1.0, 1.0], [[-1.0, -1.0]], -b).fun)
    assert steep(np.ones(1)) == 1.0
    for f, x, words in ((near, a, "are linearly dependent"), (steep, np.ones(1), "are as good")):
        for derivative in (jacrev(f), jacfwd(f)):
            with pytest.raises(ValueError, match=words):
                derivative(x)


def test_constraints_that_alone_are_traced() -> None:
    made = [
        lambda a: optimize.NonlinearConstraint(lambda x: x[0] + a * x[1], 1.0, np.inf),
        lambda a: optimize.NonlinearConstraint(lambda x: x[0] + 2 * x[1], a - 1, np.inf),
        lambda a: {"type": "ineq", "fun": lambda x: x[0] + a * x[1] - 1},
    ]
    for make in made:

        def f(a: Any, make: Any = make) -> Any:
            return optimize.minimize(lambda x: x @ x, np.ones(2), constraints=make(a)).x

        np.testing.assert_allclose(jit(f)(2.0), [0.2, 0.4], rtol=1e-9)
        np.testing.assert_allclose(f(2.0), [0.2, 0.4], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:Equality and inequality")
def test_limits_that_are_equal_for_some_elements() -> None:
    both = optimize.LinearConstraint(np.eye(2), [0.4, -1.0], [0.4, 0.2])
    f = jit(lambda a: optimize.minimize(
        lambda x: np.sum((x - a) ** 2), np.zeros(2), constraints=both).x)  # fmt: skip
    np.testing.assert_allclose(f(3.0), [0.4, 0.2], rtol=1e-9)
    np.testing.assert_allclose(f(-0.5), [0.4, -0.5], rtol=1e-9)


def test_constraints_that_exclude_each_other() -> None:
    apart = [{"type": "eq", "fun": lambda x, k=k: x[0] - k} for k in (1, 2)]
    found = jit(lambda a: optimize.minimize(
        lambda x: (x[0] - a) ** 2, np.ones(1), constraints=apart)["x"])(1.0)  # fmt: skip
    assert np.isnan(found)
    x, success = jit(lambda b: (lambda made: (made.x, made.success))(
        optimize.linprog([1.0], [[1.0]], b)))(-np.ones(1))  # fmt: skip
    assert np.isnan(x)
    assert not success


def test_brackets_close_where_steps_come_from_one_side() -> None:
    names = ("brentq", "bisect", "toms748")
    for a, c in ((0.0, 1.2), (0.1, 1.2), (0.5, 2.0)):
        want = c ** (1 / 3)
        f = jit(lambda c, a=a: [getattr(optimize, n)(lambda x: x**3 - c, a, 3.0) for n in names])
        np.testing.assert_allclose(f(c), want, rtol=1e-11)


@pytest.mark.slow
def test_a_matrix_without_a_real_root_gives_nan() -> None:
    a = np.array([[1.0, 2.0, 0.5], [2.0, 0.3, 1.0], [0.5, 1.0, -1.0]])
    assert np.iscomplexobj(linalg.sqrtm(a))

    def f(a: Any) -> Any:
        return linalg.sqrtm(a), grad(lambda a: linalg.sqrtm(a)[0, 0])(a)

    roots, gradients = vmap(f)(np.stack([a, np.eye(3)]))
    assert np.isnan(roots[0]).all()
    assert np.isnan(gradients[0]).all()
    assert np.array_equal(roots[1], np.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jit(linalg.sqrtm)(np.diag([2.0, -1.0]))


def test_a_minimum_is_reached_downhill() -> None:
    f = jit(lambda a: optimize.minimize(lambda x: np.sum((x**2 - a) ** 2), np.ones(1)).x[0])
    assert abs(f(4.0) - 2.0) < 1e-9


def test_coincident_points_have_derivative_zero() -> None:
    x = np.arange(6.0).reshape(3, 2)
    for metric in ("euclidean", "minkowski", "cityblock", "chebyshev"):
        gradient = grad(lambda a, m=metric: np.sum(np.diag(distance.cdist(a, x, m))))(x)
        assert np.array_equal(gradient, np.zeros((3, 2)))


def test_batches_of_loops() -> None:
    roots = vmap(lambda a: optimize.brentq(lambda x: x**3 - a, 0.0, 3.0))(np.array([1.0, 8.0]))
    np.testing.assert_allclose(roots, [1.0, 2.0], rtol=1e-12)
    integrals = vmap(lambda c: integrate.quad(lambda x: c * x, 0.0, 1.0)[0])(np.array([1.0, 2.0]))
    np.testing.assert_allclose(integrals, [0.5, 1.0], rtol=1e-12)
    stack = np.stack([np.eye(2), 5 * np.ones((2, 2))])
    np.testing.assert_allclose(vmap(linalg.expm)(stack), linalg.expm(stack), rtol=1e-12)


# -- arguments ----------------------------------------------------------------------------

WRONG_AXES = {
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0, axes=(1,)),
    "uniform_filter1d": lambda x: ndimage.uniform_filter1d(x, 3, axis=1),
    "sobel": lambda x: ndimage.sobel(x, axis=-2),
    "fftconvolve": lambda x: signal.fftconvolve(x, x, axes=1),
    "filtfilt": lambda x: signal.filtfilt([1.0], [1.0, 0.1], x, axis=1, padlen=2),
    "CubicSpline": lambda x: interpolate.CubicSpline(np.arange(9.0), x, axis=1)(0.5),
    "interp1d": lambda x: interpolate.interp1d(np.arange(9.0), x, axis=1)(0.5),
    "chisquare": lambda x: stats.chisquare(x, axis=1).statistic,
    "ttest_1samp": lambda x: stats.ttest_1samp(x, 0.0, axis=1).statistic,
}


@pytest.mark.parametrize("name", WRONG_AXES)
def test_axes_that_the_array_does_not_have(name: str) -> None:
    with pytest.raises((ShapeError, TypeMismatch), match=r"axis (1|-2) is out of bounds"):
        trace(WRONG_AXES[name])(np.ones(9))


FILTERS = {
    "correlate": lambda x: ndimage.correlate(x, np.ones((3, 2))),
    "gaussian": lambda x: ndimage.gaussian_filter(x, 1.0),
    "sobel": lambda x: ndimage.sobel(x, axis=0),
    "largest": lambda x: ndimage.maximum_filter(x, 3),
    "eroded": lambda x: ndimage.binary_erosion(x > 0, np.ones((3, 2))),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_an_empty_image_has_an_empty_result(name: str, shape: tuple[int, int]) -> None:
    x, f = np.zeros(shape), FILTERS[name]
    got = interpreted(f, x)
    assert (got.shape, got.dtype) == (shape, f(x).dtype)
    assert grad(lambda x: np.sum(1.0 * f(x)))(x).shape == shape


def test_keywords_that_only_scipy_has_may_have_their_defaults() -> None:
    x = np.array([1.0, 4.0, 2.0])
    got = interpreted(lambda x: stats.tvar(x, nan_policy="propagate", keepdims=False), x)
    np.testing.assert_allclose(got, np.var(x, ddof=1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        trace(lambda x: stats.tvar(x, nonsense=1))(x)


def test_selections_keep_the_type_of_the_image() -> None:
    image = np.array([[3, 1, 2], [7, 5, 9]])
    for f in (ndimage.maximum_filter, ndimage.median_filter, ndimage.grey_erosion):
        for x in (image, image.astype(np.uint8), image > 2, image.astype(np.float32)):
            got, want = interpreted(lambda x, f=f: f(x, size=2), x), f(x, size=2)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_not_a_number_propagates() -> None:
    x = np.array([[0.1, np.nan, 0.4], [0.3, 0.2, 0.8], [0.2, 0.1, 5.0]])
    for f in (
        lambda x: stats.tmean(x, (0.0, 1.0), axis=0),
        lambda x: stats.tvar(x, (0.0, 1.0)),
        lambda x: stats.rankdata(x),
        lambda x: stats.rankdata(x[2]),
    ):
        np.testing.assert_allclose(interpreted(f, x), by_scipy(f, x))


def test_weights_of_means_are_those_of_the_last_axes() -> None:
    x, w = np.arange(1.0, 13.0).reshape(3, 4), np.array([1.0, 2.0, 3.0, 0.5])
    for mean in (stats.gmean, stats.hmean, lambda x, **k: stats.pmean(x, 2.5, **k)):
        got = interpreted(lambda x, w, m=mean: m(x, weights=w), x, w)
        np.testing.assert_allclose(got, mean(x, weights=w))
        with pytest.raises(ValueError, match="broadcast"):
            trace(lambda x, w, m=mean: m(x, weights=w))(x, w[:3])


def test_sparse_arguments_and_results_show_the_entries() -> None:
    with pytest.raises(NotArrayError, match=r"argument 0 is a sparse matrix[^$]*A\.indptr"):
        jit(lambda a: a @ np.ones(2))(PLACES)
    with pytest.raises(NotArrayError, match=r"contains a sparse matrix[^$]*return A\.data"):
        jit(lambda x: PLACES * x)(1.0)


def test_triangular_solutions_take_triangles() -> None:
    a, b = sparse.csr_array([[2.0, 1.0], [0.0, 4.0]]), np.ones(2)
    solve = sparse.linalg.spsolve_triangular
    with pytest.raises(np.linalg.LinAlgError, match=r"scipy\.sparse\.tril\(A\), b, lower=True"):
        jit(lambda b: solve(a, b))(b)
    with pytest.raises(np.linalg.LinAlgError, match=r"scipy\.sparse\.triu\(A\), b, lower=False"):
        jit(lambda k: solve(k * a.T.tocsr(), b, lower=False))(1.0)
    np.testing.assert_allclose(jit(lambda b: solve(a, b, lower=False))(b), solve(a, b, False))
    explicit = sparse.csr_array(([2.0, 0.0, 4.0], ([0, 0, 1], [0, 1, 1])))
    np.testing.assert_allclose(jit(lambda b: solve(explicit, b))(b), [0.5, 0.25])
