"""Tuples that are compared, sets that are asked, counts of traced numbers, lists in lists."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from autojit import grad, jit


def both_zero(n, m):
    return (1.0 if (n, m) == (0, 0) else 2.0) + ((n, m) != (m, n)) + ((n, "a") == (m, "b"))


def nested(n, m):
    return 1.0 if [n, [m, 1]] == [0, [0, 1]] or (n, m) == (1, 1, 1) else 2.0


def among_pairs(n, m):
    return 1.0 if (n, m) in [(0, 0), (1, 1)] and (n, m) not in {(0, m), (5, 5)} else 2.0


def pairs_seen(n, m):
    seen = []
    for k in range(4):
        if (k % 2, m) not in seen:
            seen.append((k % 2, m))
    return len(seen) + n


def in_a_set(n, m):
    return 1.0 if n in {0, m} else 2.0


def counted(n, m):
    counts = Counter([n, m, 1, 0])
    parity = Counter(i % 2 for i in range(n + 3))
    return counts[1] * 10 + parity[1] + sum(c // 2 for c in counts.values())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "f", [both_zero, nested, among_pairs, pairs_seen, in_a_set, counted], ids=lambda f: f.__name__
)
def test_containers_of_traced_numbers(f):
    compiled = jit(f)
    for n, m in ((0, 0), (1, 1), (0, 1), (2, 0)):
        assert compiled(n, m) == f(n, m)


def above(x, level):
    found = []
    for v in x:
        if v > level:
            found.append(v)
    return found


def lists_in_a_list(x):
    rows = [[1.0]]
    rows.append(above(x, 2))
    rows.insert(0, above(x, 1))
    rows[1].append(x[0])
    return sum(len(row) * sum(row) for row in rows) + len(rows)


def test_lists_of_traced_length_in_a_list():
    compiled, derived = jit(lists_in_a_list), jit(grad(lists_in_a_list))
    for x in (np.array([3.0, 0.9, 4.0, 1.5]), np.array([0.5, 1.9, 2.4, 2.5])):
        assert compiled(x) == pytest.approx(lists_in_a_list(x), rel=1e-12)
        for k, slope in enumerate(derived(x)):
            step = 1e-6 * np.eye(4)[k]
            expected = (lists_in_a_list(x + step) - lists_in_a_list(x - step)) / 2e-6
            assert slope == pytest.approx(expected, rel=1e-6, abs=1e-8)
