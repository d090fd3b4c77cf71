"""Functions under `functools.lru_cache` and `functools.cache`."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from autojit import grad, jit

LENGTHS = (3, 4, 2, 5, 1)
V = np.array([1.0, 3.5, 2.0, 5.2, 1.5])


@functools.cache
def steep(x, limit):
    return x * x if x > limit else x + 1


@functools.cache
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@functools.lru_cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Curve:
    @functools.lru_cache(maxsize=8)  # noqa: B019
    def at(self, x):
        return x * x if x > 0 else -x


def table(v):
    calls = []

    @functools.cache
    def best(i, room):
        calls.append(i)
        if i == len(LENGTHS):
            return 0.0
        without = best(i + 1, room)
        if LENGTHS[i] > room:
            return without
        return max(without, v[i] + best(i + 1, room - LENGTHS[i]))

    return best(0, 9) + best(0, 9) + 0.001 * len(calls)


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (lambda x: steep(x, 2.0) + steep(2 * x, 2.0), [1.5, 3.0, 0.5]),
        (lambda x: Curve().at(x) + 1, [2.0, -2.0]),
        (lambda x: factorial(5) * x + fibonacci(30), [2.0]),
        (table, [V, V[::-1].copy()]),
    ],
)
def test_as_in_python(f, calls):
    for x in calls:
        assert jit(f)(x) == pytest.approx(f(x))
        np.testing.assert_allclose(jit(grad(f))(x), grad(f)(x))


def test_recursion_by_a_traced_argument():
    for n in (1, 5, 9):
        assert jit(factorial)(n) == factorial(n)
        assert jit(fibonacci)(n) == fibonacci(n)


def test_the_users_cache_keeps_no_traced_value():
    steep.cache_clear()
    jit(lambda x: steep(x, 2.0))(3.0)
    assert steep.cache_info().currsize == 0
    assert steep(3.0, 2.0) == 9.0


def test_arguments_that_are_no_keys_are_refused_as_in_python():
    def f(x):
        @functools.cache
        def total(xs):
            return sum(xs) * x

        return total([1.0, 2.0])

    with pytest.raises(TypeError, match="unhashable"):
        jit(f)(1.0)


def test_a_cached_function_is_transformed_itself() -> None:
    @functools.lru_cache
    def square(x: float) -> float:
        return x * x if x > 0 else 0 * x

    assert jit(square)(3.0) == 9.0
    assert jit(grad(square))(3.0) == grad(square)(3.0) == 6.0
