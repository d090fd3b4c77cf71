"""Loops that set elements of arrays are recorded as operations on arrays."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.ir.regions.scan import Scan

N = 150
PLACES = np.random.default_rng(3).permutation(N)


def each_its_own(x):
    out = np.zeros(N)
    for k in range(N):
        out[k] = np.sin(x[k]) * x[N - 1 - k] + x[k]
    return np.sum(out * out)


def backwards(x):
    out = np.ones(N)
    for k in range(N - 2, 0, -2):
        out[k] = x[k] * x[k + 1] * out[k] * x[k] + x[k] * x[k] * x[k - 1]
    return np.sum(out * out * x)


def set_and_read(x):
    out = x.copy()
    for k in range(N - 1):
        out[k] = np.sin(out[k]) + out[k + 1]
        out[k] += out[k] * x[k]
        out[k] *= out[k]
    return np.sum(out)


def two_places(x):
    out = np.zeros(2 * N)
    for k in range(N):
        out[2 * k] = x[k] * np.cos(x[k])
        out[2 * k + 1] = out[2 * k] * x[k] + x[k] ** 2
    return np.sum(out**2)


def counted_along(x):
    out, at = np.zeros(2 * N), 3
    for k in range(N - 2):
        out[at] = x[k] * np.cos(x[k]) + x[k] * x[k]
        at += 2
    return np.sum(out**2) * at


def uneven(x):
    out = x * 2.0
    for k in range(N):
        out[PLACES[k]] += x[k] * x[k] * np.sin(x[k])
    return np.sum(out * out * x)


def diagonal(x):
    a = np.reshape(x[:144], (12, 12)).copy()
    for _ in range(30):
        for k in range(12):
            a[k, k] += x[k] * x[k] * 0.1 + 0.01 * x[k]
            a[k, 11 - k] -= x[k] * 0.1
    return np.sum(a * a)


def product(x):
    a, b = np.reshape(x[:117], (9, 13)), np.reshape(x[:130], (13, 10))
    c = np.zeros((9, 10))
    for i in range(9):
        for j in range(10):
            for k in range(13):
                c[i, j] += a[i, k] * b[k, j]
    return np.sum(c * c * c)


def product_from_its_columns(x):
    a, b = np.reshape(x[:117], (9, 13)), np.reshape(x[:130], (13, 10))
    c = np.ones((10, 9))
    for j in range(9, -1, -1):
        for k in range(13):
            for i in range(9):
                c[j, i] -= a[i, k] * b[k, j] * 0.1
    return np.sum(c * c * c)


def into_one_row(x):
    a = np.zeros((3, 5))
    for k in range(30):
        a[1] += x[5 * k : 5 * k + 5] * x[k] if k < 20 else x[k]
    for k in range(N):
        a[2, 3] = a[2, 3] - x[k] * x[k] * 0.5 + np.sin(x[k])
    return np.sum(a * a)


def stencil(x):
    u = np.reshape(x[:144], (12, 12))
    v = np.zeros((12, 12))
    for i in range(1, 11):
        for j in range(1, 11):
            v[i, j] = u[i - 1, j] + u[i + 1, j] - 2 * u[i, j] * u[i, j - 1] + u[i, j + 1]
    return np.sum(v * v)


def rows(x):
    a = np.reshape(x, (50, 3)).copy()
    for k in range(50):
        a[k] = a[k] * np.sin(a[k]) + a[k][::-1] * a[k, 1] + np.cos(a[k])
    return np.sum(a * a)


ARRAYS = (
    each_its_own, backwards, set_and_read, two_places, counted_along, product,
    product_from_its_columns, stencil, rows,
)  # fmt: skip


def running_product(x):
    out = x.copy()
    for k in range(1, N):
        out[k] = out[k] + out[k - 1] * np.sin(x[k]) * 0.5 + x[k]
    return np.sum(out)


def overlapping(x):
    out = np.zeros(N)
    for k in range(N - 2):
        out[k] = x[k] * x[k] + x[k] * 2.0
        out[k + 2] = np.sin(x[k + 1]) * x[k] * x[k]
    return np.sum(out * x)


def set_again(x):
    out = np.zeros(N)
    for k in range(N):
        out[(k * k) % N] = np.sin(x[k]) * x[k] * x[k] + x[k]
    return np.sum(out * x)


def rows_at_uneven_places(x):
    a, b = np.reshape(x[:144], (12, 12)).copy(), np.reshape(x[:144], (12, 12))
    for i in range(11, 1, -1):
        for j in range(1, 11):
            a[j] *= b[5 * j % 12, i] * 0.3 + np.sin(b[i, i]) * 0.1
            a[j, 11 - i] = b[j, j + 1] * 0.3 + a[j, j]
    return np.sum(a * a)


def sweeps(x):
    a = np.reshape(x[:144], (12, 12)).copy()
    for _ in range(5):
        for i in range(1, 11):
            for j in range(1, 11):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return np.sum(a * a)


def symmetric(x):
    a = np.zeros((13, 13))
    for i in range(13):
        for j in range(13):
            a[i, j] = x[i] * x[j] + a[j, i] * np.sin(x[j]) + x[i]
    return np.sum(a * a * a)


def product_that_grows(x):
    a = np.ones(4)
    for k in range(N):
        a[2] = a[2] * np.cos(x[k] * 0.1) + 0.1 * x[k] * x[k]
    return np.sum(a * a)


LOOPS = (
    running_product, overlapping, set_again, uneven, rows_at_uneven_places, sweeps, symmetric,
    product_that_grows,
)  # fmt: skip
EITHER = (diagonal, into_one_row)


def check_derivatives(f):
    """Values by Python, and the gradient along a direction by differences."""
    rng = np.random.default_rng(0)
    x, direction = rng.uniform(0.2, 1.2, N), rng.normal(size=N)
    assert np.isclose(jit(f)(x), f(x), rtol=1e-12)
    step = 1e-6
    expected = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
    assert np.isclose(jit(grad(f))(x) @ direction, expected, rtol=1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", [*ARRAYS, *LOOPS, *EITHER], ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_python(f):
    check_derivatives(f)


@pytest.mark.parametrize("f", ARRAYS, ids=lambda f: f.__name__)
def test_elements_that_steps_set_for_themselves_are_set_at_once(f):
    assert not trace(f)(np.ones(N)).has(Scan)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_elements_that_other_steps_read_or_set_too_are_set_in_a_loop(f):
    assert trace(f)(np.ones(N)).has(Scan)


def test_a_product_by_elements_is_one_product_of_matrices():
    text = str(trace(product)(np.ones(N)))
    assert text.count(" dot ") == 1


def test_a_store_out_of_range_is_an_error_of_the_step_that_makes_it():
    def too_far(x):
        out = np.zeros(N)
        for k in range(N):
            out[k + 1] = np.sin(x[k]) * x[k] * x[k] + x[k]
        return out

    with pytest.raises(IndexError):
        jit(too_far)(np.ones(N))
