"""`bisect`, `statistics` and `itertools` on traced numbers behave as on plain ones."""

from __future__ import annotations

import bisect
import itertools
import statistics

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import ConcreteValueError

TABLE = [0.0, 0.5, 0.5, 1.0, 2.5]
KNOWN = np.array(TABLE)


def searches(x):
    known = [bisect.bisect(TABLE, v) for v in x]
    left = bisect.bisect_left(KNOWN, x[0]) + 10 * bisect.bisect_left(TABLE, x[1], 1, 4)
    of_traced = bisect.bisect_right(x, 0.5) + 10 * bisect.bisect_left([x[3], x[0], x[1]], 0.75)
    by_key = bisect.bisect([3, 2, 1], x[2], key=lambda k: -k * x[0])
    return [
        *known,
        left,
        of_traced,
        by_key,
        bisect.bisect([], x[0]),
        bisect.bisect_left((1,), x[0]),
    ]


def interpolated(x):
    k = min(max(bisect.bisect(TABLE, x[0]) - 1, 0), 3)
    share = (x[0] - TABLE[k]) / (TABLE[k + 1] - TABLE[k] + 0.5)
    return share * x[k % 2] + x[1]


def described(x):
    squares = [v * v for v in x]
    return (
        statistics.mean(squares) + 2 * statistics.fmean(v + 1 for v in x) + statistics.median(x)
        + statistics.stdev(squares) * statistics.pstdev(x) + statistics.variance([x[0], x[1], 3])
        + statistics.pvariance(squares, 1.5) + 3 * statistics.median(squares[1:])
        + statistics.median_low(x) * statistics.median_high(x)
    )  # fmt: skip


def accumulated(x):
    highest = list(itertools.accumulate(x, max))
    moved = itertools.accumulate(x, lambda a, v: 0.5 * a + v if v > 0.7 else a - v, initial=1.0)
    return (
        sum(highest)
        + sum(moved)
        + sum(itertools.starmap(lambda a, b: a * b, zip(x, highest, strict=True)))
    )


ROWS = [[0.6, 1.0, 2.0, 3.0], [2.6, -1.0, 0.51, 0.2], [0.5, 0.4, float("nan"), 0.1]]


@pytest.mark.parametrize("row", ROWS)
def test_searches(row):
    x = np.array(row)
    assert [int(k) for k in jit(searches)(x)] == searches(x)


@pytest.mark.parametrize("row", ROWS[:2])
@pytest.mark.parametrize("f", [interpolated, described, accumulated])
def test_values_and_gradients(f, row):
    x = np.array(row)
    assert np.allclose(jit(f)(x), f(x), rtol=1e-12)
    slopes = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    for g in (grad(f), jit(grad(f))):
        assert np.allclose(g(x), slopes, rtol=1e-5, atol=1e-7)


def test_lengths_that_depend_on_values():
    def sum_of_small(x):
        return sum(itertools.takewhile(lambda v: v < 1.5, x))

    assert jit(sum_of_small)(np.array(ROWS[0])) == sum_of_small(np.array(ROWS[0]))
    with pytest.raises(ConcreteValueError, match=r"np\.arange(.|\n)*not: np\.mgrid\[0:n\]"):
        jit(lambda x: np.sum(np.mgrid[0 : int(x)] * x))(3.0)
    with pytest.raises(statistics.StatisticsError, match="two data points"):
        jit(lambda x: statistics.stdev([x]))(1.0)
