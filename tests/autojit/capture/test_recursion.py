"""Functions that call themselves as often as traced values decide are loops with a stack."""

from __future__ import annotations

import contextlib
import math
import random

import numba
import numpy as np
import pytest

from autojit import grad, hessian, jit, trace, vmap
from autojit.errors import CaptureError
from autojit.ir.regions.while_ import while_

from .others.test_others import by_differences
from .outcomes import function_from, is_same, outcome


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def power(x, n):
    if n == 0:
        return 1.0
    if n % 2 == 0:
        half = power(x, n // 2)
        return half * half
    return x * power(x, n - 1)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def extended_euclid(a, b):
    if b < 1e-9:
        return a, 1.0, 0.0
    q = math.floor(a / b)
    g, s, t = extended_euclid(b, a - q * b)
    return g, t, s - q * t


def bezout(a, b):
    g, s, t = extended_euclid(a, b)
    return g + 2 * s + 3 * t


def poles_of_what_is_not_known(x, n):
    """Divide by the result of one recursive call, and take the logarithm of the other's."""
    if n < 1:
        return x
    return 1.0 / poles_of_what_is_not_known(x, n - 1) + math.log(
        poles_of_what_is_not_known(x, n - 1)
    )


def simpson(a, b, c):
    def f(x):
        return math.exp(-c * x) * math.sin(3 * x)

    def rule(fa, fm, fb, a, b):
        return (b - a) / 6 * (fa + 4 * fm + fb)

    def adaptive(a, b, fa, fm, fb, whole, eps):
        m = 0.5 * (a + b)
        flm, frm = f(0.5 * (a + m)), f(0.5 * (m + b))
        left, right = rule(fa, flm, fm, a, m), rule(fm, frm, fb, m, b)
        delta = left + right - whole
        if abs(delta) <= 15 * eps:
            return left + right + delta / 15
        return adaptive(a, m, fa, flm, fm, left, eps / 2) + adaptive(
            m, b, fm, frm, fb, right, eps / 2
        )

    fa, fm, fb = f(a), f(0.5 * (a + b)), f(b)
    return adaptive(a, b, fa, fm, fb, rule(fa, fm, fb, a, b), 1e-6)


def continued_fraction(x):
    def tail(k, term):
        if k > 40 or abs(term) < 1e-9:
            return 1.0 + k
        return k + x / tail(k + 1, term * x / (k + 1) / (k + 2))

    return tail(1, 1.0)


class Tree:
    def __init__(self, thresholds):
        self.thresholds = thresholds

    def leaf(self, i, x):
        if 2 * i + 2 >= len(self.thresholds):
            return self.thresholds[i] * x
        return self.leaf(2 * i + 1, x) if x < self.thresholds[i] else self.leaf(2 * i + 2, x)


def descent(x):
    return Tree(np.arange(63.0)).leaf(0, x)


def matrix_power(m, n):
    def go(n):
        if n == 0:
            return np.eye(2)
        if n % 2:
            return m @ go(n - 1)
        h = go(n // 2)
        return h @ h

    return go(n)[0, 1]


def in_a_loop_of_known_steps(x):
    def f(n):
        if n < 1:
            return 1.0
        total = 0.0
        for k in range(1, 4):
            total += f(n - k) * k
        return total * x

    return f(x)


def with_defaults(x):
    def f(n, acc=1.0, *, step=2):
        if n <= 0:
            return acc
        return f(n - step, acc * n)

    return f(x)


def or_none(x):
    def root(lo, hi):
        if hi - lo < 1e-6:
            return None
        m = 0.5 * (lo + hi)
        if abs(m * m - x) < 1e-3:
            return m
        return root(lo, m) if m * m > x else root(m, hi)

    found = root(0.0, 4.0)
    return -1.0 if found is None else found * x


CASES = [
    (factorial, (5.25,), (0,)),
    (factorial, (0.5,), (0,)),
    (power, (1.3, 13), (0,)),
    (ackermann, (2, 3), ()),
    (bezout, (42.0, 12.0), ()),
    (poles_of_what_is_not_known, (2.0, 3), (0,)),
    (simpson, (0.3, 2.1, 1.0), (0, 1, 2)),
    (continued_fraction, (2.5,), (0,)),
    (descent, (31.5,), (0,)),
    (matrix_power, (np.array([[1.1, 2.0], [0.3, 0.4]]), 5), (0,)),
    (in_a_loop_of_known_steps, (4.2,), (0,)),
    (with_defaults, (7.5,), (0,)),
    (or_none, (2.0,), (0,)),
    (or_none, (20.0,), ()),
]


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("f", "arguments", "by"), CASES)
def test_as_python(f, arguments, by):
    np.testing.assert_allclose(jit(f)(*arguments), f(*arguments), rtol=1e-12)
    if by:
        slopes = jit(grad(f, argnums=by))(*arguments)
        for number, slope in zip(by, slopes, strict=True):
            wanted = by_differences(f, arguments, number)
            np.testing.assert_allclose(slope, wanted, rtol=2e-5, atol=1e-7)


def test_it_is_one_loop_of_any_depth():
    assert [op.kind for op in trace(factorial)(5.0).ops].count(while_) == 1
    assert jit(factorial)(20.0) == math.factorial(20)
    assert jit(lambda x: factorial(x) + factorial(x + 1))(5.0) == 120 + 720
    np.testing.assert_allclose(jit(vmap(factorial))(np.array([3.0, 4.5])), [6.0, 59.0625])
    np.testing.assert_allclose(jit(hessian(factorial))(4.5), 12 * 4.5**2 - 36 * 4.5 + 22)


def test_what_is_known_ends_it_as_before():
    """Recursion that ends on plain Python numbers needs no loop and no stack."""

    def at(x):
        def f(n):
            return x if n == 0 else f(n - 1) * x

        return f(5)

    assert while_ not in {op.kind for op in trace(at)(2.0).ops}
    assert jit(at)(2.0) == 2.0**6


@jit
def decorated(n):
    return 1.0 if n < 1 else n * decorated(n - 1)


@numba.njit
def numbas(n):
    return 1.0 if n < 1 else n * numbas(n - 1)


def test_a_function_that_knows_itself_by_its_decorated_name():
    wanted = pytest.approx(5.25 * 4.25 * 3.25 * 2.25 * 1.25)
    assert decorated(5.25) == wanted
    assert jit(numbas)(5.25) == wanted
    assert jit(lambda x: numbas(x) + 0 * decorated(x))(5.25) == wanted


def test_exceptions():
    def endless(x):
        return 1.0 if x == 17.5 else endless(x + 1)

    def positive(n):
        if n < 0:
            raise ValueError("negative")
        return 1.0 if n == 0 else n * positive(n - 1)

    assert jit(endless)(10.5) == 1.0
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        jit(endless)(1.0)
    compiled = jit(positive)
    assert compiled(5.0) == 120
    with pytest.raises(ValueError, match="negative"):
        compiled(4.5)


def counted(x):
    count = 0

    def f(n):
        nonlocal count
        count += 1
        return 1.0 if n < 1 else n * f(n - 1)

    return f(x) * count


def its_argument(x):
    def f(v, n):
        v[0] += n
        return v[0] if n < 1 else f(v, n - 1) + v[0]

    return f(np.zeros(2), x)


def outer_array(x):
    v = np.zeros(2)

    def f(n):
        v[0] += n
        return 1.0 if n < 1 else f(n - 1)

    return f(x) + v[0]


def outer_list(x):
    v = [0.0]

    def f(n):
        v[0] = v[0] + n
        return 1.0 if n < 1 else f(n - 1)

    return f(x) + v[0]


def its_list(x):
    def f(v, n):
        v[0] = v[0] + n
        return v[0] if n < 1 else f(v, n - 1) + v[0]

    return f([0.0], x)


def what_it_returns(x):
    def f(v, n):
        if n < 1:
            return v
        r = f(v, n - 1)
        r[0] += n
        return r

    v = np.zeros(2)
    return f(v, x)[0] + v[0]


def sorted_in_place(x):
    a = np.sin(np.arange(1.0, 9.0) * x)

    def sort(a, low, high):
        if low < high:
            p, i = a[high], low - 1
            for j in range(low, high):
                if a[j] <= p:
                    i += 1
                    a[i], a[j] = a[j] * 1.0, a[i] * 1.0
            a[i + 1], a[high] = a[high] * 1.0, a[i + 1] * 1.0
            sort(a, low, i)
            sort(a, i + 2, high)

    sort(a, 0, len(a) - 1)
    return a @ np.arange(8.0)


def with_two_changed(x):
    def f(a, b, n):
        a[0] += n
        b[1] += a[0]
        return 0.0 if n < 1 else f(b, a, n - 1)

    v, w = np.zeros(2), np.zeros(2)
    f(v, w, x)
    return v[0] + 2 * v[1] + 3 * w[0] + 5 * w[1]


def with_one_made_inside(x):
    def f(a, n):
        a[0] += n
        if n < 1:
            return a[0]
        b = np.zeros(2)
        r = f(b, n - 1)
        return r + b[0] * a[0]

    return f(np.zeros(2), x)


def under_two_names(x):
    v = np.zeros(2)
    w = v

    def f(n):
        v[0] += n
        w[1] += v[0]
        return 1.0 if n < 1 else f(n - 1) + w[0]

    return f(x) + w[1] + v[1]


def the_best_so_far(x):
    best = [0.0, 0]

    def f(n, p):
        best[1] += 1
        if p > best[0]:
            best[0] = p * x
        if n < 1:
            return
        f(n - 1, p * 1.1)
        f(n - 2, p * 1.5)

    f(x, 1.0)
    return best[0] + best[1]


def towers(x):
    moves = np.zeros(3)

    def move(n, a, b, c):
        if n >= 1:
            move(n - 1, a, c, b)
            moves[c] += n
            move(n - 1, b, a, c)

    move(x, 0, 1, 2)
    return moves[0] + 2 * moves[1] + 3 * moves[2]


class Counting:
    def __init__(self):
        self.calls = 0

    def go(self, t):
        self.calls += 1
        return t if t < 1 else self.go(t / 2) + self.go(t / 3)


def of_an_object(x):
    s = Counting()
    return s.go(x) + s.calls


def that_fails(x):
    v = np.zeros(2)

    def f(n):
        v[0] += n
        if v[0] > 12:
            raise ValueError("much")
        return 1.0 if n < 1 else f(n - 1)

    return f(x) + v[0]


def in_a_comprehension(x):
    def f(n):
        return 1.0 if n < 1 else sum(f(n - k) for k in (1, 2))

    return f(x)


def in_a_while(x):
    def f(n):
        k = 0
        while k < n:
            k += f(n - 1)
        return k + 1 + x / 8

    return f(x)


def counted_before_a_call(x):
    total = 0.0

    def f(n):
        nonlocal total
        if n < 1:
            return x
        f(n - 1)
        if n > 2:
            return n
        total += x
        return f(n - 1)

    return f(x) + total


def a_call_in_a_branch_before(x):
    totals = [0.0]

    def f(n):
        if n < 1:
            return x
        if n > 4:
            f(n - 2)
        f(n - 1)
        totals[0] += x
        return n

    return f(x) + totals[0]


def the_same_twice(x):
    v = np.zeros(2)

    def f(a, n):
        v[0] += n
        a[1] += v[0]
        return 1.0 if n < 1 else f(a, n - 1)

    return f(v, x) + v[1]


def its_own_result(x):
    def f(a, n):
        a[0] += n
        return a if n < 1 else f(a, n - 1)

    v = np.zeros(2)
    return f(v, x)[0] + v[0]


def read_from_outside(x):
    v = np.zeros(2)

    def f(a, n):
        a[0] += n * (1 + v[0])
        return 1.0 if n < 1 else f(a, n - 1)

    return f(v, x) + v[0]


def changed_from_outside(x):
    v = np.zeros(2)

    def f(a, n):
        v[0] += n
        return a[0] if n < 1 else f(a, n - 1) + a[0]

    return f(v, x) + v[0]


def a_list_from_outside(x):
    v = [0.0]

    def f(a, n):
        v[0] += n
        return a[0] if n < 1 else f(a, n - 1) + a[0]

    return f(v, x) + v[0]


def bound_anew(x):
    y = np.zeros(2)

    def f(n):
        nonlocal y
        y = y + n
        return 1.0 if n < 1 else f(n - 1)

    return f(x) + y[0]


def appended(x):
    found = []

    def f(n):
        found.append(n)
        return 1.0 if n < 1 else f(n - 1)

    return f(x) + sum(found)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("f", [
    counted, its_argument, outer_array, outer_list, sorted_in_place, with_two_changed,
    with_one_made_inside, under_two_names, the_best_so_far, towers, of_an_object, that_fails,
    its_list, what_it_returns, the_same_twice, its_own_result, read_from_outside,
    changed_from_outside, a_list_from_outside, bound_anew, appended, in_a_comprehension, in_a_while,
    counted_before_a_call, a_call_in_a_branch_before,
])  # fmt: skip
def test_what_it_changes(f):
    for x in (5.5, 3.25, 0.3):
        expected, found = outcome(f, (x,)), outcome(jit(f), (x,))
        assert is_same(expected, found), (x, expected, found)
        if expected[0] == "value":
            slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
            np.testing.assert_allclose(jit(grad(f))(x), slope, rtol=1e-5, atol=1e-6)


_CHANGES = (
    "count[0] += 1", "v[0] += n", "w[1] = v[0] * 0.5", "v[1] -= w[0]", "total = total + n",
    "a[0] = a[0] + n", "a[1] *= 0.5", "if v[0] > 4: w[0] += a[0]",
    "if a[0] > 3: total *= 0.5", "v[:] *= 0.75", "count[0] = count[0] * 2 if total > 2 else 1",
    "xs.append(n)", "xs.append(v[0])", "if xs: total += xs.pop() * 0.5", "xs[-1:] = [n, 2 * n]",
    "if len(xs) > 3: xs[0] *= 0.9", "pairs.append((n, a[0]))", "total += len(xs)",
    "if pairs: w[1] += pairs[-1][0]", "e = e + [n]", "e.append(r)", "b[1] += n",
)  # fmt: skip


def drawn(seed):
    """A recursive function that changes arrays, lists and outer variables around its calls."""
    rng = random.Random(seed)
    calls = [
        "r = g(a, n - 1)",
        "r = total + g(b, n - 1) + b[0]",
        "r = g(a, n - 1.5) * 0.5",
        "g(a, n - 2)",
    ]
    lines = ["r = 0.5", "b = np.zeros(2)", "e = [n]"]
    lines += [rng.choice(_CHANGES) for _ in range(rng.randint(1, 3))]
    lines.append(rng.choice(["if n < 1: return n", "if n < 1: return r + v[0]"]))
    for _ in range(rng.randint(1, 2)):
        lines.append(rng.choice(calls))
        lines += [rng.choice(_CHANGES) for _ in range(rng.randint(0, 2))]
        if rng.random() < 0.3:
            lines.append("if v[0] > 6 and n < 2: return r")
    lines.append("return r + a[0] * 0.25 + e[0] * len(e)")
    body = "\n        ".join(["nonlocal total", *lines])
    return f"""
import numpy as np

def f(x):
    v, w, count, total, xs, pairs = np.zeros(2), np.ones(2), [0.0], 0.0, [], []
    def g(a, n):
        {body}
    s = np.zeros(2)
    y = g(s, x) + v[0] + 2 * v[1] + 3 * w[0] + w[1] + count[0] + total + s[0] - s[1]
    return y + sum(xs) + len(xs) + sum(p * q for p, q in pairs)
"""


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(60))
def test_drawn_changes(seed):
    f = function_from(drawn(seed), f"<recursion {seed}>")
    compiled, derivative = jit(f), jit(grad(f))
    with contextlib.suppress(CaptureError):
        for x in (3.6, 2.2, 0.4):
            assert compiled(x) == pytest.approx(f(x), rel=1e-12), x
            slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
            assert derivative(x) == pytest.approx(slope, rel=1e-4), x


