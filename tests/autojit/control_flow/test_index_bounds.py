"""Known bounds of a loop's index: an index that cannot be negative is not wrapped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit

X = np.arange(1.0, 10.0)


def below(x: Any, n: Any) -> Any:
    return autojit.fori_loop(0, n, lambda i, s: s + x[i] * x[n - 1 - i], 0.0)


def inside(x: Any) -> Any:
    def row(i: Any, s: Any) -> Any:
        return autojit.fori_loop(0, i, lambda j, s: s + x[j] * x[i - 1 - j] + x[(3 * j) % 9], s)

    return autojit.fori_loop(1, 9, row, 0.0)


def from_the_end(x: Any) -> Any:
    return autojit.fori_loop(-9, -1, lambda i, s: s * 0.5 + x[i], 0.0)


def wraps(x: Any) -> Any:
    return autojit.fori_loop(0, 9, lambda i, s: s * 0.5 + x[i - 3], 0.0)


@pytest.mark.parametrize("f", [inside, from_the_end, wraps])
def test_results(f: Any) -> None:
    expected = {
        inside: sum(X[j] * X[i - 1 - j] + X[3 * j % 9] for i in range(1, 9) for j in range(i)),
        from_the_end: sum(X[i] * 0.5 ** (-2 - i) for i in range(-9, -1)),
        wraps: sum(X[i - 3] * 0.5 ** (8 - i) for i in range(9)),
    }
    np.testing.assert_allclose(autojit.jit(f)(X), expected[f], 1e-13)


def test_traced_bounds() -> None:
    expected = sum(X[i] * X[3 - i] for i in range(4))
    np.testing.assert_allclose(autojit.jit(below)(X, 4), expected)
    with pytest.raises(IndexError, match="out of bounds"):
        autojit.jit(below)(X, 11)


def selects(f: Any) -> int:
    return autojit.trace(f)(X).text().count("= select")


def test_what_is_not_negative_is_not_wrapped() -> None:
    assert selects(from_the_end) == 0
    assert selects(wraps) == 1
    assert selects(inside) == 1  # i - 1 - j, whose sign is not known
