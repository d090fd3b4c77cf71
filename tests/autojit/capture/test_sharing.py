"""Several names of one list or dict, of which conditions bind some anew: Python's answer, or an
error."""

from __future__ import annotations

import numpy as np
import pytest

import autojit
from autojit import disable_jit, errors, grad, jit


def swapped(rows, v):
    if v > 0:
        rows = [v, v]
    return rows


def of_a_list(x):
    xs = [x, 1.0]
    a = xs
    if x > 0:
        xs = [5.0, 6.0]
    xs[0] = 9.0
    return a


def of_a_dict(x):
    d = {"u": x}
    e = d
    if x > 0:
        d = {"u": 2 * x}
    d["u"] += 1
    return e["u"]


def by_an_operator(x):
    xs = [x]
    a = xs
    if x > 0:
        a = [7.0]
    xs += [5.0]
    return len(a)


def by_del(x):
    xs = [x, 2.0]
    a = xs if x > 0 else [1.0, 2.0]
    del xs[0]
    return a[0]


def in_a_tuple(x):
    xs = [x, 2.0]
    t = xs, 1.0
    if x > 0:
        xs = [x + 1, 2.0]
    xs.reverse()
    return t[0][0]


def by_a_function(x):
    xs = [x, 2.0]
    ys = swapped(xs, x)
    ys[0] = 3.0
    return xs[0] + ys[0]


def of_one_made_on_a_way(x):
    a, b = [0.0], [0.0]
    if x > 0:
        a = b = [x]
    a[0] = 5.0
    return b[0]


def in_a_branch(x):
    xs = [x, 1.0]
    ys = [x, 2.0]
    if x < 1:
        if x > 0:
            ys = xs
        ys[0] = 5.0
    return xs[0]


def in_a_loop(x):
    p, r = [x, 1.0], [x, x]
    k = 0
    while k < abs(x):
        k += 1
        r = p if x < 0.5 else [1.5, 1.5]
        r[:] = [p[1], x + k]
    return p[0]


def after_a_loop(x):
    p = [x, 1.0]
    q = p
    while p[0] > 1:
        p = [p[0] / 2, 3.0]
    p[1] = 0.0
    return q[1]


def whether_it_is_that(x):
    p = [x, 1.0]
    q = p
    if x > 0:
        p = [1.0, 1.0]
    return 1.0 if p is q else x


def by_a_manager(x):
    class Resetting:
        def __init__(self, rows):
            self.rows = rows

        def __enter__(self):
            return self.rows

        def __exit__(self, *error):
            self.rows[0] = 0.0

    p, q = [x, 1.0], [x, 2.0]
    r = p if x > 0 else q
    with Resetting(p):
        pass
    return r[0]


def of_one_that_is_lost(x):
    p = [x, 1.0]
    t = (p,)
    if x > 0:
        p = [x * x, 2.0]
    p.reverse()
    t[0][1] = x
    return p[1]


CHANGED = [
    of_one_that_is_lost,
    of_a_list, of_a_dict, by_an_operator, by_del, in_a_tuple, by_a_function, of_one_made_on_a_way,
    in_a_branch, in_a_loop, after_a_loop, whether_it_is_that, by_a_manager,
]  # fmt: skip


@pytest.mark.parametrize("f", CHANGED)
def test_a_list_that_may_have_changed_is_refused(f):
    with disable_jit():
        for x in (2.0, -2.0):
            with pytest.raises(
                errors.CaptureError,
                match=r"A traced condition decides whether|a traced condition decides which",
            ):
                jit(f)(x)


def a_list_chosen(x):
    p, q = [x, 1.0], [x * x, 2.0]
    best = p if x > 0.5 else q
    return best[0] + sum(best) + len(best)


def one_changed_elsewhere(x):
    p = [x, 1.0]
    if x > 0:
        p[1] = x * x
    elif x < -5:
        p = [0.0, x]
    return p[0] * p[1]


def a_copy(x):
    xs = [x, 1.0]
    a = list(xs)
    if x > 0:
        xs = [5.0, x]
    xs[0] = 9.0
    return a[0] + xs[0] * xs[1]


def without_other_names(x):
    xs = [x, 1.0]
    if x > 0:
        xs = [x * x, x]
    xs[0] += 1.0
    xs.append(x)
    for _ in range(12):
        xs = [xs[1], xs[0] * 0.5, xs[2]]
    return xs[0] + xs[1] * xs[2]


def unchanged_in_a_loop(x):
    p = [x, 2.0]
    q = p

    def bound(v):
        nonlocal p
        p = v

    s = 0.0
    for i in range(30):
        if p is q:
            s = s + p[0] * i
    return s


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "f", [a_list_chosen, one_changed_elsewhere, a_copy, without_other_names, unchanged_in_a_loop]
)
@pytest.mark.parametrize("x", [2.0, 0.25, -2.0, -7.0])
def test_what_is_not_changed_is_used_freely(f, x):
    assert jit(f)(x) == pytest.approx(f(x), rel=1e-12)
    step = 1e-6
    expected = (f(x + step) - f(x - step)) / (2 * step)
    np.testing.assert_allclose(jit(grad(f))(x), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-6, atol=1e-8)


def test_the_program_of_a_loop_is_the_same_at_each_trace() -> None:
    """Possible aliases are kept in sets of ids; different ids must not change the program."""

    def f(x):
        a, b, c, d = np.zeros(5), np.ones(5), np.full(5, 2.0), np.full(5, 3.0)
        for _ in range(3000):
            a += x
            b = b * np.exp(a) + c
            c = np.sin(c + b) * d
            d = d + a
        return a + b + c + d

    keep, texts = [], set()
    for _ in range(12):
        keep.append([object() for _ in range(1000)])  # each trace sees other ids
        texts.add(autojit.trace(f)(np.linspace(0, 1, 5)).text())
    assert len(texts) == 1
