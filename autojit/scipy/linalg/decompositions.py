"""Eigenvalues, singular values, triangular and orthogonal factors as ``scipy.linalg`` has them.

Traced, ``overwrite_…``, ``check_finite``, ``driver`` and ``lwork`` are ignored: nothing is
overwritten, and NaN and infinities go through.  Signs and phases of vectors are those of NumPy's
routines, which may differ from those of SciPy's drivers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.linalg import factorizations as linalg
from autojit.functions.linalg import spectral
from autojit.functions.linalg.factorizations import swapped
from autojit.functions.reductions import squared
from autojit.ir.linalg import factorizations as ops
from autojit.protocols.lifting import tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.registry import answers


def _adjoint(a: Any) -> Any:
    return np.conjugate(swapped(a)) if a.dtype.kind == "c" else swapped(a)


# -- singular values --------------------------------------------------------------


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
    """The Moore-Penrose inverse; its derivative is that along matrices of the same rank.

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
    """:func:`pinv` of a Hermitian matrix, of which one triangle is read."""
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

    The residuals are those of a matrix of full rank; SciPy leaves them out at a lower one.

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
    """The norm of a vector or a matrix, as ``np.linalg.norm`` has it.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(linalg.norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    return spectral.norm(a, ord, axis, keepdims)


def _no_shape(name: str) -> Any:
    return uncovered(
        name,
        " of a traced matrix: how many columns the result has depends on the rank. With a rank r "
        "that is known, take the columns of np.linalg.svd(a): v[:, r:] of the null space, "
        "u[:, :r] of the range. It",
    )


@answers("scipy.linalg.null_space")
def null_space(
    A: Any,
    rcond: Any = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Refused: the shape depends on values."""
    raise _no_shape("scipy.linalg.null_space")


@answers("scipy.linalg.orth")
def orth(A: Any, rcond: Any = None) -> Any:
    """Refused: the shape depends on values."""
    raise _no_shape("scipy.linalg.orth")


@answers("scipy.linalg.polar")
def polar(a: Any, side: str = "right") -> Any:
    """``a = u @ p`` (``a = p @ u`` for ``side="left"``), u with orthonormal columns or rows.

    The derivative of u = a (aᴴ a)^(-1/2) goes through the root of aᴴ a, which has one where
    singular values coincide, too, as long as none is 0.

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
    u = _unitary(x) if x.shape[-2] >= x.shape[-1] else _adjoint(_unitary(_adjoint(x)))
    p = _adjoint(u) @ x if side == "right" else x @ _adjoint(u)
    return u, (p + _adjoint(p)) / p.dtype.type(2)


def _unitary(x: Any) -> Any:
    from autojit.transformations.custom import custom_jvp

    @custom_jvp
    def unitary(x: Any) -> Any:
        u, _, vh = spectral.svd(x, full_matrices=False)
        return u @ vh

    @unitary.defjvp
    def _tangent(primals: Any, tangents: Any) -> Any:
        # With Q = Wᴴ dA V it is dU = W X Vᴴ + (1 - W Wᴴ) dA V S⁻¹ Vᴴ, X = (Q - Qᴴ) / (s_i + s_j).
        (x,), (dx,) = primals, tangents
        w, s, vh = spectral.svd(x, full_matrices=False)
        image = dx @ _adjoint(vh)
        inner = _adjoint(w) @ image
        turned = (inner - _adjoint(inner)) / (s[..., :, None] + s[..., None, :])
        outside = (image - w @ inner) / s[..., None, :]
        return w @ vh, (w @ turned + outside) @ vh

    return unitary(x)


# -- eigenvalues ------------------------------------------------------------------


@answers("scipy.linalg.eigh")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Eigenvalues and vectors of a Hermitian matrix, or of a pair of them (b positive definite).

    A pair is reduced by the Cholesky factor of b to one matrix, as LAPACK's ``sygst`` does it.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda b: linalg.eigh(np.eye(2), b, eigvals_only=True)[0])(np.diag([2.0, 1.0]))
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    if subset_by_value is not None:
        raise uncovered("scipy.linalg.eigh", " with subset_by_value=")
    values, vectors = _pencil("scipy.linalg.eigh", a, b, lower, type)
    if subset_by_index is not None:
        low, high = (int(k) for k in subset_by_index)
        if not 0 <= low <= high < values.shape[-1]:
            raise ValueError(
                "Requested eigenvalue indices are not valid. "
                f"Valid range is [0, {values.shape[-1] - 1}] and start <= end; got "
                f"{list(subset_by_index)}"
            )
        values, vectors = values[..., low : high + 1], vectors[..., low : high + 1]
    return values if eigvals_only else (values, vectors)


@answers("scipy.linalg.eigvalsh")
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """The eigenvalues of :func:`eigh`.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.eigvalsh(a)[1])(np.diag([1.0, 2.0]))
    array([[0., 0.],
           [0., 1.]])
    """
    return eigh(a, b, lower=lower, type=type, eigvals_only=True, subset_by_index=subset_by_index,
                subset_by_value=subset_by_value)  # fmt: skip


def _pencil(name: str, a: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any]:
    """Values and vectors of ``a v = w b v``, ``a b v = w v`` or ``b a v = w v``."""
    if b is None:
        values, vectors = spectral.eigh(a, "L" if lower else "U")
        return values, vectors
    if type not in (1, 2, 3):
        raise ValueError(f'"type" keyword only accepts 1, 2, and 3; got {type!r}')
    x, y = linalg.matrices(name, a, b)
    whole: Any = tracer(spectral.hermitian_matrix(name, tracer(x), lower=lower))
    right = tracer(spectral.hermitian_matrix(name, tracer(y), lower=lower))
    factor: Any = linalg.cholesky_factor(right.value, lower=True)
    if type == 1:
        half = _solved(name, factor, whole)
        values, vectors = spectral.eigh(_solved(name, factor, _adjoint(half)))
    else:
        values, vectors = spectral.eigh(_adjoint(factor) @ whole @ factor)
    if type == 3:
        return values, factor @ vectors
    return values, _solved(name, factor, vectors, adjoint=True)


def _solved(name: str, factor: Any, b: Any, *, adjoint: bool = False) -> Any:
    """``L x = b`` or ``Lᴴ x = b``."""
    t = np.conjugate(factor) if adjoint and factor.dtype.kind == "c" else factor
    x = ops.triangular_solve(t.value, b.value, lower=True, transpose=adjoint, unit=False)
    return tracer(x)


@answers("scipy.linalg.eig")
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues and vectors of any square matrix; traced, all of them are complex.

    The vectors have length 1, and their largest elements are real.  Of a pair of matrices, b must
    be regular, and left vectors are not covered.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> jit(lambda a: linalg.eig(a, right=False))(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    array([0.+1.j, 0.-1.j])
    """
    if homogeneous_eigvals or (left and b is not None):
        what = "homogeneous_eigvals=" if homogeneous_eigvals else "left= and b="
        raise uncovered("scipy.linalg.eig", f" with {what}")
    x = a if b is None else linalg.solve(b, a)
    values, vectors = spectral.general_eig("scipy.linalg.eig", x)
    found = [values]
    if left:
        found.append(_normalised(_adjoint(linalg.inv(vectors))))
    if right:
        found.append(vectors)
    return tuple(found) if len(found) > 1 else values


