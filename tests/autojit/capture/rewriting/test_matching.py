"""``match`` on traced values: values, guards, names, sequences, mappings, classes."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import errors, grad, jit


def by_value(x, k):
    match k:
        case 0:
            y = x * x
        case 1 | 2:
            y = np.sin(x)
        case _:
            y = -x
    return y


def by_guard(x, k):
    match x:
        case v if v > 2:
            return v * v * k
        case v if v < 0 and k > 0:
            return -v
        case _:
            return x**3


def of_a_tuple(x, k):
    match (x, k):
        case (v, 0):
            return v * 2
        case (v, n) if v > n:
            return v * v + n
        case [v, *rest]:
            return v * sum(rest)


def of_a_list_in_a_dict(x, k):
    match {"p": [x, 1.0, k], "q": x}:
        case {"p": [a, b], "q": q}:
            return a * b * q
        case {"p": [a, b, 3], "q": q}:
            return a + b + q * q
        case {"p": [_, *_, c], "q": q}:
            return c * q


def of_a_class(x, k):
    match k:
        case float():
            return x
        case int(n) if n > 1:
            return x * x * n
        case int() | bool():
            return 3 * x


def in_a_loop(x, k):
    total = x
    for i in range(12):
        match i % 3, k:
            case 0, 1:
                total += x * i
            case (1, n):
                total *= 0.5 + 0.1 * n
            case 2, 1 | 2:
                continue
            case _ as pair:
                total -= pair[0]
                if total < -5:
                    break
    return total


def without_a_case(x, k):
    y = x
    match k:
        case 5:
            y = x * x
        case 6:
            raise ValueError("six")
    return y


FUNCTIONS = [
    by_value, by_guard, of_a_tuple, of_a_list_in_a_dict, of_a_class, in_a_loop, without_a_case,
]  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_a_match_takes_the_way_that_python_takes(f, k):
    compiled, derivative = jit(f), jit(grad(f))
    for x in (2.5, 0.75, -1.5):
        assert compiled(x, k) == pytest.approx(f(x, k), rel=1e-12)
        step = 1e-6
        expected = (f(x + step, k) - f(x - step, k)) / (2 * step)
        np.testing.assert_allclose(derivative(x, k), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(grad(f)(x, k), expected, rtol=1e-6, atol=1e-8)


def test_an_exception_of_a_case():
    with pytest.raises(ValueError, match="six"):
        jit(without_a_case)(1.0, 6)
    with pytest.raises(ValueError, match="six"):
        jit(grad(without_a_case))(1.0, 6)


def by_truth(x, y):
    match (x > 0, y > 0):
        case (True, True):
            return x * y
        case _:
            return y


def by_truth_in_an_attribute(x, y):
    class Point:
        __match_args__ = ("u",)

        def __init__(self, u):
            self.u = u

    match {"u": x > 0, "p": Point(y)}:
        case {"u": True, "p": Point(u)}:
            return u
        case _:
            return x


def asks_for_true(x, y):
    return (x if (y > 0) is True else y) + (3 if (y > x) is not False else 0)


def asks_numpy_for_true(x, y):
    return x if (np.float64(y) > 0) is True else y


@pytest.mark.parametrize("f", [by_truth, by_truth_in_an_attribute, asks_for_true])
def test_a_bool_of_python_is_true_itself(f):
    compiled = jit(f)
    for x, y in ((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0)):
        assert compiled(x, y) == f(x, y)


def by_truth_in_one_of_two(x, y):
    match {"u": x > 0, "p": y}:
        case {"u": True, "p": u} | {"u": False, "q": u}:
            return u
        case _:
            return x


@pytest.mark.parametrize("f", [by_truth_in_one_of_two, asks_numpy_for_true])
def test_a_traced_bool_is_not_asked_whether_it_is_true_itself(f):
    with pytest.raises(errors.ConcreteValueError, match="True"):
        jit(f)(1.0, 2.0)


def test_numbers_and_arrays_are_not_true_itself():
    assert jit(lambda x: 1.0 if x is True else 2.0)(3.0) == 2.0
    assert jit(lambda x: 1.0 if x is not False else 2.0)(np.ones(2)) == 1.0


@pytest.mark.parametrize("of", [np.allclose, np.array_equal, np.array_equiv])
def test_questions_about_arrays_give_bools_of_python(of):
    x = np.array([1.0, 2.0])
    for y in (x + 1e-12, x, x + 1):
        assert jit(lambda x, y: of(x, y) + of(x, y))(x, y) == of(x, y) + of(x, y)
        assert jit(lambda x, y: 1.0 if of(x, y) is False else 0.0)(x, y) == (not of(x, y))
