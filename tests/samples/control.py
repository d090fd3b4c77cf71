"""Loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np

import autojit
from autojit import associative_scan, cond, fori_loop, scan, switch, while_loop
from tests.samples.kinds import H, Sample, positive, real, step, whole


def _recurrence(x: Any, rows: Any) -> Any:
    carry, ys = scan(lambda c, row: (c * row + x, np.sin(c)), x, rows)
    return carry, ys


def _stack_of_carries(x: Any, rows: Any) -> Any:
    """A carry that is unchanged, two that are swapped, an integer carry, and a result of each."""

    def body(state: Any, row: Any) -> Any:
        a, b, count, fixed = state
        return (b, a * row + fixed, count + 1, fixed), (a, count * b)

    (a, b, _, _), (first, second) = scan(body, (x, x * 2.0, 0, x), rows, reverse=True)
    return a, b, first, second


def _elements(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        return c * 0.5 + np.take_along_axis(c, np.reshape(i, 1), 0) * c[i - 1]

    return fori_loop(1, 4, body, x)


def _powers(x: Any) -> Any:
    return while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x + s[0]), (0, x))[1]


def _until_small(x: Any) -> Any:
    """The argument determines the number of steps and the divisor."""
    return while_loop(lambda c: np.sum(c * c) > 0.3, lambda c: c / (1.3 + x * x), x)


def _loops_in_loops(x: Any, rows: Any) -> Any:
    def inner(k: Any, c: Any) -> Any:
        return while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, np.sin(s[1]) + x), (0, c))[1]

    def body(c: Any, row: Any) -> Any:
        c = fori_loop(0, 3, inner, c * row)
        return cond(row[0] > 0, lambda c: c * c, lambda c: c + 1.0, c), None

    return scan(body, x, rows)[0]


CASES = [lambda x: x * x, np.sin, lambda x: x + np.sum(x)]

CONTROL = [
    Sample("scan", _recurrence, (real(3), real(4, 3)), **H),
    Sample("scan of a tree", _stack_of_carries, (real(3), real(4, 3)), **H),
    Sample("fori_loop", _elements, (real(4),), **H),
    Sample("fori_loop of a traced bound", lambda x, n: fori_loop(1, n, lambda i, c: c * x + i, x),
           (real(3), lambda rng: np.int64(4)), **H),
    Sample("while_loop", _powers, (real(3),), **H),
    Sample("Python's integers", lambda x, n: x**2 * (n * n - 7 // n),
           (real(3), lambda rng: 3), **H),
    Sample("while_loop until small", _until_small, (real(3),)),
    Sample("loops in loops", _loops_in_loops, (real(3), positive(2, 3))),
    Sample("cond of a sum", lambda x: cond(np.sum(x) < 9, np.exp, lambda x: x / 0, x), (real(3),)),
    Sample("cond of what is closed over", lambda x, y: cond(False, lambda: x, lambda: x * y),
           (real(3), real()), **H),
    *(Sample(f"switch {k}", lambda x, k=k: switch(k, CASES, x), (real(3),), **H)
      for k in (-1, 0, 1, 7)),
    Sample("map", lambda x: autojit.map(lambda row: row * np.sum(row), x), (real(3, 2),), **H),
    Sample("associative_scan", lambda x: associative_scan(np.multiply, x, axis=1), (real(2, 4),),
           **H),
    Sample("associative_scan in reverse",
           lambda x, y: associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (x, y),
                                         reverse=True)[1], (real(4), real(4)), **H),
    step("scan of int", lambda i: scan(lambda c, x: (c * 3 + x, c > x), 1, i), whole(5)),
    step("while_loop of int", lambda i: while_loop(lambda n: n % 7 != 3, lambda n: n + i, i),
         whole(low=1, high=6)),
]  # fmt: skip
