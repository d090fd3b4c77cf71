"""Unread elements have derivative 0, even if the derivative of an intermediate value is
infinite."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, hessian, jacfwd, jacrev, jit

X = np.array([0.0, 1.0, 2.5])


def masked(x):
    y = np.sqrt((x - x[:, None]) ** 2)
    y[y > 0] = 1 / y[y > 0]
    return np.sum(np.triu(-np.outer(x, x) * y, 1))


def in_another_shape(x):
    y = np.sqrt((x - x[:, None]) ** 2)
    return np.sum(y[np.triu_indices(3, 1)])


def replaced(x):
    y = np.sqrt((x - x[:, None]) ** 2)
    np.fill_diagonal(y, 1)
    return np.sum(1 / y)


@pytest.mark.parametrize("f", [masked, in_another_shape, replaced])
def test_parts_that_are_not_read(f):
    expected = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    for g in (grad(f), jit(grad(f))):
        assert np.allclose(g(X), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("part", "derivative"),
    [
        (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (np.log, lambda x: 1 / x),
        (np.reciprocal, lambda x: -1 / x**2),
        (lambda x: x**-1.5, lambda x: -1.5 * x**-2.5),
    ],
)
@pytest.mark.parametrize("rest", [slice(1, None), np.array([1, 2])], ids=["slice", "places"])
def test_elements_that_are_left_out(part, derivative, rest):
    with np.errstate(divide="ignore"):
        found = grad(lambda x: np.sum(part(x)[rest]))(X)
    assert np.allclose(found, [0.0, *derivative(X[1:])])


@pytest.mark.parametrize("second", [hessian, lambda f: jacrev(grad(f)), lambda f: jacfwd(grad(f))])
@pytest.mark.parametrize("rest", [slice(1, None), np.array([1, 2])], ids=["slice", "places"])
def test_a_cotangent_that_is_zero_at_one_point_has_a_derivative(second, rest):
    divisors = np.array([2.0, 3.0, 4.0])

    def f(x):
        return np.sum((np.sin(x) / divisors**x)[rest] ** 2)

    found = second(f)(np.zeros(3))
    np.testing.assert_allclose(found, np.diag([0.0, 2 / 1.0, 2 / 1.0]), atol=1e-12)


def test_second_derivatives_beside_an_element_that_is_not_read():
    def f(x):
        return np.sum((np.sqrt(x)[1:] - 1.0) ** 2)  # at x = 1 the cotangent is 0

    expected = np.diag([0.5, 2.5**-1.5 / 2])
    for second in (hessian(f), jit(hessian(f)), jacrev(grad(f)), jit(jacfwd(grad(f)))):
        np.testing.assert_allclose(second(X)[1:, 1:], expected, atol=1e-12)


# -- loops and branches ------------------------------------------------------------------


def by_elements(x):
    d, s = np.sqrt(x), 0.0
    for v in d:
        if v > 1e-6:
            s += v**3
    return s


def by_places(x):
    d, s = np.sqrt(x), 0.0
    for i in range(1, len(x)):
        s += np.sin(s + d[i])
    return s


def inside(x):
    s = 0.0
    for i in range(len(x)):
        d = np.sqrt(x[i])
        if d > 1e-6:
            s += d**3
    return s


def after_no_step(x):
    d, s, i = 1 / x, 0.0, 0
    while i < x[1] - 5:
        s += d[i]
        i += 1
    return s + np.sum(x**2)


def pairwise_energy(x):
    p = x.reshape(-1, 2)
    d = np.sqrt(np.sum((p[:, None] - p) ** 2, axis=-1))
    s = 0.0
    for i in range(len(p)):
        for j in range(len(p)):
            if i > j:
                s += 1 / d[i, j] ** 2
    return s


LOOPS = [by_elements, by_places, inside, after_no_step, pairwise_energy]


@pytest.mark.parametrize("n", [12, 600])
@pytest.mark.parametrize("f", LOOPS, ids=[f.__name__ for f in LOOPS])
def test_elements_that_loops_and_branches_do_not_read(f, n):
    if f is pairwise_energy:
        n = min(n, 80)
    x = np.linspace(0, 2, n)
    along = np.sin(np.arange(n))
    along[0] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (f(x + 1e-6 * along) - f(x - 1e-6 * along)) / 2e-6
        for g in (grad(f), jit(grad(f))):
            found = g(x)
            assert np.isfinite(found).all()
            assert found @ along == pytest.approx(change, rel=1e-5)
