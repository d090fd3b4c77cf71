"""Dynamic programmes, sorting, searching and small integer algorithms."""

from __future__ import annotations

import math

import numpy as np

from .program import program

_rng = np.random.default_rng(5)
_WORD = np.array([3, 1, 4, 1, 5, 9])
_OTHER = np.array([2, 1, 4, 5, 6])


@program((_WORD, _OTHER, 1.5), (_OTHER, _WORD[:4], 0.7), by=(2,))
def levenshtein(s, t, cost):
    m, n = len(s), len(t)
    d = np.zeros((m + 1, n + 1))
    for i in range(1, m + 1):
        d[i, 0] = i
    for j in range(1, n + 1):
        d[0, j] = j
    for j in range(1, n + 1):
        for i in range(1, m + 1):
            if s[i - 1] == t[j - 1]:
                d[i, j] = d[i - 1, j - 1]
            else:
                d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]


@program((_WORD, _OTHER, -1.2), (_WORD, _WORD[::-1].copy(), -0.3), by=(2,))
def needleman_wunsch(a, b, gap):
    rows, cols = len(a) + 1, len(b) + 1
    F = np.zeros((rows, cols))
    for i in range(rows):
        F[i][0] = gap * i
    for j in range(cols):
        F[0][j] = gap * j
    for i in range(1, rows):
        for j in range(1, cols):
            match = F[i - 1][j - 1] + (1.0 if a[i - 1] == b[j - 1] else -1.0)
            F[i][j] = max(match, F[i - 1][j] + gap, F[i][j - 1] + gap)
    # count the gaps on the best path, traced backwards
    i, j, gaps = rows - 1, cols - 1, 0
    while i > 0 and j > 0:
        if F[i][j] == F[i - 1][j] + gap:
            i -= 1
            gaps += 1
        elif F[i][j] == F[i][j - 1] + gap:
            j -= 1
            gaps += 1
        else:
            i -= 1
            j -= 1
    return F[rows - 1][cols - 1] + 0.01 * gaps


@program((np.array([0, 1, 0, 0, 1]), np.array([[0.7, 0.3], [0.4, 0.6]])),
         (np.array([1, 1, 0]), np.array([[0.2, 0.8], [0.5, 0.5]])), by=(1,))  # fmt: skip
def viterbi(observed, transition):
    emission = np.array([[0.9, 0.1], [0.2, 0.8]])
    n = transition.shape[0]
    T = len(observed)
    score = np.zeros((T, n))
    back = np.zeros((T, n), dtype=int)
    for s in range(n):
        score[0, s] = math.log(0.5) + np.log(emission[s, observed[0]])
    for t in range(1, T):
        for s in range(n):
            best, where = -np.inf, 0
            for r in range(n):
                candidate = score[t - 1, r] + np.log(transition[r, s])
                if candidate > best:
                    best, where = candidate, r
            score[t, s] = best + np.log(emission[s, observed[t]])
            back[t, s] = where
    state = np.argmax(score[T - 1])
    total = score[T - 1, state]
    for t in range(T - 1, 0, -1):
        state = back[t, state]
        total += 0.1 * state
    return total


@program((_rng.normal(size=6), _rng.normal(size=5)), (np.arange(4.0), np.ones(7) * 0.9), by=(0, 1))
def dynamic_time_warping(x, y):
    n, m = len(x), len(y)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@program((np.array([60.0, 100.0, 120.0]), np.array([10, 20, 30]), 50),
         (np.array([10.0, 40.0, 30.0, 50.0]), np.array([5, 4, 6, 3]), 10))  # fmt: skip
def knapsack(values, weights, capacity, most=64):
    best = np.zeros(most + 1)
    for i in range(len(values)):
        for c in range(capacity, weights[i] - 1, -1):
            taken = best[c - weights[i]] + values[i]
            if taken > best[c]:
                best[c] = taken
    return best[capacity]


@program((_rng.normal(size=9),), (np.arange(6.0) + 1,), (-np.arange(6.0) - 1,))
def heaviest_increasing_subsequence(a):
    n = len(a)
    best = np.zeros(n)
    for i in range(n):
        best[i] = a[i]
        for j in range(i):
            if a[j] < a[i] and best[j] + a[i] > best[i]:
                best[i] = best[j] + a[i]
    return max(best)


@program((_rng.normal(size=7),), (np.arange(5.0)[::-1].copy(),))
def bubble_sort(a):
    a = a.copy()
    n = len(a)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
        n -= 1
    return np.sum(a * np.arange(len(a)))


@program((_rng.normal(size=7),), (np.arange(5.0)[::-1].copy(),))
def insertion_sort(values):
    a = list(values)
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return sum(k * v for k, v in enumerate(a))


@program((_rng.normal(size=11),), (np.arange(6.0)[::-1].copy(),))
def shell_sort(values):
    a = values.copy()
    gap = len(a) // 2
    while gap:
        for i in range(gap, len(a)):
            item = a[i]
            j = i
            while j >= gap and a[j - gap] > item:
                a[j] = a[j - gap]
                j -= gap
            a[j] = item
        gap = 1 if gap == 2 else int(gap * 5 / 11)
    return np.sum(a * np.arange(len(a)))


@program((0.2,), (0.45,), (0.99,), (-1.0,))
def interpolation_by_binary_search(x):
    xs = np.linspace(0.0, 1.0, 17) ** 2
    ys = np.cos(3 * xs)
    low, high = 0, len(xs) - 1
    if x <= xs[0]:
        return ys[0] + x
    while high - low > 1:
        mid = (low + high) // 2
        if xs[mid] > x:
            high = mid
        else:
            low = mid
    w = (x - xs[low]) / (xs[high] - xs[low])
    return ys[low] * (1 - w) + ys[high] * w


@program((30, 2.0), (64, 0.5), by=(1,))
def sieve_of_eratosthenes(limit, power, most=100):
    """The sum of p**-power over the primes up to the limit."""
    composite = np.zeros(most + 1, dtype=bool)
    total = 0.0
    for i in range(2, limit + 1):
        if not composite[i]:
            total += i**-power
            for j in range(i * i, limit + 1, i):
                composite[j] = True
    return total


@program((27, 0.9), (6, 0.5), (1, 0.3), by=(1,))
def collatz(n, decay):
    weight, total = 1.0, 0.0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        weight *= decay
        total += weight
    return total


@program((1071, 462, 1.5), (17, 5, -2.0), by=(2,))
def euclid(a, b, scale):
    steps = 0
    while b:
        a, b = b, a % b
        steps += 1
    return a * scale + steps


@program((10, 0.5), (45, 1.5), by=(1,))
def russian_peasant_power(n, x):
    result = 1.0
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@program((np.array([1e6, 1.0, -1e6, 2.5]),), (np.array([0.1] * 10),))
def kahan_sum(values):
    total = 0.0
    c = 0.0
    for v in values:
        t = total + v
        if abs(total) >= abs(v):
            c += (total - t) + v
        else:
            c += (v - t) + total
        total = t
    return total + c


@program((_rng.normal(size=9),), (np.arange(7.0) ** 2,))
def running_median(x, width=3):
    out = []
    for i in range(len(x) - width + 1):
        a, b, c = x[i], x[i + 1], x[i + 2]
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        out.append(b)
    return sum(out) / len(out) + out[-1] ** 2


@program((_rng.normal(size=9),), (np.array([-2.0, -3.0, -1.0]),))
def largest_sum_of_a_run(a):
    """Kadane's algorithm."""
    best = current = a[0]
    for v in a[1:]:
        current = max(v, current + v)
        best = max(best, current)
    return best
