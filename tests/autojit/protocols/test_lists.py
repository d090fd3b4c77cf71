"""Lists and tuples of traced numbers as arguments of NumPy's functions."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from scipy.special import jv, ndtr, sici

from autojit import grad, jit, vjp, vmap
from autojit.errors import AutojitError
from autojit.scipy import linalg, special
from autojit.testing import check_grads

X = np.array([3.0, 4.0, 5.5])

#: Functions of a list of two traced numbers of X, of a matrix with them, and of X.
CASES: dict[str, Callable[..., Any]] = {
    "sum": lambda v, m, x: np.sum(v) + np.sum(m),
    "along an axis": lambda v, m, x: np.sum(np.sum(m, axis=1) ** 2),
    "means": lambda v, m, x: np.mean(v) * np.var(v) + np.std(v),
    "extremes": lambda v, m, x: np.max(v) * np.min(v) + np.prod(v),
    "norm": lambda v, m, x: np.linalg.norm(v) + np.linalg.norm(m),
    "one ufunc": lambda v, m, x: np.sum(np.exp(v) + np.sqrt(np.abs(v))),
    "ufunc with an array": lambda v, m, x: np.sum(np.add(v, x[:2]) * np.hypot(x[:2], v)),
    "ufunc with a number": lambda v, m, x: np.sum(np.minimum(v, 3.5) ** 2),
    "operators": lambda v, m, x: np.sum((x[:2] * v - v) / (v + x[1:] ** v)),
    "comparison": lambda v, m, x: np.sum(np.where(x[:2] > v, x[:2], v)),
    "reduce": lambda v, m, x: np.maximum.reduce(v) * np.add.reduce(v) + np.logaddexp.reduce(v),
    "accumulate": lambda v, m, x: np.sum(np.add.accumulate(v) ** 2),
    "outer": lambda v, m, x: np.sum(np.multiply.outer(v, x)) + np.sum(np.outer(v, v)),
    "products": lambda v, m, x: np.dot(v, x[1:]) + np.inner(v, v) + np.vdot(v, x[:2]),
    "matrix products": lambda v, m, x: np.sum(np.matmul(m, v) + x[:2] @ np.array(m)),
    "einsum": lambda v, m, x: np.einsum("ij,j,i->", m, v, x[:2]),
    "tensordot": lambda v, m, x: np.sum(np.tensordot(m, v, 1)),
    "cross": lambda v, m, x: np.sum(np.cross([*v, 1.0], x)),
    "where": lambda v, m, x: np.sum(np.where([True, False], v, x[0])),
    "inverse": lambda v, m, x: np.sum(np.linalg.inv(m)) + np.linalg.det(m),
    "solve": lambda v, m, x: np.sum(np.linalg.solve(m, v)),
    "scipy's": lambda v, m, x: special.logsumexp(v) + np.sum(linalg.solve(m, v)),
    "softmax": lambda v, m, x: np.sum(special.softmax(v) * x[1:]),
    "interpolation": lambda v, m, x: np.interp(1.5, [1.0, 2.0], v) + np.polyval(v, 2.0),
    "weights": lambda v, m, x: np.average(x[:2], weights=v),
    "differences": lambda v, m, x: np.sum(np.diff(v)) + np.trapezoid(v, dx=0.1),
    "running": lambda v, m, x: np.sum(np.cumsum(v) ** 2) + np.sum(np.cumprod(v)),
    "sorting": lambda v, m, x: np.sort(v)[0] + np.median(v) * x[np.argmax(v)],
    "shapes": lambda v, m, x: np.sum(np.reshape(m, (4, 1)) ** 2) + np.trace(np.transpose(m)),
    "copies": lambda v, m, x: np.sum(np.tile(v, 2) * np.repeat(v, 2)) * np.roll(v, 1)[0],
    "joined": lambda v, m, x: np.sum(np.append(x, v) ** 2) + np.sum(np.concatenate([v, x]) ** 2),
    "diagonal": lambda v, m, x: np.sum(np.diag(v) @ x[:2]) + np.sum(np.kron(v, x)),
    "taken": lambda v, m, x: np.sum(np.take(v, [1, 0, 1]) ** 2),
    "convolved": lambda v, m, x: np.sum(np.convolve(v, x) ** 2),
    "clipped": lambda v, m, x: np.sum(np.clip(v, 0.0, [3.5, 9.0]) ** 2),
    "asked": lambda v, m, x: np.sum(np.where(np.isnan(v), 0.0, x[:2])) * np.size(v) * np.ndim(m),
}  # fmt: skip


def of_lists(f: Callable[..., Any], kind: type) -> Callable[[Any], Any]:
    return lambda x: f(kind((x[0] * x[1], 2.0 * x[2])), kind(([x[0], 1.0], (x[2], x[1]))), x)


def of_arrays(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: f(
        np.stack([x[0] * x[1], 2.0 * x[2]]), np.array([[x[0], 1.0], [x[2], x[1]]]), x
    )


@pytest.mark.sampled(24)
@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("name", CASES)
def test_lists_are_arrays(name: str, kind: type) -> None:
    f = CASES[name]
    value, gradient = of_arrays(f)(X), grad(of_arrays(f))(X)
    np.testing.assert_allclose(jit(of_lists(f, kind))(X), value, rtol=1e-13)
    np.testing.assert_allclose(grad(of_lists(f, kind))(X), gradient, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(jit(grad(of_lists(f, kind)))(X), gradient, rtol=1e-12, atol=1e-13)


def test_dtypes_of_lists_are_those_of_the_array() -> None:

    single = X.astype(np.float32)
    assert jit(lambda x: np.add([x[0], x[1]], 1.0))(single).dtype == np.float32
    assert jit(lambda x: np.sum([x[0], 1]))(single).dtype == np.sum([single[0], 1]).dtype


def test_fresh_arrays_in_lists() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(2)
        y[0] = x[0]
        return np.linalg.norm([y[0], y[1] + x[1]]) + np.sum([y, y * 2])

    np.testing.assert_allclose(grad(f)(X), [3 / 5 + 3, 4 / 5, 0])


def test_tuples_of_indices_are_no_arrays() -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        out = np.zeros((2, 3))
        np.add.at(out, (i, j), x)
        np.subtract.at(out, (j, i), 2.0 * x)
        return out

    i, j = np.array([0, 1, 1]), np.array([1, 0, 0])
    np.testing.assert_array_equal(jit(f)(X, i, j), f(X, i, j))
    weights = np.arange(6.0).reshape(2, 3)
    expected = weights[i, j] - 2.0 * weights[j, i]
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x, i, j) * weights))(X), expected)


@pytest.mark.parametrize("name", ["concat", "concatenate", "vstack", "hstack"])
def test_lists_of_arrays_stay_lists(name: str) -> None:
    if not hasattr(np, name):
        pytest.skip(f"this NumPy has no {name}")

    def f(x: Any) -> Any:
        join = getattr(np, name)
        parts = [[x, 2 * x], [[x[0], 1.0, 2.0]]] if name == "vstack" else [x, x[:1]]
        return np.sum(join(parts) ** 2)

    np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-13)


def test_parts_of_different_shapes_are_refused() -> None:
    with pytest.raises(AutojitError, match="their shapes differ"):
        grad(lambda x: np.sum(np.exp([x[0], x])))(X)


def test_a_ufunc_stays_a_ufunc() -> None:
    original = np.add
    table = {np.add: "add", np.linalg.norm: "norm"}

    def f(x: Any) -> Any:
        assert isinstance(np.add, np.ufunc)
        assert np.add == original
        assert table[np.add] == "add"
        assert table[np.linalg.norm] == "norm"
        assert (np.add.nin, np.add.identity, repr(np.add)) == (2, 0, "<ufunc 'add'>")
        assert pickle.loads(pickle.dumps(np.add)) == original
        assert pickle.loads(pickle.dumps(np.linalg.norm)) == np.linalg.norm
        counts = np.zeros(2)
        np.add.at(counts, [0, 0, 1], 1.0)
        assert counts.tolist() == [2.0, 1.0]
        assert np.add.reduce([1, 2]) == np.sum((1, 2)) == 3
        return x

    jit(f)(X)
    assert np.add is original


def test_other_threads_compute_as_ever() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        def other() -> None:
            found.extend([np.sum([1.0, 2.0]), np.linalg.norm([3.0, 4.0]), np.add(1, 2)])

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x

    jit(f)(X)
    assert found == [3.0, 5.0, 3]


def test_names_that_the_user_binds_stay() -> None:
    original = np.cbrt

    def mine(x: Any) -> Any:
        return x * 2

    def f(x: Any) -> Any:
        np.cbrt = mine
        return np.cbrt(x)

    try:
        np.testing.assert_array_equal(jit(f)(X), X * 2)
        assert np.cbrt is mine
        np.testing.assert_array_equal(jit(lambda x: np.cbrt(x[:2]))(X), X[:2] * 2)
    finally:
        np.cbrt = original
    np.testing.assert_allclose(jit(lambda x: np.sum(np.cbrt([x[0], 1.0])))(X), np.cbrt(3.0) + 1)


INSERTIONS = [
    (3, 9.0, None),
    (3, [7.0, 8.0], None),
    ([1, 3], [7.0, 8.0], None),
    ([2], [7.0, 8.0], 1),
    (-1, 5.0, 0),
    (2, 5.0, 0),
    (slice(0, 3, 2), 1.0, 1),
    (1, [1.0, 2.0, 3.0], 0),
    (1, [1.0, 2.0], 1),
    ([1], [[1.0], [2.0]], 1),
    ([1], [[1.0, 2.0], [3.0, 4.0]], 1),
    ([0, 2], [[1.0, 4.0], [2.0, 5.0]], 1),
    ([], [], None),
    (np.array([True, False, True]), 9.0, 1),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("places", "values", "axis"), INSERTIONS)
def test_insert(places: Any, values: Any, axis: int | None) -> None:
    a, values = np.arange(1.0, 7.0).reshape(2, 3), np.asarray(values)

    def f(a: Any, values: Any) -> Any:
        return np.insert(a, places, values, axis)

    expected, pull = vjp(f, a, values)
    np.testing.assert_array_equal(expected, np.insert(a, places, values, axis))
    np.testing.assert_array_equal(jit(f)(a, values), np.insert(a, places, values, axis))
    by_a, by_values = pull(np.arange(expected.size, dtype=float).reshape(expected.shape))
    marks = np.insert(np.zeros_like(a), places, np.ones_like(values), axis) == 1
    weights = np.arange(expected.size, dtype=float).reshape(expected.shape)
    assert by_a.sum() == weights[~marks].sum()
    assert by_values.sum() == weights[marks].sum()


AT_A_PLACE: list[Callable[[Any, Any], Any]] = [
    lambda x, i: np.delete(x, i),
    lambda x, i: np.delete(x.reshape(1, 4), i, axis=1),
    lambda x, i: np.insert(x, i, [7.0, 8.0]),
    lambda x, i: np.insert(x.reshape(1, 4), i, x[0], axis=1),
]


@pytest.mark.parametrize("f", AT_A_PLACE)
def test_delete_and_insert_at_a_traced_place(f: Callable[[Any, Any], Any]) -> None:
    x, compiled, many = np.array([3.0, 1.0, 4.0, 1.5]), jit(f), jit(vmap(f, in_axes=(None, 0)))
    good = []
    for place in range(-6, 7):
        try:
            want = f(x, place)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(x, place)
        else:
            good.append(place)
            np.testing.assert_array_equal(compiled(x, place), want)
    found = many(x, np.array(good))
    np.testing.assert_array_equal(found, [f(x, place) for place in good])
    check_grads(lambda x: f(x, np.argmin(x)), (x,), order=1)


def test_insert_out_of_bounds() -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda x: np.insert(x, 7, 1.0))(X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndtr([x, -x]).sum() * scipy.special.gamma([[x], [2.0]])[0, 0],
        lambda x: jv([0, 1, 1.5], (x, x, 1.0)).sum(),
        lambda x: sici([x, 1.0])[1].sum(),
    ],
)
def test_ufuncs_of_scipy(f: Callable[[Any], Any]) -> None:
    assert jit(f)(0.3) == pytest.approx(f(0.3))
    check_grads(f, (0.3,), order=1)
