"""Functions with control flow on values, as people write them, each with arguments that take
different ways through it."""

# ruff: noqa: SIM108, RUF007, B905 - as people write them

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

#: A function, and lists of arguments.
CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = []


def case(*arguments: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function with the arguments that it is called with."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((f, list(arguments)))
        return f

    return register


_rng = np.random.default_rng(7)
_ROW = _rng.uniform(-1.0, 1.0, 12)
_SQUARE = _rng.uniform(-1.0, 1.0, (6, 6))


@case((2.0,), (-3.0,))
def one_branch(x):
    if x > 0:
        y = np.sin(x)
    else:
        y = x * x
    return y


@case((2.0,), (-3.0,), (0.5,))
def early_return(x):
    if x > 1:
        return x * x
    if x < -1:
        return -x
    return x**3


@case((2.0,), (0.3,), (-1.0,), (-5.0,))
def elif_chain(x):
    if x > 1:
        y = np.log(x)
    elif x > 0:
        y = x
    elif x > -2:
        y = x * x
    else:
        y = 7.0
    return y + x


@case((2.0, 3.0), (3.0, 2.0), (-1.0, -1.1))
def builtin_extremes(x, y):
    return max(x, y) * 2 + min(x, 0.5, y) - abs(y)


@case((0.5,), (-0.5,))
def conditional_expression(x):
    return (x if x > 0 else -2 * x) + (1.0 if x < 0.2 and x > -1 else np.exp(x))


@case((2.0,), (10.0,), (0.25,))
def square_root_by_newton(a):
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


@case((2.0,), (10.0,))
def newton_with_break(a):
    x = a
    for _ in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12:
            break
        x = new
    return x


@case((2.0,), (30.0,))
def newton_that_returns(a):
    x = a
    for k in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12:
            return new + 0.0 * k
        x = new
    return x


@case((1.7,), (0.2,))
def loop_with_else(x):
    total = x
    for k in range(50):
        total = total * 0.9 + 0.1 * k * x
        if total > 20:
            break
    else:
        total = -total
    return total


@case((_ROW,), (-_ROW,))
def positive_sum(x):
    s = 0.0
    for v in x:
        if v > 0:
            s += v * v
    return s


@case((_ROW,), (np.abs(_ROW),))
def continue_and_count(x):
    s, count = 0.0, 0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        count += 1
        s += x[i] * count
    return s / max(count, 1)


@case((_SQUARE, _ROW[:6]))
def triangle(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i):
            s += a[i, j] * x[j]
    return s


@case((_SQUARE, _ROW[:6]))
def forward_substitution(a, b):
    n = len(b)
    y = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= a[i, j] * y[j]
        y[i] = s / (3.0 + a[i, i])
    return np.sum(y**2)


@case((_ROW,))
def cumulative(x):
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.5 * out[i - 1] + x[i]
    return out.sum()


@case((_ROW,), (np.sort(_ROW),))
def running_maximum(x):
    best, where = x[0], 0
    for i in range(1, len(x)):
        if x[i] > best:
            best, where = x[i], i
    return best * where


@case((_ROW,))
def bubble_sort(x):
    x = x.copy()
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return np.sum(x * np.arange(n))


@case((0.3,), (2.5,), (-0.7,))
def bisection(c):
    lo, hi = -3.0, 3.0
    for _ in range(60):
        mid = (lo + hi) / 2
        if mid**3 + mid - c > 0:
            hi = mid
        else:
            lo = mid
    root = (lo + hi) / 2
    return root * c - (root**3 + root - c) / (3 * root**2 + 1) * c  # one step of Newton's


@case((0.3, 0.5), (-0.75, 0.1), (-1.8, 0.01))
def mandelbrot_escape(re, im):
    x = y = 0.0
    n = 0
    while x * x + y * y < 4.0 and n < 50:
        x, y = x * x - y * y + re, 2 * x * y + im
        n += 1
    return n + x * x + y * y


@case((27,), (6,))
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@case((48, 18), (7, 13))
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@case((0.7,), (3.0,))
def math_functions(x):
    y = math.sin(x) + math.exp(-x) * math.sqrt(x)
    if math.isfinite(y) and y > 0:
        y = math.log(y) + math.atan2(y, x)
    return float(y)


@case((_ROW[:5],))
def list_of_states(x):
    xs = [x[0]]
    for i in range(20):
        xs.append(0.9 * xs[-1] + 0.1 * x[i % 5])
    return np.sum(np.array(xs) ** 2)


@case((1.0,), (-2.0,))
def nested_function(x):
    count = 0

    def clip(v):
        nonlocal count
        if v > 0.5:
            count += 1
            return 0.5
        return v

    total = 0.0
    for k in range(12):
        total += clip(x * k)
    return total + count


@case((0.5,), (3.0,), (-1.0,))
def chained_and_bool(x):
    if 0 < x < 1 or (x > 2 and not x > 5):
        return x * x
    return -x


def _huber(r, delta):
    if abs(r) <= delta:
        return 0.5 * r * r
    return delta * (abs(r) - 0.5 * delta)


@case((_ROW, 0.3), (_ROW * 10, 0.3))
def calls_another(x, delta):
    return sum(_huber(r, delta) for r in x)


@case((_ROW, 0.3))
def calls_another_in_a_loop(x, delta):
    s = 0.0
    for i in range(len(x)):
        s += _huber(x[i], delta)
    return s


@case((_ROW[:7], _ROW[3:10]))
def dynamic_time_warping(a, b):
    n, m = len(a), len(b)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


@case((_SQUARE,))
def cholesky(m):
    a = m @ m.T + 3.0 * np.eye(6)
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] ** 2
        a[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * a[j, k]
            a[i, j] = t / a[j, j]
    s = 0.0
    for i in range(n):
        s += np.log(a[i, i])
    return s


@case((0.9,), (1.3,))
def bound_in_the_loop(x):
    found = False
    for k in range(30):
        if x**k > 5 or x**k < 0.2:
            where = k
            found = True
            break
    if found:
        return x * where
    return x


@case((0.9,), (1.3,), (0.1,))
def found_in_a_loop_that_is_unrolled(x):
    weights = {f"{k}": 1.0 + k for k in range(12)}
    found = False
    for k in range(12):
        if x * weights[f"{k}"] > 5:  # the lookup needs k as a number
            where = weights[f"{k}"]
            found = True
            break
    if found:
        return x * where
    return x


@case((0.9, 3), (1.3, 9))
def traced_range(x, n):
    s = 0.0
    for k in range(n):
        s += x**k / (k + 1)
    return s


class _Filter:
    def __init__(self, gain):
        self.gain, self.state = gain, 0.0

    def step(self, v):
        if v > self.state:
            self.state += self.gain * (v - self.state)
        else:
            self.state += 0.5 * self.gain * (v - self.state)
        return self.state


@case((_ROW, 0.3))
def object_with_state(x, gain):
    f = _Filter(gain)
    total = 0.0
    for v in x:
        total += f.step(v) ** 2
    return total


@case((_ROW,))
def zip_and_enumerate(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x[:-1], x[1:])):
        if a < b:
            s += i * (b - a)
        else:
            s -= a * b
    return s


@case((1.5,), (0.2,))
def while_true(x):
    k = 0
    while True:
        x = x * 1.1 + 0.1
        k += 1
        if x > 10:
            break
    return x * k


@case((2.0,), (0.5,))
def not_none_by_assertion(x):
    y = None if x < 0 else np.array([x, 2.0])
    assert y is not None, "missing"
    return np.sum(y)


@case((1.25,), (4.6,))
def bound_in_an_endless_loop(x):
    while True:
        y = x * 2
        x = x + 1
        if y > 10:
            break
    return y


@case((3.0, 1.0), (1.5, 2.0))
def left_in_the_middle(x, k):
    while True:
        if k > x:
            last = x * k
            break
        first = x * 1.5
        x = x / 2
        last = first + k
        if first < k:
            break
    return last
