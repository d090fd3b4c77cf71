"""``np.linalg``: eigenvalues, singular values, orthogonal factors, least squares and norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.functions.reductions import safe_sqrt, squared
from autojit.ir.core import shapes
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Value
from autojit.ir.linalg import factorizations, spectral
from autojit.protocols.lifting import as_tracer, as_value, tracer
from autojit.protocols.registry import implements, uncovered
from autojit.tracing.created_arrays import with_values
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer

from .factorizations import inv, matrices, square, swapped

_EIG: Any = type(np.linalg.eig(np.eye(1)))
_EIGH: Any = type(np.linalg.eigh(np.eye(1)))
_QR: Any = type(np.linalg.qr(np.eye(1)))
_SVD: Any = type(np.linalg.svd(np.eye(1)))


def matrix(name: str, a: Any) -> Value:
    """A stack of matrices."""
    (x,) = matrices(name, a)
    if x.type.ndim < 2:
        raise ShapeError(
            with_place(
                f"{name} takes matrices in the last two axes; got shape {x.shape}.", user_source()
            )
        )
    return x


def _tracers(*values: Value) -> list[Any]:
    return [tracer(v) for v in values]


# -- factorisations -----------------------------------------------------------


def _eigh(name: str, a: Any, uplo: str) -> list[Any]:
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f"UPLO argument must be 'L' or 'U'; got {uplo!r}")
    return _tracers(*spectral.eigh(square(name, a), lower=uplo.upper() == "L"))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvectors have a derivative if the eigenvalues are distinct; otherwise it is NaN."""
    return _EIGH(*_eigh("np.linalg.eigh", a, UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return _eigh("np.linalg.eigvalsh", a, UPLO)[0]


def general_eig(name: str, a: Any) -> list[Any]:
    """Eigenvalues and eigenvectors, which are complex even if all of them are real."""
    x = square(name, a)
    single = factorizations.real_dtype(x.dtype) == np.dtype(np.float32)
    if not single:
        return _tracers(*spectral.eig(x))
    # Computed in double precision, as in NumPy.
    wide = as_value(tracer(x), np.dtype("c16" if x.dtype.kind == "c" else "f8"))
    return [t.astype(np.complex64) for t in _tracers(*spectral.eig(wide))]


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """The results are always complex; NumPy returns real ones if all eigenvalues are real."""
    return _EIG(*general_eig("np.linalg.eig", a))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    return general_eig("np.linalg.eigvals", a)[0]


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """The derivative exists only if the leading columns are linearly independent."""
    x: Any = tracer(matrix("np.linalg.qr", a))
    m, n = x.shape[-2:]
    if mode not in ("reduced", "r", "complete"):
        raise uncovered("np.linalg.qr", f" with mode={mode!r}")
    if m >= n:
        more = {"complete": True} if mode == "complete" and m > n else {}
        q, r = _tracers(*spectral.qr(x.value, **more))
    else:  # factor the first m columns; rotate the others by q
        q, left = _tracers(*spectral.qr(x[..., :m].value))
        rest: Any = np.conjugate(swapped(q)) @ x[..., m:]
        r = np.concatenate([left, rest], axis=-1)
    return r if mode == "r" else _QR(q, r)


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The vectors have a derivative if the singular values are distinct and nonzero."""
    if hermitian:
        u, s, vh = _hermitian_svd(a)
    else:
        x = matrix("np.linalg.svd", a)
        full = compute_uv and full_matrices and x.shape[-1] != x.shape[-2]
        u, s, vh = _tracers(*spectral.svd(x, **({"full": True} if full else {})))
    return _SVD(u, s, vh) if compute_uv else s


def _hermitian_svd(a: Any) -> tuple[Any, Any, Any]:
    """SVD from the eigenvalues, as in NumPy: their magnitudes in decreasing order."""
    values, vectors = _eigh("np.linalg.svd", a, "L")
    order = np.argsort(np.abs(values), axis=-1)[..., ::-1]
    values = np.take_along_axis(values, order, axis=-1)
    vectors = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    turned = vectors * np.sign(values)[..., None, :]
    return vectors, np.abs(values), np.conjugate(swapped(turned))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


# -- least squares ------------------------------------------------------------


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Tracer:
    """The derivative is that along matrices of the same rank."""
    x = hermitian_matrix("np.linalg.pinv", a) if hermitian else matrix("np.linalg.pinv", a)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    given = rtol if rcond is None else rcond
    tolerance: Any = 1e-15 if given is np._NoValue else _default(x) if given is None else given
    tolerance = with_values(tolerance)
    if is_tracer(tolerance):
        raise uncovered("np.linalg.pinv", " with a tolerance that is not known")
    if np.ndim(tolerance) == 0:
        return tracer(spectral.pinv(x, rtol=float(tolerance)))
    return _pinv_by_matrix(x, np.asarray(tolerance))


def _pinv_by_matrix(x: Value, tolerances: np.ndarray) -> Tracer:
    """Pseudo-inverses of stacks of matrices, with a tolerance for each matrix."""
    stack = np.broadcast_shapes(tolerances.shape, x.shape[:-2])
    result: Any = np.zeros((*stack, x.shape[-1], x.shape[-2]), x.dtype)
    for rtol in np.unique(tolerances):
        found = tracer(spectral.pinv(x, rtol=float(rtol)))
        result = np.where((tolerances == rtol)[..., None, None], found, result)
    return as_tracer(result)


def hermitian_matrix(name: str, a: Any, *, lower: bool = True) -> Value:
    """The Hermitian matrices with the given triangle; the other triangle is not read."""
    x = square(name, a)
    below = factorizations.triangle(x, lower=lower, diagonal=False)
    middle = factorizations.as_dtype(factorizations.real_part(spectral.diagonal(x)), x.dtype)
    return below + factorizations.adjoint(below) + spectral.on_diagonal(middle)


def _default(x: Value) -> float:
    return max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Solve by the pseudo-inverse.

    The residuals assume a matrix of full rank; NumPy returns none if the rank, the third result, is
    less than the number of columns.
    """
    x, y = _tracers(*matrices("np.linalg.lstsq", a, b))
    if x.ndim != 2 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise ShapeError(
            with_place(
                f"np.linalg.lstsq takes a matrix and as many right-hand sides as it has rows; got "
                f"shapes {x.shape} and {y.shape}.",
                user_source(),
            )
        )
    tolerance = _default(x.value) if rcond is None else float(rcond)
    if tolerance < 0:
        tolerance = float(np.finfo(x.dtype).eps)
    solution: Any = tracer(spectral.pinv(x.value, rtol=tolerance)) @ y
    values = svd(x, compute_uv=False)
    rank = np.sum(values > tolerance * np.max(values, initial=0.0))
    m, n = x.shape
    residuals: Any = np.zeros(0, values.dtype)
    if m > n:
        residuals = np.sum(squared(y - x @ solution), axis=0).reshape(-1)
    return solution, residuals, rank.astype(np.int32), values


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = as_tracer(A)
    if x.ndim < 2:
        return np.any(x != 0).astype(np.int64)
    values = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        relative = max(x.shape[-2:]) * np.finfo(values.dtype).eps if rtol is None else rtol
        tol = np.max(values, axis=-1, keepdims=True, initial=0) * np.asarray(relative)[..., None]
    else:
        tol = np.asarray(tol)[..., None]
    return np.count_nonzero(values > tol, axis=-1)


# -- norms --------------------------------------------------------------------


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norms of vectors and matrices.

    The derivative at 0, and with respect to elements that are 0, is 0 unless it has another finite
    value.
    """
    x = as_tracer(x)
    if kind_of(x.dtype) not in "fc":
        x = x.astype(np.float64)
    axes = shapes.normalize_axes(axis, x.ndim)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord == "fro" and len(axes) == 2):
        return safe_sqrt(np.sum(squared(x), axis, keepdims=keepdims))
    if len(axes) == 2:
        return _norm_of_matrix(x, ord, (0, 1) if axis is None else axis, keepdims)
    if len(axes) != 1 or isinstance(ord, str):
        raise _no_norm(ord, len(axes))
    return _norm_of_vector(x, ord, axis, keepdims)


def _no_norm(ord: Any, axes: int) -> ShapeError:
    words = (
        f"np.linalg.norm: there is no norm with ord={ord!r} over {axes} axes. Norms of vectors, "
        "over one axis, take numbers; norms of matrices, over two axes, take 1, -1, 2, -2, np.inf, "
        "-np.inf, 'fro' and 'nuc'."
    )
    return ShapeError(with_place(words, user_source()))


def _norm_of_vector(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    size = np.abs(x)
    if ord == 0:
        return np.sum((x != 0).astype(size.dtype), axis, keepdims=keepdims)
    if ord == np.inf:  # 0 for an empty vector
        return np.max(size, axis, keepdims=keepdims, initial=0 if not x.size else np._NoValue)
    if ord == -np.inf:
        return np.min(size, axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis, keepdims=keepdims)
    dtype = size.dtype.type
    powers = size**ord if ord > 2 and ord == int(ord) else _power(size, ord)
    return _power(np.sum(powers, axis, keepdims=keepdims), dtype(1) / dtype(ord))


def _power(x: Any, exponent: Any) -> Any:
    """A power of a nonnegative number; its derivative at 0 is taken as 0."""
    zero = x == 0
    return np.where(
        zero,
        x.dtype.type(0 if exponent > 0 else np.inf),
        np.where(zero, x.dtype.type(1), x) ** exponent,
    )


def _norm_of_matrix(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    axes = tuple(shapes.normalize_axis(k, np.ndim(x)) for k in axis)
    moved = np.moveaxis(x, axes, (-2, -1))
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(moved), axis=-2 if abs(ord) == 1 else -1)
    elif ord in (2, -2, "nuc"):
        sums = svd(moved, compute_uv=False)
    else:
        raise _no_norm(ord, 2)
    if ord == "nuc":
        result = np.sum(sums, axis=-1)
    elif ord > 0:
        result = np.max(sums, axis=-1, initial=np._NoValue if sums.shape[-1] else 0)
    else:
        result = np.min(sums, axis=-1)
    return np.expand_dims(result, axes) if keepdims else result


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = as_tracer(x)
    axes = shapes.normalize_axes(axis, x.ndim)
    outer = shapes.without_axes(x.shape, axes)
    count = math.prod(x.shape[k] for k in axes)
    kept = [k for k in range(x.ndim) if k not in axes]
    together = np.reshape(np.transpose(x, (*kept, *axes)), (*outer, count))
    result = norm(together, ord, -1)
    return np.reshape(result, shapes.keep_axes(x.shape, axes)) if keepdims else result


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Unless p is None, 2 or -2, a singular matrix raises LinAlgError; NumPy returns infinity."""
    if p in (None, 2, -2):
        values = svd(x, compute_uv=False)
        largest, smallest = values[..., 0], values[..., -1]
        ratio = smallest / largest if p == -2 else largest / smallest
    else:
        x = tracer(square("np.linalg.cond", x))
        ratio = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    undefined = np.isnan(ratio) & ~np.any(np.isnan(x), axis=(-2, -1))
    return np.where(undefined, ratio.dtype.type(np.inf), ratio)
