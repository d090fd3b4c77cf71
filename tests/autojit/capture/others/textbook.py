"""Algorithms of textbooks and of Rosetta code, as people write them for NumPy or for lists."""

from __future__ import annotations

import functools
import math
from collections import deque

import numpy as np

from .program import program

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
V = np.array([3.2, 1.1, 4.3, 1.7, 9.4, 2.6])
GRID = np.random.default_rng(5).random((5, 5)) + 0.1


@program((np.array([3.1, 1.5]),), (np.array([-1.0, 0.4]),))
def descent_with_history(x, rate=0.1, tolerance=1e-3):
    history = [x]
    gradient = np.array([2 * x[0], 20 * x[1]]) / 10
    while np.linalg.norm(gradient) > tolerance and len(history) < 200:
        x = x - rate * gradient
        history.append(x)
        gradient = np.array([2 * x[0], 20 * x[1]]) / 10
    path = np.array(history)
    return np.sum(path[:, 0] ** 2) + len(history) + np.abs(path[-1]).max()


@program((GRID, 0.3), (GRID.T, 0.5))
def flood_fill(grid, level):
    n, m = grid.shape
    seen = np.zeros((n, m), dtype=bool)
    queue = deque([(0, 0)])
    seen[0, 0] = True
    total = 0.0
    while queue:
        i, j = queue.popleft()
        total += grid[i, j]
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < m and not seen[a, b] and grid[a, b] > level:
                seen[a, b] = True
                queue.append((a, b))
    return total


@program((V,), (V[::-1].copy(),))
def sliding_maximum(x, k=3):
    window, total = deque(), 0.0
    for i in range(len(x)):
        while window and x[window[-1]] <= x[i]:
            window.pop()
        window.append(i)
        if window[0] <= i - k:
            window.popleft()
        if i >= k - 1:
            total += x[window[0]]
    return total


@program((V, 1.47), (V / 2, 0.4))
def event_queue(service, gap):
    waiting, clock, free, total = [], 0.0, 0.0, 0.0
    for i in range(len(service)):
        clock += gap
        while waiting and free <= clock:
            arrived = waiting.pop(0)
            total += free - arrived if free > arrived else 0.0
            free = max(free, arrived) + service[i] * 0.5
        waiting.append(clock)
    for arrived in waiting:
        total += max(free - arrived, 0.0)
    return total


@functools.cache
def _binomial(n, k):
    if k in (0, n):
        return 1
    return _binomial(n - 1, k - 1) + _binomial(n - 1, k)


@program((0.3,), (0.8,))
def bernstein(t, n=6):
    return sum(_binomial(n, k) * t**k * (1 - t) ** (n - k) * math.sin(k) for k in range(n + 1))


@functools.cache
def _leg(n, x):
    if n == 0:
        return 1.0
    if n == 1:
        return x
    return ((2 * n - 1) * x * _leg(n - 1, x) - (n - 1) * _leg(n - 2, x)) / n


@program((0.3,), (-0.7,))
def legendre_by_recursion(x):
    return _leg(5, x) + _leg(3, x) ** 2


@program((np.array([1.1, 3.5, 2.3, 5.2, 1.7]),), (np.array([2.0, 1.0, 2.5, 0.2, 4.5]),))
def knapsack(values, weights=(3, 4, 2, 5, 1), room=9):
    @functools.cache
    def best(i, left):
        if i == len(weights):
            return 0.0
        without = best(i + 1, left)
        if weights[i] > left:
            return without
        return max(without, values[i] + best(i + 1, left - weights[i]))

    return best(0, room)


@program((V,), (np.sort(V),), (-V,))
def longest_increasing_weight(x):
    best = []
    for i in range(len(x)):
        before = 0.0
        for j in range(i):
            if x[j] < x[i] and best[j] > before:
                before = best[j]
        best.append(before + abs(x[i]))
    return max(best)


@program((V,), (V - 4,))
def kadane(x):
    best = here = x[0]
    for v in x[1:]:
        here = max(v, here + v)
        best = max(best, here)
    return best


