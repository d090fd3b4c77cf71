"""Singular values and functions that follow from them, as in ``scipy.linalg``.

For traced arrays, ``overwrite_…``, ``check_finite``, ``driver`` and ``lwork`` are ignored: nothing
is overwritten, and NaN and infinities are passed on. Signs and phases of vectors are those of
NumPy's routines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import AutojitError, ConcreteValueError, with_place
from autojit.functions.linalg import factorizations as linalg
from autojit.functions.linalg import spectral
from autojit.functions.linalg.factorizations import adjoint
from autojit.functions.reductions import squared
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.arguments import floating
from autojit.scipy.registry import answers
from autojit.tracing.source import user_source
from autojit.transformations.custom import custom_jvp


@answers("scipy.linalg.svd")
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition, ``a = u @ diag(s) @ vh``.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.svd(a, compute_uv=False)[0])(np.diag([3.0, 1.0])).round(12) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    found = spectral.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


@answers("scipy.linalg.svdvals")
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The singular values, the largest first.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.svdvals(a).sum())(np.diag([3.0, 1.0])).round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    return spectral.svd(a, compute_uv=False)


@answers("scipy.linalg.pinv")
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The Moore-Penrose inverse; its derivative is along matrices of the same rank.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.pinv(a)[0, 0])(np.diag([2.0, 1.0])).round(12) + 0.0
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    return _inverse("scipy.linalg.pinv", tracer(spectral.matrix("scipy.linalg.pinv", a)),
                    atol, rtol, return_rank)  # fmt: skip


@answers("scipy.linalg.pinvh")
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """:func:`pinv` of a Hermitian matrix, of which one triangle is read.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import pinvh
    >>> jit(pinvh)(2.0 * np.eye(2)).round(9) + 0.0
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    name = "scipy.linalg.pinvh"
    whole = tracer(spectral.hermitian_matrix(name, a, lower=lower))
    return _inverse(name, whole, atol, rtol, return_rank)


def _inverse(name: str, x: Any, atol: Any, rtol: Any, return_rank: bool) -> Any:
    if atol not in (None, 0, 0.0):
        raise uncovered(name, " with atol= (pass rtol=, which is relative to the largest value)")
    made = spectral.pinv(x, rtol=rtol)
    return (made, spectral.matrix_rank(x, rtol=rtol)) if return_rank else made


@answers("scipy.linalg.lstsq")
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """The least-squares solution, the residuals, the rank and the singular values.

    The residuals assume a matrix of full rank; SciPy leaves them out if the rank is lower.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda b: linalg.lstsq(np.ones((2, 1)), b)[0][0])(np.array([1.0, 3.0]))
    array([0.5, 0.5])
    """
    x, _, rank, values = spectral.lstsq(a, b, np.finfo(_dtype(a, b)).eps if cond is None else cond)
    m, n = np.shape(a)
    residuals: Any = np.zeros(0, values.dtype)
    if m > n:
        residuals = np.sum(squared(b - a @ x), axis=0)
    return x, residuals, rank, values


def _dtype(*arrays: Any) -> np.dtype:
    return linalg.matrices("scipy.linalg.lstsq", *arrays)[0].dtype


@answers("scipy.linalg.norm")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """The norm of a vector or a matrix, as in ``np.linalg.norm``.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(linalg.norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    x = as_tracer(a)
    result = spectral.norm(x, ord, axis, keepdims)
    by_library = ord in (None, 2) if x.ndim == 1 else x.ndim == 2 and ord in (1, np.inf)
    if by_library and x.size and axis is None and not keepdims and x.dtype.char in "fdFD":
        return tracer(to_dtype(as_value(result), np.float64), float)  # as from BLAS and LAPACK
    return result


def _no_shape(name: str) -> AutojitError:
    words = (
        f"{name}: the shape of the result depends on the rank of the matrix, which is traced. With "
        "a rank r that is known:\n"
        "    np.linalg.svd(a).Vh[r:].conj().T    # null_space\n"
        "    np.linalg.svd(a).U[:, :r]           # orth"
    )
    return ConcreteValueError(with_place(words, user_source()))


@answers("scipy.linalg.null_space")
def null_space(
    A: Any,
    rcond: Any = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Refuse the call: the shape depends on values."""
    raise _no_shape("scipy.linalg.null_space")


