"""Loops whose steps are independent are recorded as operations on arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.ir.regions.scan import Scan

N = 150
PLACES = np.random.default_rng(3).integers(0, N, N)


def dot_product(x):
    s = x[0]
    for k in range(N):
        s = s + x[k] * np.sin(x[N - 1 - k])
    return s


def differences(x):
    total = 0.0
    for k in range(1, N):
        total -= (x[k] - x[k - 1]) ** 2 * 0.5
    return total


def two_sums(x):
    a, b = 0.0, x[3]
    for k in range(N):
        a = a + x[k] * x[k]
        b = b - np.cos(x[k])
    return a * b


def backwards(x):
    s = 0.0
    for k in range(N - 1, -1, -1):
        s += x[k] * (k + 1)
    return s


def every_third(x):
    s, last = 0.0, 0.0
    for k in range(0, N, 3):
        last = np.exp(-x[k]) * x[k] ** 2 + x[k + 1] * x[k + 2]
        s += last
    return s + 3.0 * last


def at_uneven_places(x):
    s = 0.0
    for k in range(N):
        s = s + x[(k * k + 1) % N] * x[k // 2] * x[k] + np.sin(x[k])
    return s


def by_a_table(x):
    s = 0.0
    for k in range(N):
        s = s + x[PLACES[k]] * x[k] * x[k] + np.sin(x[k])
    return s


def neurons(x):
    at, out = 0, []
    for _ in range(12):
        s = x[at + 11]
        for k in range(11):
            s = s + x[at + k] * x[k]
        at += 12
        out.append(np.tanh(s))
    total = x[at]
    for k in range(12):
        total = total + out[k] * x[at - k]
    return total


def pairs(x):
    s = 0.0
    for i in range(40):
        for j in range(40):
            s += np.exp(-((x[i] - x[j]) ** 2)) * (i + 2 * j)
    return s


def windows(x):
    out = []
    for i in range(N - 10):
        s = 0.0
        for k in range(10):
            s += x[i + k] * x[k]
        out.append(s)
    total = 0.0
    for v in out:
        total += v * v
    return total


def products(x):
    n = 9
    s = 0.0
    for i in range(n):
        for j in range(n):
            c = 0.0
            for k in range(n):
                c += x[i * n + k] * x[k * n + j]
            s += c * c * (i + 1)
    return s


def diagonal(x):
    a = np.reshape(x[:100], (10, 10))
    s = 0.0
    for _ in range(60):
        for i in range(10):
            s += a[i, i] * a[9 - i, i] + np.sin(a[i, 3])
    return s


def rows(x):
    a = np.reshape(x, (50, 3))
    s, v = np.zeros(3), x[:3]
    for i in range(50):
        s = s + a[i] * v * np.cos(a[i]) + np.sin(a[i]) * v[::-1]
    return np.sum(s * s)


def zipped(x):
    xs = [x[k] for k in range(N)]
    s = 0.0
    for k, (a, b) in enumerate(zip(xs, x, strict=True)):
        s += a * np.sin(b) * k
    return s


def number_after(x):
    s, at = 0.0, 5
    for k in range(N):
        s += np.sin(x[k]) * np.cos(x[k]) + x[k]
        at += 2
    return s * x[at % 7] * x[k - 3] + at


FUNCTIONS = (
    dot_product, differences, two_sums, backwards, every_third, at_uneven_places, by_a_table,
    neurons, pairs, windows, products, diagonal, rows, zipped, number_after,
)  # fmt: skip


def check_derivatives(f):
    """Check values against Python, and the gradient along a direction by the complex step."""
    rng = np.random.default_rng(0)
    x, direction = rng.uniform(0.2, 1.2, N), rng.normal(size=N)
    assert np.isclose(jit(f)(x), f(x), rtol=1e-12)
    expected = f(x + 1e-30j * direction).imag * 1e30
    assert np.isclose(jit(grad(f))(x) @ direction, expected, rtol=1e-11)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_python(f):
    check_derivatives(f)
    assert not trace(f)(np.ones(N)).has(Scan)


def waits(x):
    s = 0.0
    for k in range(N):
        s = s * 0.5 + x[k] * x[k] + np.sin(x[k]) * np.cos(x[k])
    return s


def reads_the_sum(x):
    s, t = 0.0, 0.0
    for k in range(N):
        s = s + x[k] * np.sin(x[k])
        t = t + s * x[k]
    return t


def swaps(x):
    a, b = x[0], x[1]
    for k in range(N):
        a, b = b, a + x[k] * np.sin(x[k])
    return a * b


@pytest.mark.parametrize("f", [waits, reads_the_sum, swaps], ids=lambda f: f.__name__)
def test_steps_that_wait_for_each_other_stay_a_loop(f):
    check_derivatives(f)
    assert trace(f)(np.ones(N)).has(Scan)


def test_a_place_out_of_range_is_an_error_of_the_step_that_reads_it():
    def too_far(x):
        s = 0.0
        for k in range(N):
            s = s + np.sin(x[k + 1]) * x[k] * x[k + 1] * x[k]
        return s

    with pytest.raises(IndexError):
        jit(too_far)(np.ones(N))


def test_integers_are_summed_as_integers():
    def count(n):
        s = 0
        for k in range(N):
            s = s + n[k] * (k - 3) * n[k] - n[N - 1 - k]
        return s

    n = np.arange(N)
    assert jit(count)(n) == count(n)


def test_enumerated_iterators_need_not_have_a_state():
    def f(x):
        s = 0.0
        for k, (a, b) in enumerate(pairwise([3, 5, 7])):
            s = s + k * x[a] * x[b] + x[k]
        return s

    x = np.linspace(0.5, 1.5, 8)
    assert np.isclose(jit(f)(x), f(x))
