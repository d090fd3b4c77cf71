"""Values that are None on one way: what Python does with them, or its exception, as the code
runs."""

# ruff: noqa: E711 - as people write them

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from autojit import grad, jit, trace, vmap
from autojit.ir.regions.scan import scan


def either(x):
    return None if x < 0 else x


def array_or_none(x):
    return None if x < 0 else np.array([x, 2.0])


def added(x):
    return either(x) + 1


def negated(x):
    return -either(x) + abs(either(x) * -2)


def of_an_array(x):
    return array_or_none(x).sum()


def picked(x):
    return array_or_none(x)[1]


def unpacked(x):
    pair = None
    if x > 0:
        pair = x, 2.0
    a, b = pair
    return a * b


def asked_before(x):
    y = array_or_none(x)
    if y is not None and x < 2:
        return np.sum(y) + np.max(y)
    if y is None:
        return 0.0
    return np.dot(y, y)


def true_or_false(x):
    y = either(x - 1)
    if y:
        return 5.0 * x
    return (y or 7.0) * x + (2.0 if not y else 1.0)


def halves(x):
    def split(t):
        if t > 0:
            return t, None
        return None, -t

    a, b = split(x)
    if a is None:
        return b * 2
    return a * 3 + (b if b is not None else 1.0)


def equal(x):
    y = either(x)
    return 1.0 * x if y == 1.0 else (2.0 * x if y != 3.0 or y == None else x)


def added_in_place(x):
    z = np.zeros(2)
    z += either(x)
    return z.sum()


def in_a_list(x):
    best = [None, None, None]
    for k in range(3):
        if x > k:
            best[k] = x * k
    return sum(b for b in best if b is not None) * 1.0


def shortest(x):
    path = None
    for k in range(4):
        new = [k * x, x + k]
        if path is None or new[0] < path[0]:
            path = new
    path[1] += 1
    return path[0] + path[1]


def list_itself(x):
    xs = [1.0, 2.0]
    ys = None
    if x > 0:
        ys = xs
    if ys is not None:
        ys[0] = x
    return xs[0]


def by_type(x):
    return 1.0 if isinstance(either(x), float) else 2.0


def by_pattern(x):
    match either(x):
        case None:
            return 0.0 * x
        case value:
            return value * 2


@dataclass
class Node:
    value: float
    other: Node | None = None


def linked(x):
    node = Node(x)
    if x > 0:
        node.other = Node(2 * x)
    if node.other is not None:
        return node.other.value
    return node.value


def two_at_once(x):
    a = b = None
    if x > 0:
        a = x
    if x > 1:
        b = x * 2
    if a is None and b is None:
        return -x
    return a + b if a is not None and b is not None else a


def text(x):
    word = None
    if x > 0:
        word = "positive"
    return 1.0 if word == "positive" else 2.0


def larger(x):
    return max(either(x), 1.0)


def of_math(x):
    return math.sqrt(either(x))


def until_it_settles(x):
    before, k = None, 0
    while before is None or abs(x - before) > 1e-10:
        before, x, k = x, math.cos(x), k + 1
    return x + k


def index_of_largest(x):
    best = where = None
    for k in range(1000):
        value = math.sin(x * k)
        if best is None or value > best:
            best, where = value, k
    return best * where


FUNCTIONS = [
    added, negated, of_an_array, picked, unpacked, asked_before, true_or_false, halves, equal,
    added_in_place, in_a_list, shortest, list_itself, by_type, by_pattern, linked, two_at_once,
    text, larger, of_math, until_it_settles, index_of_largest,
]  # fmt: skip


def outcome(f, x):
    try:
        return f(x)
    except Exception as error:
        return error


@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_python(f):
    compiled = jit(f)
    for x in (0.7, 3.0, 1.0, -1.3):
        found, wanted = outcome(compiled, x), outcome(f, x)
        if isinstance(wanted, Exception):
            assert isinstance(wanted, type(found)), (x, found)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("f", [asked_before, halves, shortest, two_at_once, until_it_settles])
def test_gradients(f):
    gradient = jit(grad(f))
    for x in (0.7, -1.3):
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-5, atol=1e-8)


def test_words():
    with pytest.raises(TypeError, match=r"for \+: 'NoneType' and 'int'"):
        jit(added)(-1.0)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'sum'"):
        jit(of_an_array)(-1.0)


def test_a_batch_in_which_a_result_is_none_raises():
    """A batch is an array, so None in one of its results raises TypeError."""
    compiled = jit(vmap(either))
    assert compiled(np.array([2.0])) == 2.0
    with pytest.raises(TypeError, match="the function returns None for these arguments"):
        compiled(np.array([2.0, -2.0]))


def test_the_function_handles_the_error_for_none():
    def handled(x):
        try:
            return either(x) * 2
        except TypeError:
            return -1.0

    for x in (2.0, -2.0):
        assert jit(handled)(x) == handled(x)


def test_a_flag_that_a_condition_tells_is_not_checked():
    """The loop carries the flag, and carries no check in addition."""
    (loop,) = (op for op in trace(index_of_largest)(1.0).ops if op.kind is scan)
    assert loop.params["carries"] == 4


def limited(k):
    if k > 2:
        raise ValueError("too large")
    return k < 10


def asked_in_a_condition(x):
    k = 0 * x
    while limited(k):
        k += 1
    return k


def asked_in_the_loop(x):
    k = 0 * x
    while True:
        if not limited(k):
            break
        k += 1
    return k


def test_a_condition_of_a_loop_that_may_raise():
    for f in (asked_in_a_condition, asked_in_the_loop):
        with pytest.raises(ValueError, match="too large"):
            jit(f)(1.0)


def first_above(table, x):
    k = 0
    while table[k] < x:
        k += 1
    return k * x


def test_a_condition_that_reads_a_list():
    table = [0.5, 1.5, 2.5]
    compiled, slope = jit(first_above), jit(grad(first_above, argnums=1))
    for x in (0.0, 1.0, 2.0):
        assert compiled(table, x) == first_above(table, x)
        assert slope(table, x) == first_above(table, x) / (x or 1)
    with pytest.raises(IndexError):
        compiled(table, 3.0)


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_arrays_that_may_be_none_compare_element_by_element(x):
    def f(x):
        y = array_or_none(x)
        same, other = y == np.array([1.0, 2.0]), y != np.array([1.0, 3.0])
        return np.sum(same) + 10 * np.sum(other)

    assert jit(f)(x) == f(x)
