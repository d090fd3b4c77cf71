"""Loops over lists that their steps lengthen or shorten, and queues."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit

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
