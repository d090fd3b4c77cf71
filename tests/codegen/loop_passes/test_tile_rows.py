"""Products and loops over the same rows, tile by tile, against the interpreter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import product_of, statements, walk
from autojit.codegen.loop_passes.rows import row_groups, tile_cost
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.machine import L2, using
from autojit.ir.passes import optimize
from tests.codegen.row_chains import agrees, random_chain
from tests.machines import with_avx512
from tests.thresholds import far_matrices, share

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of two kilobytes; matrices of eight kilobytes or more count as being in memory."""
    far_matrices(monkeypatch)
    monkeypatch.setattr(row_groups, "LEAST", share(L2, 1 << 13))
    monkeypatch.setattr(tile_cost, "TILE", share(L2, 1 << 11))
    monkeypatch.setattr(tile_cost, "LARGEST", share(L2, 1 << 13))


def loops_of(f: Any, *arguments: Any) -> LoopProgram:
    return lower(optimize(trace(f)(*arguments)))


def tiled_rows(program: LoopProgram) -> list[str]:
    """The buffers of the products that are computed tile by tile."""
    kernels = [s for s in program.steps if isinstance(s, Kernel) and product_of(s) is None]
    products = (s for k in kernels for s in walk(k.body) if isinstance(s, MatrixProduct))
    return [s.c.name.split("_of_")[0] for s in products]


def nearest(centers: Any, points: Any) -> Any:
    beside = points @ centers.T
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centers**2, axis=1) - 2.0 * beside
    return np.sum(np.min(squares, axis=1))


@pytest.mark.parametrize("count", [512, 640, 509])
def test_a_matrix_between_two_products_has_memory_for_one_tile(count: int) -> None:
    centers, points = RNG.normal(size=(12, 8)), RNG.normal(size=(count, 8))
    loops = agrees(grad(nearest), centers, points)
    names = [name.split("_")[1] for name in tiled_rows(loops)]
    assert names == ["tile", "part"] * (2 if count == 509 else 1)
    assert max(b.size for b in loops.temps) < count * 12


def test_a_batch_is_tiled_matrix_by_matrix() -> None:
    def mixture(means: Any, factors: Any, x: Any) -> Any:
        scaled = (x - means[:, None, :]) @ np.swapaxes(factors, 1, 2)
        heights = -0.5 * np.sum(scaled**2, axis=2)
        return np.sum(np.log(np.sum(np.exp(heights), axis=0)))

    arguments = RNG.normal(size=(9, 8)), RNG.normal(size=(9, 8, 8)), RNG.normal(size=(40, 8))
    for k in (0, 1):
        loops = agrees(grad(mixture, argnums=k), *arguments)
        assert any(s.batch == (1,) for s in statements(loops) if isinstance(s, MatrixProduct))


@pytest.mark.sampled(56)
@pytest.mark.parametrize("seed", range(60))
def test_random_chains(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(task_cost, "WORTH_TRYING", 0)
        monkeypatch.setattr(task_cost, "WORK_OF_TASK", 1e-6)
    f, arguments, rtol = random_chain(seed)
    for which in (0, 1, 2, (0, 1, 2)):
        agrees(grad(f, argnums=which), *arguments, rtol=rtol)


def test_most_chains_are_tiled() -> None:
    def f(x: Any, w: Any, u: Any) -> Any:
        h = np.tanh(x @ w)
        logits = h @ u
        shares = np.exp(logits - np.max(logits, axis=1, keepdims=True))
        return -np.sum(np.log(shares[:, 0] / np.sum(shares, axis=1)))

    x, w, u = RNG.normal(size=(600, 8)), RNG.normal(size=(8, 24)), RNG.normal(size=(24, 10))
    loops = agrees(grad(f, argnums=(1, 2)), x, w, u)
    kernels = [s for s in loops.steps if isinstance(s, Kernel)]
    with_products = [
        k for k in kernels if sum(isinstance(s, MatrixProduct) for s in walk(k.body)) > 1
    ]
    assert len(with_products) == 1
    assert not re.search(r"temp t\d+: f64\[(6000|14400)\]", str(loops))


@pytest.mark.parametrize(("rows", "expected"), [(512, 0), (20_000, 3)])
def test_tiles_have_to_save_more_than_they_cost(
    rows: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matrices in the last-level cache are fast enough without tiles. From memory they are not, but
    for few rows the sums would go through their whole results once per tile."""
    monkeypatch.undo()

    def f(w: Any, scale: Any, u: Any) -> Any:
        h = np.ones((rows, 128)) @ w
        h = (h - np.mean(h, -1, keepdims=True)) / np.std(h, -1, keepdims=True) * scale
        return np.mean((np.tanh(h + h**3) @ u) ** 2)

    arguments = np.ones((128, 256)), np.ones(256), np.ones((256, 64))
    with using(with_avx512()):
        loops = loops_of(grad(f, argnums=(0, 1, 2)), *arguments)
    assert len(tiled_rows(loops)) == expected, str(loops)


def test_not_a_number_stays_in_its_row() -> None:
    points = RNG.normal(size=(512, 8))
    points[77, 3] = np.nan
    value = jit(lambda c, p: np.min(p @ c.T, axis=1) + np.max(np.exp(p @ c.T), axis=1))
    result = value(RNG.normal(size=(12, 8)), points)
    assert np.isnan(result[77])
    assert np.isfinite(np.delete(result, 77)).all()


def test_results_do_not_depend_on_threads() -> None:
    centers, points = RNG.normal(size=(12, 8)), RNG.normal(size=(40_000, 8))
    f = jit(grad(nearest))
    first = f(centers, points)
    for _ in range(20):
        np.testing.assert_array_equal(f(centers, points), first)
