"""`<`, `<=`, `>` and `>=` of tuples and lists that hold traced numbers, wherever they come from."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from autojit import grad, jit

Point = namedtuple("Point", "a b")


def nested(x, y):
    a, b = (x, (y, 1)), (y, (x, 2))
    return x if a < b else y


def named(x, y):
    a, b = Point(x, y), Point(y, x)
    return x if a >= b else y


def equal_texts(x, y):
    a, b = ("k", x), ("k", y)
    return x if a > b else y


def other_texts(x, y):
    a, b = ("k", x), ("j", y)
    return x * 2 if a > b else y


def lengths(x, y):
    a, b = [x, y], [x]
    return x * 3 if a > b else y


def text_and_number(x, y):
    a, b = (x, "s"), (y, 1)
    return x if a < b else y


def nothing(x, y):
    a, b = (None, x), (None, y)
    return x if a < b else y


def tuple_and_number(x, y):
    a = (x, y)
    return x if a < 3 else y


def list_and_tuple(x, y):
    a, b = [x, y], (x, y)
    return x if a < b else y


def arrays(x, y):
    a, b = (np.array([x, y]), 1), (np.array([y, x]), 1)
    return x if a < b else y


def least_so_far(x, y):
    best = (float("inf"), -1)
    for i in range(4):
        candidate = ((x - i) ** 2 * y, i)
        if candidate < best:
            best = candidate
    return best[0] + best[1]


def chained(x, y):
    low, high = (x, 0), (y, 1)
    if low <= high < (x + y, 2):
        return low[0]
    return high[0]


def until(x, y):
    a, end = (x, y), (10.0, 0.0)
    while a < end:
        a = (a[0] * 2 + 1, a[1])
    return a[0]


def inversions(x, y):
    points = [(x, y), (y, x), (x * y, 1.0)]
    count = 0
    for i in range(3):
        for j in range(i):
            if points[j] > points[i]:
                count += 1
    return count * x


def in_a_list_of_traced_length(x, y):
    rows = []
    for v in (x, y, x * y, x - y):
        if v > 0:
            rows.append((v, v * v))
    best = 0
    for place in range(1, len(rows)):
        if rows[place] > rows[best]:
            best = place
    return rows[best][1]


FUNCTIONS = [
    nested, named, equal_texts, other_texts, lengths, text_and_number, nothing, tuple_and_number,
    list_and_tuple, arrays, least_so_far, chained, until, inversions, in_a_list_of_traced_length,
]  # fmt: skip


def outcome(f, args):
    try:
        return float(f(*args))
    except (TypeError, ValueError) as error:
        return type(error), str(error).split(".")[0]  # advice of ours may follow


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("args", [(1.0, 2.0), (3.0, 2.0), (2.0, 2.0)])
def test_as_python_orders_them(f, args):
    assert outcome(jit(f), args) == outcome(f, args)


def test_derivatives():
    for f in (least_so_far, until, in_a_list_of_traced_length):
        np.testing.assert_allclose(jit(grad(f))(2.3, 0.7), grad(f)(2.3, 0.7))
