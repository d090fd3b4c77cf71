"""Assignment to items and through views: NumPy's result or a refusal, and exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autojit
from autojit import grad, jit, vmap
from autojit.errors import DtypeError, InPlaceError, ShapeError, UncoveredFunctionError
from autojit.testing import check_grads
from tests.autojit.functions.test_indexing import SHAPE, X, indices
from tests.sampling import share

V = np.array([1.0, -2.0, 3.0])
M = np.arange(12.0).reshape(3, 4)
OUTSIDE = np.zeros(3)


def same(f: Callable[..., Any], *arguments: Any) -> None:
    """Compiled and interpreted, a function gives what NumPy gives, dtypes included."""
    want = f(*[np.copy(a)[()] for a in arguments])
    with autojit.disable_jit():
        interpreted = jit(f)(*arguments)
    for got in (jit(f)(*arguments), interpreted):
        for g, w in zip(leaves(got), leaves(want), strict=True):
            assert (np.asarray(g).dtype, np.shape(g)) == (np.asarray(w).dtype, np.shape(w))
            np.testing.assert_allclose(g, w, rtol=1e-14, atol=1e-14)


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


# -- items --------------------------------------------------------------------


@settings(max_examples=share(200), derandomize=True, deadline=None)
@given(indices(), st.integers(0, 3), st.booleans())
def test_any_mixture_of_indices(index: tuple[Any, ...], keep: int, add: bool) -> None:
    """Values of fewer axes, and of extent 1, broadcast; repeated places keep the last value."""
    shape = X[index].shape
    values = np.arange(1.0, 1.0 + np.prod(shape[-keep:] if keep else ())).reshape(
        shape[-keep:] if keep else ()
    )

    def f(x: Any, v: Any) -> Any:
        y = x * 2.0
        if add:
            np.add.at(y, index, v)
        else:
            y[index] = v
        return y

    with autojit.disable_jit():
        np.testing.assert_array_equal(jit(f)(X, values), f(X, values))
        weights = np.arange(1.0, 1.0 + X.size).reshape(SHAPE)
        got = grad(lambda x, v: np.sum(f(x, v) * weights), (0, 1))(X, values)
        # The derivative by numbers that are all different: which of them arrive where.
        numbers = np.arange(1.0, 1.0 + np.size(values)).reshape(np.shape(values))
        arrived = f(np.zeros(SHAPE), numbers)
        if not add:
            by_value = [weights[arrived == n].sum() for n in np.ravel(numbers)]
            np.testing.assert_allclose(got[1], np.reshape(by_value, np.shape(values)))
            np.testing.assert_allclose(got[0], np.where(arrived == 0, 2 * weights, 0))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("index", [0, (1, 2), np.s_[1:, ::2], [2, 0], M > 5, (M > 5)[:, 0]])
def test_values_and_gradients(index: Any) -> None:
    v = np.full(np.shape(M[index])[1:], 2.5)

    def f(x: Any, v: Any) -> Any:
        y = np.sin(x)
        y[index] = v * y[index]
        y[index] += v
        return y * y

    same(f, M, v)
    check_grads(lambda x, v: np.sum(f(x, v)), (M, v), order=2)


def test_traced_integers_slice_rows() -> None:
    def f(x: Any, i: Any, v: Any) -> Any:
        y = x * 1.0
        row = y[i]  # a view, as with an integer that is known
        row[1:] *= v
        y[i, 0] = v
        y[:, i] -= 1.0
        return y, row

    same(f, M, 2, 3.0)
    same(f, M, np.int64(-1), 3.0)


def test_masks_that_are_not_known() -> None:
    def f(x: Any, limit: Any) -> Any:
        y, z = x * 1.0, x[:, 0] * 1.0
        y[y > limit] = limit
        y[:, y[0] < 1.0] = np.sum(x, axis=1, keepdims=True)
        y[np.abs(z) > 4.0] = x[0]
        z[z > 4.0] = np.array([7.0])
        return y, z

    same(f, M, 6.5)
    check_grads(lambda x: np.sum(f(x, 6.5)[0] ** 2), (M + 0.1,))
    with pytest.raises(UncoveredFunctionError, match="mask"):
        jit(lambda x: (x.reshape(3, 1, 1) * 1.0).__setitem__((0, slice(None), x[:1] > 1), 1.0))(V)


def test_where_nothing_arrives_no_infinite_derivative_does() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[y <= 0] = 1.0
        return np.sum(np.where(y > 0, np.sqrt(y), 0.0))

    np.testing.assert_array_equal(grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])


def test_known_values_and_casts() -> None:
    def f(x: Any, k: Any) -> Any:
        x, k, c = x * 1.0, k * 1, x * 1j
        k[0], k[1:] = x[0] * 1.7, [2.9, 3.9]
        x[1], x[2] = k[0], True
        c[:2] = x[:2]
        return x, k, c

    same(f, V, np.array([4, 5, 6], np.int8))
    with pytest.raises(OverflowError):
        jit(lambda k: k.__setitem__(0, 300))(np.array([1], np.int8))
    with pytest.raises(DtypeError, match="imaginary parts"):
        jit(lambda x: x.__setitem__(0, x[0] * 1j))(V)


def test_values_that_do_not_fit() -> None:
    for value in (np.ones(2), np.ones((2, 3)), np.ones((3, 1))):
        with pytest.raises(ShapeError, match="does not broadcast"):
            jit(lambda x, v=value: (x * 1).__setitem__(slice(None), v))(V)
    with pytest.raises(ShapeError):
        jit(lambda x: x.__setitem__(0, np.ones(1)))(V)
    with pytest.raises(IndexError):
        jit(lambda x: x.__setitem__(3, 0.0))(V)
    with pytest.raises(IndexError, match="mask of shape"):
        jit(lambda x: x.__setitem__(np.array([True, False]), 0.0))(V)
    with pytest.raises(IndexError):
        jit(lambda x, i: (y := x * 1).__setitem__(i, 0.0) or y)(V, np.array([1, 3]))


def test_arguments_are_never_written_to() -> None:
    def f(x: Any) -> Any:
        x = x.copy()
        x[0] = 9.0
        x += 1
        return x

    x = V.copy()
    for run in (jit(f), grad(lambda x: np.sum(f(x))), vmap(lambda x: f(x[None])), autojit.trace(f)):
        run(x)
        np.testing.assert_array_equal(x, V)
    np.testing.assert_array_equal(jit(f)(x), [10.0, -1.0, 4.0])


def test_scalars_are_immutable() -> None:
    with pytest.raises(InPlaceError, match="scalar, which is immutable"):
        jit(lambda x: x.__setitem__(..., 1.0))(2.0)


# -- transformations ----------------------------------------------------------


def heat(u: Any, steps: int = 4) -> Any:
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def test_under_every_transformation() -> None:
    x = np.linspace(0.0, 1.0, 6) ** 2

    def energy(x: Any) -> Any:
        return np.sum(heat(x * 1.0) ** 2)

    same(lambda x: heat(x * 1.0), x)
    check_grads(energy, (x,), order=2)
    dense = autojit.jacrev(lambda x: heat(x * 1.0))(x)
    np.testing.assert_allclose(dense, autojit.jacfwd(lambda x: heat(x * 1.0))(x), rtol=1e-14)
    np.testing.assert_allclose(dense @ x, heat(x.copy()), rtol=1e-13)
    batch = np.stack([x, x[::-1], x * 3])
    want = [grad(energy)(row) for row in batch]
    np.testing.assert_allclose(vmap(grad(energy))(batch), want, rtol=1e-13)
    np.testing.assert_allclose(jit(vmap(jit(grad(energy))))(batch), want, rtol=1e-13)


@pytest.mark.parametrize("in_axes", [(0, None, 0), (0, 0, None), (None, 0, 0), (None, None, 0)])
def test_batches_of_places(in_axes: Any) -> None:
    n, rng = 4, np.random.default_rng(0)
    x, i, v = (rng.normal(size=(n, 5, 2)), rng.integers(0, 5, (n, 3)), rng.normal(size=(n, 3, 2)))
    whole = [a if axis == 0 else a[0] for a, axis in zip((x, i, v), in_axes, strict=True)]

    def f(x: Any, i: Any, v: Any) -> Any:
        y, z = x * 1.0, x * 1.0
        y[i] = v
        np.add.at(z, i, v)
        y[i[0]] *= z[i[1], 0]
        return y * z

    each = [
        [a[k] if axis == 0 else a for a, axis in zip(whole, in_axes, strict=True)] for k in range(n)
    ]
    with autojit.disable_jit():
        np.testing.assert_allclose(vmap(f, in_axes)(*whole), [f(*a) for a in each], rtol=1e-14)
        slope = grad(lambda *a: np.sum(f(*a) ** 2), (0, 2))
        slopes = [slope(*a) for a in each]
        for number, got in enumerate(vmap(slope, in_axes)(*whole)):
            np.testing.assert_allclose(got, [s[number] for s in slopes], rtol=1e-13)


def test_outer_arrays_are_not_changed_by_transformed_functions() -> None:
    for change in (
        lambda x, y: x.__setitem__(0, y),
        lambda x, y: x[1:].__setitem__(0, y),
        lambda x, y: x.T.__iadd__(y),
        lambda x, y: np.add(x, y, out=x),
    ):
        with pytest.raises(InPlaceError, match="outer function is changed in place"):
            jit(lambda x, f=change: grad(lambda y, x=x * 1: f(x, y) or y)(2.0))(V)


def test_inner_functions_see_the_present_value() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        first = grad(lambda t: np.sum(t * y))(2.0)
        view = y[1:]
        y[...] = y * 10.0
        return first, grad(lambda t: np.sum(t * view))(2.0)

    np.testing.assert_array_equal(jit(f)(V), [2.0, 10.0])


# -- ufuncs and functions that write ------------------------------------------


def test_out_of_ufuncs() -> None:
    def f(x: Any, k: Any) -> Any:
        y, whole, single = x * 1.0, np.zeros((2, 3)), np.ones(3, np.float32)
        k = k * 1
        result = np.add(y, 1, out=y)
        assert result is y
        np.multiply(x, 2, out=whole)
        np.exp(x, out=single)
        np.divmod(x, 2.0, out=(whole[0], y))
        np.matmul(whole, whole.T, out=(square := np.empty((2, 2))))
        np.floor_divide(k, 2, out=k)
        return y, whole, single, k, square

    same(f, V, np.array([4, 5, 6]))
    check_grads(lambda x: np.sum(f(x, np.arange(3))[4] ** 2), (V + 0.1,))
    with pytest.raises(DtypeError, match=r"same_kind.*\n.*value\.astype\('int64'\)"):
        jit(lambda k: np.add(k, 0.5, out=k * 1))(np.arange(3))
    with pytest.raises(InPlaceError, match="created outside the traced function"):
        jit(lambda x: np.add(x, 1, out=OUTSIDE))(V)
    with pytest.raises(ShapeError):
        jit(lambda x: np.add(x, np.ones((2, 3)), out=x * 1))(V)


def test_functions_that_write_into_plain_arrays() -> None:
    for write in (
        lambda a, x: np.copyto(a, x),
        lambda a, x: np.put(a, [0], x[0]),
        lambda a, x: np.add.at(a, [0], x[0]),
        lambda a, x: np.putmask(a, a == 0, x),
    ):
        with pytest.raises(InPlaceError, match="outside the traced function"):
            jit(lambda x, f=write: f(OUTSIDE, x))(V)
