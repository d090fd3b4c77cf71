"""Functions of scipy.special that do not dispatch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.special

from autojit import grad, jit
from autojit.scipy import linalg, special
from autojit.testing import check_grads

X = np.array([[0.5, -1.0, 3.0], [700.0, 701.0, -np.inf]])


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_values(name: str, axis: Any) -> None:
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    wanted = theirs(X, axis=axis)
    np.testing.assert_allclose(ours(X, axis=axis), wanted)
    np.testing.assert_allclose(jit(lambda x: ours(x, axis=axis))(X), wanted)


def test_weights_and_kept_axes() -> None:
    b = np.array([1.0, 2.0, 0.5])
    made = jit(lambda x: special.logsumexp(x, axis=1, b=b, keepdims=True))(X)
    np.testing.assert_allclose(made, scipy.special.logsumexp(X, axis=1, b=b, keepdims=True))


def test_derivatives() -> None:
    x = X[:1]
    np.testing.assert_allclose(grad(special.logsumexp)(x), scipy.special.softmax(x))
    check_grads(lambda x: special.log_softmax(x, axis=1) ** 2, (x,), order=2)
    np.testing.assert_array_equal(grad(special.logsumexp)(np.array([-np.inf, 0.0])), [0, 1])


def test_float32_stays() -> None:
    assert jit(special.softmax)(X[:1].astype("f4")).dtype == np.float32


# -- arrays that were written in place -----------------------------------------------

MATRIX = np.array([[4.0, 1.0], [1.0, 3.0]])


def written(x: Any) -> Any:
    """A copy that the traced function has made and written into."""
    y = np.zeros(np.shape(x))
    y[...] = x
    return y


#: Every function of autojit.scipy, by its name, of an array.
EVERY: dict[str, Callable[[Any], Any]] = {
    "special.logsumexp": special.logsumexp,
    "special.softmax": lambda a: special.softmax(a, axis=1),
    "special.log_softmax": lambda a: special.log_softmax(x=a, axis=0),
    "special.softplus": special.softplus,
    "special.comb": lambda a: special.comb(a, 2),
    "special.perm": lambda a: special.perm(a, k=2),
    "special.factorial": special.factorial,
    "special.zeta": lambda a: special.zeta(a),
    "special.polygamma": lambda a: special.polygamma(1, a),
    "special.multigammaln": lambda a: special.multigammaln(a, 2),
    "special.lambertw": special.lambertw,
    "special.diric": lambda a: special.diric(a, 3),
    "special.assoc_laguerre": lambda a: special.assoc_laguerre(a, 2, 0.5),
    "special.legendre_p": lambda a: special.legendre_p(3, a),
    "special.legendre_p_all": lambda a: special.legendre_p_all(3, a),
    "special.lmbda": lambda a: special.lmbda(1.5, a[0][0]),
    "special.riccati_jn": lambda a: special.riccati_jn(2, a[0][0]),
    "special.riccati_yn": lambda a: special.riccati_yn(2, a[0][0]),
    "special.roots_gegenbauer": lambda a: special.roots_gegenbauer(3, a[0][0]),
    "special.roots_genlaguerre": lambda a: special.roots_genlaguerre(3, a[0][0]),
    "special.roots_jacobi": lambda a: special.roots_jacobi(3, a[0][0], a[1][1]),
    "special.roots_sh_jacobi": lambda a: special.roots_sh_jacobi(3, a[0][0], a[0][1]),
    "special.sph_harm_y": lambda a: special.sph_harm_y(3, -2, a, a.T if hasattr(a, "T") else a),
    "special.sph_harm_y_all": lambda a: special.sph_harm_y_all(2, 1, a, a),
    **{
        f"special.{name}": partial(getattr(special, name), 3, 1)
        for name in (
            "assoc_legendre_p",
            "assoc_legendre_p_all",
            "sph_legendre_p",
            "sph_legendre_p_all",
        )
    },
    **{
        f"special.{name}": partial(getattr(special, name), 2)
        for name in (
            "jvp",
            "yvp",
            "ivp",
            "kvp",
            "h1vp",
            "h2vp",
            "spherical_jn",
            "spherical_yn",
            "spherical_in",
            "spherical_kn",
        )
    },
    "linalg.cholesky": linalg.cholesky,
    "linalg.cho_factor": lambda a: linalg.cho_factor(a)[0],
    "linalg.cho_solve": lambda a: linalg.cho_solve(c_and_lower=(a, True), b=a[0]),
    "linalg.lu_factor": linalg.lu_factor,
    "linalg.lu_solve": lambda a: linalg.lu_solve((a, np.array([0, 1], np.int32)), a),
    "linalg.solve_triangular": lambda a: linalg.solve_triangular(a, a, lower=True),
    "linalg.solve": lambda a: linalg.solve(a, b=a),
    "linalg.inv": linalg.inv,
    "linalg.det": linalg.det,
}


def test_every_function_is_here() -> None:
    """`EVERY` lists all functions of special and all solvers of linalg."""
    solving = sys.modules["autojit.scipy.linalg.solving"].__name__
    public = [f"linalg.{n}" for n in linalg.__all__ if getattr(linalg, n).__module__ == solving]
    assert set(EVERY) == {*public, *(f"special.{name}" for name in special.__all__)}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", EVERY)
def test_of_an_array_that_was_written(name: str) -> None:
    function = EVERY[name]

    def of_rows(x: Any) -> Any:
        return function([list(x[0]), [x[1, 0], x[1, 1]]])

    want = jit(function)(MATRIX)
    found = [jit(lambda x: function(written(x)))(MATRIX)]
    if "_solve" not in name and name != "linalg.solve":  # which index their argument here
        found.append(jit(of_rows)(MATRIX))
    for got in found:
        for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_array_equal(g, w)
