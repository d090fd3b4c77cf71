"""``try`` whose exceptions depend on traced values: the values, changes and handlers of Python."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from autojit import grad, jit

from .outcomes import check_slopes


class Odd(Exception):
    def __init__(self, value):
        self.value = value


def check(v):
    if v < 0:
        raise ValueError("negative")
    return v**0.5


def every_part(x):
    n = 0
    try:
        n += 1
        if x[0] > 0.5:
            if x[1] < 0:
                raise ValueError("a")
            n += 10
        elif x[2] > 1:
            raise KeyError("b")
        n += 100
        y = x[0] * n
    except ValueError as error:
        y = x[1] * (n + len(str(error)))
    except KeyError:
        y = x[2] * n * 2
    else:
        y = y * 3
    finally:
        n += 1000
    return y * n


def changes_before_it(x):
    d, a = {"a": 0.0}, np.zeros(3)
    try:
        d["a"] = x[0]
        a[0] = x[2]
        if x[0] > 0.5:
            raise ValueError
        d["a"] = x[1]
        a[1] = x[3]
    except ValueError:
        a[2] = x[0] * x[1]
    return d["a"] * 2 + a[0] + a[1] * 5 + a[2] * 7


def lists_in_a_loop(x):
    out = []
    for v in x:
        try:
            w = check(v)
            out.append(w)
            out.append(check(v - 0.5) * w)
        except ValueError:
            out.append(v)
        finally:
            out.append(v * v)
    return sum(out) + len(out)


def long_loop(x):
    s = 0.0
    for k in range(60):
        try:
            s += check(x[k % 4] + 0.01 * k)
        except ValueError:
            s -= x[0]
            continue
        s *= 1.01
    return s


def retries(x):
    for k in range(5):
        try:
            return check(x[1] + 0.13 * k)
        except ValueError:
            pass
    return x[0]


def values_of_exceptions(x):
    total = 0.0
    for v in x:
        try:
            if v > 1:
                raise Odd(v * 2)
            total += v
        except Odd as odd:
            total += odd.value**2
    return total


def nested(x):
    try:
        try:
            if x[0] > 0.5:
                raise ValueError
            if x[1] > 0.5:
                raise KeyError
            z = 1.0
        except KeyError:
            z = 2.0 * x[2]
            if x[3] > 1:
                raise ValueError from None
        finally:
            q = x[3]
    except ValueError:
        z = 3.0 * x[1]
    return z * q


def of_any_kind(x):
    try:
        if x[0] <= 0.5:
            raise AssertionError("small")
        i = int(x[2] * 3)
        return 1 / float(x[i]) + 10 // i
    except:  # noqa: E722
        return math.exp(x[3])


FUNCTIONS = [
    every_part, changes_before_it, lists_in_a_loop, long_loop, retries, values_of_exceptions,
    nested, of_any_kind,
]  # fmt: skip
POINTS = [
    np.array([0.7, -0.4, 1.5, 0.3]), np.array([0.3, 0.45, 1.7, -0.3]),
    np.array([0.2, 0.9, 0.2, 2.3]), np.array([2.2, 0.9, -0.2, 2.3]),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_in_python(f):
    check_slopes(f, POINTS, 1e-6)


def nothing_runs_behind_it(x):
    """The loop would not end if the exception were ignored."""
    try:
        if x < 0:
            raise ValueError
        y = 1.0
        while y > x:
            y = y / 2
        y = [1.0, 2.0][int(x)]
    except ValueError:
        y = -1.0
    return y


def test_nothing_runs_behind_the_exception():
    compiled = jit(nothing_runs_behind_it)
    assert [compiled(x) for x in (-1.0, 0.5, 1.5)] == [-1.0, 1.0, 2.0]
    with pytest.raises(IndexError):
        compiled(2.5)


def test_other_exceptions_leave_the_function():
    compiled = jit(every_part)
    assert compiled(POINTS[0]) == every_part(POINTS[0])

    def other(x):
        try:
            if x > 2:
                raise KeyError("large")
            return check(x)
        except ValueError:
            return 0.0

    compiled = jit(other)
    assert [compiled(x) for x in (-1.0, 1.0)] == [0.0, 1.0]
    with pytest.raises(KeyError, match="large"):
        compiled(3.0)


def many(x):
    try:
        for k in range(8):
            x = check(x - 0.1 * k) + check(x + 0.1)
    except ValueError:
        return 0.0
    return x


def test_many_exceptions_share_their_handlers():
    compiled = jit(many)
    assert [compiled(x) for x in (1.0, 0.3, 5.0)] == pytest.approx(
        [many(x) for x in (1.0, 0.3, 5.0)]
    )


def until_it_is_used_up(x):
    it, total = iter([x, 2 * x, 3 * x]), 0.0
    while True:
        try:
            total += next(it)
        except StopIteration:
            break
    return total


def lines_of_a_file(x):
    file, total = io.StringIO("1.0\n2.0\nthree"), 0.0
    for _ in range(4):
        try:
            total += x * float(file.readline())
        except ValueError:
            total += 1.0
    return total


@pytest.mark.parametrize("f", [until_it_is_used_up, lines_of_a_file])
def test_iterators_and_files_are_read_once(f):
    assert jit(f)(2.0) == f(2.0)
    assert jit(grad(f))(2.0) == grad(f)(2.0)


def appends_in_each_part(x):
    log = []
    try:
        if x < 1:
            raise ValueError
        log.append(x)
    except ValueError:
        log.append(-1.0)
    finally:
        log.append(0.5)
    return log[0] * x + log[1]


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_a_constant_is_appended_after_what_depends_on_the_way(x):
    assert jit(appends_in_each_part)(x) == appends_in_each_part(x)
    assert jit(grad(appends_in_each_part))(x) == (-1.0 if x < 1 else 2 * x)