def _normalised(v: Any) -> Any:
    """Columns of length 1 with a largest element that is real."""
    v = v / spectral.norm(v, axis=-2, keepdims=True)
    place = np.argmax(np.abs(v), axis=-2)[..., None, :]
    largest = np.take_along_axis(v, place, axis=-2)
    return v * np.conjugate(largest) / np.abs(largest)


@answers("scipy.linalg.eigvals")
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """The eigenvalues of :func:`eig`.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.eigvals(a).real.sum())(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


# -- triangular factors -----------------------------------------------------------


@answers("scipy.linalg.qr")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """``a = q @ r``, q square by default (``mode="economic"``: no larger than a).

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> q, r = jit(lambda a: linalg.qr(a, mode="economic"))(np.array([[3.0], [4.0]]))
    >>> r.round(12)
    array([[-5.]])
    """
    if pivoting:
        raise uncovered("scipy.linalg.qr", " with pivoting=True")
    if mode not in ("full", "r", "economic"):
        raise uncovered("scipy.linalg.qr", f" with mode={mode!r}")
    q, r = spectral.qr(a, "reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


@answers("scipy.linalg.lu")
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """``a = p @ l @ u``, with pivots by rows.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> p, l, u = jit(linalg.lu)(np.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> u
    array([[ 2.,  8.],
           [ 0., -2.]])
    """
    x: Any = tracer(spectral.matrix("scipy.linalg.lu", a))
    m, n = x.shape[-2:]
    if m > n:
        rows, lower, upper = _tall(x)
    else:  # the pivots of the first columns are those of all
        rows, lower, upper = _square(x[..., :m])
        rest = tracer(ops.taken_rows(x[..., m:].value, rows.value))
        more = ops.triangular_solve(lower.value, rest.value, lower=True, transpose=False, unit=True)
        upper = np.concatenate([upper, tracer(more)], axis=-1)
    places = np.argsort(rows, axis=-1)
    if permute_l:
        return tracer(ops.taken_rows(lower.value, places.value)), upper
    if p_indices:
        return places.astype(np.int32), lower, upper
    return (places[..., None] == np.arange(m)).astype(_real(x)), lower, upper


def _real(x: Any) -> np.dtype:
    return ops.real_dtype(x.dtype)


def _square(x: Any) -> tuple[Any, Any, Any]:
    """The order of rows, and both factors."""
    packed, pivots = ops.lu(x.value)
    lower = tracer(ops.triangle(packed, lower=True, diagonal=False)) + np.eye(
        x.shape[-1], dtype=x.dtype
    )
    upper = tracer(ops.triangle(packed, lower=False, diagonal=True))
    return tracer(ops.permutation(pivots)), lower, upper


def _tall(x: Any) -> tuple[Any, Any, Any]:
    """Zeros beside it do not change the pivots; the rows in that order are factorised without."""
    m, n = x.shape[-2:]
    zeros = np.zeros((*x.shape[:-1], m - n), x.dtype)
    rows, _, _ = _square(np.concatenate([x, zeros], axis=-1))
    ordered: Any = tracer(ops.taken_rows(x.value, rows.value))
    inner, lower, upper = _square(ordered[..., :n, :])
    below = ops.triangular_solve(
        upper.value, swapped(ordered[..., n:, :]).value, lower=False, transpose=True, unit=False
    )
    lower = np.concatenate([lower, swapped(tracer(below))], axis=-2)
    rest = np.broadcast_to(np.arange(n, m), (*x.shape[:-2], m - n))
    order = np.concatenate([inner, rest], axis=-1)
    return np.take_along_axis(rows, order, axis=-1), lower, upper
