"""Loops over lists that their steps lengthen or shorten, and queues."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from autojit import disable_jit, grad, jit
from autojit.errors import CaptureError

X = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])


def breadth_first(x, limit):
    queue = [x]
    total = 0.0
    for u in queue:
        total += u
        if u < limit:
            queue.append(2 * u)
            queue.append(u + 1)
    return total + len(queue)


def with_depths(x, limit):
    queue = [(x, 0)]
    total = 0.0
    for i, (u, depth) in enumerate(queue, 1):
        if depth > 5:
            break
        total += u * i
        if u < limit:
            queue.append((2 * u, depth + 1))
    return total + len(queue)


def with_else(x, limit):
    xs, total = [x], 0.0
    for v in xs:
        if v > limit:
            continue
        xs.append(v * 1.5)
        total += v
        if total > 60:
            break
    else:
        total += 100
    return total


def closure(x, limit):
    seen = [x]
    for v in seen:
        for w in (v + 1, v * 2):
            if w < limit and w not in seen:
                seen.append(w)
    return sum(seen)


def shortened(x, limit):
    xs, total = [x, 2 * x, 3 * x, 4 * x, 5 * x], 0.0
    for v in xs:
        total += v
        if v > limit:
            xs.remove(v)
    return total + sum(xs)


def already_long(x, limit):
    xs = [k * x for k in range(10) if k * x < limit]
    total = 0.0
    for v in xs:
        total += v
        if v > limit / 2 and len(xs) < 12:
            xs.append(v / 2)
    return total


def of_arrays(x, limit):
    rows = [np.array([x, 1.0])]
    for row in rows:
        if row[0] < limit:
            rows.append(row * 2)
    return rows[-1].sum() + len(rows)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "f",
    [breadth_first, with_depths, with_else, closure, shortened, already_long, of_arrays],
)
def test_as_in_python(f):
    compiled, slope = jit(f), jit(grad(f))
    for args in ((1.0, 10.0), (3.0, 9.5), (20.0, 5.0)):
        assert compiled(*args) == pytest.approx(f(*args), rel=1e-13)
        assert slope(*args) == pytest.approx(grad(f)(*args), rel=1e-12)


def by_places(x):
    total, q = 0.0, [0]
    for u in q:
        total += x[u]
        for j in (u + 1, u + 2):
            if j < 6 and x[j] > x[u]:
                q.append(j)
    return total


def of_ten(x):
    total, q = 0.0, list(range(10))
    for u in q:
        total += x[u % 6]
        if x[u % 6] > 3 and u < 14:
            q.append(u + 1)
    return total


@pytest.mark.parametrize("f", [by_places, of_ten])
def test_places(f):
    for x in (X, X[::-1].copy(), -X):
        assert jit(f)(x) == pytest.approx(f(x))
        np.testing.assert_allclose(jit(grad(f))(x), grad(f)(x))


def test_an_error_of_the_body_names_its_line():
    def f(x):
        queue = [x]
        for u in queue:
            if u < 4:
                queue.append(u + 1)
            if u > 2.5:
                raise ValueError("too large")
        return len(queue)

    with pytest.raises(ValueError, match="too large"):
        jit(f)(1.0)


def by_partitions(x, limit):
    items, k = [x, 3 * x, 2 * x, limit, x / 2], 2
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
    return pivot


def halved(x, limit):
    items = [x, 2 * x, limit]
    while len(items) < limit:
        items = items + [v / 2 for v in items if v > 1]
        if items[-1] < 1:
            items = [*items[:-1], x, x]
    return sum(items)


def one_or_the_other(x, limit):
    items = [x, 2 * x, limit]
    other = [v for v in items if v > 2]
    best = items if x < limit else other
    if x > 2:
        best = []
    return sum(best) + len(best) + 0.5 * x


def without_the_first(x, limit):
    rest, total = [x, 2 * x, limit, 3 * x, 5.0], 0.0
    while rest:
        if total > limit:
            break
        total += rest[0]
        rest = rest[1:] if rest[0] < 4 else rest[2:]
    return total + len(rest)


def longer_or_shorter(x, limit):
    items = [x, 2 * x] if x < 2 else [limit]
    if x > limit:
        items = [*items, 7.0]
    rows = [np.array([x, 1.0])] if x < 2 else []
    return sum(items) + len(items) + items[-1] + sum(row[0] for row in rows)


def left_early(x, limit):
    left = [1.0 * x, 2.0, 3.0, 4.0 * x]
    for v in range(20):
        if sum(left) < limit:
            break
        left = [*left[1:], left[0] / (v + 2)]
        if left[0] > 3:
            left = left[1:]
    return sum(left) + len(left)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "f", [by_partitions, halved, one_or_the_other, without_the_first,
          longer_or_shorter, left_early]
)  # fmt: skip
def test_names_of_lists_bound_anew(f):
    for args in ((1.1, 10.0), (3.1, 9.5), (20.0, 5.0)):
        assert jit(f)(*args) == pytest.approx(f(*args), rel=1e-13)
        with disable_jit():
            known = grad(f)(*args)
        assert jit(grad(f))(*args) == pytest.approx(known, rel=1e-12)


# -- deques, and lists that lose their first element ------------------------------------------


def flood(grid, level):
    n, m = grid.shape
    seen = np.zeros((n, m), dtype=bool)
    queue, total = deque([(0, 0)]), 0.0
    seen[0, 0] = True
    while queue:
        i, j = queue.popleft()
        total += grid[i, j]
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < m and not seen[a, b] and grid[a, b] > level:
                seen[a, b] = True
                queue.append((a, b))
    return total + seen.sum()


def greatest_of_windows(x, k):
    queue, total = deque(), 0.0
    for i in range(len(x)):
        while queue and x[queue[-1]] <= x[i]:
            queue.pop()
        queue.append(i)
        if queue[0] <= i - k:
            queue.popleft()
        if i >= k - 1:
            total += x[queue[0]]
    return total


def of_the_last_three(x, level):
    window, total = deque(maxlen=3), 0.0
    for v in x:
        if v > level:
            window.append(v)
        if len(window) == 3:
            total += sum(window) / 3 + window[0] * window[-1]
    return total + len(window)


def at_both_ends(x, level):
    q = deque([x[0], 2 * x[1]], maxlen=5)
    for v in x:
        if v > level:
            q.append(3 * v)
        else:
            q.appendleft(v)
        if q[0] > q[-1]:
            q.rotate(1)
    total = 0.0
    for i, v in enumerate(q):
        total += (i + 1) * v
    return total + 10 * len(q)


def list_as_queue(x, level):
    queue, total = [x[0]], 0.0
    while queue:
        u = queue.pop(0)
        total += u
        if u < 10 * level:
            queue.append(2 * u)
            queue.append(u + 1.5)
            queue.sort()
    return total


def every_other_end(x, level):
    q = deque(v for v in x if v > level)
    total, weight = 0.0, 1.0
    while len(q) > 1:
        total += weight * (q.popleft() - 0.5 * q.pop())
        weight /= 2
    q.extend([x[0], x[1]])
    q.extendleft([x[2], x[3]])
    return total + 2 * q[0] + 3 * q[1] + 5 * q[-1]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("level", [0.25, 0.5, 0.9])
@pytest.mark.parametrize(
    "f", [flood, greatest_of_windows, of_the_last_three, at_both_ends, list_as_queue,
          every_other_end]
)  # fmt: skip
def test_queues(f, level):
    x = np.random.default_rng(3).random((4, 4) if f is flood else 12) + 0.05
    by = round(10 * level) if f is greatest_of_windows else level
    assert jit(f)(x, by) == pytest.approx(f(x, by), rel=1e-13)
    with disable_jit():
        known = grad(f)(x, by)
    np.testing.assert_allclose(jit(grad(f))(x, by), known, rtol=1e-11)


def test_a_deque_as_a_result_is_one():
    def f(x):
        q = deque([x, 2 * x], maxlen=2)
        q.append(x * x)
        assert isinstance(q, deque)
        assert not isinstance(q, list)
        assert type(q) is deque
        return q

    found = jit(f)(3.0)
    assert found == deque([6.0, 9.0])
    assert type(found) is deque
    assert found.maxlen == 2
    assert type(jit(lambda q: deque(q))(found)) is deque


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda q, x: q.popleft() + q.popleft(), IndexError, "pop from an empty deque"),
        (lambda q, x: q.pop() + q.pop(), IndexError, "pop from an empty deque"),
        (lambda q, x: q[x], IndexError, "out of range"),
        (lambda q, x: (q.remove(7.5), x)[1], ValueError, "not in"),
    ],
)
def test_errors_of_deques(f, error, words):
    def known(x):
        return f(deque([x * 1.5]), x)

    def traced(x):
        q = deque()
        if x > 0:
            q.append(x * 1.5)
        return f(q, x)

    for g in (known, traced):
        with pytest.raises(error, match=words):
            jit(g)(1)


def test_a_deque_without_room_keeps_nothing():
    def f(x):
        q = deque(maxlen=0)
        if x > 0:
            q.append(x)
        q.appendleft(x)
        return len(q) + x

    assert jit(f)(2.0) == f(2.0)


def test_a_deque_that_a_loop_runs_through_may_not_change():
    def f(x):
        q = deque([x, 2 * x, 3 * x])
        for v in q:
            if v > 2:
                q.append(v)
        return q[-1]

    with pytest.raises(RuntimeError, match="mutated"):
        f(2.5)
    with pytest.raises(CaptureError, match="A loop over a deque changes the deque"):
        jit(f)(2.5)


def beside_numbers(x):
    queue, n = [0], 0
    for _, k in zip(queue, range(9), strict=False):
        n = k + 1
        if x > n:
            queue.append(n)
    return n


def backwards(x):
    queue, n = [x, 2 * x, 3 * x], 0.0
    for u in reversed(queue):
        n += u
        if u > 2:
            queue.append(u)
    return n


@pytest.mark.parametrize("f", [beside_numbers, backwards])
def test_a_list_that_grows_under_another_iterator_is_refused(f):
    with pytest.raises(CaptureError, match="A loop over a list appends to that list"):
        jit(f)(3.0)
