"""Lists that grow and shrink as traced values decide."""

from __future__ import annotations

import bisect
import math

import numpy as np

from .program import program

X = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])


@program((20.0, 0.3), (5.0, 0.7))
def euler_cooling(temp, k, limit=1.0, h=0.25):
    ts, temps = [0.0], [temp]
    t = 0.0
    while temp > limit:
        temp += h * -k * temp
        t += h
        ts.append(t)
        temps.append(temp)
    return temps[-1] * ts[-1] + sum(temps) + len(ts)


@program(
    (np.array([1.0, 3.0, 2.0, 5.0, 4.0, 6.0, 1.0]),),
    (np.array([1.0, 2.0, 3.0, 1.5, 4.0, 6.0, 7.0]),),
)
def local_maxima(y):
    peaks = []
    for i in range(1, len(y) - 1):
        if y[i] > y[i - 1] and y[i] > y[i + 1]:
            peaks.append(y[i])
    if not peaks:
        return 0.0
    return sum(peaks) / len(peaks)


@program(
    (np.array([0.1, 0.5, 0.2, 0.9, 0.3]), 0.4),
    (np.array([0.6, 0.5, 0.2, 0.1, 0.3]), 0.25),
    by=(0, 1),
)
def crossings(y, level):
    found = []
    for i in range(len(y) - 1):
        a, b = y[i], y[i + 1]
        if (a - level) * (b - level) < 0:
            found.append(i + (level - a) / (b - a))
    return np.array(found).mean() + len(found)


@program((np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),), (np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),))
def quicksort_with_a_stack(values):
    a = values.copy()
    stack = [(0, len(a) - 1)]
    while stack:
        lo, hi = stack.pop()
        if lo >= hi:
            continue
        pivot = a[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        stack.append((lo, j))
        stack.append((i, hi))
    return sum((i + 1) * a[i] for i in range(len(a)))


@program((1.3,), (0.4,))
def collatz_like_list(x):
    seq = [x]
    while len(seq) < 12 and seq[-1] < 50:
        seq.append(seq[-1] * 1.5 + 1 if seq[-1] < 10 else seq[-1] * 1.1)
    return sum(seq) / len(seq)


@program((np.array([0.3, 0.8, 0.1, 0.65, 0.4, 0.7]), 1.02))
def next_fit(sizes, capacity):
    bins = [0.0]
    for s in sizes:
        if bins[-1] + s <= capacity:
            bins[-1] += s
        else:
            bins.append(s)
    return len(bins) + max(bins) * bins[0]


@program((np.array([0.3, 0.8, 0.1, 0.65, 0.4, 0.7]), 1.02))
def first_fit(sizes, capacity):
    bins = []
    for s in sizes:
        for k, used in enumerate(bins):
            if used + s <= capacity:
                bins[k] += s
                break
        else:
            bins.append(s)
    return len(bins) + sum(b * b for b in bins)


@program((np.array([1.0, 2.0, 0.5, 3.0, 2.5, 4.0]),))
def patience_lis(xs):
    tails = []
    for x in xs:
        i = bisect.bisect_left(tails, x)
        if i == len(tails):
            tails.append(x)
        else:
            tails[i] = x
    return len(tails) + tails[-1]


@program((np.array([2.0, 1.0, 5.0, 6.0, 2.0, 3.0]),))
def largest_rectangle(h):
    stack, best = [], 0.0
    for i in range(len(h) + 1):
        cur = h[i] if i < len(h) else 0.0
        while stack and h[stack[-1]] >= cur:
            height = h[stack.pop()]
            width = i if not stack else i - stack[-1] - 1
            best = max(best, height * width)
        stack.append(i)
    return best


@program((1.0,), (2.0,))
def adaptive_trapezoid_stack(k):
    def f(x):
        return math.exp(-k * x) * math.sin(3 * x)

    stack = [(0.0, 2.0)]
    total = 0.0
    while stack:
        a, b = stack.pop()
        m = 0.5 * (a + b)
        coarse = 0.5 * (b - a) * (f(a) + f(b))
        fine = 0.25 * (b - a) * (f(a) + 2 * f(m) + f(b))
        if abs(fine - coarse) < 1e-4:
            total += fine
        else:
            stack.append((a, m))
            stack.append((m, b))
    return total


@program((np.array([0.2, 0.9, 0.4, 0.5, 0.3, 0.8, 0.6]), 2.0))
def gillespie(u, rate, t_end=3.0):
    t, n, i = 0.0, 10, 0
    times, counts = [], []
    while i < len(u):
        t += -math.log(u[i]) / (rate * n)
        i += 1
        if t > t_end or n == 0:
            break
        n -= 1
        times.append(t)
        counts.append(n)
    area = 0.0
    for k in range(1, len(times)):
        area += (times[k] - times[k - 1]) * counts[k - 1]
    return area


@program((np.array([1.5, 0.2, 3.3]), 0.1))
def segments_then_path(x, tol):
    path = []
    pos = 0.0
    for target in x:
        while abs(target - pos) > tol:
            pos += 0.5 * (target - pos)
            path.append(pos)
    total = 0.0
    for p, q in zip(path, path[1:]):  # noqa: RUF007
        total += abs(q - p)
    return total + path[0]


@program((np.array([1.0, 1.2, 3.0, 3.1, 0.2]), 1.1))
def filtered_comprehension(xs, t):
    kept = [x for x in xs if x > t]
    mean = sum(kept) / len(kept)
    return sum((k - mean) ** 2 for k in kept) / (len(kept) - 1)


@program((np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6]), 2.9))
def next_with_default(xs, t):
    return next((x * x for x in xs if x > t), -1.0)


