"""Created arrays and views of arrays in blocks: each read sees what the block has written."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import jit

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


@pytest.mark.parametrize(
    "f",
    [
        created_and_written_in_inner_loop,
        time_warping,
        view_read_after_its_base_was_written,
        view_of_a_carry,
    ],
)
def test_views_see_what_a_block_has_written(f):
    np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-12)
