"""NPBench's factorisations and solvers as loops over rows or columns.

The kernels are from PolyBench/C 4.2. They measure the loop itself: even if a library has the
routine (`cholesky`, `solve_triangular`), the text is the same loop for all. NPBench's loops take
ever longer slices of an array; a `scan` takes whole rows, with zeros beyond the slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads import npbench_dace as dace
from bench.workloads.loops import UNROLLED, scan_of
from bench.workloads.npbench import NO_ASSIGNMENT, kernel


@dataclass(frozen=True)
class Tools:
    """The library functions of the common texts; `put(x, at, value)` is x with an entry changed."""

    np: Any
    scan: Function
    put: Function


def put(x: Any, at: Any, value: Any) -> Any:
    x = x.copy()
    x[at] = value
    return x


def torch_put(x: Any, at: Any, value: Any) -> Any:
    x = x.clone()
    x[at] = value
    return x


def torch_scan(torch: Any) -> Function:
    """A scan over rows that are split at once: the derivative of indexing one row is as large as
    the matrix."""
    scan = scan_of(torch)

    def unbound(f: Function, init: Any, xs: Any = None, length: int | None = None) -> Any:
        return scan(f, init, tuple(x.unbind() for x in xs) if isinstance(xs, tuple) else xs, length)

    return unbound


def trisolv(tools: Tools) -> Function:
    """Forward substitution, with zeros for the unknowns not yet found."""
    np = tools.np

    def loss(L, b):
        def step(x, row):
            i, coefficients, right = row
            return tools.put(x, i, (right - coefficients @ x) / coefficients[i]), None

        x, _ = tools.scan(step, np.zeros(len(b), dtype=b.dtype), (np.arange(len(b)), L, b))
        return np.sum(x)

    return loss


def trisolv_gradient(np: Any) -> Function:
    def gradient(L, b):
        x, y = np.zeros_like(b), np.zeros_like(b)
        for i in range(b.size):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        for i in range(b.size - 1, -1, -1):
            y[i] = (1.0 - L[i + 1 :, i] @ y[i + 1 :]) / L[i, i]
        return -np.tril(np.outer(y, x))

    return gradient


def durbin(tools: Tools) -> Function:
    """Levinson and Durbin's recursion; reversed slices are kept, and shifted by one per step."""
    np = tools.np

    def loss(r):
        def shifted(first, x):
            return np.concatenate((np.reshape(first, (1,)), x[:-1]))

        def step(state, at):
            k, new = at
            past, y, reversed_y, alpha, beta = state
            beta = beta * (1.0 - alpha * alpha)
            alpha = -(new + past @ y) / beta
            updated = tools.put(y + alpha * reversed_y, k, alpha)
            reversed_y = shifted(alpha, reversed_y + alpha * y)
            return (shifted(new, past), updated, reversed_y, alpha, beta), None

        past = tools.put(np.zeros(len(r), dtype=r.dtype), 0, r[0])
        start = (past, -past, -past, -r[0], np.ones((), dtype=r.dtype))
        (_, y, _, _, _), _ = tools.scan(step, start, (np.arange(1, len(r)), r[1:]))
        return np.sum(y)

    return loss


def durbin_gradient(np: Any) -> Function:
    """The recursion solves T y = -r, where T is the symmetric Toeplitz matrix of (1, r)."""

    def gradient(r):
        n = r.size
        column = np.concatenate((np.ones(1), r[:-1]))
        matrix = column[np.abs(np.arange(n)[:, None] - np.arange(n))]
        y, back = np.linalg.solve(matrix, np.stack((-r, np.ones(n)), axis=1)).T
        both = np.correlate(back, y, "full")
        result = -back
        result[:-1] -= both[n:] + both[n - 2 :: -1]
        return result

    return gradient


def cholesky(tools: Tools) -> Function:
    """Column after column; only the lower triangle is read."""
    np = tools.np

    def loss(A):
        rows = np.arange(len(A))

        def step(L, at):
            j, column = at
            column = np.where(rows >= j, column - L @ L[j], 0.0)
            return tools.put(L, (slice(None), j), column / np.sqrt(column[j])), None

        L, _ = tools.scan(step, np.zeros(A.shape, dtype=A.dtype), (rows, A.T))
        return np.sum(L)

    return loss


def half_lower(np: Any, x: Any) -> Any:
    return np.tril(x) - 0.5 * np.diag(np.diag(x))


def cholesky_gradient(np: Any) -> Function:
    """I. Murray, "Differentiation of the Cholesky decomposition", 2016."""

    def gradient(A):
        L = np.linalg.cholesky(A)
        middle = half_lower(np, L.T @ np.tril(np.ones_like(A)))
        back = np.linalg.solve(L.T, np.linalg.solve(L.T, middle.T).T)
        return half_lower(np, back + back.T)

    return gradient


def lu(tools: Tools) -> Function:
    """LU without pivots and in place: a rank-one update of the rest for each column."""
    np = tools.np

    def loss(A):
        rows = np.arange(len(A))

        def step(A, k):
            below = np.where(rows > k, A[:, k] / A[k, k], 0.0)
            right = np.where(rows > k, A[k], 0.0)
            updated = A - below[:, None] * right
            return tools.put(updated, (slice(None), k), np.where(rows > k, below, A[:, k])), None

        factors, _ = tools.scan(step, A, rows)
        return np.sum(factors)

    return loss


