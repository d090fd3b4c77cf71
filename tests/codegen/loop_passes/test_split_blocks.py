"""Splitting long straight-line kernels: the same results, and linear compile time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, trace
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Load, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_passes import split_blocks
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from tests.codegen.row_chains import agrees

X = np.random.default_rng(0).normal(size=(5, 5))


def determinant(a: Any, row: int = 0, columns: tuple[int, ...] = tuple(range(5))) -> Any:
    """Laplace's expansion, over all permutations."""
    if len(columns) == 1:
        return a[row, columns[0]]
    total = 0.0
    for k, column in enumerate(columns):
        rest = columns[:k] + columns[k + 1 :]
        total = total + (-1.0) ** k * a[row, column] * determinant(a, row + 1, rest)
    return total


def tangled(a: Any) -> Any:
    """Scalars of every dtype, and reductions, that are used far from where they are computed."""
    flags, numbers, sums = [], [], []
    for i in range(5):
        for j in range(5):
            flags.append(a[i, j] > a[j, i])
            numbers.append(np.rint(3.0 * a[i, j]).astype(int))
            sums.append(np.sum(a[i] * np.sin(a[:, j] + len(sums))))
    total = 0.0
    for k in range(25):
        x, y = sums[k], sums[(7 * k + 3) % 25]
        total = total + np.where(flags[k], x * y, numbers[(3 * k) % 25] * x - y) * sums[24 - k]
        total = total + np.float32(0.5) * np.sqrt(total * total + 1.0)
    return total


@pytest.mark.sampled(12)
@pytest.mark.parametrize("size", [10, 37, 80])
@pytest.mark.parametrize("f", [determinant, tangled, grad(determinant), grad(tangled)])
def test_parts_give_what_the_whole_gives(
    f: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = trace(f)(X)
    inputs = [X, *program.captured]
    whole = Executable(program).call(inputs)
    monkeypatch.setattr(split_blocks, "STATEMENTS", size)
    divided = Executable(program)
    kernels = [step for step in divided.loops.steps if isinstance(step, Kernel)]
    assert len(kernels) > 2
    for got, wanted, expected in zip(
        divided.call(inputs), whole, interpret(program, inputs), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_no_part_is_long_and_each_stands_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_blocks, "STATEMENTS", 50)
    loops = lower(optimize(trace(determinant)(X)))
    long = [k for k in loops.steps if isinstance(k, Kernel)]
    assert len(long) > 1
    for kernel in long:
        own, stores = set(), 0
        for s in walk(kernel.body):
            for scalar in getattr(s, "args", ()):
                assert scalar.number in own
            if hasattr(s, "result"):
                own.add(s.result.number)
            stores += isinstance(s, (Load, Store))
        assert len(kernel.body) - stores <= split_blocks.STATEMENTS


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(45, 2, 8, 7), (9, 2, 8, 5)])
def test_private_memory_of_iterations_is_not_shared(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    """Borders make a kernel long; its middle is in tasks, which recompute some values."""
    for module, name, value in (
        (split_blocks, "STATEMENTS", 100),
        (task_cost, "WORTH_TRYING", 0),
        (task_cost, "WORK_OF_TASK", 1e-6),
    ):
        monkeypatch.setattr(module, name, value)

    def f(x: Any) -> Any:
        h = np.pad(x, ((2, 2), (2, 2), (0, 0), (0, 2)))
        h = np.maximum(h, np.flip(h, axis=3))
        h = h + np.roll(h, 1, axis=0)
        return np.sum(np.tril(h - np.max(h, axis=2, keepdims=True), 1))

    x = np.random.default_rng(0).normal(size=shape)
    for _ in range(3):
        loops = agrees(grad(f), x)
    assert sum(isinstance(s, Kernel) for s in loops.steps) > 3
