"""Iterative solvers of ``scipy.sparse.linalg``, as loops of the compiled program.

The matrix may be a traced array, a sparse matrix, or an operator with ``matvec``. The derivative
comes from the equation; its own linear systems are solved to the same tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.control_flow.control import fori_loop, while_loop
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.linalg.matrix_functions import expm as full_expm
from autojit.scipy.registry import answers
from autojit.solvers.implicit import custom_linear_solve
from autojit.transformations.derivatives import stop_gradient

from .direct import factorized, full, inv, splu, spsolve, spsolve_triangular
from .matrices import as_sparse, is_sparse, times
from .spectral import eigs, eigsh, expm, lsmr, lsqr, matrix_power, norm, svds

__all__ = [
    "bicg", "bicgstab", "cg", "cgs", "eigs", "eigsh", "expm", "expm_multiply", "factorized",
    "gcrotmk", "gmres", "inv", "lgmres", "lsmr", "lsqr", "matrix_power", "minres", "norm", "qmr",
    "splu", "spsolve", "spsolve_triangular", "svds", "tfqmr",
]  # fmt: skip

Product = Callable[[Any], Any]


def product(a: Any) -> Product:
    """``x -> A @ x`` for a matrix, a sparse matrix or an operator."""
    if hasattr(a, "matvec"):
        # SciPy's `matvec` makes a NumPy array of x, then calls `_matvec`.
        inner = getattr(a, "_matvec", a.matvec)
        return lambda x: np.reshape(floating(inner(x)), (-1,))
    if is_sparse(a):
        entries = as_sparse(a)
        return lambda x: times(entries, x)
    matrix = floating(a)
    return lambda x: matrix @ x


def _small(r: Any, bound: Any) -> Any:
    return np.sqrt(np.sum(r * r)) <= bound


def _solved(
    name: str, method: Callable[..., Any], a: Any, b: Any, x0: Any, rtol: float, atol: float,
    maxiter: Any, m: Any, callback: Any, symmetric: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    if callback is not None:
        raise refused(f"scipy.sparse.linalg.{name}", "callback= is not covered.")
    right = floating(b)
    if right.dtype.kind == "c":
        raise refused(f"scipy.sparse.linalg.{name}", "complex numbers are not covered.")
    shape, right = right.shape, np.reshape(right, (-1,))
    n = right.shape[0]
    most = 10 * n if maxiter is None else int(maxiter)
    rtol, atol = float(known(rtol, "rtol", name)), float(known(atol, "atol", name))
    forward, better = product(a), (lambda x: x) if m is None else product(m)
    start = np.zeros(n) if x0 is None else stop_gradient(np.reshape(floating(x0), (-1,)))

    def bound(y: Any) -> Any:
        return np.maximum(rtol * np.sqrt(np.sum(y * y)), atol)

    def solve(matvec: Product, y: Any) -> Any:
        return method(matvec, y, start, better, bound(y), most)

    def transposed(vecmat: Product, y: Any) -> Any:
        return method(vecmat, y, np.zeros(n), better if symmetric else lambda x: x, bound(y), most)

    if symmetric:
        found = custom_linear_solve(forward, right, solve, symmetric=True)
    else:
        found = custom_linear_solve(forward, right, solve, transposed)
    off = stop_gradient(right - forward(found))
    info = np.where(_small(off, 10 * bound(stop_gradient(right)) + 1e-300), 0, most)
    return np.reshape(found, shape), info


def _conjugate_gradients(a: Product, b: Any, x: Any, better: Product, bound: Any, most: int) -> Any:
    """Conjugate gradients: Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952), 409-436."""
    r = b - a(x)
    z = better(r)

    def step(state: Any) -> Any:
        x, r, p, rz, n = state
        ap = a(p)
        alpha = rz / np.sum(p * ap)
        x, r = x + alpha * p, r - alpha * ap
        z = better(r)
        new = np.sum(r * z)
        return x, r, z + new / rz * p, new, n + 1

    unfinished = lambda s: np.logical_and(s[4] < most, np.logical_not(_small(s[1], bound)))  # noqa: E731
    return while_loop(unfinished, step, (x, r, z, np.sum(r * z), np.int64(0)))[0]


def _bicgstab(a: Product, b: Any, x: Any, better: Product, bound: Any, most: int) -> Any:
    """BiCGSTAB: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631-644."""
    r = b - a(x)
    shadow = r

    def step(state: Any) -> Any:
        x, r, p, rho, n = state
        better_p = better(p)
        v = a(better_p)
        alpha = rho / _nonzero(np.sum(shadow * v))
        s = r - alpha * v
        better_s = better(s)
        t = a(better_s)
        omega = np.sum(t * s) / _nonzero(np.sum(t * t))
        x = x + alpha * better_p + omega * better_s
        r = s - omega * t
        new = np.sum(shadow * r)
        beta = new / _nonzero(rho) * (alpha / _nonzero(omega))
        return x, r, r + beta * (p - omega * v), new, n + 1

    unfinished = lambda s: np.logical_and(s[4] < most, np.logical_not(_small(s[1], bound)))  # noqa: E731
    return while_loop(unfinished, step, (x, r, r, np.sum(r * r), np.int64(0)))[0]


def _nonzero(x: Any) -> Any:
    return np.where(x == 0, 1.0, x)


def _gmres(restart: int) -> Callable[..., Any]:
    """Restarted GMRES: Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869."""

    def method(a: Product, b: Any, x: Any, better: Product, bound: Any, most: int) -> Any:
        n = b.shape[0]
        m = min(restart, n)

        def column(j: Any, state: Any) -> Any:
            basis, h = state
            w = better(a(basis[j]))
            weights = 0.0 * basis[:, 0]
            for _ in range(2):  # twice, so that w is orthogonal to within rounding
                more = basis @ w
                weights, w = weights + more, w - more @ basis
            size = np.sqrt(np.sum(w * w))
            basis, h = basis.copy(), h.copy()
            basis[j + 1] = w / _nonzero(size)
            h[:, j] = weights
            h[j + 1, j] = size
            return basis, h

        def cycle(state: Any) -> Any:
            x, r, k = state
            z = better(r)
            beta = np.sqrt(np.sum(z * z))
            first = z / _nonzero(beta)
            basis = np.concatenate([first[None], np.zeros((m, n))])
            basis, h = fori_loop(0, m, column, (basis, np.zeros((m + 1, m)) + 0.0 * beta))
            target = beta * np.eye(1, m + 1)[0]
            y = np.linalg.lstsq(h, target, rcond=None)[0]
            x = x + y @ basis[:m]
            return x, b - a(x), k + 1

        unfinished = lambda s: np.logical_and(s[2] < most, np.logical_not(_small(s[1], bound)))  # noqa: E731
        return while_loop(unfinished, cycle, (x, b - a(x), np.int64(0)))[0]

    return method


@answers("scipy.sparse.linalg.cg")
def cg(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: Any = None,
    M: Any = None, callback: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``(x, info)`` with ``A x = b`` for a symmetric positive definite A; info is 0 on success.

    >>> from autojit import grad
    >>> from autojit.scipy.sparse.linalg import cg
    >>> np.round(grad(lambda b: cg(np.diag([2.0, 4.0]), b)[0].sum())(np.ones(2)), 9)
    array([0.5 , 0.25])
    """
    return _solved("cg", _conjugate_gradients, A, b, x0, rtol, atol, maxiter, M, callback, True)