@answers("scipy.linalg.orth")
def orth(A: Any, rcond: Any = None) -> Any:
    """Refuse the call: the shape depends on values."""
    raise _no_shape("scipy.linalg.orth")


@answers("scipy.linalg.polar")
def polar(a: Any, side: str = "right") -> Any:
    """``(u, p)`` with ``a = u @ p``, or ``a = p @ u`` for ``side="left"``.

    u has orthonormal columns or rows. Its derivative, that of a (aᴴ a)^(-1/2), also exists if
    singular values coincide, as long as none is 0.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> u, p = jit(linalg.polar)(np.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> u.round(12) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"`side` must be either 'right' or 'left'; got {side!r}")
    x: Any = tracer(spectral.matrix("scipy.linalg.polar", a))
    u = _unitary(x) if x.shape[-2] >= x.shape[-1] else adjoint(_unitary(adjoint(x)))
    p = adjoint(u) @ x if side == "right" else x @ adjoint(u)
    return u, (p + adjoint(p)) / p.dtype.type(2)


def _unitary(x: Any) -> Any:

    @custom_jvp
    def unitary(x: Any) -> Any:
        u, _, vh = spectral.svd(x, full_matrices=False)
        return u @ vh

    @unitary.defjvp
    def _tangent(primals: Any, tangents: Any) -> Any:
        # With Q = Wᴴ dA V: dU = W X Vᴴ + (1 - W Wᴴ) dA V S⁻¹ Vᴴ, where X = (Q - Qᴴ) / (s_i + s_j).
        (x,), (dx,) = primals, tangents
        w, s, vh = spectral.svd(x, full_matrices=False)
        image = dx @ adjoint(vh)
        inner = adjoint(w) @ image
        turned = (inner - adjoint(inner)) / (s[..., :, None] + s[..., None, :])
        outside = (image - w @ inner) / s[..., None, :]
        return w @ vh, (w @ turned + outside) @ vh

    return unitary(x)


@answers("scipy.linalg.subspace_angles")
def subspace_angles(A: Any, B: Any) -> Any:
    """The angles between the column spaces of two matrices, in descending order.

    The columns of each matrix must be linearly independent. Small angles come from sines (Knyazev
    and Argentati, SIAM J. Sci. Comput. 23 (2002), 2008-2040).

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import subspace_angles
    >>> line = np.array([[1.0], [0.0]])
    >>> turned = lambda t: np.stack([np.cos(t), np.sin(t)])[:, None]
    >>> round(float(grad(lambda t: subspace_angles(turned(t), line)[0])(0.3)), 9)
    1.0
    """
    a, b = floating(A), floating(B)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("expected 2D arrays")
    if a.shape[0] != b.shape[0]:
        raise ValueError(
            f"A and B must have the same number of rows, got {a.shape[0]} and {b.shape[0]}"
        )
    qa, qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    overlap = np.conj(qa.T) @ qb
    cosines = svdvals(overlap)
    rest = qb - qa @ overlap
    if qa.shape[1] < qb.shape[1]:
        rest = qa - qb @ np.conj(overlap.T)
    near = cosines**2 >= 0.5
    sines = np.where(near, np.clip(svdvals(rest), -1.0, 1.0), 0.0)
    # Values that are not chosen are replaced, because an arc function may have an infinite slope.
    ascending = np.clip(cosines[::-1], -1.0, 1.0)
    return np.where(near, np.arcsin(sines), np.arccos(np.where(near, 0.0, ascending)))