def lu_gradient(np: Any) -> Function:
    def gradient(A):
        factors = A.copy()
        for k in range(len(A) - 1):
            factors[k + 1 :, k] /= factors[k, k]
            factors[k + 1 :, k + 1 :] -= np.outer(factors[k + 1 :, k], factors[k, k + 1 :])
        L, U, ones = np.tril(factors, -1) + np.eye(len(A)), np.triu(factors), np.ones_like(A)
        middle = np.tril(L.T @ np.tril(ones, -1), -1) + np.triu(np.triu(ones) @ U.T)
        return np.linalg.solve(U, np.linalg.solve(L.T, middle).T).T

    return gradient


def gramschmidt(tools: Tools) -> Function:
    """The modified method: each column found is projected out of the later ones at once."""
    np = tools.np

    def loss(A):
        columns = np.arange(A.shape[1])

        def step(A, k):
            q = A[:, k] / np.sqrt(A[:, k] @ A[:, k])
            r = np.where(columns >= k, q @ A, 0.0)
            return A - q[:, None] * r, (q, r)

        _, (Q, R) = tools.scan(step, A, columns)
        return np.sum(Q) + np.sum(R)

    return loss


def gramschmidt_gradient(np: Any) -> Function:
    """S. F. Walter, L. Lehmann, R. Lamour, "On evaluating higher-order derivatives of the QR
    decomposition of tall matrices with full column rank", 2012.
    """

    def gradient(A):
        Q, R = np.linalg.qr(A)
        sign = np.sign(np.diag(R))
        Q, R = Q * sign, R * sign[:, None]
        middle = R @ np.triu(np.ones_like(R)).T - np.ones_like(Q).T @ Q
        middle = np.tril(middle) + np.tril(middle, -1).T
        return np.linalg.solve(R, (np.ones_like(Q) + Q @ middle).T).T

    return gradient


def row(
    name: str, derivative_of: str, inputs: Any, text: Any, gradient: Any, limit: Limit, *stages: str
) -> Workload:
    """A row of the table; `stages` as for `npbench_dace.program`."""

    def jax_text(jax: Any) -> Function:
        return text(Tools(jax.numpy, jax.lax.scan, lambda x, at, value: x.at[at].set(value)))

    return kernel(
        name,
        derivative_of,
        inputs,
        lambda np, special: text(Tools(np, scan_of(np), put)),
        gradient,
        limit,
        versions={
            "autojit": lambda autojit: text(Tools(numpy, autojit.scan, put)),
            "dace": dace.program(getattr(dace, name), *stages),
            "jax": jax_text,
            "torch": lambda torch: text(Tools(torch, torch_scan(torch), torch_put)),
            "torch_compile": UNROLLED,
            "autograd": NO_ASSIGNMENT,
        },
    )


def dominant(size: int) -> Arrays:
    """A matrix whose diagonal outweighs its rows, so that no pivot is small."""
    return (numpy.random.default_rng(0).uniform(size=(size, size)) + size * numpy.eye(size),)


def trisolv_inputs() -> Arrays:
    return (*dominant(TRISOLV), numpy.random.default_rng(1).uniform(size=TRISOLV))


def durbin_inputs() -> Arrays:
    """Correlations that decrease so fast that their Toeplitz matrix is well conditioned."""
    r = numpy.random.default_rng(0).uniform(size=DURBIN)
    return (0.2 * r / numpy.arange(1.0, DURBIN + 1.0) ** 1.5,)


def cholesky_inputs() -> Arrays:
    factor = numpy.random.default_rng(0).uniform(size=(CHOLESKY, CHOLESKY))
    return (factor @ factor.T / CHOLESKY + numpy.eye(CHOLESKY),)


def gramschmidt_inputs() -> Arrays:
    return (numpy.random.default_rng(0).uniform(size=GRAMSCHMIDT),)


TRISOLV, DURBIN, CHOLESKY, LU, GRAMSCHMIDT = 2000, 1000, 100, 60, (70, 60)

WORKLOADS = (
    row(
        "trisolv",
        f"sum of the solution of a triangular system of {TRISOLV}, by the matrix",
        trisolv_inputs,
        trisolv,
        trisolv_gradient,
        Limit(bytes_moved=12 * TRISOLV**2, flops=5 * TRISOLV**2 // 2, chain=4 * TRISOLV),
        "whole",
    ),
    row(
        "durbin",
        f"sum of the solution of Yule and Walker's equations of {DURBIN}",
        durbin_inputs,
        durbin,
        durbin_gradient,
        Limit(flops=6 * DURBIN**2, chain=6 * DURBIN),
    ),
    row(
        "cholesky",
        f"sum of the Cholesky factor of a {CHOLESKY} x {CHOLESKY} matrix, by columns",
        cholesky_inputs,
        cholesky,
        cholesky_gradient,
        Limit(flops=CHOLESKY**3, chain=6 * CHOLESKY),
    ),
    row(
        "lu",
        f"sum of the LU factors of a {LU} x {LU} matrix, without pivots",
        lambda: dominant(LU),
        lu,
        lu_gradient,
        Limit(flops=2 * LU**3, chain=4 * LU),
    ),
    row(
        "gramschmidt",
        f"sums of Q and R of a {GRAMSCHMIDT[0]} x {GRAMSCHMIDT[1]} matrix, by Gram and Schmidt",
        gramschmidt_inputs,
        gramschmidt,
        gramschmidt_gradient,
        Limit(flops=6 * GRAMSCHMIDT[0] * GRAMSCHMIDT[1] ** 2, chain=6 * GRAMSCHMIDT[1]),
        "forward",
    ),
)
