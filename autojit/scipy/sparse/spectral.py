"""Norms, exponentials, eigenvalues and singular values of sparse matrices, by full matrices.

SciPy finds a few eigenvalues by iterations that stop at a tolerance. Here, they are computed from
the full matrix, to rounding, and have derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, known, known_integer, refused
from autojit.scipy.linalg.matrix_functions import expm as full_expm
from autojit.scipy.registry import answers

from . import matrices
from .direct import full
from .matrices import Sparse, as_sparse, is_sparse


@answers("scipy.sparse.linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """The norm of a sparse matrix, or the norms of its rows or columns."""
    if axis is None and ord in (None, "fro", "f"):
        return np.sqrt(np.sum(np.abs(as_sparse(x).data) ** 2))
    return np.linalg.norm(full(x), ord=ord, axis=axis)


@answers("scipy.sparse.linalg.expm")
def expm(A: Any) -> Sparse:
    """The exponential; all its entries are stored."""
    return as_sparse(full_expm(full(A)), getattr(A, "matrix", False))


@answers("scipy.sparse.linalg.matrix_power")
def matrix_power(A: Any, power: Any) -> Any:
    """``A @ A @ … @ A``."""
    if not is_sparse(A):
        return np.linalg.matrix_power(A, known_integer(power, "power", "matrix_power"))
    return matrices.matrix_power(A, power)


def _of_known_start(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise refused(f"scipy.sparse.linalg.{name}", f"{argument}= is not covered.")


def _chosen(name: str, which: str, sigma: Any, values: dict[str, Any]) -> Any:
    """The entry of ``values`` for ``which``; refuse others."""
    if which not in values:
        raise refused(f"scipy.sparse.linalg.{name}", f"which={which!r} is not covered.")
    return values[which]


@answers("scipy.sparse.linalg.eigsh")
def eigsh(
    A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", v0: Any = None,
    ncv: Any = None, maxiter: Any = None, tol: float = 0, return_eigenvectors: bool = True,
    Minv: Any = None, OPinv: Any = None, mode: str = "normal", rng: Any = None,
) -> Any:  # fmt: skip
    """The k eigenvalues of a symmetric matrix that ``which`` selects, and their eigenvectors.

    Eigenvalues are in ascending order; eigenvectors are columns.

    >>> from autojit import grad
    >>> from scipy.sparse import diags_array
    >>> from autojit.scipy.sparse.linalg import eigsh
    >>> grad(lambda x: eigsh(x * diags_array([1.0, 3.0, 2.0]), 1)[0][0])(2.0).round(9)
    np.float64(3.0)
    """
    _of_known_start("eigsh", M=M, Minv=Minv, OPinv=OPinv)
    values, vectors = np.linalg.eigh(full(A))
    sigma = None if sigma is None else known(sigma, "sigma", "eigsh")
    size = values if sigma is None else 1.0 / (values - sigma)
    rank = _chosen("eigsh", which, sigma, {
        "LM": np.abs(size), "SM": -np.abs(size), "LA": size, "SA": -size,
    })  # fmt: skip
    places = np.sort(np.argsort(rank)[len(values) - known_integer(k, "k", "eigsh") :])
    return (values[places], vectors[:, places]) if return_eigenvectors else values[places]


@answers("scipy.sparse.linalg.eigs")
def eigs(
    A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", v0: Any = None,
    ncv: Any = None, maxiter: Any = None, tol: float = 0, return_eigenvectors: bool = True,
    Minv: Any = None, OPinv: Any = None, OPpart: Any = None, rng: Any = None,
) -> Any:  # fmt: skip
    """The k eigenvalues of a matrix that ``which`` selects, and their eigenvectors as columns."""
    _of_known_start("eigs", M=M, Minv=Minv, OPinv=OPinv, OPpart=OPpart)
    values, vectors = np.linalg.eig(full(A).astype(complex))
    sigma = None if sigma is None else known(sigma, "sigma", "eigs")
    size = values if sigma is None else 1.0 / (values - sigma)
    modulus, real, imaginary = np.abs(size), np.real(size), np.abs(np.imag(size))
    rank = _chosen("eigs", which, sigma, {
        "LM": modulus, "SM": -modulus, "LR": real, "SR": -real, "LI": imaginary, "SI": -imaginary,
    })  # fmt: skip
    places = np.argsort(rank)[len(values) - known_integer(k, "k", "eigs") :]
    return (values[places], vectors[:, places]) if return_eigenvectors else values[places]


@answers("scipy.sparse.linalg.svds")
def svds(
    A: Any, k: int = 6, ncv: Any = None, tol: float = 0, which: str = "LM", v0: Any = None,
    maxiter: Any = None, return_singular_vectors: Any = True, solver: str = "arpack",
    rng: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """``(u, s, vh)`` of the k greatest (``LM``) or smallest (``SM``) singular values."""
    u, s, vh = np.linalg.svd(full(A), full_matrices=False)
    count, most = known_integer(k, "k", "svds"), s.shape[0]
    first = _chosen("svds", which, None, {"LM": 0, "SM": most - count})
    places = np.arange(first, first + count)[::-1]
    if return_singular_vectors is False:
        return s[places]
    return (
        None if return_singular_vectors == "vh" else u[:, places],
        s[places],
        None if return_singular_vectors == "u" else vh[places],
    )


# -- least squares ---------------------------------------------------------------------


def _least_squares(a: Any, b: Any, damp: Any) -> tuple[Any, ...]:
    """The x with the least ``|Ax - b|² + damp²|x|²``, with the norms that describe it."""
    matrix, right = full(a), floating(b)
    below = np.concatenate([matrix, damp * np.eye(matrix.shape[1])])
    padded = np.concatenate([right, np.zeros(matrix.shape[1])])
    x, _, _, s = np.linalg.lstsq(below, padded, rcond=None)
    r = right - matrix @ x
    size, arsize = np.sqrt(np.sum(r**2)), np.linalg.norm(matrix.T @ r - damp**2 * x)
    return x, size, arsize, np.sqrt(np.sum(matrix**2)), s[0] / s[-1], np.linalg.norm(x)


def _reason(size: Any, x: Any, a: Any, b: Any, atol: float, btol: float) -> Any:
    """1 if the equations hold to the tolerances, 2 if they hold only by least squares."""
    return np.where(size <= btol * np.linalg.norm(floating(b)) + atol * a * x, 1, 2)


@answers("scipy.sparse.linalg.lsqr")
def lsqr(
    A: Any, b: Any, damp: Any = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    iter_lim: Any = None, show: bool = False, calc_var: bool = False, x0: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """``(x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var)`` of least squares.

    The full matrix is solved directly, so ``itn`` is 0.
    """
    if calc_var:
        raise refused("scipy.sparse.linalg.lsqr", "calc_var= is not covered.")
    x, size, arsize, a, condition, xsize = _least_squares(A, b, damp)
    both = np.sqrt(size**2 + damp**2 * xsize**2)
    stop = _reason(size, xsize, a, b, atol, btol)
    return x, stop, 0, size, both, a, condition, arsize, xsize, np.zeros(x.shape[0])


@answers("scipy.sparse.linalg.lsmr")
def lsmr(
    A: Any, b: Any, damp: Any = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    maxiter: Any = None, show: bool = False, x0: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """``(x, istop, itn, normr, normar, norma, conda, normx)`` of least squares.

    The full matrix is solved directly, so ``itn`` is 0.
    """
    x, size, arsize, a, condition, xsize = _least_squares(A, b, damp)
    return x, _reason(size, xsize, a, b, atol, btol), 0, size, arsize, a, condition, xsize
