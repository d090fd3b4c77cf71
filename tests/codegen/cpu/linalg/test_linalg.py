"""Compiled linear algebra: unrolled and larger sizes, and every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import jit, vmap
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.scipy import linalg

RNG = np.random.default_rng(0)


def spd(n: int) -> Any:
    a = RNG.normal(size=(n, n))
    return a @ a.T + np.eye(n)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "part": lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
    "every other": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "broadcast": lambda a: a + np.zeros((2, 1, 1)),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("n", [4, 9])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(n: int, layout: str) -> None:
    """Views of arrays passed as arguments, and views made inside."""
    see, a, b = LAYOUTS[layout], spd(n), RNG.normal(size=(n, n))

    def several(a: Any) -> list[Any]:
        return [
            np.linalg.cholesky(a), np.linalg.inv(a), np.linalg.slogdet(a)[1], np.linalg.pinv(a),
            np.linalg.eigh(a)[0], np.linalg.qr(a)[1], np.linalg.solve(a + b, a),
            np.linalg.solve(b, a), linalg.solve_triangular(a, a, "T"),
            linalg.solve_triangular(a, b, lower=True) if a.ndim == 2 else a,
        ]  # fmt: skip

    want = several(np.ascontiguousarray(see(a)))
    for got in (jit(several)(see(a)), jit(lambda a: several(see(a)))(a)):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-11)


def equations(a: Any, b: Any) -> tuple[Any, ...]:
    """Every way to solve: by LU factors and by triangles, transposed or not."""
    triangle = np.roll(a, -1, -2)
    return (
        np.linalg.solve(a, b),
        linalg.solve(a, b, transposed=True),
        vmap(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b))(a, b),
        linalg.solve_triangular(triangle, b),
        linalg.solve_triangular(triangle, b, "T", True, True),
        np.linalg.cholesky(a @ np.swapaxes(a, -1, -2)),
    )


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("n", "columns", "dtype"),
    [(n, k, np.float64) for n in (1, 2, 3, 5, 8, 9, 33) for k in (1, 3, 8, 17)]
    + [(n, k, np.float32) for n in (1, 4, 7, 9) for k in (1, 9)],
)
def test_sizes(n: int, columns: int, dtype: Any) -> None:
    a = (RNG.normal(size=(2, n, n)) + n * np.roll(np.eye(n), 1, 0)).astype(dtype)
    b = RNG.normal(size=(2, n, columns)).astype(dtype)
    eps = 1000 * n * np.finfo(dtype).eps
    with autojit.disable_jit():
        want = jit(equations)(a, b)
    for g, w in zip(jit(equations)(a, b), want, strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g, w, rtol=eps, atol=eps * np.abs(w).max())


def steps(f: Callable[..., Any], *arguments: Any) -> list[Any]:
    return lower(optimize(autojit.trace(f)(*arguments))).steps


def test_operands_are_read_where_they_lie() -> None:
    """A transposed or reshaped operand is not copied before the step."""
    a, b = spd(4), np.ones(4)
    assert [type(s) for s in steps(lambda a: np.linalg.cholesky(a[::-1].T), a)] == [Factorization]
    both = steps(np.linalg.solve, a, b)
    assert [type(s) for s in both] == [Factorization, Factorization]
    text = str(lower(optimize(autojit.trace(np.linalg.solve)(a, b))))
    assert "= solve(t0 by (4, 1), t1 by (1,), in1 by (1, 0)) {[4,4], 1 right-hand sides," in text


@pytest.mark.parametrize(("n", "names"), [(8, []), (9, ["dgetrf", "dtrsm"]), (0, [])])
def test_small_matrices_call_no_library(n: int, names: list[str]) -> None:
    program = autojit.trace(np.linalg.solve)(np.eye(n), np.eye(n))
    code = Executable(program)
    assert Module(code.loops, code.in_types, code.out_types).functions == names


def test_the_cost_counts_factorisations() -> None:
    cost = jit(np.linalg.cholesky).lower(spd(5)).cost()
    assert cost["flops"] == sum(k * k for k in range(1, 6))
    assert cost["kernels"] == 0


def test_scratch_memory_on_the_heap() -> None:
    a = RNG.normal(size=(2, 60, 40))
    values = jit(np.linalg.svd)(a[..., :40, :])[1]
    np.testing.assert_allclose(values, np.linalg.svd(a[..., :40, :])[1])
    np.testing.assert_allclose(jit(np.linalg.pinv)(a), np.linalg.pinv(a), atol=1e-12)
    np.testing.assert_allclose(jit(np.linalg.qr)(a)[1], np.linalg.qr(a)[1], atol=1e-11)
    w = jit(np.linalg.eigvalsh)(spd(70) + np.zeros((2, 1, 1)))
    assert w.shape == (2, 70)
    assert np.all(w > 0)
