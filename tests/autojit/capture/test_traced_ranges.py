"""Comprehensions and functions over ranges of traced length, and repeated lists."""

from __future__ import annotations

import functools
import itertools
import math
import re

import numpy as np
import pytest

from autojit import errors, grad, jit
from autojit.capture.lists.extremes import words_of


def divisors(x, n):
    return sum(d for d in range(1, n // 2 + 1) if n % d == 0) * x


def is_prime(x, n):
    return x if all(n % d for d in range(2, int(math.sqrt(n)) + 1)) else -x


def has_square(x, n):
    return any(i * i == n for i in range(n + 1)) + x


def largest(x, n):
    return max(math.sin(x * i) for i in range(n + 1)) + max(range(n), default=-5)


def nearest(x, n):
    return min((i * (7 - i) for i in range(n + 1)), key=lambda v: abs(v - 3)) * x


def table(x, n):
    c = [0 for i in range(n + 1)]
    c[0] = 1
    for i in range(1, n + 1):
        j = min(i, 3)
        while j > 0:
            c[j] += c[j - 1]
            j -= 1
    return c[n // 2] * x


def change(x, n):
    ways = [1] + [0] * n
    for coin in (1, 2, 5):
        for v in range(coin, n + 1):
            ways[v] += ways[v - coin]
    return ways[n] * x


def powers(x, n):
    c = n * [x]
    for i in range(1, n):
        c[i] = c[i - 1] * c[i]
    return sum(c) + len([0.0, 1.0] * n)


def odd_ones(x, n):
    xs = [x * i for i in range(n) if i % 2]
    xs.extend(range(n))
    return sum(xs) + len(list(range(n)))


def products(x, n):
    return math.prod(x + i for i in range(n)) + functools.reduce(
        lambda a, b: a * 2 + b, range(n), 1
    )


def through_iterators(x, n):
    pairs = sum(1 for a, b in itertools.pairwise(i * i % 7 for i in range(n)) if a < b)
    below = sum(itertools.takewhile(lambda v: v < 5, range(n))) + sum(map(float, range(n)))
    odd = sum(filter(lambda v: v % 2, range(n))) + sum(itertools.accumulate(range(n)))
    return (pairs + below + odd) * x


def first(x, n):
    return next((i for i in range(n) if i * i > 30), -1) * x


def triangle(x, n):
    return sum(sum(i * j for j in range(i)) for i in range(n)) * x


def rows(x, n):
    table = np.outer(np.arange(1.0, 9.0), np.array([x, 2 * x, 1.0]))
    return np.sum(sum(table[i % 8] for i in range(n + 1)))


PROGRAMS = (
    divisors, is_prime, has_square, largest, nearest, table, change, powers, odd_ones, products,
    through_iterators, first, triangle, rows,
)  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("f", PROGRAMS)
def test_ranges_of_traced_length(f):
    compiled, derived, step = jit(f), jit(grad(f)), 1e-6
    for n in (0, 1, 7, 12):
        np.testing.assert_allclose(compiled(0.7, n), f(0.7, n), rtol=1e-12)
        slope = (f(0.7 + step, n) - f(0.7 - step, n)) / (2 * step)
        np.testing.assert_allclose(derived(0.7, n), slope, rtol=1e-5, atol=1e-6)


def test_sums_have_no_longest_length():
    f = jit(lambda x, n: sum(x * i for i in range(n)))
    assert f(0.5, 100_000) == sum(0.5 * i for i in range(100_000))
    assert isinstance(jit(lambda n: sum(range(n)))(3), np.int64)


@pytest.mark.parametrize("of", [max, min])
def test_nothing_in_a_range(of):
    f = jit(lambda n: of(i * i for i in range(n)))
    with pytest.raises(ValueError, match=re.escape(words_of(of, []))):
        f(0)
    assert f(1) == 0


def test_no_rows_have_no_sum():
    with pytest.raises(ValueError, match="adds up no arrays"):
        jit(lambda x, n: sum(x * i for i in range(n)))(np.ones(3), 0)


def test_lists_have_a_longest_length():
    f = jit(lambda n: len([i for i in range(n)]))
    assert f(16_384) == 16_384
    with pytest.raises(OverflowError, match="16384 elements"):
        f(16_385)


def test_sets_and_dicts_of_a_range_are_refused():
    for f in (lambda n: len({i % 3 for i in range(n)}), lambda n: {i: i for i in range(n)}[0]):
        with pytest.raises(errors.ConcreteValueError, match="range with traced bounds"):
            jit(f)(3)
