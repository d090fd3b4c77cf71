"""Functions that call themselves as often as traced values decide are loops with a stack."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from autojit import grad, hessian, jit, trace, vmap
from autojit.errors import AutojitError, CaptureError
from autojit.ir.regions.while_ import while_

from .others.test_others import by_differences


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


@pytest.mark.parametrize("f", [counted, its_argument, outer_array, outer_list, its_list])
def test_what_changes_something_is_refused(f):
    assert math.isfinite(f(5.5))
    with pytest.raises(CaptureError, match="changes an array, a list, an attribute"):
        jit(f)(5.5)


def test_a_change_of_what_it_returns_is_refused():
    with pytest.raises(AutojitError, match="is changed in place"):
        jit(what_it_returns)(5.5)


def in_a_comprehension(x):
    def f(n):
        return 1.0 if n < 1 else sum(f(n - k) for k in (1, 2))

    return f(x)


def in_a_while(x):
    def f(n):
        k = 0
        while k < n:
            k += f(n - 1)
        return k + 1

    return f(x)


@pytest.mark.parametrize(
    ("f", "words"),
    [(in_a_comprehension, "a statement of its own|through another"), (in_a_while, "loop")],
)
def test_where_it_cannot_be_left(f, words):
    with pytest.raises(CaptureError, match=words):
        jit(f)(3.0)


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
