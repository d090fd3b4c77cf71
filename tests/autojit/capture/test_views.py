"""Created arrays and views in blocks: each read sees the values that the block wrote."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit

X = np.random.default_rng(0).normal(size=12)


def created_and_written_in_inner_loop(x):
    total = np.zeros(12)
    for _ in range(300):
        for j in range(7):
            total[j] = total[j] + x[j]
    return total


def time_warping(x):
    cost = np.full((13, 11), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, 13):
        for j in range(1, 11):
            distance = abs(x[i - 1] - x[j + 1] ** 2)
            cost[i, j] = distance + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[12, 10]


def view_read_after_its_base_was_written(x):
    copied = x.copy()
    rest = copied[1:]
    y = 0.0
    if x[0] > 0:
        copied[2] = 7.0
        y = rest[1] * 1.0
    return y


def view_of_a_carry(x):
    copied = x.copy()
    rest = copied[1:]
    y = 0.0
    for i in range(300):
        copied[i % 12] += i
        y += rest[3]
    return y


def relaxed_by_views_of_rows(x):
    u = np.outer(x, np.ones(40)) + np.arange(40.0)
    for i in range(1, 11):
        row, above, below = u[i], u[i - 1], u[i + 1]
        for j in range(1, 39):
            row[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1])
    return u


def views_of_views(x):
    u = np.multiply.outer(np.outer(x, x), np.ones(3))
    for i in range(12):
        plane = u[i]
        for j in range(12):
            row = plane[j]
            for k in range(1, 3):
                row[k] += row[k - 1] * 0.5 + plane[j - 1, k]
            if row[0] > 0.5:
                row[0] *= 0.9
    return u


def view_of_rows_from_a_step_on(x):
    u = np.outer(x, np.ones(40))
    for i in range(8):
        rows = u[i : i + 4]
        for j in range(40):
            rows[1] += rows[0] * 0.1
            rows[2, j] = rows[1, j - 1]
    return u


def view_changed_in_branches(x):
    u = np.outer(x, np.ones(5))
    for i in range(12):
        row = u[i]
        if row[0] > 0.5:
            row[1:] *= 0.5
        else:
            row[1:] += 1.0
    return u


def parts_of_rows(x):
    u = np.outer(x, np.arange(40.0))
    for i in range(1, 11):
        u[i, 1:-1] += 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1] - 2 * u[i, 1:-1])
    return u


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "f",
    [
        created_and_written_in_inner_loop,
        time_warping,
        view_read_after_its_base_was_written,
        view_of_a_carry,
        relaxed_by_views_of_rows,
        views_of_views,
        view_of_rows_from_a_step_on,
        view_changed_in_branches,
        parts_of_rows,
    ],
)
def test_views_see_what_a_block_has_written(f):
    np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "f", [relaxed_by_views_of_rows, view_of_rows_from_a_step_on, view_changed_in_branches]
)
def test_derivatives_by_views(f):
    weights = np.random.default_rng(1).normal(size=f(X).shape)
    direction = np.random.default_rng(2).normal(size=X.shape)
    got = jit(grad(lambda x: np.sum(weights * f(x))))(X) @ direction
    h = 1e-6
    want = np.sum(weights * (f(X + h * direction) - f(X - h * direction))) / (2 * h)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def rows_of_a_square(u):
    u = u.copy()
    for i in range(1, 79):
        row, above, below = u[i], u[i - 1], u[i + 1]
        for j in range(1, 79):
            row[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1])
    return u


def parts_of_a_square(u):
    u = u.copy()
    for i in range(1, 79):
        u[i, 1:-1] += 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1])
    return u


@pytest.mark.parametrize(("f", "loops"), [(rows_of_a_square, 2), (parts_of_a_square, 1)])
def test_rows_are_not_copied(f, loops):
    """Each step touches only the elements that it writes."""
    compiled, u = jit(f), np.ones((80, 80))
    compiled(u)
    assert compiled.cache_info().loops == loops
    assert compiled.cache_info().unrolled == 0
    temporaries = compiled.lower(u).cost()["temporaries"]
    assert temporaries <= 5 * u[0].nbytes