@answers("scipy.sparse.linalg.bicgstab")
def bicgstab(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: Any = None,
    M: Any = None, callback: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``(x, info)`` with ``A x = b``; info is 0 on success."""
    return _solved("bicgstab", _bicgstab, A, b, x0, rtol, atol, maxiter, M, callback)


@answers("scipy.sparse.linalg.gmres")
def gmres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: Any = None,
    maxiter: Any = None, M: Any = None, callback: Any = None, callback_type: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``(x, info)`` with ``A x = b``; info is 0 on success."""
    method = _gmres(20 if restart is None else int(known(restart, "restart", "gmres")))
    return _solved("gmres", method, A, b, x0, rtol, atol, maxiter, M, callback)


def _same_solution(name: str, method: Callable[..., Any], stands: str) -> Callable[..., Any]:
    """Register a function of SciPy that another method computes, to the same tolerance."""

    def answer(
        A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0,
        maxiter: Any = None, M: Any = None, callback: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        return _solved(name, method, A, b, x0, rtol, atol, maxiter, M, callback)

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"Like `{stands}`, whose steps replace those of {name}."
    return answers(f"scipy.sparse.linalg.{name}")(answer)


bicg = _same_solution("bicg", _bicgstab, "bicgstab")
cgs = _same_solution("cgs", _bicgstab, "bicgstab")
qmr = _same_solution("qmr", _bicgstab, "bicgstab")
tfqmr = _same_solution("tfqmr", _bicgstab, "bicgstab")
gcrotmk = _same_solution("gcrotmk", _gmres(20), "gmres")
lgmres = _same_solution("lgmres", _gmres(20), "gmres")


@answers("scipy.sparse.linalg.minres")
def minres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, shift: float = 0.0, maxiter: Any = None,
    M: Any = None, callback: Any = None, show: bool = False, check: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Like `gmres` with ``A - shift``; the steps are those of GMRES instead of MINRES."""
    forward = product(A)

    class Shifted:
        """``A - shift`` as an operator."""

        @staticmethod
        def matvec(x: Any) -> Any:
            return forward(x) - shift * x

    return _solved("minres", _gmres(20), Shifted, b, x0, rtol, 0.0, maxiter, M, callback)


@answers("scipy.sparse.linalg.expm_multiply")
def expm_multiply(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None,
    traceA: Any = None,
) -> Any:  # fmt: skip
    """``expm(A) @ B``, computed with the full matrix.

    >>> from autojit import grad
    >>> from autojit.scipy.sparse.linalg import expm_multiply
    >>> grad(lambda a: expm_multiply(a * np.eye(1), np.ones(1))[0])(0.0).round(9)
    np.float64(1.0)
    """
    if start is not None or stop is not None or num is not None:
        raise refused("scipy.sparse.linalg.expm_multiply", "call it once for each time:\n"
                      "    expm_multiply(A * t, B)")  # fmt: skip
    return full_expm(full(A)) @ floating(B)