def test_what_ends_by_what_is_known_is_traced_once(capsys):
    def minor(a, columns):
        print(len(columns))
        row = len(a) - len(columns)
        if len(columns) == 1:
            return a[row, columns[0]]
        total = 0.0
        for k, column in enumerate(columns):
            total = total + (-1) ** k * a[row, column] * minor(a, columns[:k] + columns[k + 1 :])
        return total

    a = np.random.default_rng(0).normal(size=(3, 3))
    found = jit(grad(lambda a: minor(a, (0, 1, 2)) * 2.0))(a)
    np.testing.assert_allclose(found, 2 * np.linalg.det(a) * np.linalg.inv(a).T)
    assert capsys.readouterr().out.split() == ["3", *("2", "1", "1") * 3]


def test_what_else_a_recursion_changes_is_kept():
    def f(x):
        seen, sums, made = [], np.zeros(3), {"last": 0.0}

        def down(n):
            seen.append(n)
            sums[n % 3] += n * x
            made["last"] = n * x
            return x if n == 0 else x * down(n - 1)

        y = down(5)
        return y + np.sum(sums * np.array([1.0, 2.0, 3.0])) + len(seen) + made["last"]

    assert jit(f)(0.9) == pytest.approx(f(0.9))
    assert jit(grad(f))(0.9) == pytest.approx(6 * 0.9**5 + (0 + 3) + 2 * (1 + 4) + 3 * (2 + 5))
