"""Linear algebra at its edges: errors, singular and empty matrices, NaN, what is not covered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import autojit
from autojit import grad, jit, vmap
from autojit.errors import ShapeError, UncoveredFunctionError
from autojit.ir.passes import optimize
from autojit.scipy import linalg
from autojit.testing import check_grads

LinAlgError = np.linalg.LinAlgError
RNG = np.random.default_rng(0)


@pytest.fixture(params=["compiled", "interpreted"])
def _way(request: pytest.FixtureRequest) -> Any:
    if request.param == "compiled":
        yield
    else:
        with autojit.disable_jit():
            yield


def spd(n: int, *outer: int) -> Any:
    a = RNG.normal(size=(*outer, n, n))
    return a @ np.swapaxes(a, -1, -2) + np.eye(n)


def singular(n: int) -> Any:
    """Return an exactly singular matrix: elimination meets a zero despite rounding."""
    a = np.triu(np.ones((n, n)))
    a[-1, -1] = 0
    return a


# -- errors -------------------------------------------------------------------


@pytest.mark.sampled(10)
@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("n", "dtype"), [(1, "f8"), (4, "f4"), (8, "f8"), (9, "f4"), (20, "f8")])
def test_singular_matrices(n: int, dtype: str) -> None:
    a, b = singular(n).astype(dtype), np.ones((n, 2), dtype)
    for f in (lambda a: np.linalg.solve(a, b), lambda a: np.linalg.solve(a.T, b),
              linalg.inv, lambda a: linalg.solve(a, b, transposed=True)):  # fmt: skip
        with pytest.raises(LinAlgError, match=r"(?m)^Singular matrix$"):
            jit(f)(a)
        with pytest.raises(LinAlgError, match=r"(?m)^Singular matrix$"):
            grad(lambda a, f=f: np.sum(f(a)))(a)
    sign, logarithm = jit(np.linalg.slogdet)(a)
    assert (sign, logarithm) == (0, -np.inf)
    assert jit(np.linalg.det)(a) == 0
    assert jit(linalg.det)(a) == 0


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("n", [1, 8, 9])
def test_matrices_that_are_not_positive_definite(n: int) -> None:
    for wrong in (0.0, -1.0):
        a = spd(n)
        a[n // 2, n // 2] = wrong
        for f in (np.linalg.cholesky, linalg.cholesky, lambda a: linalg.cho_factor(a)[0],
                  lambda a: linalg.solve(a, np.ones(n), assume_a="pos")):  # fmt: skip
            with pytest.raises(LinAlgError, match=r"(?m)^Matrix is not positive definite$"):
                jit(f)(a)
            with pytest.raises(LinAlgError, match=r"(?m)^Matrix is not positive definite$"):
                grad(lambda a, f=f: np.sum(f(a)))(a)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("n", [2, 9])
def test_one_bad_matrix_of_a_stack(n: int) -> None:
    good = spd(n, 3)
    bad = good.copy()
    bad[1] = singular(n)
    for f in (np.linalg.inv, vmap(np.linalg.inv)):
        np.testing.assert_allclose(jit(f)(good), np.linalg.inv(good))
        with pytest.raises(LinAlgError, match="Singular matrix"):
            jit(f)(bad)
    bad[1] = -good[1]
    with pytest.raises(LinAlgError, match="not positive definite"):
        jit(np.linalg.cholesky)(bad)
    # The call after a failed one starts anew.
    np.testing.assert_allclose(jit(np.linalg.cholesky)(good), np.linalg.cholesky(good))


@pytest.mark.usefixtures("_way")
def test_iterations_that_do_not_end() -> None:
    a = np.full((3, 3), np.nan)
    for f in (np.linalg.svd, np.linalg.pinv, lambda a: np.linalg.norm(a, 2)):
        with pytest.raises(LinAlgError, match="SVD did not converge"):
            f(a)
        with pytest.raises(LinAlgError, match="SVD did not converge"):
            jit(f)(a)


@pytest.mark.parametrize("n", [3, 9])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 0), (2, 2), (0, 2)])
def test_nan_goes_through(n: int, row: int, column: int) -> None:
    a, b = spd(n), np.ones((n, 1))
    a[row, column] = np.nan
    for f in (np.linalg.det, np.linalg.inv, lambda a: np.linalg.solve(a, b)):
        with np.errstate(all="ignore"):
            assert np.isnan(f(a)).any()
        assert np.isnan(jit(f)(a)).any()
    try:  # it depends on the LAPACK whether NaN is an error
        assert np.isnan(jit(np.linalg.cholesky)(a)).any() == (column <= row)
    except LinAlgError as error:
        assert "not positive definite" in str(error)  # noqa: PT017


def test_pivots_out_of_bounds() -> None:
    packed, pivots, b = np.eye(3), np.array([0, 3, 2], np.int32), np.ones(3)
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda a: linalg.lu_solve((a, pivots), b))(packed)


# -- the edges of shapes and dtypes ---------------------------------------------


@pytest.mark.usefixtures("_way")
def test_empty_matrices() -> None:
    nothing, none = np.zeros((0, 0)), np.zeros((0, 3, 3))
    for f in (np.linalg.cholesky, np.linalg.inv, np.linalg.det, np.linalg.slogdet,
              np.linalg.eigh, np.linalg.eigvalsh, np.linalg.qr, np.linalg.svd, np.linalg.pinv,
              linalg.cholesky):  # fmt: skip
        for a in (nothing, none):
            if f is linalg.cholesky and a is none:
                continue
            got, want = jit(f)(a), f(a)
            for g, w in zip(_listed(got), _listed(want), strict=True):
                assert (np.shape(g), np.asarray(g).dtype) == (np.shape(w), np.asarray(w).dtype)
                np.testing.assert_array_equal(g, w)
    for shape in ((0, 3), (3, 0)):
        np.testing.assert_array_equal(jit(np.linalg.pinv)(np.zeros(shape)), np.zeros(shape[::-1]))
    assert jit(np.linalg.solve)(np.eye(3), np.zeros((3, 0))).shape == (3, 0)
    assert jit(np.linalg.solve)(none, np.zeros((0, 3, 2))).shape == (0, 3, 2)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def test_singular_matrix_with_no_right_side() -> None:
    for n in (3, 9):
        with pytest.raises(LinAlgError, match="Singular matrix"):
            jit(np.linalg.solve)(singular(n), np.zeros((n, 0)))


def test_dtypes_are_numpys() -> None:
    whole = np.array([[2, 1], [1, 3]])
    for f in (np.linalg.inv, np.linalg.cholesky, np.linalg.det, np.linalg.pinv):
        for dtype in (np.int64, np.int8, np.bool_, np.float32, np.float64):
            a = whole.astype(dtype)
            if dtype is np.bool_:
                a = np.eye(2, dtype=bool)
            got, want = jit(f)(a), f(a)
            assert np.asarray(got).dtype == np.asarray(want).dtype
            np.testing.assert_allclose(got, want, rtol=1e-6)
    mixed = np.linalg.solve(whole.astype(np.float32), whole)
    assert jit(np.linalg.solve)(whole.astype(np.float32), whole).dtype == mixed.dtype


def test_upper_and_lower_triangles() -> None:
    a = spd(4) + np.triu(np.full((4, 4), 0.1), 1)  # the triangles differ
    for n, f in enumerate((
        np.linalg.cholesky, lambda a: np.linalg.cholesky(a, upper=True), linalg.cholesky,
        lambda a: linalg.cholesky(a, lower=True), lambda a: np.linalg.eigvalsh(a, "U"),
        np.linalg.eigvalsh, lambda a: linalg.solve(a, np.ones(4), lower=True, assume_a="pos"),
        lambda a: linalg.solve(a, np.ones(4), assume_a="sym"),
        lambda a: linalg.solve(a, np.ones(4), lower=True, assume_a="sym"),
        lambda a: linalg.solve(a, np.ones(4), assume_a="upper triangular"),
        lambda a: linalg.solve(a, np.ones(4), transposed=True, assume_a="lower triangular"),
    )):  # fmt: skip
        np.testing.assert_allclose(jit(f)(a), f(a), rtol=1e-12, err_msg=str(n))


def test_gradient_by_a_symmetric_matrix_is_symmetric() -> None:
    a = spd(3)
    for f in (np.linalg.cholesky, np.linalg.eigvalsh, lambda a: np.linalg.eigh(a)[1] ** 3):
        g = grad(lambda a, f=f: np.sum(np.arange(3.0) * f(a)))(a)
        np.testing.assert_array_equal(g, g.T)


def test_derivative_of_the_triangle_that_is_not_read_is_zero() -> None:
    a, b = spd(3), np.ones(3)
    g = grad(lambda a: np.sum(linalg.solve_triangular(a, b, lower=True)))(a)
    np.testing.assert_array_equal(np.triu(g, 1), 0)
    g = grad(lambda a: np.sum(linalg.solve_triangular(a, b, unit_diagonal=True)))(a)
    np.testing.assert_array_equal(np.tril(g), 0)
    g = grad(lambda c: np.sum(linalg.cho_solve((c, False), b)))(a)
    np.testing.assert_array_equal(np.tril(g, -1), 0)


def test_factors_from_outside() -> None:
    """Factors that SciPy made, with what its older releases leave in the other triangle."""
    a, b = spd(4), np.ones((4, 2))
    c, lower = scipy.linalg.cho_factor(a)
    c = np.triu(c) + np.tril(a, -1)
    want = scipy.linalg.cho_solve((c, lower), b)
    np.testing.assert_allclose(jit(lambda c, b: linalg.cho_solve((c, lower), b))(c, b), want)
    packed, pivots = scipy.linalg.lu_factor(a[::-1])
    for trans in (0, 1):
        want = scipy.linalg.lu_solve((packed, pivots), b, trans)
        got = jit(lambda p, i, b, t=trans: linalg.lu_solve((p, i), b, t))(packed, pivots, b)
        np.testing.assert_allclose(got, want)
    ours = jit(linalg.lu_factor)(a[::-1])
    assert ours[1].dtype == pivots.dtype
    np.testing.assert_array_equal(ours[1], pivots)
    np.testing.assert_allclose(ours[0], packed, rtol=1e-12, atol=1e-13)


def test_plain_arrays_are_scipys() -> None:
    a, b = spd(3), np.ones(3)
    assert not linalg.cho_factor(a)[1]
    for name, arguments in {
        "cholesky": (a,), "solve_triangular": (a, b), "solve": (a, b), "inv": (a,), "det": (a,),
        "lu_factor": (a,), "cho_factor": (a,),
    }.items():  # fmt: skip
        got, want = getattr(linalg, name)(*arguments), getattr(scipy.linalg, name)(*arguments)
        for g, w in zip(_listed(got), _listed(want), strict=True):
            np.testing.assert_array_equal(g, w)
    with pytest.raises(ValueError, match="infs or NaNs"):
        linalg.inv(np.full((2, 2), np.nan))


def test_lstsq_of_low_rank() -> None:
    a, b = np.outer(np.arange(1.0, 5.0), [1.0, 2.0]), np.arange(4.0)
    x, residuals, rank, values = jit(np.linalg.lstsq)(a, b)
    want = np.linalg.lstsq(a, b)
    np.testing.assert_allclose(x, want[0])
    assert rank == want[2] == 1
    np.testing.assert_allclose(values, want[3], atol=1e-14)
    np.testing.assert_allclose(residuals, [np.sum((b - a @ x) ** 2)])


def test_pinv_of_low_rank_and_of_equal_singular_values() -> None:
    u, v = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))
    with autojit.disable_jit():
        check_grads(lambda u, v: np.linalg.pinv(u @ v, rtol=None), (u, v), order=2)
        check_grads(np.linalg.pinv, (2 * np.eye(3),), order=2)


def test_pinv_with_a_tolerance_for_each_matrix() -> None:
    a = RNG.normal(size=(2, 3, 2))
    a[:, :, 1] = a[:, :, 0] + 1e-3 * a[:, :, 1]
    tolerances = np.array([1e-12, 0.1])
    with autojit.disable_jit():
        found = jit(lambda a: np.linalg.pinv(a, rtol=tolerances))(a)
    np.testing.assert_allclose(found, np.linalg.pinv(a, rtol=tolerances), rtol=1e-9)
    np.testing.assert_allclose(found[1], np.linalg.pinv(a[1], rtol=0.1), rtol=1e-9)


def test_equal_eigenvalues() -> None:
    def trace(a: Any) -> Any:
        return np.sum(np.linalg.eigvalsh(a) ** 2)

    np.testing.assert_allclose(grad(trace)(np.eye(3)), 2 * np.eye(3))
    assert np.isnan(grad(lambda a: np.sum(np.linalg.eigh(a)[1] ** 3))(np.eye(3))).any()


def test_derivative_of_det_at_a_singular_matrix_is_not_a_number() -> None:
    assert not np.isfinite(grad(np.linalg.det)(singular(3))).any()


# -- what is not covered --------------------------------------------------------

REFUSED: dict[str, tuple[type[Exception], str, Callable[[Any], Any]]] = {
    "not square": (ShapeError, r"np.linalg.inv takes square matrices .* got shape \(2, 3\)",
                   lambda a: np.linalg.inv(a[:2])),
    "a vector": (ShapeError, r"np.linalg.svd takes matrices .* got shape \(3,\)",
                 lambda a: np.linalg.svd(a[0])),
    "rows": (ShapeError, "there must be 3 rows on both sides",
             lambda a: np.linalg.solve(a, np.ones((2, 3)))),
    "outer axes": (ShapeError, r"the outer axes \(2,\) and \(3,\) do not broadcast",
                   lambda a: np.linalg.solve(np.stack([a, a]), np.stack([a, a, a]))),
    "raw": (UncoveredFunctionError, "mode='raw'", lambda a: np.linalg.qr(a, mode="raw")),
    "lstsq": (ShapeError, "as many right-hand sides as it has rows",
              lambda a: np.linalg.lstsq(a, np.ones(2))),
    "tolerance": (UncoveredFunctionError, "tolerance", lambda a: np.linalg.pinv(a, a[0, 0])),
    "assume_a": (UncoveredFunctionError, "assume_a='banded'",
                 lambda a: linalg.solve(a, a, assume_a="banded")),
    "trans": (ValueError, "trans is one of", lambda a: linalg.solve_triangular(a, a, trans="X")),
    "UPLO": (ValueError, "'L' or 'U'", lambda a: np.linalg.eigh(a, "X")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    error, words, f = REFUSED[name]
    with pytest.raises(error, match=words):
        jit(f)(spd(3))


# -- factorisations are made once -----------------------------------------------


def count(f: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """How often each linear algebra op stands in the optimised program."""
    names = [op.kind.name for op in optimize(autojit.trace(f)(*arguments)).ops]
    wanted = ("lu", "cholesky", "solve", "triangular_solve", "eigh", "svd")
    return {name: names.count(name) for name in wanted if name in names}


def test_no_factorisation_is_repeated() -> None:
    a, b = spd(4), np.ones(4)

    def through_solve(a: Any, b: Any) -> Any:
        return np.sum(np.sin(np.linalg.solve(a, b)))

    def density(a: Any, b: Any) -> Any:
        return b @ np.linalg.solve(a, b) + np.linalg.slogdet(a)[1]

    gradient = autojit.value_and_grad(through_solve, (0, 1))
    assert count(gradient, a, b) == {"lu": 1, "solve": 2}
    assert count(lambda a, b: autojit.jvp(through_solve, (a, b), (a, b)), a, b) == {
        "lu": 1, "solve": 2,
    }  # fmt: skip
    assert count(autojit.hessian(through_solve, (0, 1)), a, b)["lu"] == 1
    assert count(autojit.jacrev(np.linalg.solve, 1), a, b) == {"lu": 1, "solve": 1}
    assert count(autojit.value_and_grad(density, (0, 1)), a, b)["lu"] == 1
    assert count(autojit.grad(lambda a: np.sum(np.linalg.inv(a))), a) == {"lu": 1, "solve": 2}
    by_cholesky = autojit.value_and_grad(
        lambda a: np.sum(linalg.cho_solve(linalg.cho_factor(a), np.ones(4)))
    )
    assert count(by_cholesky, a)["cholesky"] == 1
    assert count(autojit.hessian(lambda a: np.sum(np.linalg.eigh(a)[0] ** 3)), a)["eigh"] == 1
    assert count(autojit.hessian(lambda a: np.sum(np.linalg.svd(a)[0] ** 3)), a)["svd"] == 1


def test_one_matrix_for_a_batch_is_factorised_once() -> None:
    a, b = spd(4), np.ones((5, 4))
    f = vmap(np.linalg.solve, in_axes=(None, 0))
    program = optimize(autojit.trace(f)(a, b))
    (solve,) = [op for op in program.ops if op.kind.name == "solve"]
    assert solve.result.shape == (4, 5)
    np.testing.assert_allclose(jit(f)(a, b), np.linalg.solve(a, b.T).T)


# -- the derivatives of the Cholesky decomposition, block by block ------------------


def _halved(x: np.ndarray) -> np.ndarray:
    """The lower triangle and half of the diagonal."""
    return (np.tril(x) + np.tril(x, -1)) / 2


@pytest.mark.sampled(10)
@pytest.mark.parametrize("n", [1, 2, 8, 9, 47, 48, 49, 96, 97, 150])
def test_derivatives_of_cholesky_at_the_ends_of_blocks(n: int) -> None:
    rng = np.random.default_rng(n)
    a, weights, direction = spd(n), rng.standard_normal((n, n)), rng.standard_normal((n, n))

    def f(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a) * weights)

    factor = np.linalg.cholesky(a)
    inverse = np.linalg.inv(factor)
    inner = inverse.T @ _halved(factor.T @ np.tril(weights)) @ inverse
    symmetric = (direction + direction.T) / 2
    tangent = factor @ _halved(inverse @ symmetric @ inverse.T)
    near = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(jit(grad(f))(a), (inner + inner.T) / 2, **near)
    pushed = jit(lambda a, d: autojit.jvp(np.linalg.cholesky, (a,), (d,))[1])(a, direction)
    np.testing.assert_allclose(pushed, tangent, **near)
    with autojit.disable_jit():
        np.testing.assert_allclose(grad(f)(a), jit(grad(f))(a), **near)
    # Second derivatives, forward over reverse and reverse over reverse, against differences.
    second = jit(lambda a, d: autojit.jvp(grad(f), (a,), (d,))[1])(a, symmetric)
    by_reverse = jit(grad(lambda a: np.sum(grad(f)(a) * symmetric)))(a)
    h, gradient = 1e-5, jit(grad(f))
    differences = (gradient(a + h * symmetric) - gradient(a - h * symmetric)) / (2 * h)
    np.testing.assert_allclose(second, differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_reverse, second, **near)


def test_derivatives_of_cholesky_of_batches_and_of_float32() -> None:
    batch = np.stack([spd(20) + k * np.eye(20) for k in range(3)])

    def f(a: Any) -> Any:
        return np.sum(np.log(np.linalg.cholesky(a) ** 2 + 1))

    each = np.stack([jit(grad(f))(a) for a in batch])
    np.testing.assert_allclose(jit(vmap(grad(f)))(batch), each, rtol=1e-12)
    np.testing.assert_allclose(jit(grad(f))(batch), each, rtol=1e-12)
    single = jit(grad(f))(batch[0].astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, each[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        jit(grad(f))(-batch[0])


def test_only_the_triangle_of_a_cholesky_factors_cotangent_is_read() -> None:
    """The factor's upper triangle is zero whatever the matrix is."""
    a = spd(12)
    ones = jit(grad(lambda a: np.sum(np.linalg.cholesky(a))))(a)
    lower = jit(grad(lambda a: np.sum(np.tril(np.linalg.cholesky(a)))))(a)
    np.testing.assert_allclose(ones, lower, rtol=1e-12)
