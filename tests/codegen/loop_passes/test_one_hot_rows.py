"""One-hot rows: elements that would add zeros are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, hvp, trace
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_passes import one_hot_rows
from autojit.codegen.loop_passes.rows import row_groups, tile_cost
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.machine import L2
from autojit.ir.passes import optimize
from tests.codegen.row_chains import agrees
from tests.thresholds import far_matrices, share

ROWS, WIDTH, COLUMNS = 203, 21, 6


@pytest.fixture(params=[False, True], ids=["alone", "tasks"])
def tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops as they are, and divided into tasks and tiles."""
    if request.param:
        monkeypatch.setattr(task_cost, "WORTH_TRYING", 0)
        monkeypatch.setattr(task_cost, "WORK_OF_TASK", 0.016)
        far_matrices(monkeypatch)
        monkeypatch.setattr(row_groups, "LEAST", share(L2, 1 << 13))
        monkeypatch.setattr(tile_cost, "TILE", share(L2, 1 << 12))


def loops_of(f: Any, *arguments: Any) -> LoopProgram:
    return lower(optimize(trace(f)(*arguments)))


def alone(program: LoopProgram) -> int:
    """How many loops may run for a single element."""
    return sum(isinstance(s, Loop) and s.only is not None for s in statements(program))


def nearest(centers: Any, points: Any) -> Any:
    beside = points @ centers.T
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centers**2, axis=1) - 2.0 * beside
    return np.sum(np.min(squares, axis=1))


def margins(w: Any, x: Any, g: Any) -> Any:
    return np.sum(g * np.max(x @ w, axis=1))


def unit(w: Any, x: Any) -> Any:
    """The largest of several linear functions, as a layer; its cotangent has both signs."""
    return np.sum(np.tanh(np.max(x @ w, axis=-1)) ** 2)


def points_of(kind: str, dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(WIDTH, COLUMNS)), rng.normal(size=(ROWS, COLUMNS))
    if kind == "ties":
        a, b = np.round(a), np.round(b)
    elif kind == "all tie":
        a[:], b = np.round(a[0]), np.round(b)
    elif kind == "nan in a row":
        b[5, 2] = np.nan
    elif kind == "inf in a row":
        b[5, 2], b[9, 0] = np.inf, -np.inf
    elif kind == "nan in what all share":
        a[3, 3] = np.nan
    elif kind == "inf in what all share":
        a[3, 3] = np.inf
    elif kind == "zeros":
        b[::2] = -0.0
    return a.astype(dtype), b.astype(dtype)


KINDS = [
    "numbers", "ties", "all tie", "nan in a row", "inf in a row", "nan in what all share",
    "inf in what all share", "zeros",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.sampled(32)
@pytest.mark.usefixtures("tasks")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_same_as_with_all_elements(kind: str, dtype: str) -> None:
    centers, points = points_of(kind, dtype)
    rtol = 1e-10 if dtype == "float64" else 1e-4
    for which in (0, 1, (0, 1)):
        assert alone(agrees(grad(nearest, argnums=which), centers, points, rtol=rtol)) == 1
    weights = np.ascontiguousarray(centers.T)
    for g in (1.0, -0.5, np.inf, np.nan):
        cotangent = np.linspace(0.5, 1.5, ROWS).astype(dtype)
        cotangent[7] = g
        for which in (0, 1, (0, 1)):
            loops = agrees(grad(margins, argnums=which), weights, points, cotangent, rtol=rtol)
            assert alone(loops) == 1
    for which in (0, 1, (0, 1)):
        assert alone(agrees(grad(unit, argnums=which), weights, points, rtol=rtol)) == 1


def test_products_with_shares_are_done_by_the_loop() -> None:
    """Only the product remains whose rows the minima are taken of."""
    centers, points = points_of("numbers", "float64")
    for which in (0, 1, (0, 1)):
        loops = loops_of(grad(nearest, argnums=which), centers, points)
        assert sum(isinstance(s, MatrixProduct) for s in statements(loops)) == 1
        assert "only" in str(loops)


@pytest.mark.usefixtures("tasks")
def test_counts_alone() -> None:
    """The Hessian-vector product of k-means needs only the sizes of the clusters."""
    centers, points = points_of("numbers", "float64")
    direction = np.ones_like(centers)

    def product(c: Any, p: Any, d: Any) -> Any:
        return hvp(lambda c: nearest(c, p))(c, d)

    loops = agrees(product, centers, points, direction)
    assert alone(loops) == 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_in_strip_mined_rows(kind: str) -> None:
    """Functions of the extremes are computed for many rows at once, and the indices are kept."""

    def bumps(w: Any, x: Any) -> Any:
        height = np.max(x @ w, axis=1)
        return np.sum(np.tanh(height) * np.exp(-0.1 * height**2))

    w, x = points_of(kind, "float64")
    w, x = np.ascontiguousarray(w.T), np.concatenate([x, 0.5 * x, 2.0 * x])
    for which in (0, 1, (0, 1)):
        loops = agrees(grad(bumps, argnums=which), w, x)
        assert alone(loops) > 0
        assert any(b.kind == "local" for k in loops.steps for b in getattr(k, "buffers", ()))


def test_what_is_read_elsewhere_is_stored() -> None:
    """The one-hot rows are also a result."""
    w, x = points_of("numbers", "float64")

    def f(scores: Any) -> Any:
        return np.sum(np.max(scores, axis=1))

    def both(w: Any, x: Any) -> Any:
        shares = grad(f)(x @ w.T)
        return shares, shares.T @ x

    assert alone(agrees(both, w, x)) == 0


def test_short_rows_and_other_comparisons_stay() -> None:
    centers, points = points_of("numbers", "float64")
    assert alone(agrees(grad(nearest), centers[: one_hot_rows.LEAST - 1], points)) == 0

    def equal(w: Any, x: Any) -> Any:  # any number of elements may be equal to a number
        scores = x @ w.T
        return x.T @ np.where(scores == 0.5, 1.0, 0.0)

    assert alone(agrees(equal, centers, points)) == 0
