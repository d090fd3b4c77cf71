"""NPBench's products with a triangle, in which only half of a matrix is read or written.

They are from PolyBench/C 4.2. NPBench's texts are loops over rows; these use whole arrays with
`tril`.
"""

from __future__ import annotations

from typing import Any

from bench.workload import Function, Limit
from bench.workloads import npbench_dace as dace
from bench.workloads.npbench import kernel, same_text, uniform

ALPHA, BETA = 1.5, 1.2


def syrk(np: Any, special: Any) -> Function:
    def loss(A, C):
        return np.sum(np.triu(C, 1) + np.tril(BETA * C + ALPHA * A @ A.T))

    return loss


def both_triangles(np: Any, size: int) -> Any:
    """The cotangent of x if the lower triangle of x + x.T is summed."""
    return np.ones((size, size)) + np.eye(size)


def syrk_gradient(np: Any) -> Function:
    return lambda A, C: ALPHA * both_triangles(np, len(A)) @ A


def syr2k(np: Any, special: Any) -> Function:
    def loss(A, B, C):
        return np.sum(np.triu(C, 1) + np.tril(BETA * C + ALPHA * A @ B.T + ALPHA * B @ A.T))

    return loss


def syr2k_gradient(np: Any) -> Function:
    return lambda A, B, C: ALPHA * both_triangles(np, len(A)) @ B


def symm(np: Any, special: Any) -> Function:
    def loss(A, B, C):
        symmetric = np.tril(A) + np.tril(A, -1).T
        return np.sum(BETA * C + ALPHA * symmetric @ B)

    return loss


def symm_gradient(np: Any) -> Function:
    def gradient(A, B, C):
        sums = ALPHA * B.sum(axis=1)
        return np.tril(np.broadcast_to(sums, A.shape)) + np.tril(sums[:, None] + 0.0 * A, -1)

    return gradient


def trmm(np: Any, special: Any) -> Function:
    """The triangle's diagonal is one."""

    def loss(A, B):
        return np.sum(ALPHA * (B + np.tril(A, -1).T @ B))

    return loss


def trmm_gradient(np: Any) -> Function:
    def gradient(A, B):
        return np.tril(ALPHA * B.sum(axis=1)[:, None] + 0.0 * A, -1)

    return gradient


SYRK, SYR2K, SYMM, TRMM = (70, 50), (50, 35), (40, 50), (65, 80)

WORKLOADS = (
    kernel(
        "syrk",
        f"sum of C with alpha A A' + beta C in its lower triangle, A {SYRK[0]} x {SYRK[1]}, by A",
        uniform(SYRK, (SYRK[0], SYRK[0])),
        syrk,
        syrk_gradient,
        Limit(flops=4 * SYRK[0] * SYRK[1]),
        versions={"dace": dace.program(dace.syrk), "torch": same_text(syrk)},
    ),
    kernel(
        "syr2k",
        f"the same with alpha (A B' + B A'), {SYR2K[0]} x {SYR2K[1]}, by A",
        uniform(SYR2K, SYR2K, (SYR2K[0], SYR2K[0])),
        syr2k,
        syr2k_gradient,
        Limit(flops=4 * SYR2K[0] * SYR2K[1]),
        versions={"dace": dace.program(dace.syr2k), "torch": same_text(syr2k)},
    ),
    kernel(
        "symm",
        f"sum of alpha A B + beta C, A the lower half of a symmetric matrix of {SYMM[0]}, by A",
        uniform((SYMM[0], SYMM[0]), SYMM, SYMM),
        symm,
        symm_gradient,
        Limit(flops=SYMM[0] * (SYMM[0] + SYMM[1])),
        versions={"dace": dace.program(dace.symm, "forward", "whole"), "torch": same_text(symm)},
    ),
    kernel(
        "trmm",
        f"sum of alpha A' B, A a unit lower triangle of {TRMM[0]}, by A",
        uniform((TRMM[0], TRMM[0]), TRMM),
        trmm,
        trmm_gradient,
        Limit(flops=TRMM[0] * TRMM[1]),
        versions={"dace": dace.program(dace.trmm), "torch": same_text(trmm)},
    ),
)