@program((A, np.array([1.0, 2.0, 3.0])), by=(0, 1))
def conjugate_gradients(a, b):
    a = (a + a.T) / 2
    x = np.zeros(len(b))
    r = b - a @ x
    p, rr, steps = r, r @ r, 0
    residuals = [rr]
    while rr > 1e-18 and steps < 10:
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
        residuals.append(rr)
        steps += 1
    return x.sum() + x[0] * x[1] + len(residuals) * 0.0


@program(
    (A,),
)
def power_iteration(a):
    v, old = np.ones(3) / math.sqrt(3), 0.0
    for _ in range(500):
        w = a @ v
        v = w / np.linalg.norm(w)
        value = v @ a @ v
        if abs(value - old) < 1e-14:
            break
        old = value
    return value


@program(
    (A,),
)
def jacobi_eigenvalues(a):
    a = a.copy()
    n = a.shape[0]
    for _ in range(30):
        off = 0.0
        p, q = 0, 1
        for i in range(n):
            for j in range(i + 1, n):
                if abs(a[i, j]) > off:
                    off, p, q = abs(a[i, j]), i, j
        if off < 1e-12:
            break
        theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
        t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1))
        c = 1 / math.sqrt(t * t + 1)
        s = t * c
        for k in range(n):
            akp, akq = a[k, p], a[k, q]
            a[k, p] = c * akp - s * akq
            a[k, q] = s * akp + c * akq
        for k in range(n):
            apk, aqk = a[p, k], a[q, k]
            a[p, k] = c * apk - s * aqk
            a[q, k] = s * apk + c * aqk
    return np.sum(np.sort(np.diag(a)) * np.array([1.0, 2.0, 3.0]))


@program((np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 0.5, 4.0]), 1.3), by=(1, 2))
def neville(xs, ys, x):
    p = list(ys)
    n = len(xs)
    for k in range(1, n):
        for i in range(n - k):
            p[i] = ((x - xs[i + k]) * p[i] + (xs[i] - x) * p[i + 1]) / (xs[i] - xs[i + k])
    return p[0]


@program((2.0,), (0.4,))
def adaptive_simpson_with_stack(b):
    def f(t):
        return math.exp(-t * t) + t / 3

    stack, total = [(0.0, b)], 0.0
    while stack:
        lo, hi = stack.pop()
        mid = (lo + hi) / 2
        whole = (hi - lo) / 6 * (f(lo) + 4 * f(mid) + f(hi))
        halves = (hi - lo) / 12 * (f(lo) + 4 * f((lo + mid) / 2) + 2 * f(mid)
                                   + 4 * f((mid + hi) / 2) + f(hi))  # fmt: skip
        if abs(whole - halves) < 1e-7 or hi - lo < 1e-3:
            total += halves + (halves - whole) / 15
        else:
            stack.append((lo, mid))
            stack.append((mid, hi))
    return total


@program((1.5, 0.2), (0.3, 0.7), by=(0, 1))
def kepler(mean, eccentricity):
    e = mean if eccentricity < 0.5 else math.pi
    for _ in range(50):
        delta = (e - eccentricity * math.sin(e) - mean) / (1 - eccentricity * math.cos(e))
        e -= delta
        if abs(delta) < 1e-13:
            break
    return e


@program((V,), (V * 0.5 + 1,))
def run_lengths(x):
    runs, current, length = [], x[0] > 2, 1
    for i in range(1, len(x)):
        if (x[i] > 2) == current:
            length += 1
        else:
            runs.append((length, x[i - 1]))
            current = not current
            length = 1
    runs.append((length, x[-1]))
    return sum(n * v for n, v in runs) + len(runs)


@program((np.array([[0.0, 0.0], [4.0, 0.2], [4.2, 3.0], [2.0, 1.0], [0.1, 3.1]]),))
def gift_wrapping(points):
    n = len(points)
    start = 0
    for i in range(1, n):
        if points[i, 0] < points[start, 0]:
            start = i
    hull, at = [], start
    while True:
        hull.append(points[at])
        to = (at + 1) % n
        for k in range(n):
            ab, ac = points[to] - points[at], points[k] - points[at]
            if ab[0] * ac[1] - ab[1] * ac[0] < 0:
                to = k
        at = to
        if at == start or len(hull) > n:
            break
    area = 0.0
    for i in range(len(hull)):
        p, q = hull[i], hull[(i + 1) % len(hull)]
        area += p[0] * q[1] - p[1] * q[0]
    return area / 2


