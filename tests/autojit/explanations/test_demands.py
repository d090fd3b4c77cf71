"""``assert_fused`` and its kin say which loop, which line, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.testing import assert_fused, assert_no_temporaries, assert_vectorized

pytestmark = pytest.mark.optimised

X = np.linspace(0.1, 1, 1000)


def normalized(x: Any) -> Any:
    y = np.exp(x)
    return y / y.sum()


def test_what_is_fused() -> None:
    assert_fused(lambda x: np.sum(np.exp(x) * x), X)
    assert_fused(jit(grad(lambda x: np.sum(np.exp(x) * x))), X)
    assert_fused(normalized, X, at_most=2)


def test_what_is_not_fused() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_fused(normalized, X)
    message = str(raised.value)
    assert message.startswith("normalized is 2 loop nests and library calls, more than 1:\n")
    assert "step 1, loop over 1,000" in message
    assert "test_demands.py:19: y = np.exp(x)" in message
    assert "step 1 is not fused with step 2: it reads a result of sum" in message


def test_vectors() -> None:
    assert_vectorized(normalized, X)
    with pytest.raises(AssertionError) as raised:
        assert_vectorized(np.cumsum, X)
    message = str(raised.value)
    assert "has loops that are not vector code" in message
    assert "steps run in turn" in message
    assert "autojit.vmap" in message


def test_temporaries() -> None:
    assert_no_temporaries(lambda x: np.sin(x) * 2, X)
    with pytest.raises(AssertionError) as raised:
        assert_no_temporaries(lambda a: np.exp(a @ a) @ a, np.ones((30, 30)))
    message = str(raised.value)
    assert "of temporaries:" in message
    assert "(7.03 KiB)" in message
    assert "test_demands.py" in message


def recurrence(x: Any) -> Any:
    h = x
    for _ in range(600):
        h = np.tanh(h * 0.9 + x)
        h = h / np.sum(h)
    return h


def test_what_is_fused_inside() -> None:
    assert_fused(recurrence, X, inside=2)
    with pytest.raises(AssertionError) as raised:
        assert_fused(recurrence, X, inside=1)
    message = str(raised.value)
    assert message.startswith(
        "recurrence has more than 1 loop nests and library calls inside a step:\n"
    )
    assert "    step 1.1, loop over 1,000, " in message
    assert "h = np.tanh(h * 0.9 + x)" in message
    assert_fused(recurrence, jit(recurrence).program(X).in_types[0], inside=2)


def test_vectors_inside() -> None:
    def f(x: Any) -> Any:
        for _ in range(600):
            x = np.cumsum(x) / np.sum(x)
        return x

    with pytest.raises(AssertionError) as raised:
        assert_vectorized(f, X)
    message = str(raised.value)
    assert "  step 1." in message
    assert "x = np.cumsum(x) / np.sum(x)" in message
    assert "steps run in turn" in message
