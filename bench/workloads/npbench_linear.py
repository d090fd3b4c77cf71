"""NPBench's kernels of dense linear algebra without loops: sums of matrix products by one matrix.

The kernels are from PolyBench/C 4.2 (L.-N. Pouchet, T. Yuki), in NPBench's NumPy text. They show
how much of a product remains if only the sum of its entries is used.
"""

from __future__ import annotations

from typing import Any

from bench.workload import Function, Limit
from bench.workloads import npbench_dace as dace
from bench.workloads.npbench import kernel, same_text, uniform

ALPHA, BETA = 1.5, 1.2


def gemm(np: Any, special: Any) -> Function:
    def loss(A, B, C):
        return np.sum(ALPHA * A @ B + BETA * C)

    return loss


def gemm_gradient(np: Any) -> Function:
    def gradient(A, B, C):
        return np.outer(np.ones(len(A)), ALPHA * B.sum(axis=1))

    return gradient


def k2mm(np: Any, special: Any) -> Function:
    def loss(A, B, C, D):
        return np.sum(ALPHA * A @ B @ C + BETA * D)

    return loss


def k2mm_gradient(np: Any) -> Function:
    def gradient(A, B, C, D):
        return np.outer(np.ones(len(A)), ALPHA * B @ C.sum(axis=1))

    return gradient


def k3mm(np: Any, special: Any) -> Function:
    def loss(A, B, C, D):
        return np.sum(A @ B @ C @ D)

    return loss


def k3mm_gradient(np: Any) -> Function:
    def gradient(A, B, C, D):
        return np.outer(np.ones(len(A)), B @ (C @ D.sum(axis=1)))

    return gradient


def atax(np: Any, special: Any) -> Function:
    def loss(A, x):
        return np.sum((A @ x) @ A)

    return loss


def atax_gradient(np: Any) -> Function:
    def gradient(A, x):
        return np.outer(A.sum(axis=1), x) + (A @ x)[:, None]

    return gradient


def bicg(np: Any, special: Any) -> Function:
    def loss(A, p, r):
        return np.sum(r @ A) + np.sum(A @ p)

    return loss


def bicg_gradient(np: Any) -> Function:
    def gradient(A, p, r):
        return r[:, None] + p

    return gradient


def mvt(np: Any, special: Any) -> Function:
    def loss(A, x1, x2, y1, y2):
        return np.sum(x1 + A @ y1) + np.sum(x2 + y2 @ A)

    return loss


def mvt_gradient(np: Any) -> Function:
    def gradient(A, x1, x2, y1, y2):
        return y2[:, None] + y1

    return gradient


def gesummv(np: Any, special: Any) -> Function:
    def loss(A, B, x):
        return np.sum(ALPHA * A @ x + BETA * B @ x)

    return loss


def gesummv_gradient(np: Any) -> Function:
    def gradient(A, B, x):
        return np.outer(np.ones(len(A)), ALPHA * x)

    return gradient


def gemver(np: Any, special: Any) -> Function:
    """The loss sums all three results: the matrix with two outer products added, x and w."""

    def loss(A, u1, v1, u2, v2, w, x, y, z):
        A = A + np.outer(u1, v1) + np.outer(u2, v2)
        x = x + BETA * y @ A + z
        w = w + ALPHA * A @ x
        return np.sum(A) + np.sum(w) + np.sum(x)

    return loss


def gemver_gradient(np: Any) -> Function:
    def gradient(A, u1, v1, u2, v2, w, x, y, z):
        A = A + np.outer(u1, v1) + np.outer(u2, v2)
        x = x + BETA * y @ A + z
        by_x = 1.0 + ALPHA * A.sum(axis=0)
        return np.outer(y, BETA * by_x) + (1.0 + ALPHA * x)

    return gradient


def doitgen(np: Any, special: Any) -> Function:
    def loss(A, C4):
        return np.sum(A @ C4)

    return loss


def doitgen_gradient(np: Any) -> Function:
    def gradient(A, C4):
        return np.tile(C4.sum(axis=1), (*A.shape[:2], 1))

    return gradient


def covariance(np: Any, special: Any) -> Function:
    def loss(data):
        centred = data - np.mean(data, axis=0)
        return np.sum(centred.T @ centred / (data.shape[0] - 1.0))

    return loss


def torch_covariance(torch: Any) -> Function:
    return lambda data: torch.sum(torch.cov(data.T))


def jax_covariance(jax: Any) -> Function:
    return lambda data: jax.numpy.sum(jax.numpy.cov(data, rowvar=False))


def covariance_gradient(np: Any) -> Function:
    def gradient(data):
        rows = data.sum(axis=1)
        by_rows = 2.0 * (rows - rows.mean()) / (len(data) - 1.0)
        return np.outer(by_rows, np.ones(data.shape[1]))

    return gradient


def correlation(np: Any, special: Any) -> Function:
    """The correlation matrix, with NPBench's guard against a deviation of almost zero."""

    def loss(data):
        deviation = np.std(data, axis=0)
        deviation = np.where(deviation <= 0.1, 1.0, deviation)
        scaled = (data - np.mean(data, axis=0)) / (np.sqrt(float(data.shape[0])) * deviation)
        return np.sum(scaled.T @ scaled)

    return loss


def torch_correlation(torch: Any) -> Function:
    def loss(data):
        deviation = torch.std(data, dim=0, correction=0)
        deviation = torch.where(deviation <= 0.1, 1.0, deviation)
        scaled = (data - torch.mean(data, dim=0)) / (data.shape[0] ** 0.5 * deviation)
        return torch.sum(scaled.T @ scaled)

    return loss


