"""Arrays that a traced mask has selected: filtered again, sliced, assigned at their indices, and
kept by branches and loops."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import UncoveredFunctionError

X = np.random.default_rng(0).normal(size=8)
PLACES = np.array([3, 3, 1, 1, 0, 5, 6, 6])


def filtered_again(x):
    y = x[x > 0]
    z = y[y < 1]
    return np.sum(z**2) + len(z)


def assigned_where(x):
    y = x[x > 0]
    y[y > 0.5] = y[y > 0.5] ** 2
    y[y < 0.1] = 0.3
    y[y > 0.4] *= 3.0
    big = y[y > 1]
    big += 5  # a copy
    return np.sum(y**2) + np.sum(big)


def rows(x):
    y = np.outer(x, x)[x > 0]
    return np.sum(y[y[:, 0] > 0.1] ** 2)


def at_places(x):
    z = np.zeros(8)
    m = x > 0
    z[PLACES[m]] = x[m] ** 2
    z[PLACES[~m]] += x[~m]
    return np.sum(z * np.arange(8.0))


def at_places_of_rows(x):
    z = np.ones((8, 2))
    z[PLACES[x > 0]] = np.stack([x, 2 * x], 1)[x > 0]
    return np.sum(z * np.arange(16.0).reshape(8, 2))


def at_two_places(x):
    z = np.zeros((8, 8))
    m = x > 0
    z[PLACES[m], np.arange(8)[m]] = x[m]
    z[np.arange(8)[m], 2] = 3 * x[m]
    return np.sum(z**2)


def at_no_place(x):
    z = 2 * np.ones(8)
    z[PLACES[x > 100]] = x[x > 100]
    return np.sum(z * np.arange(8.0)) + x[0]


def slices(x):
    y = x[x > 0]
    y[1:] *= 2
    z = y[:3:2]
    z += 1  # a view
    return np.sum(y**2) + np.sum(y[1:3] * y[0])


SELECTED = [
    filtered_again, assigned_where, rows, at_places, at_places_of_rows, at_two_places, at_no_place,
    slices,
]  # fmt: skip


def kept(x):
    v, total = 2 * x, 0.0
    for i in range(20):
        keep = x > 0.1 * i
        x, v = x[keep], v[keep]
        x = x + 0.01 * v
        total = total + np.sum(x * v)
    return total


def one_by_one(x):
    total = 0.0
    while len(x):
        total = total + np.max(x) ** 2
        x = x[x < np.max(x)]
    return total


def from_the_front(x):
    y = x[x > 0]
    while len(y) > 2:
        y = y[1:] * 0.9
    return np.sum(y**2)


def on_one_way(x):
    y, v = x, 2 * x
    if x[0] > 0:
        keep = x > 0.2
        y, v = y[keep], v[keep]
    return np.sum(y * v)


def on_two_ways(x):
    x = x[x > 0.2] if x[0] > 0 else x[x < 0.1]
    return np.mean(x**2)


def bound_in_the_loop(x):
    k = 0
    while k < len(x[x > 0]):
        y, z = x[x > 0.1 * k], (2 * x)[x > 0.1 * k]
        k += 1
    return np.sum(y * z)


def perhaps_none(x):
    y = None
    for i in range(3):
        if x[i] > 0:
            y = x[x > 0.1 * i]
    return 0.0 if y is None else np.sum(y**2)


def in_a_tuple(x):
    pair = x, 1.0
    for i in range(20):
        pair = pair[0][pair[0] > 0.05 * i] * 1.01, pair[1] + 1
    return np.sum(pair[0] ** 2) * pair[1]


def escaping(x):
    z, places, c = np.zeros(8), np.arange(8), 1.5 * x
    for k in range(12):
        if not len(x):
            break
        x = x * x + c
        big = abs(x) > 2.0
        z[places[big]] = x[big] * (k + 1)
        np.logical_not(big, big)
        x, c, places = x[big], c[big], places[big]
    return np.sum(np.sin(z)) + np.sum(x)


KEPT = [
    kept, one_by_one, from_the_front, on_one_way, on_two_ways, bound_in_the_loop, perhaps_none,
    in_a_tuple, escaping,
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("x", [X, -X], ids=["", "negative"])
@pytest.mark.parametrize("f", SELECTED + KEPT)
def test_as_in_numpy(f, x):
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-9)
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(8)]
    np.testing.assert_allclose(jit(grad(f))(x), slopes, rtol=1e-4, atol=1e-6)


def test_names_with_one_mask_are_not_aligned_anew():
    def f(x):
        v = 2 * x
        for i in range(200):
            keep = x > 0.001 * i
            x, v = x[keep], v[keep]
            x = x + 0.01 * v * np.sin(x)
        return np.sum(x)

    assert "sort" not in jit(f).lower(X).text("optimized")


def test_places_out_of_range_are_errors():
    def f(x):
        z = np.zeros(4)
        z[np.arange(8)[x > 0]] = x[x > 0]
        return z

    for x in (X, -X):
        with pytest.raises(IndexError):
            f(x)
        with pytest.raises(IndexError):
            jit(f)(x)
    assert np.all(jit(f)(np.zeros(8)) == 0)


def test_values_of_another_mask_are_errors():
    def f(x):
        z = np.zeros(8)
        z[PLACES[x > 0]] = x[x > 0.5]
        return z

    with pytest.raises(ValueError, match="shape mismatch"):
        f(X)
    with pytest.raises(ValueError, match="differ in length"):
        jit(f)(X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 0][::-1],
        lambda x: np.sum(x[(x > 0)[x > 1]]),
        lambda x: np.sum(x[x > 0][(x > 0.5)[x > 1]]),
    ],
)
def test_the_rest_is_refused(f):
    with pytest.raises(UncoveredFunctionError, match="that a traced mask selects"):
        jit(f)(X)
