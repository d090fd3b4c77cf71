"""What a traced mask picks: sums of it, assignments to it, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, vmap
from autojit.errors import UncoveredFunctionError

X = np.array([1.0, -2.0, 3.0, -0.5, 0.7])
W = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
A = np.arange(12.0).reshape(3, 4) - 5.3
THREE = np.array([1.0, 2.0, 3.0])


def sums(x: Any) -> Any:
    p = x[x > 0]
    several = p.sum() + np.mean(p) * np.std(p) + np.sum(np.log(p)) + p.max() - x[x < 0].min()
    return several + np.prod(p) + np.linalg.norm(x[x < 0]) + np.argmax(p) * np.any(p > 2)


def lengths(x: Any) -> Any:
    p = x[x > 0]
    if p.size == 0:
        return x.sum()
    return len(p) * x.sum() / p.size + p.shape[0] * x[0] + p[0] * p[-1]


def changed(x: Any) -> Any:
    y, z = x * 1.0, x.copy()
    m = y > 0
    y[m] *= 0.1
    y[m] += W[m] * x[m]
    y[y < 0] = 0.3
    z[x > 0] = x[x > 0] ** 2
    z[np.nonzero(x > 0)] += 1
    return np.sum(y**2 * W) + np.sum(z * W)


def of_known_number(x: Any) -> Any:
    y = x.copy()
    y[x > 0] = THREE * x[0]
    return np.sum(y * W) + np.sum(x[x > 0] * THREE) + np.sum(x[x > 0.6] * x[(x < 3.5) & (x > -0.4)])


def by_functions(x: Any) -> Any:
    i, j = np.where(x > 0)[0], np.flatnonzero(x < 0)
    found = np.compress(x > 0, x).sum() * np.extract(x < 0, x).sum() + x[np.nonzero(x > 0)].max()
    return found + np.sum(W[i] * x[i]) + np.sum(j * x[j])


def products(x: Any) -> Any:
    p = x[x > 0]
    chosen = np.where(p > 2, p, 1.0)
    return np.dot(p, W[x > 0]) + p @ chosen + np.cumsum(p).max()


def of_matrices(a: Any) -> Any:
    b, (i, j) = a * 1.0, np.nonzero(a > 0)
    b[b < 0] = -b[b < 0]
    b[:, 1][b[:, 1] > 2] *= 2
    rows = a[a[:, 0] > -2]
    found = np.sum(a[i, j] * i * j) + np.sum(np.sqrt(b)) + np.sum(rows**2) + a[a > 0].mean()
    return found + np.compress(a[0] < -3, a, axis=1).sum() + a[:, a[0] > -4].sum()


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(100):
        p = x[x > 0.0101 * i]
        total = total + p.sum() * i
    return total


FUNCTIONS = [(sums, X), (lengths, X), (changed, X), (of_known_number, X), (by_functions, X),
             (products, X), (of_matrices, A), (in_a_loop, X)]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("f", "x"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_and_derivatives(f: Any, x: np.ndarray) -> None:
    want = f(x)
    np.testing.assert_allclose(jit(f)(x), want)
    np.testing.assert_allclose(jit(vmap(f))(np.stack([x, x * 1.01])), [want, f(x * 1.01)])
    differences = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        differences[place] = (f(x + step) - f(x - step)) / 2e-6
    np.testing.assert_allclose(jit(grad(f))(x), differences, atol=1e-6)
    np.testing.assert_allclose(grad(f)(x), differences, atol=1e-6)


def test_the_places_between_reach_nothing() -> None:
    """Unselected elements, with NaN logarithms and infinite derivatives, have no effect."""
    x = np.array([0.0, 2.0, -np.inf, np.nan, 3.0])
    f = lambda x: np.sum(np.log(x[x > 0]) / x[x > 0])  # noqa: E731
    np.testing.assert_allclose(jit(f)(x), f(x))
    want = [0, (1 - np.log(2)) / 4, 0, 0, (1 - np.log(3)) / 9]
    np.testing.assert_allclose(jit(grad(f))(x), want)


def test_what_is_picked_is_a_copy() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        p = y[y > 0]
        p += 1
        p[...] = 0 * p
        return y

    np.testing.assert_array_equal(jit(f)(X), X)


def test_numbers_of_elements_that_do_not_fit_raise() -> None:
    def assigned(x: Any) -> Any:
        y = x * 1.0
        y[x > 0] = np.ones(4)
        return y

    for f in (assigned, lambda x: np.sum(x[x > 0] * x[x < 0]), lambda x: x[x > 9].max(),
              lambda x: x[x > 0] @ np.ones(2)):  # fmt: skip
        for call in (f, jit(f)):
            with pytest.raises(ValueError, match=r"zero-size|broadcast|match|assign"):
                call(X)
    with pytest.raises(IndexError):
        jit(lambda x: x[x > 0][3])(X)


REFUSED = {
    "a batch of results": lambda x: vmap(lambda y: np.log(y[y > 0]))(np.stack([x, x])),
    "sorted": lambda x: np.sort(x[x > 0]),
    "a slice backwards": lambda x: x[x > 0][::-1].sum(),
    "the median": lambda x: np.median(x[x > 0]),
    "joined": lambda x: np.concatenate([x[x > 0], x]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write(name: str) -> None:
    with pytest.raises(UncoveredFunctionError) as error:
        jit(REFUSED[name])(X)
    assert "    np.where(m, np.log(np.where(m, x, 1)), 0)  # not: np.log(x[m])\n" in str(
        error.value
    )


# -- masks beside integers ---------------------------------------------------------------

CUBE = np.random.default_rng(0).normal(size=(4, 5, 6))
M4, M5, M6, M45, M56 = (
    np.random.default_rng(n).random(shape) > 0.4
    for n, shape in enumerate([4, 5, 6, (4, 5), (5, 6)])
)
ALL = slice(None)
BESIDE_INTEGERS: dict[str, tuple[Any, ...]] = {
    "m, 1": (M4, 1),
    "m, 1, -2": (M4, 1, -2),
    "1, m": (1, M5),
    "1, m, 2": (1, M5, 2),
    "a number of NumPy's, m, 2": (np.int64(1), M5, 2),
    ":, 1, m": (ALL, 1, M6),
    "m, :, 2": (M4, ALL, 2),
    "m, ..., 2": (M4, ..., 2),
    "None, m, 1": (None, M4, 1),
    "2:4, 1, m": (slice(2, 4), 1, M6),
    "1, m, None": (1, M5, None),
    "1, of two axes": (1, M56),
    "of two axes, -1": (M45, -1),
}


@pytest.mark.parametrize("are_traced", [False, True])
@pytest.mark.parametrize("index", BESIDE_INTEGERS.values(), ids=list(BESIDE_INTEGERS))
def test_masks_beside_integers(index: tuple[Any, ...], are_traced: bool) -> None:
    (k,) = (k for k, item in enumerate(index) if isinstance(item, np.ndarray))
    numbers = [item for item in index if isinstance(item, int)] if are_traced else []

    def filled(m: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        rest = iter(given)
        return tuple(
            m if n == k else next(rest) if given and isinstance(item, int) else item
            for n, item in enumerate(index)
        )

    def picked(x: Any, m: Any, *given: Any) -> Any:
        return np.sum(np.sin(x[filled(m, given)]), axis=0)

    def put(x: Any, m: Any, *given: Any) -> Any:
        x = x.copy()
        x[filled(m, given)] *= 2
        x[filled(m, given)] += 0.5
        return x

    for f in (picked, put):
        expected = f(CUBE, index[k], *numbers)
        found = jit(f)(CUBE, index[k], *numbers)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    slope = jit(grad(lambda x, *more: np.sum(picked(x, *more))))(CUBE, index[k], *numbers)
    wanted = np.zeros_like(CUBE)
    wanted[index] = np.cos(CUBE[index])
    np.testing.assert_allclose(slope, wanted, rtol=1e-12)


@pytest.mark.parametrize("index", [(1, ALL, M6), (M4, np.array([0, 1]), 1)])
def test_masks_beyond_a_slice_are_refused(index: tuple[Any, ...]) -> None:
    (k,) = (k for k, item in enumerate(index) if item is M4 or item is M6)
    with pytest.raises(UncoveredFunctionError, match="combines a traced mask"):
        jit(lambda x, m: x[(*index[:k], m, *index[k + 1 :])])(CUBE, index[k])
