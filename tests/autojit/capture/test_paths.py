"""Functions that could take a path that Python would not: each gives Python's result, or is
refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

from autojit import disable_jit, grad, jit
from autojit.errors import AutojitError

from .outcomes import BUDGETS, budget, is_same, outcome

TABLE = np.ones(3)
STATE = 0.0


def set_state(value):
    global STATE
    STATE = value


# -- right ------------------------------------------------------------------------------


def an_error_is_raised_where_its_way_is_taken(x, n):
    if x > 1:
        raise ValueError("first")
    if x > 0:
        raise KeyError("second")
    return x


def the_last_element_of_a_list_of_one(x, n):
    xs = [x]
    for _ in range(20):
        xs.append(xs[-1] * 0.5 + 2)
    return xs


def the_first_element_of_a_growing_list(x, n):
    xs = [x]
    for i in range(20):
        xs.append(xs[i // 2] * 0.5 + xs[0])
    return xs


def the_length_of_a_growing_list(x, n):
    xs = []
    for _ in range(20):
        if xs:
            xs.append(xs[-1] + len(xs))
        else:
            xs.append(x)
    return xs


def one_array_appended_often(x, n):
    xs, a = [], np.zeros(2)
    for i in range(20):
        a[0] = x * i
        xs.append(a)
    return xs


def a_view_of_a_loops_array(x, n):
    a, y = np.zeros(3), 0.0
    while n > 0:
        part = a[1:]
        a[1] = x
        if x > 0:
            a[1] = a[1] + x
            y = y + part.sum()
        n -= 1
    return a, y


def an_array_read_before_it_is_changed(x, n):
    now, before, total = np.zeros(2), np.ones(2), 0.0
    while n > 0:
        total = total + (before - now).sum()
        before = now.copy()
        now[0] += x
        n -= 1
    now[1] = 5.0
    return total, now, before


def two_buffers(x, n):
    u = np.zeros(5)
    u[0] = x
    v = u.copy()
    while n > 0:
        for i in range(1, 4):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u
        n -= 1
    return u, v


def an_array_changed_and_bound(x, n):
    a, b = np.zeros(2), np.ones(2)
    if x > 0:
        y = a
        y[0] = x
    else:
        y = b
    return y, a, b


def a_closures_list(x, n):
    kept = [0.0]

    def bump():
        kept[0] += x

    if x > 0:
        bump()
    return kept[0]


def a_siblings_variable(x, n):
    def made():
        s = 0.0

        def bump():
            nonlocal s
            s += x

        return bump, lambda: s

    bump, read = made()
    if x > 0:
        bump()
    return read()


def a_callees_global(x, n):
    set_state(0.0)
    if x > 0:
        set_state(x)
    found = STATE
    set_state(0.0)
    return found


class Slots:
    __slots__ = ("a",)


def a_slot(x, n):
    p = Slots()
    p.a = 1.0
    if x > 0:
        p.a = 2.0
    return p.a


class Named(dict):
    pass


def a_dict_of_a_class(x, n):
    d = Named(a=1.0)
    if x > 0:
        d["a"] = x
    return d["a"]


def any_that_counts(x, n):
    count = [0]

    def asked(v):
        count[0] += 1
        return v > x

    found = any(asked(v) for v in (1.0, 2.0, 3.0))
    return found, count[0]


def one_list_on_both_ways(x, n):
    a = [1.0, 2.0]
    if x > 0:
        n += 1
        b = a
    else:
        b = a
    b.append(x)
    return a, b, n


def a_dict_in_an_early_result(x, n):
    d = {"p": x}
    if x > 1:
        d["p"] *= 0.5
        return x, d
    return x, d


def a_list_changed_after_an_early_result(x, n):
    xs = [x, 1.0, 2.0]
    if n in (1, 3):
        return n, xs
    xs[n % 3] -= x
    return n, xs


def inserted_at_the_front(x, n):
    xs = [x]
    for i in range(20):
        xs.insert(0, x * i)
    return xs


RIGHT = [
    an_error_is_raised_where_its_way_is_taken, the_last_element_of_a_list_of_one,
    the_first_element_of_a_growing_list, the_length_of_a_growing_list, one_array_appended_often,
    a_view_of_a_loops_array, an_array_read_before_it_is_changed, two_buffers,
    an_array_changed_and_bound, a_closures_list, a_siblings_variable, a_callees_global, a_slot,
    a_dict_of_a_class, any_that_counts, one_list_on_both_ways, inserted_at_the_front,
    a_dict_in_an_early_result, a_list_changed_after_an_early_result,
]  # fmt: skip
ARGUMENTS = [(2.0, 3), (-2.0, 1), (0.5, 0)]


@pytest.mark.parametrize("f", RIGHT)
@pytest.mark.parametrize(("few", "unrolled"), BUDGETS)
def test_right(f, few, unrolled):
    with budget(few, unrolled), disable_jit():
        compiled = jit(f)
        for args in ARGUMENTS:
            expected, found = outcome(f, args), outcome(compiled, args)
            assert is_same(expected, found), (args, expected, found)


# -- refused ----------------------------------------------------------------------------


def a_chosen_array_is_changed(x):
    a, b = np.zeros(3), np.ones(3)
    y = a if x > 0 else b
    y[1] = x
    return a, b, y


def a_choice_of_a_choice_is_changed(x):
    a, b, c = np.zeros(2), np.zeros(2), np.zeros(2)
    p = a if x > 0 else b
    q = p if x > 1 else c
    q[0] = 7.0
    return b


def one_of_several_is_changed(x):
    a, b = np.zeros(3), np.ones(3)
    y = a if x > 0 else b
    a[1] = x
    return y


def a_loops_first_array_is_changed(x):
    a, total = np.zeros(2), 0.0
    b = a
    while x > 0:
        a[0] += x
        total = total + b[0]
        b = b + 1
        x = x - 1
    return total


def what_a_nested_block_has_chosen(x):
    y, z = np.ones(3), np.zeros(3)
    if x > 5:
        return y, z
    if x > 0:
        if x > 1:
            y = z
        x = x + 1
    y *= 2.0
    return y, z


def the_table_may_be_changed(x):
    y = TABLE if x > 0 else np.zeros(3)
    y[0] = x
    return y


def the_table_is_changed(x):
    if x > 0:
        TABLE[0] = 5.0
    return x


def a_chosen_list_is_changed(x):
    a, b = [0.0, 1.0], [2.0, 3.0]
    y = a if x > 0 else b
    y[0] = 9.0
    return a, b


def the_order_of_a_dict(x):
    d = {"a": 1.0, "b": 2.0}
    if x > 0:
        d["a"] = d.pop("a")
    return sum(d[k] * (i + 1) for i, k in enumerate(d))


def an_array_of_objects(x):
    a = np.array([None, 1], object)
    if x > 0:
        a[0] = 3
    return 1.0 if a[0] is None else 2.0


def bytes_that_change(x):
    b = bytearray(b"ab")
    if x > 0:
        b[0] = 0
    return b[0]


def numbers_of_a_generator(x):
    rng = np.random.default_rng(3)
    if x > 0:
        rng.random()
    return rng.random()


def random_numbers(x):
    random.seed(3)
    if x > 0:
        random.random()
    return random.random()


REFUSED = [
    (a_chosen_array_is_changed, "may share memory"),
    (a_choice_of_a_choice_is_changed, "may share memory"),
    (one_of_several_is_changed, "may share memory"),
    (a_loops_first_array_is_changed, "may share memory"),
    (what_a_nested_block_has_chosen, "may share memory"),
    (the_table_may_be_changed, "an array from outside the function is changed"),
    (the_table_is_changed, "type ndarray from outside is changed"),
    (a_chosen_list_is_changed, "may have been changed under another name"),
    (the_order_of_a_dict, "decide in which order"),
    (an_array_of_objects, "type ndarray from outside is changed"),
    (bytes_that_change, "type bytearray from outside is changed"),
    (numbers_of_a_generator, "rng.random in a compiled function"),
    (random_numbers, "random.random in a compiled function"),
]


@pytest.mark.parametrize(("f", "words"), REFUSED)
def test_refused(f, words):
    with disable_jit():
        for x in (2.0, -2.0):
            with pytest.raises(AutojitError, match=words):
                jit(f)(x)
    np.testing.assert_array_equal(TABLE, 1.0)


def test_a_loop_that_only_an_error_ends():
    def f(x):
        s = x
        while True:
            s = s + 1
            if s > 10:
                raise ValueError("ten")
            if s < -100:
                break
        return s

    with disable_jit(), pytest.raises(ValueError, match="ten"):
        jit(f)(3.0)


def test_random_numbers_of_a_long_loop_are_those_of_python():
    def f(x):
        rng = np.random.default_rng(3)
        for _ in range(12):
            x = x + rng.random()
        return x

    with budget(0, 0), disable_jit():
        assert jit(f)(1.0) == f(1.0)


def test_an_error_under_grad():
    def f(x):
        for i in range(100):
            if x * i > 50:
                raise ValueError("too far")
        return x * x

    for g in (grad(f), jit(grad(f))):
        assert g(0.25) == 0.5
        with pytest.raises(ValueError, match="too far"):
            g(2.0)