@program((X, 2.0), (X, 20.0), (X, 0.0))
def lists_of_lists_that_were_filtered(xs, t):
    big = [x for x in xs if x > t]
    a = [2 * b for b in big] + [1.0]
    c = [y for y in a if y < 9.0]
    d = big[::-1] + c[1:]
    s = 0.0
    for i, (u, v) in enumerate(zip(d, reversed(d))):
        s += u * v * (i + 1)
    if d == []:
        s += 100.0
    if 1.0 in a:
        s += 10.0
    if big:
        s += max(big) - min(big) + sorted(big)[0] + big[len(big) // 2]
    return (
        s + len(d) + sum(x * x for x in big if x < 8) + max([q for q in big if q < 5], default=-3.0)
    )


@program((X, 2.0), (X, 20.0), (X, 0.0))
def methods_of_a_list(xs, t):
    out = [0.5]
    for x in xs:
        if x > t:
            out.insert(1, x)
        elif len(out) > 2:
            del out[-1]
    out.reverse()
    out.extend([2.5, x])
    out[0] += 3.0
    out[-2] = out[0] * out[-1]
    p = out.pop(0)
    while len(out) > 3:
        p = p * out.pop() + out.pop(0)
    return p + sum(out) + out.count(2.5) + out.index(out[-1])


@program((X, 2.0), (X, 20.0), (X, 0.0))
def indices_of_large_ones(xs, t):
    idx = [i for i, x in enumerate(xs) if x > t]
    s = 0.0
    for i in idx:
        s += xs[i] * i
    idx.append(0)
    pairs = []
    for i in idx:
        for j in idx:
            if i < j:
                pairs.append((i, xs[j]))
    for i, v in pairs:
        s += v / (1 + i)
    return s + len(pairs)


@program((X, 2.0), (X, 20.0), (X, 0.0))
def records_of_a_generator(xs, best):
    n = 0
    for v in (x for x in xs if x > best):
        best = v
        n += 1
        if n > 2:
            break
    return best * n


@program((1.0,), (7.0,))
def list_by_cases(x):
    a = []
    if x > 3:
        a.extend([x, 2 * x])
    else:
        a += [x]
    b = a * 2
    c = list(a)
    c.append(5)
    a.clear()
    return sum(b) + sum(c) * len(b) + len(a) + c[-1]


@program((X, 2.0), (X, 20.0), (X, 0.0))
def statistics_of_a_list(xs, t):
    out = []
    for x in xs:
        if x > t:
            out.append((x, x * x))
    if len(out) < 2:
        return xs[0]
    a = np.array(out)
    b = np.asarray([u for u, v in out])
    return a.sum() + b.mean() + np.max(b) + np.std(b) + np.dot(b, b) + np.sum([v for u, v in out])
