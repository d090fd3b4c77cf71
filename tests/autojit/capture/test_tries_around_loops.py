"""``try`` around compiled loops: the state of the step that raises reaches the handler."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

from autojit import errors, grad, jit, vmap

from .outcomes import check_slopes


def stopped_sum(x):
    s, i = 0.0, -1
    try:
        for i in range(len(x)):
            if x[i] < 0:
                raise ValueError("negative")
            s = s + math.sqrt(x[i])
        s += 100
    except ValueError as error:
        s = s * 2 + i + len(str(error))
    else:
        s = s + 1000
    finally:
        s = s + 0.5
    return s


def arrays_changed_before_it(x):
    y, last = np.zeros(len(x)), 0.0
    try:
        for k, v in enumerate(x):
            y[k] = v * v
            last = math.log(v)
            y[k] += last
    except ValueError:
        y[-1] = last
    return y.sum() + last


def newton_with_division(x):
    y, steps = x[0] * 10, 0
    try:
        while abs(y * y - 2) > 1e-10:
            steps += 1
            y = y - (y * y - 2) / (2 * y) * (1 / float(steps < 40))
    except ZeroDivisionError:
        y = x[1]
    return y * steps


def nest(x):
    total, found = 0.0, 0
    try:
        for i in range(30):
            for k in range(20):
                if x[(i * k) % len(x)] * i > 20.3 + k:
                    raise KeyError(i)
                total = total + x[k % len(x)] * 0.01
                found = i
    except KeyError:
        total = total * 3 - found
    return total


def index_in_a_loop(x):
    i, s = 0, 0.0
    table = [1.0, 2.0, 3.0, 4.0]
    try:
        while s < 40:
            s += table[i] * abs(x[i % len(x)]) + 0.5
            i = i + 1 + int(x[0] > 0.5)
    except IndexError:
        s = s * 10
    return s


def search(x, level):
    """A loop of another function, which changes what the caller sees."""
    for k in range(40):
        try:
            if x[k % len(x)] * k > level:
                raise LookupError("found")
        finally:
            x[0] += 0.001
    return 40


def loop_of_another_function(x):
    y = x.copy()
    try:
        k = search(y, 9.05)
        z = y[1] * k
    except LookupError:
        z = y[0] * 2
    return z + y.sum()


def two_of_them(x):
    s = 0.0
    for part in (x, 2 * x):
        try:
            for k in range(50):
                s += math.sqrt(part[k % len(x)] + 0.4 - 0.01 * k)
        except ValueError:
            s = s * 0.5
            continue
        s += 1
    return s


def many_of_them(x):
    s, names = 0.0, 0
    try:
        s += math.sqrt(x[0])
        names += 1
        s += math.sqrt(x[1])
        names += 1
        s += math.sqrt(x[2]) + math.log(x[3])
        names += 1
        s += 1 / float(x[0] > 0.25)
        names += 1
        for k in range(8):
            s += math.sqrt(x[k % 4] - 0.02 * k)
            names += 1
    except (ValueError, ZeroDivisionError) as error:
        s = s * 2 + names * len(type(error).__name__)
    return s


FUNCTIONS = [
    stopped_sum, arrays_changed_before_it, newton_with_division, nest, index_in_a_loop,
    loop_of_another_function, two_of_them, many_of_them,
]  # fmt: skip
POINTS = [
    np.array([0.7, 0.4, 1.5, 0.3]), np.array([0.3, 0.45, -0.7, 0.9]),
    np.array([0.2, 0.9, 0.2, 2.3]), np.array([2.2, 0.9, 0.2, 2.3]),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_in_python(f):
    check_slopes(f, POINTS, 1e-5)


def test_a_handled_failure_leaves_no_nan_in_the_gradient():
    """The square root of a negative number, and the slope of one at 0, are never computed."""

    def f(x):
        y = 3 * x
        try:
            for k in range(40):
                y = y + math.sqrt(x - 0.1 * k)
        except ValueError:
            y = y * 2
        return y

    for x in (0.35, 0.1, 5.0):
        want = grad(f)(x)
        assert np.isfinite(want) or x == 0.1
        np.testing.assert_allclose(jit(grad(f))(x), want)
    x = np.array([0.35, 1.25, 5.0])
    np.testing.assert_allclose(jit(vmap(grad(f)))(x), [grad(f)(v) for v in x])


def test_many_operations_may_raise_in_one_try():
    """The code grows linearly with their number."""

    def f(x):
        y = 0.0
        try:
            for k in range(24):
                y = y + math.sqrt(x - k)
        except ValueError:
            y = y * 3 + 1
        return y

    for x in (3.5, 30.0):
        assert jit(f)(x) == pytest.approx(f(x))


class Counting:
    def __init__(self):
        self.left = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, place):
        self.left += 1
        return False


def leaves_a_with(x, counting):
    try:
        with counting:
            y = math.sqrt(x)
    except ValueError:
        y = 1.0
    return y + counting.left


def test_managers_of_the_users_are_not_passed_over():
    with pytest.raises(errors.HandledFailureError, match="leaves the `with` in line"):
        jit(lambda x: leaves_a_with(x, Counting()))(1.0)

    def known(x):
        try:
            with np.errstate(all="ignore"), contextlib.nullcontext():
                y = math.sqrt(x)
        except ValueError:
            y = 1.0
        return y

    assert [jit(known)(x) for x in (4.0, -4.0)] == [2.0, 1.0]


def lists_of_other_lengths(x):
    found = []
    try:
        for v in x:
            found.append(2 * v)
            if v > 1:
                raise ValueError
    except ValueError:
        found.append(0.5)
    return sum(found) * len(found)


def test_lists_have_the_lengths_of_python():
    for x in POINTS:
        assert jit(lists_of_other_lengths)(x) == pytest.approx(lists_of_other_lengths(x))


def solved_or_shifted(a):
    b = np.array([1.0, 2.0, 3.0])
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        x = np.linalg.solve(a + 1e-2 * np.eye(3), b) * 2
    return np.sum(x**2)


def shifted_until_it_is_regular(a):
    m = a
    for k in range(20):
        try:
            inverse = np.linalg.inv(m)
            break
        except Exception:
            m = m + 1e-2 * 2**k * np.eye(3)
    return np.sum(inverse)


def singular_values(a):
    try:
        return np.sum(np.linalg.svd(a)[1])
    except np.linalg.LinAlgError:
        return np.sum(np.where(np.isnan(a), 0.0, a))


@pytest.mark.parametrize("f", [solved_or_shifted, shifted_until_it_is_regular, singular_values])
def test_failures_of_linear_algebra_are_handled(f):
    """A singular matrix, whose factors have no derivative, leaves no NaN in the gradient."""
    regular = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    singular = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 0]])
    points = [regular, singular]
    if f is singular_values:
        points = [regular, np.array([[np.nan, 1, 0], [1, 1, 0], [0, 0, 2]])]
    value, slope = jit(f), jit(grad(f))
    for a in points:
        np.testing.assert_allclose(value(a), f(a), rtol=1e-9)
        found, want = slope(a), grad(f)(a)
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose(found, want, rtol=1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jit(np.linalg.inv)(singular)
