"""Loops over iterables that cannot be a table, whose end depends on a traced value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import ConcreteValueError


def income_tax(income):
    brackets = [(10.0, 0.1), (40.0, 0.12), (85.0, 0.22), (float("inf"), 0.24)]
    tax, lower = 0.0, 0.0
    for k, (upper, rate) in enumerate(brackets):
        if income <= lower:
            break
        tax += (min(income, upper) - lower) * rate
        lower = upper
    return tax + k


def limits_in_a_dict(x):
    for limit in {"a": 1.0, "b": 20.0}.values():
        if x < limit:
            return limit * x
    return x * x


def zipped(x):
    for name, limit in zip(["u", "v", "w"], [1.0, 12.0, 33.0], strict=True):
        if x < limit:
            return limit * x + len(name)
    else:
        x = x * 2
    return x


@pytest.mark.parametrize("f", [income_tax, limits_in_a_dict, zipped])
@pytest.mark.parametrize("x", [0.5, 11.5, 55.0, 300.0])
def test_the_loop_ends_where_python_ends_it(f, x):
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(jit(grad(f))(x), slope, rtol=1e-6)


def test_an_endless_iterable():
    def f(x):
        for k in itertools.count():
            if x < k:
                break
        return x * k

    assert jit(f)(2.5) == f(2.5)


X = np.array([-1.3, 0.6, 2.5, 1.2])


def squares_of_some(x):
    return sum(v * v for v in x if v > 0)


def mean_of_logarithms(x):
    return sum(np.log(v) for v in x if v > 0) / sum([1 for v in x if v > 0])


def pairs(x):
    return sum(a * b for i, a in enumerate(x) for b in x if i and a > 0 if b > 1) + x[0]


def known_conditions(x):
    return sum(x[i] for i in range(4) if i % 2) + sum(i for i in range(5) if i > 2)


def none_of_them(x):
    return sum(v for v in x if v > 100) + x[1]


def by_questions(x):
    large = any(1 / v > 1 for v in x if v != 0)
    return x[2] * large if all(v > 0.4 for v in x if v > 0) else x[3]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "f",
    [squares_of_some, mean_of_logarithms, pairs, known_conditions, none_of_them, by_questions],
)
def test_elements_under_a_condition(f):
    for x in (X, X[::-1].copy(), np.abs(X)):
        np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)
        steps = 1e-6 * np.eye(4)
        slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(jit(grad(f))(x), slopes, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(grad(f)(x), slopes, rtol=1e-6, atol=1e-8)


def test_elements_made_of_what_a_generator_yields():
    def halvings(x):
        while x > 1:
            yield x
            x = x / 2

    def f(x):
        return sum(v * v for v in halvings(x) if v < 5) + max([3 * v for v in halvings(x)])

    assert jit(f)(7.0) == f(7.0)
    assert jit(grad(f))(7.0) == 2 * 7 / 4 + 2 * 7 / 16 + 3


def first_above(xs):
    if any((y := v) > 1 for v in xs):
        return y
    return -1.0


def asked(xs):
    n = 0
    if not any((n := n + 1) > 3 or v > 1 for v in xs):
        return -n
    return n


def last_of_all(xs):
    y = 0.0
    if all((y := v) < 3 for v in xs):
        return y + 100
    return y


def in_a_loop(xs):
    total = 0.0
    for k in range(3):
        if any((m := v) > k for v in xs):
            total += m
    return total


def always_bound(xs):
    if any((y := v) > 100 for v in xs):
        pass
    return y


@pytest.mark.parametrize("f", [first_above, asked, last_of_all, in_a_loop, always_bound])
def test_assignments_in_a_generator_end_where_python_stops(f):
    """They had been made for all elements."""
    compiled = jit(f)
    for xs in ([0.5, 1.5, 2.5], [4.5, 0.5, 0.25, 5.0], [0.1, 0.2], [0.5, 0.25, 0.75, 0.5, 1.0]):
        assert compiled(np.array(xs)) == f(np.array(xs))
    slope = grad(lambda xs: first_above(xs) ** 2)
    np.testing.assert_allclose(jit(slope)(np.array([0.5, 1.5, 2.5])), [0.0, 3.0, 0.0])


def test_a_name_that_no_element_has_bound():
    with pytest.raises(UnboundLocalError):
        jit(always_bound)(np.array([]))


def first_ones(xs, n):
    return sum(itertools.islice(xs, n)), [2 * v for v in itertools.islice(xs, 1, n)]


def every_second(xs, n):
    total = 0.0
    for v in itertools.islice(xs, n % 2, n, 2):
        total = 0.5 * total + v
    return total, list(itertools.islice(xs, n, None)), list(itertools.islice(range(9), n, n + 2))


@pytest.mark.parametrize("f", [first_ones, every_second])
def test_islice_with_traced_bounds(f):
    compiled = jit(f)
    for n in (0, 1, 3, 4, 7):
        for found, wanted in zip(compiled(X, n), f(X, n), strict=True):
            np.testing.assert_allclose(found, wanted)
    for wrong in (-1, 2.5):
        with pytest.raises(ValueError, match="for islice"):
            jit(f)(X, wrong)


def counted_in_a_generator(xs):
    n, log = 0, []

    def tests():
        nonlocal n
        for v in xs:
            n += 1
            log.append(v)
            yield v > 1

    return any(tests()), n, len(log)


def test_any_ends_a_generator_where_python_does():
    """It had been run to its end."""
    for xs in ([0.5, 1.5, 2.5], [2.0, 3.0], [0.1, 0.2]):
        assert jit(counted_in_a_generator)(np.array(xs)) == counted_in_a_generator(xs)


def test_an_element_is_not_skipped_where_its_test_appends():
    def f(xs):
        log = []

        def test(v):
            log.append(v)
            return v > 1

        return any(test(v) for v in xs), len(log)

    with pytest.raises(ConcreteValueError, match="whose code lengthens a list"):
        jit(f)(np.array([0.1, 0.2]))
