"""Random computations on arrays of which a few rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, trace, value_and_grad, vmap
from autojit.ir.core.program import Program
from autojit.ir.ops.contract import Dot
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

RNG = np.random.default_rng(0)
N = 24
X, W, ROWS = RNG.normal(size=(N, 3, 4)), RNG.normal(size=(4, 4)), np.array([5, 0, -1, 5, 11])


def agrees(f: Any, *arguments: Any) -> Program:
    program = trace(f)(*arguments)
    optimized = optimize(program)
    everything = [*arguments, *program.captured]
    for got, wanted in zip(
        interpret(optimized, everything), interpret(program, everything), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11)
    return optimized


def test_products_of_rows_that_nobody_reads_are_not_computed() -> None:
    program = agrees(lambda x: (np.tanh(x @ W) + x.sum(2, keepdims=True))[ROWS], X)
    (product,) = [op for op in program.ops if isinstance(op.kind, Dot)]
    assert product.result.shape[0] == len(ROWS)
    agrees(vmap(lambda x: (x @ W)[np.array([1])]), X)
    agrees(lambda x, rows: (x @ W)[rows], X, ROWS % N)
    with pytest.raises(IndexError):
        agrees(lambda x, rows: (x @ W)[rows], X, ROWS + N)


STEPS = (
    lambda x, c: np.sin(x),
    lambda x, c: x * c + x[:, :1],
    lambda x, c: x @ (c * W),
    lambda x, c: np.swapaxes(np.swapaxes(x, 0, 1) * c, 0, 1),
    lambda x, c: np.reshape(x, (N, 2, 6))[:, :, ::-1].reshape(N, 3, 4),
    lambda x, c: x - np.mean(x, axis=2, keepdims=True),
    lambda x, c: np.concatenate([x[:, 1:], c * x[:, :1]], axis=1),
    lambda x, c: x + np.cumsum(x, axis=1)[:, ::-1],
    lambda x, c: np.where(x > c, x, np.max(x, axis=1, keepdims=True)),
    lambda x, c: x / (1.0 + np.abs(x[::-1])),
    lambda x, c: np.einsum("nij,nkj->nki", x, x)[:, :, :1] + x * c,
    lambda x, c: np.pad(x[:, :, 1:], ((0, 0), (0, 0), (0, 1))),
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(50))
def test_random_computations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = [
        (STEPS[k], c)
        for k, c in zip(rng.integers(0, len(STEPS), 5), rng.normal(size=5), strict=True)
    ]
    rows = rng.integers(-N, N, size=int(rng.integers(1, 8)))
    axis = int(rng.integers(0, 2))

    def f(x: Any) -> Any:
        for step, c in steps:
            x = step(x, c)
        return np.take(np.swapaxes(x, 0, axis), rows, axis=axis)

    agrees(f, X)
    agrees(grad(lambda x: np.sum(f(x) ** 2)), X)
    agrees(value_and_grad(lambda x: np.sum(f(np.sin(x)) * x[:1, :1, :1])), X)
