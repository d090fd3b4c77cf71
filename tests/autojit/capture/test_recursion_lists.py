"""Recursion of traced depth that changes lists, returns what it changes, and runs in loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autojit import grad, jit

from .outcomes import is_same, outcome


def collected(x):
    found = []

    def collect(a, b, tol):
        m = 0.5 * (a + b)
        s = math.sin(x * a) + math.sin(x * b) - 2 * math.sin(x * m)
        if abs(s) < tol:
            found.append((m, s))
            return
        collect(a, m, tol)
        collect(m, b, tol)

    collect(0.0, 2.0, 0.05)
    return sum(m * s for m, s in found) + len(found) + found[-1][0] * x


def quadrature(x):
    points = []

    def f(t):
        points.append(t)
        return math.exp(-t * x)

    def adaptive(a, b, whole):
        m = 0.5 * (a + b)
        left = (m - a) * f(0.5 * (a + m))
        right = (b - m) * f(0.5 * (m + b))
        if abs(left + right - whole) < 1e-2:
            return left + right
        return adaptive(a, m, left) + adaptive(m, b, right)

    total = adaptive(0.0, 3.0, 0.0)
    return total * 100 + sum(points) + len(points)


def hanoi(x):
    pegs = [[3.0 * x, 2.0, 1.0], [], []]
    moves = []

    def move(n, a, b, c):
        if n >= 1:
            move(n - 1, a, c, b)
            c.append(a.pop())
            moves.append(n)
            move(n - 1, b, a, c)

    move(min(x, 3.0), *pegs)
    return sum(moves) + sum(pegs[2]) + 10 * len(pegs[0]) + 7 * sum(pegs[1])


def depth_first(x):
    adjacency = np.array([[0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1],
                          [1, 0, 0, 0, 0]])  # fmt: skip
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0]) * x
    visited, order = np.zeros(5), []

    def visit(u):
        visited[u] = 1
        order.append(u)
        for v in range(5):
            if adjacency[u, v] and not visited[v] and weights[v] < 12:
                visit(v)

    visit(0)
    return sum(weights[u] * (k + 1) for k, u in enumerate(order))


def shared_stack(x):
    stack = [x]

    def reduce():
        if len(stack) > 6:
            return stack.pop()
        stack.append(stack[-1] * 1.1 + 0.3)
        deeper = reduce()
        if stack[-1] > 2:
            deeper += stack.pop()
        return deeper * 0.9

    return reduce() + sum(stack)


def list_argument(x):
    def halves(t, out):
        out.append(t)
        if t > 0.5:
            halves(t / 2, out)
            out.append(-t)
            halves(t / 3, out)

    out = [1.0]
    halves(x, out)
    return sum(v * v for v in out) + len(out)


class Walker:
    def __init__(self, x):
        self.path, self.best, self.x = [], [0.0], x

    def go(self, t):
        self.path.append(t)
        if t > self.best[0]:
            self.best[0] = t * self.x
        if t < 1:
            return len(self.path)
        count = self.go(t - 1) + 1
        self.path.pop()
        return count + self.go(t - 2)


def in_attributes(x):
    walker = Walker(x)
    count = walker.go(x)
    return count + sum(walker.path) + walker.best[0]


def written(x):
    values = [x, 2.0, 3.0, 4.0]

    def f(n, i):
        values[i % 4] = values[i % 4] * 0.5 + n
        if n > 1:
            f(n * 0.6, i + 1)
            values[(i + 2) % 4] += f(n * 0.5, i + 3)
        return values[i % 4]

    return f(x, 0) + sum(values)


def read_before_the_call(x):
    count = [0.0]
    total = 0.0

    def f(n):
        nonlocal total
        total += n
        count[0] += 1
        if n < 1:
            return 1.0
        return total + f(n - 1) * count[0]

    return f(x) + count[0]


def added_to_before_the_call(x):
    total = 1.0
    sums = np.ones(2)

    def f(n):
        nonlocal total
        total *= 1.5
        if n < 1:
            return n
        total += f(n - 1)
        sums[0] += f(n - 2)
        return total + sums[0]

    return f(x) + total + sums[0]


def returned(x):
    def quicksort(a, low, high):
        if low < high:
            p, i = a[high], low
            for j in range(low, high):
                if a[j] < p:
                    a[i], a[j] = a[j] * 1.0, a[i] * 1.0
                    i += 1
            a[i], a[high] = a[high] * 1.0, a[i] * 1.0
            a = quicksort(a, low, i - 1)
            a = quicksort(a, i + 1, high)
        return a

    a = np.sin(np.arange(1.0, 8.0) * x)
    return quicksort(a, 0, 6) @ np.arange(7.0) + a[0]


def under_two_names(x):
    v = np.zeros(3)

    def f(a, b, n):
        a[0] += n
        v[1] += a[0]
        b[2] += v[1]
        return b[0] if n < 1 else f(a, b, n - 1) + f(b, v, n - 2)

    return f(v, v, x) + v[0] + 2 * v[1] + 3 * v[2]


def in_a_comprehension(x):
    seen = []

    def f(n):
        seen.append(n)
        if n < 1:
            return n
        parts = [f(n - k) * k for k in (1, 2)]
        return sum(parts) + sum(f(n - k - 0.5) for k in range(1, 3)) + max([0.5, *parts])

    return f(x) + len(seen)


def in_a_loop(x):
    found = []

    def f(n):
        total, k = 0.0, 1
        while k < n and total < 30:
            total += f(n - k) + k
            k += 1
            found.append(total)
        return total + n

    return f(x) + sum(found)


def left_early(x):
    found = []

    def search(n, level):
        for k in (0.5, 0.7, 0.9):
            if n * k < level:
                found.append(k)
                return n * k
            if search(n * k, level) < 0.3:
                break
            found.append(n)
        else:
            found.append(-n)
        return n

    return search(x, 0.6) + sum(found) + len(found)


def with_local_arrays(x):
    rows = []

    def f(n):
        mine = np.array([n, n * x])
        if n > 1:
            f(n - 1)
            mine[0] += 1.0
            rows.append(mine.copy())
            f(n - 1.5)
            mine *= 0.5
        rows.append(mine)

    f(x)
    return np.sum(np.array(rows) * np.array([1.0, 2.0])) + len(rows)


FUNCTIONS = [
    collected, quadrature, hanoi, depth_first, shared_stack, list_argument, in_attributes, written,
    read_before_the_call, added_to_before_the_call, returned, under_two_names, in_a_comprehension,
    in_a_loop, left_early, with_local_arrays,
]  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_python(f):
    compiled, slope = jit(f), jit(grad(f))
    for x in (3.3, 2.2, 0.45):
        expected, found = outcome(f, (x,)), outcome(compiled, (x,))
        assert is_same(expected, found), (x, expected, found)
        wanted = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope(x), wanted, rtol=1e-5, atol=1e-5)