def correlation_gradient(np: Any) -> Function:
    """With s = sum of the scaled columns the loss is s @ s; a column's scale moves with it too."""

    def gradient(data):
        deviation = np.std(data, axis=0)
        assert deviation.min() > 0.1
        scale = np.sqrt(float(len(data))) * deviation
        scaled = (data - data.mean(axis=0)) / scale
        back = 2.0 * scaled.sum(axis=1)
        by_scaled = back[:, None] - back.mean() - scaled * (back @ scaled)
        return by_scaled / scale

    return gradient


NI, NJ, NK = 1000, 1100, 1200
MI, MJ, MK, ML, MM = 800, 850, 900, 950, 1000
ROWS, COLUMNS = 4000, 5000
NR, NQ, NP = 60, 60, 128
POINTS, VARIABLES = 600, 500
MVT, GESUMMV, GEMVER = 5500, 2000, 1000

WORKLOADS = (
    kernel(
        "gemm",
        f"sum of alpha A B + beta C, {NI} x {NK} x {NJ}, by A",
        uniform((NI, NK), (NK, NJ), (NI, NJ)),
        gemm,
        gemm_gradient,
        Limit(bytes_moved=8 * NK * (NI + NJ)),
        versions={"dace": dace.same_program(gemm, "forward", "whole"), "torch": same_text(gemm)},
    ),
    kernel(
        "k2mm",
        f"sum of alpha A B C + beta D, {MI} x {MK} x {MJ} x {ML}, by A",
        uniform((MI, MK), (MK, MJ), (MJ, ML), (MI, ML)),
        k2mm,
        k2mm_gradient,
        Limit(bytes_moved=8 * (MK * (MI + MJ) + MJ * ML)),
        versions={"dace": dace.same_program(k2mm, "forward", "whole"), "torch": same_text(k2mm)},
    ),
    kernel(
        "k3mm",
        f"sum of A B C D, {MI} x {MK} x {MJ} x {MM} x {ML}, by A",
        uniform((MI, MK), (MK, MJ), (MJ, MM), (MM, ML)),
        k3mm,
        k3mm_gradient,
        Limit(bytes_moved=8 * (MK * (MI + MJ) + MM * (MJ + ML))),
        versions={"dace": dace.same_program(k3mm, "forward", "whole"), "torch": same_text(k3mm)},
    ),
    kernel(
        "atax",
        f"sum of (A x) A, {ROWS} x {COLUMNS}, by A",
        uniform((ROWS, COLUMNS), (COLUMNS,)),
        atax,
        atax_gradient,
        Limit(bytes_moved=16 * ROWS * COLUMNS),
        versions={"dace": dace.same_program(atax, "forward", "whole"), "torch": same_text(atax)},
    ),
    kernel(
        "bicg",
        f"sums of r A and A p, {COLUMNS} x {ROWS}, by A",
        uniform((COLUMNS, ROWS), (ROWS,), (COLUMNS,)),
        bicg,
        bicg_gradient,
        Limit(bytes_moved=8 * ROWS * COLUMNS),
        versions={"dace": dace.same_program(bicg, "whole"), "torch": same_text(bicg)},
    ),
    kernel(
        "mvt",
        f"sums of x1 + A y1 and x2 + y2 A, {MVT} x {MVT}, by A",
        uniform((MVT, MVT), *[(MVT,)] * 4),
        mvt,
        mvt_gradient,
        Limit(bytes_moved=8 * MVT**2),
        versions={"dace": dace.same_program(mvt, "whole"), "torch": same_text(mvt)},
    ),
    kernel(
        "gesummv",
        f"sum of alpha A x + beta B x, {GESUMMV} x {GESUMMV}, by A",
        uniform((GESUMMV, GESUMMV), (GESUMMV, GESUMMV), (GESUMMV,)),
        gesummv,
        gesummv_gradient,
        Limit(bytes_moved=8 * GESUMMV**2),
        versions={
            "dace": dace.same_program(gesummv, "forward", "whole"),
            "torch": same_text(gesummv),
        },
    ),
    kernel(
        "gemver",
        f"sums of A + two outer products, x and w of PolyBench's gemver, {GEMVER} x {GEMVER}, by A",
        uniform((GEMVER, GEMVER), *[(GEMVER,)] * 8),
        gemver,
        gemver_gradient,
        Limit(bytes_moved=16 * GEMVER**2, flops=14 * GEMVER**2),
        versions={"dace": dace.program(dace.gemver, "whole"), "torch": same_text(gemver)},
    ),
    kernel(
        "doitgen",
        f"sum of A C4 over the last axis, {NR} x {NQ} x {NP}, by A",
        uniform((NR, NQ, NP), (NP, NP)),
        doitgen,
        doitgen_gradient,
        Limit(bytes_moved=8 * NP * (NR * NQ + NP)),
        versions={
            "dace": dace.same_program(doitgen, "forward", "whole"),
            "torch": same_text(doitgen),
        },
    ),
    kernel(
        "covariance",
        f"sum of the covariances of {VARIABLES} variables, {POINTS} points",
        uniform((POINTS, VARIABLES)),
        covariance,
        covariance_gradient,
        Limit(bytes_moved=16 * POINTS * VARIABLES),
        versions={
            "dace": dace.same_program(covariance, "whole"),
            "torch": torch_covariance,
            "jax": jax_covariance,
        },
    ),
    kernel(
        "correlation",
        f"sum of the correlations of {VARIABLES} variables, {POINTS} points",
        uniform((POINTS, VARIABLES)),
        correlation,
        correlation_gradient,
        Limit(bytes_moved=16 * POINTS * VARIABLES),
        versions={"dace": dace.program(dace.correlation), "torch": torch_correlation},
    ),
)
