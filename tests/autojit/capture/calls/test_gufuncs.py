"""Functions of Numba's `@guvectorize` in traced functions, beside Numba's results."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from autojit import grad, jit, jvp, vmap
from autojit.errors import ArgumentChangedError, UncoveredFunctionError


@numba.guvectorize(["(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)")
def product(a, x, out):
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        out[i] = total


_TYPES = ["(float32[:], float32, float32[:], float32[:])", "(f8[:], f8, f8[:], f8[:])"]


@numba.guvectorize(_TYPES, "(n),()->(),(n)")
def total_and_rest(x, limit, total, rest):
    total[0] = 0
    for i in range(len(x)):
        total[0] += x[i]
    for i in range(len(x)):
        rest[i] = x[i] - total[0] if x[i] > limit else 2 * x[i]


@numba.guvectorize(["(float64[:], float64[:])"], "(n)->(n)", writable_args=(0,))
def doubled_in_place(x, y):
    for i in range(len(x)):
        x[i] = 2 * x[i]
        y[i] = x[i]


@numba.guvectorize("(n)->(n)")
def without_types(x, y):
    for i in range(len(x)):
        y[i] = x[i]


ROWS = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]])


def squares(a, x):
    return np.sum(product(a, x) ** 2)


def of_stacked(a, x):
    return np.sum(product(np.stack([a, 2 * a]), x) ** 2)


def of_two_results(a, x):
    total, rest = total_and_rest(a, 1.5)
    return np.sum(total * x[0]) + np.sum(rest**2)


@pytest.mark.parametrize("f", [squares, of_stacked, of_two_results])
def test_as_numba(f):
    x = np.array([1.0, -2.0])
    np.testing.assert_allclose(jit(f)(ROWS, x), f(ROWS, x), rtol=1e-14)
    slopes = jit(grad(f))(ROWS, x)
    for place in np.ndindex(ROWS.shape):
        step = np.zeros(ROWS.shape)
        step[place] = 1e-6
        wanted = (f(ROWS + step, x) - f(ROWS - step, x)) / 2e-6
        assert slopes[place] == pytest.approx(wanted, rel=1e-6)


def test_the_first_signature_that_takes_the_dtypes():
    row = np.array([1, 2, 3], np.float32)
    found, wanted = (
        jit(lambda x: total_and_rest(x, np.float32(1.5)))(row),
        total_and_rest(row, np.float32(1.5)),
    )
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError, match="no signature of the function takes these dtypes"):
        jit(lambda x: product(x, x[0]))(ROWS * 1j)


def test_what_is_refused():
    with pytest.raises(ArgumentChangedError, match="is changed in place"):
        jit(lambda x: doubled_in_place(x * 1))(ROWS)
    with pytest.raises(UncoveredFunctionError, match="changes an argument that is not a result"):
        jit(lambda x: doubled_in_place(x * 1))(ROWS[0])
    with pytest.raises(UncoveredFunctionError, match=r'@guvectorize\(\["\(float64'):
        jit(lambda x: without_types(x, np.zeros(2)))(ROWS)


def test_it_is_transformed_by_itself_too():
    @numba.vectorize(["float64(float64)"])
    def squared(x):
        return x**2

    @numba.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def squares(x, out):
        for i in range(len(x)):
            out[i] = x[i] ** 2

    x = np.array([1.0, 2.0, 3.0])
    for f in (squared, squares):
        np.testing.assert_array_equal(jit(f)(x), x**2)
        np.testing.assert_array_equal(jvp(f, (x,), (np.ones(3),))[1], 2 * x)
        np.testing.assert_array_equal(vmap(f)(x[:, None]), x[:, None] ** 2)
    assert grad(squared)(2.0) == 4.0


@pytest.mark.parametrize(("signature", "f", "args", "words"), [
    ("(n),(n)->()", lambda a, b: a[0] * b[0], (ROWS[0], np.ones(7)), "core dimension 'n'"),
    ("(n),(n)->()", lambda a, b: a[0] * b[0], (ROWS, np.ones(1)), "core dimension 'n'"),
    ("(m,n)->()", np.sum, (ROWS[0],), "does not have the axes"),
    ("(n)->(n)", lambda a: a[:1], (ROWS,), "core dimension 'n'"),
    ("(n)->()", lambda a: a, (ROWS,), "more axes than"),
    ("(n)->()", lambda a: (a[0], a[1]), (ROWS,), "returns 2 results"),
])  # fmt: skip
def test_axes_that_contradict_a_signature_raise_as_in_numpy(signature, f, args, words):
    g = np.vectorize(f, signature=signature)
    with pytest.raises(ValueError, match=r"core dimension|sequence|outputs"):
        g(*args)
    with pytest.raises(ValueError, match=words):
        jit(lambda *x: g(*x))(*args)


def test_axes_of_a_gufunc_agree():
    with pytest.raises(ValueError, match=r"inconsistent size for core dimension .n.: 2 vs 3"):
        jit(lambda x: product(x, np.ones(2)))(np.ones((2, 3)))
    np.testing.assert_array_equal(
        jit(lambda x: np.vectorize(lambda a: a * 2, signature="(n)->(n)")(x))(np.ones((2, 0))),
        np.ones((2, 0)),
    )
