"""A recursion in a trace may be as deep as without one."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from autojit import grad, jit


def deep(x: Any, n: int) -> Any:
    return x if n == 0 else x * 0.99 + deep(x, n - 1)


class Link:
    def __init__(self, value: float, rest: Link | None) -> None:
        self.value, self.rest = value, rest


def test_known_depth() -> None:
    limit = sys.getrecursionlimit()
    n = limit // 2
    assert jit(deep, static_argnums=1)(1.0, n) == pytest.approx(deep(1.0, n), rel=1e-12)
    assert sys.getrecursionlimit() == limit


def test_a_long_chain_of_objects() -> None:
    chain = None
    for i in range(sys.getrecursionlimit() // 2):
        chain = Link(float(i % 3), chain)

    def total(link: Link | None, x: Any) -> Any:
        return 0.0 * x if link is None else link.value * x + total(link.rest, x)

    f = jit(grad(lambda x: total(chain, x)))
    assert f(2.0) == sum(float(i % 3) for i in range(sys.getrecursionlimit() // 2))


def test_endless_recursion_ends() -> None:
    def endless(x: Any, n: int) -> Any:
        return x + endless(x, n + 1)

    with pytest.raises(RecursionError):
        jit(endless, static_argnums=1)(1.0, 0)
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        grad(endless)(1.0, 0)
    assert sys.getrecursionlimit() == limit


def test_a_limit_that_the_function_sets_stays() -> None:
    limit = sys.getrecursionlimit()

    def f(x: Any) -> Any:
        sys.setrecursionlimit(5 * limit)
        return x

    try:
        jit(f)(1.0)
        assert sys.getrecursionlimit() == 5 * limit
    finally:
        sys.setrecursionlimit(limit)