@program((V,), (V[::-1] * 1.0,))
def merge_sort_with_queue(x):
    runs = deque([v] for v in [1.0, 2.0]) if len(x) == 0 else None
    a, width = x.copy(), 1
    while width < len(a):
        out = np.zeros(len(a))
        for lo in range(0, len(a), 2 * width):
            mid, hi = min(lo + width, len(a)), min(lo + 2 * width, len(a))
            i, j = lo, mid
            for k in range(lo, hi):
                if i < mid and (j >= hi or a[i] <= a[j]):
                    out[k] = a[i]
                    i += 1
                else:
                    out[k] = a[j]
                    j += 1
        a = out
        width *= 2
    return (a * np.arange(len(a))).sum() if runs is None else 0.0


@program((0.5, 2.0), (3.0, 0.7), by=(0, 1))
def agm_of_two(a, b):
    steps = [(a, b)]
    while abs(a - b) > 1e-12:
        a, b = (a + b) / 2, math.sqrt(a * b)
        steps.append((a, b))
    return steps[-1][0] + sum(p - q for p, q in steps) / len(steps)


@program((np.array([1.0, 1.2, 0.9]), 4.0), by=(0, 1))
def rk45_with_history(y, end):
    def slope(t, y):
        return np.array([y[1], -y[0] + 0.1 * y[2], -0.5 * y[2] + math.sin(t)])

    t, h = 0.0, 0.5
    ts, ys = [t], [y]
    while t < end - 1e-12 and len(ts) < 60:
        h = min(h, end - t)
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + 3 * h / 4, y + 3 * h / 4 * k2)
        new = y + h / 9 * (2 * k1 + 3 * k2 + 4 * k3)
        k4 = slope(t + h, new)
        error = np.abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8)).max()
        if error < 1e-2:
            t, y = t + h, new
            ts.append(t)
            ys.append(y)
            h *= 1.5
        else:
            h *= 0.5
    return np.array(ys).mean(axis=0).sum() + ys[-1][0] + len(ts)


@program((V, 3.0), (V, 1.0))
def quickselect_with_lists(x, t):
    items, k = [v for v in x], 2
    while True:
        pivot = items[0]
        below = [v for v in items if v < pivot]
        above = [v for v in items if v > pivot]
        if k < len(below):
            items = below
        elif k == len(below):
            break
        else:
            k -= len(below) + 1
            items = above
    return pivot * t


@program((np.array([0.2, 0.5, 0.3]),), (np.array([0.6, 0.1, 0.3]),))
def huffman_cost(weights):
    heap = [w for w in weights]
    cost = 0.0
    while len(heap) > 1:
        heap.sort()
        a = heap.pop(0)
        b = heap.pop(0)
        cost += a + b
        heap.append(a + b)
    return cost


@program((V,), (V / 3,))
def moving_average_of_five(x):
    window = deque(maxlen=3)
    out = []
    for v in x:
        window.append(v)
        out.append(sum(window) / len(window))
    return sum(v * v for v in out)


@program((V,), (np.array([1.0, 2.0, 3.0, 2.5, 0.5, 1.5]),))
def stock_span(prices):
    stack, total = [], 0.0
    for i, p in enumerate(prices):
        while stack and prices[stack[-1]] <= p:
            stack.pop()
        span = i + 1 if not stack else i - stack[-1]
        total += span * p
        stack.append(i)
    return total


@program((np.array([2.0, 1.0, 3.0, 0.5]),), (np.array([0.5, 2.5, 1.0, 3.5]),))
def trapped_water(height):
    left, right = 0, len(height) - 1
    high_left = high_right = total = 0.0
    while left < right:
        if height[left] < height[right]:
            high_left = max(high_left, height[left])
            total += high_left - height[left]
            left += 1
        else:
            high_right = max(high_right, height[right])
            total += high_right - height[right]
            right -= 1
    return total + high_left
