"""What loops need as they run: memory, time to compile, and how they fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, fori_loop, grad, jit, scan, while_loop

X = np.array([0.5, -1.0, 2.0])


def resident() -> int:
    """Bytes of the process that are in memory."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except FileNotFoundError:
        pytest.skip("only Linux says how much memory is in use")


# -- memory and time ----------------------------------------------------------


def test_a_long_while_loop_in_reverse() -> None:
    steps = 200_000

    def f(x: Any, n: Any) -> Any:
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + 1e-5 * x), (0, x * x))[1]

    assert jit(grad(f))(3.0, steps) == pytest.approx(6 + 1e-5 * steps)

    def g(x: Any, n: Any) -> Any:
        body = lambda s: (s[0] + 1, np.sin(s[1]) + x)  # noqa: E731
        return while_loop(lambda s: s[0] < n, body, (0, x))[1]

    # Near the fixed point y = sin(y) + x the derivative is 1 / (1 - cos(y)).
    y = jit(g)(0.5, steps)
    assert y == pytest.approx(np.sin(y) + 0.5)
    assert jit(grad(g))(0.5, steps) == pytest.approx(1 / (1 - np.cos(y)))


def test_tapes_are_given_back() -> None:
    def f(x: Any, n: Any) -> Any:
        loop = while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.sin(s[1]) * x), (0, x))
        return np.sum(loop[1])

    compiled, x, steps = jit(grad(f)), np.ones(1000), 1000
    compiled(x, steps)
    before = resident()
    for _ in range(12):
        compiled(x, steps)
    tape = 8 * x.size * steps
    assert resident() - before < 2 * tape


def test_tapes_are_given_back_where_the_loop_fails() -> None:
    def f(x: Any, n: Any) -> Any:
        body = lambda s: (s[0] + 1, np.sin(s[1]) * x[s[0]])  # noqa: E731
        return np.sum(while_loop(lambda s: s[0] < n, body, (0, x))[1])

    compiled, x = jit(grad(f)), np.ones(1000)
    before = 0
    for k in range(12):
        with pytest.raises(IndexError):
            compiled(x, 1001)
        before = before or (resident() if k else 0)
    assert resident() - before < 2 * 8 * x.size * 1000


def test_temporaries_of_the_gradient_of_a_scan_are_what_is_stored() -> None:
    """A step stores the sine's argument, from which both of its derivatives come."""
    n = 500_000

    def f(rows: Any) -> Any:
        return scan(lambda c, row: (np.sin(c) + row, None), 0.0, rows)[0]

    rows = np.linspace(0, 1, n)
    compiled = jit(grad(f))
    temporaries = compiled.lower(rows).cost()["temporaries"]
    assert 8 * n <= temporaries < 8 * n + 1000
    compiled(rows[:1])  # compiles, and makes nothing large
    jit(lambda x: x * 2)(rows)
    before = resident()
    result = compiled(rows)
    used = resident() - before - result.nbytes
    assert used < temporaries + (16 << 20)


def test_compiling_takes_the_same_time_whatever_the_length() -> None:
    def seconds(n: int) -> float:
        def f(x: Any) -> Any:
            c, ys = scan(lambda c, r: (np.sin(c) + r, c * r), 0.0, x)
            return c + np.sum(ys)

        lowered = jit(grad(f)).lower(np.zeros(n))
        start = time.perf_counter()
        lowered.text("asm")
        return time.perf_counter() - start

    seconds(9)
    assert min(seconds(10**6), seconds(10**6 + 1)) < 5 * min(seconds(10), seconds(11))


# -- failures -----------------------------------------------------------------


def walk_over(x: Any, n: Any) -> Any:
    return fori_loop(0, n, lambda i, c: c + x[i], 0.0)


FAILING: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: walk_over(x, 4),
    "fori_loop, first steps": lambda x: fori_loop(-4, 3, lambda i, c: c + x[i], 0.0),
    "fori_loop, traced bound": lambda x: walk_over(x, 3 + (x[0] > 0)),
    "scan": lambda x: scan(lambda c, i: (c + x[i], None), 0.0, np.array([0, 7, 1]))[0],
    "assignment": lambda x: np.sum(fori_loop(0, 4, _assigned, x)),
    "while_loop, body": lambda x: while_loop(lambda s: s[0] < 5, _next(x), (0, 0.0))[1],
    "while_loop, condition": lambda x: x[0] * while_loop(lambda i: x[i] < 9, lambda i: i + 1, 0),
    "nested": lambda x: fori_loop(0, 2, lambda i, c: c + walk_over(x, 3 + i), 0.0),
    "branch": lambda x: cond(x[0] > 0, lambda: walk_over(x, 9), lambda: 0.0),
}


def _assigned(i: Any, u: Any) -> Any:
    u[i] = 1.0
    return u


def _next(x: Any) -> Any:
    return lambda s: (s[0] + 1, s[1] * x[s[0]])


@pytest.mark.parametrize("name", FAILING)
def test_out_of_bounds(name: str) -> None:
    """The loop ends, too, whose condition would hold for ever for element 0."""
    f = FAILING[name]
    with pytest.raises(IndexError):
        autojit.trace(f)(X)(X)  # interpreted
    for g in (f, grad(f)):
        with pytest.raises(IndexError):
            jit(g)(X)
    with pytest.raises(IndexError):
        jit(autojit.vmap(f))(np.stack([X, X]))


def test_singular_matrices_end_loops() -> None:
    def f(a: Any) -> Any:
        def body(x: Any) -> Any:
            return np.linalg.solve(a, x)

        return while_loop(lambda x: ~(np.sum(x) < 1e-3), body, np.ones(2))

    assert np.sum(jit(f)(np.eye(2) * 4)) < 1e-3
    with pytest.raises(np.linalg.LinAlgError):
        jit(f)(np.ones((2, 2)))


def test_a_call_that_failed_leaves_nothing_behind() -> None:
    compiled = jit(walk_over, static_argnums=1)
    for _ in range(3):
        assert compiled(X, 3) == 1.5
        with pytest.raises(IndexError):
            compiled(X, 4)
