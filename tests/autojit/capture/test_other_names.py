"""Loops that change an array in place, which has other names too: a caller's, or a view's base."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import RefusedInPlaceError

X = np.array([0.3, -0.2, 0.5, 0.7])


def by_a_function(x, n):
    def relax(u, v):
        for _ in range(n):
            u += 0.1 * v
            v -= 0.1 * u

    a, b = x.copy(), 2 * x
    relax(a, b)
    return a, b


def of_zeros(x, n):
    z = np.zeros(4)
    w = z
    for i in range(n):
        z += x * i
    return w, z


def through_a_view(x, n):
    a = x.copy()
    v = a[1:3]
    for _ in range(n):
        v += 0.1 * x[:2]
    return a, v


def in_a_while(x, n):
    a = x.copy()
    b = a
    while np.sum(a) < n:
        a += np.abs(x) + 1
    return b, a


def by_two_loops(x, n):
    a = x.copy()
    b = a
    for _ in range(n):
        for _ in range(n):
            a += 0.01 * x
        b *= 0.9
    return b, a


def until_small(x, n):
    a = x.copy()
    b = a
    for _ in range(n):
        a *= 0.5
        if a[0] < 0.01:
            break
    return a, b


def returned_by_the_step(x, n):
    def moved(u):
        u += 0.1 * x
        return u

    a = x.copy()
    b = a
    for _ in range(n):
        a = moved(a)
    return a, b


def of_a_row(x, n):
    z = np.zeros((3, 4))
    for i in range(3):
        r = z[i]
        for _ in range(n):
            r += x
    return z, z[1]


def bound_back(x, n):
    a = x.copy()
    b = a
    k = 0
    while k < n:
        k += 1
        b[:] = b + 0.05 * a
        a = b  # the array that both names hold before the loop
    return a, b


def changed_before_bound(x, n):
    a, total = x.copy(), 0.0
    for _ in range(n):
        if total > 5:
            break
        a *= 0.5
        a = a + x
        total = total + np.sum(a)
    return a, a * total


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [0, 3, 40])
@pytest.mark.parametrize(
    "f",
    [
        by_a_function, of_zeros, through_a_view, in_a_while, by_two_loops, until_small,
        returned_by_the_step, of_a_row, bound_back, changed_before_bound,
    ],
)  # fmt: skip
def test_all_names_see_the_changes(f, n):
    expected = f(X, n)
    for found in (jit(f)(X, n), jit(f, static_argnums=1)(X, n)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)

    def total(x):
        a, b = f(x, n)
        return np.sum(np.sin(a)) + np.sum(b)

    steps = 1e-6 * np.eye(4)
    slopes = [(total(X + h) - total(X - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(jit(grad(total))(X), slopes, rtol=1e-6, atol=1e-8)


def bound_anew(x, n):
    a = x.copy()
    b = a
    for _ in range(n):
        a += 1
        a = a * 2  # so only the first step changes b
    return b, a


def exchanged(x, n):
    a, b = x.copy(), 2 * x
    c = a
    for _ in range(n):
        a, b = b, a
        a += 1
    return a, b, c


def in_an_inner_loop(x, n):
    a, b = x.copy(), 2 * x
    v = b
    for _ in range(n):
        k = 0
        while k < n:
            k += 1
            v[k % 4] = 1.5  # only once an element of b
            v = a * 0.5
    return b, v


@pytest.mark.parametrize("f", [bound_anew, exchanged, in_an_inner_loop])
def test_names_that_hold_another_array_in_another_step_are_refused(f):
    with pytest.raises(RefusedInPlaceError, match="may share memory"):
        jit(f)(X, 3)
