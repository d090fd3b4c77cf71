"""Results in the buffers of their operands, and cases in which that would be wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import jit
from autojit.codegen.loop_passes import reuse_buffers, strip_mine
from autojit.codegen.loop_passes.tasks import task_cost

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 30))
W = RNG.standard_normal((30, 30))


@pytest.fixture(autouse=True)
def _everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Include small arrays, also in tasks."""
    monkeypatch.setattr(reuse_buffers, "LEAST", 0)
    monkeypatch.setattr(strip_mine, "WORTH_BLOCKS", 0)
    monkeypatch.setattr(task_cost, "WORTH_TRYING", 0)
    monkeypatch.setattr(task_cost, "WORK_OF_TASK", 1e-6)


def taken(function: Callable[..., Any], *arguments: Any) -> set[str]:
    """Which temporaries share which buffers; results are first compared with NumPy's."""
    for _ in range(3):
        np.testing.assert_allclose(
            jit(function)(*arguments), function(*arguments), rtol=1e-11, atol=1e-11
        )
    text = jit(function).lower(*arguments).text("loops")
    lines = [line for line in text.splitlines() if line.startswith("  temp") and " in " in line]
    return {line.split(" in ")[1] for line in lines}


def test_elementwise_results_reuse_the_buffers_of_products() -> None:
    assert taken(lambda x, w: np.tanh(x @ w), X, W) == {"out0"}


def test_rows_that_are_read_twice_before() -> None:
    """The sum of a row is complete before the row is written."""

    def softmax(x: Any, w: Any) -> Any:
        scores = x @ w
        weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        return weights / np.sum(weights, axis=1, keepdims=True)

    assert "out0" in taken(softmax, X, W)


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y[::-1] * 2.0,
        lambda y: y[:, ::-1] * 2.0,
        lambda y: np.roll(y, 1, axis=0) + 1.0,
        lambda y: y + np.roll(y, 1, axis=1),
        lambda y: y[:30].T * 2.0,
        lambda y: y - np.max(y, axis=0),
        lambda y: y - y[0],
        lambda y: y - y[:, :1],
        lambda y: y[np.arange(39, -1, -1)] * 1.0,
        lambda y: np.reshape(np.reshape(y, (30, 40)).T, (40, 30)) * 2.0,
    ],
)
def test_what_is_read_elsewhere_is_kept(read: Callable[[Any], Any]) -> None:
    """Results are right in any case; if elements move, no buffer is reused."""
    found = taken(lambda x, w: read(x @ w), X, W)
    # A row is complete before it is written if only its own elements are read.
    assert found <= {"out0"}


@pytest.mark.parametrize(
    "read", [lambda y: y[::-1] * 2.0, lambda y: np.roll(y, 1, axis=0) + y, lambda y: y - y[0]]
)
def test_rows_that_move_are_kept(read: Callable[[Any], Any]) -> None:
    assert not taken(lambda x, w: read(x @ w), X, W)


def test_what_is_read_later_is_kept() -> None:
    def both(x: Any, w: Any) -> Any:
        y = x @ w
        return np.tanh(y) @ w + y

    text = jit(both).lower(X, W).text("loops")
    np.testing.assert_allclose(jit(both)(X, W), both(X, W), rtol=1e-11)
    product = next(line for line in text.splitlines() if " @ " in line).split(" = ")[0].strip()
    assert f"temp {product}: f64[1200] in " not in text


def test_chains_share_one_buffer() -> None:
    def chain(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = np.tanh(x @ w) + 1.0
        return x

    program = jit(chain).lower(X, W)
    assert program.cost()["temporaries"] <= 2 * X.nbytes
    taken(chain, X, W)


def test_inputs_are_never_written_to() -> None:
    x = X.copy()
    jit(lambda x: x * 2.0)(x)
    jit(lambda x, w: np.tanh(x @ w) * x)(x, W)
    np.testing.assert_array_equal(x, X)
