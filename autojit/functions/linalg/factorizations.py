"""``np.linalg``: factorisations, linear systems, determinants, and related formulas.

A matrix is factorised once; derivatives of every order reuse the factors (see ``ir.ops.linalg``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import DtypeError, ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Value
from autojit.ir.core.types import TypeMismatch, is_half
from autojit.ir.linalg import factorizations
from autojit.ir.linalg.cholesky import cholesky as lower_factor
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import convert, eq, stop_gradient
from autojit.ir.ops.linear import iota
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, shape_of, tracer
from autojit.protocols.registry import implements
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .products import einsum

_SLOGDET = type(np.linalg.slogdet(np.eye(1)))


# -- operands -----------------------------------------------------------------


def matrices(name: str, *arrays: Any) -> list[Value]:
    """The operands in the dtype that ``np.linalg`` computes in; integers become float64.

    NumPy refuses float16, and SciPy computes in float32.
    """
    tracers = [as_tracer(a) for a in arrays]
    kinds = [t.dtype if kind_of(t.dtype) in "fc" else np.dtype(np.float64) for t in tracers]
    dtype = np.result_type(*kinds)
    if is_half(dtype):
        if not name.startswith("scipy"):
            words = f"{name} does not take {dtype.name}, as in NumPy. Convert first:\n    "
            words += f"{name}({', '.join('x.astype(np.float32)' for _ in arrays)})"
            raise DtypeError(with_place(words, user_source()))
        dtype = np.dtype(np.float32)
    return [as_value(t, dtype) for t in tracers]


def square(name: str, a: Any) -> Value:
    """A stack of square matrices."""
    (x,) = matrices(name, a)
    return checked_square(name, x)


def checked_square(name: str, x: Value) -> Value:
    if x.type.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            with_place(
                f"{name} takes square matrices in the last two axes; got shape {x.shape}.",
                user_source(),
            )
        )
    return x


def right_side(name: str, x: Value, b: Value) -> tuple[Value, bool]:
    """Right-hand sides as columns, and whether b is a vector."""
    vector = b.type.ndim == 1
    columns = move.reshape(b, shape=(*b.shape, 1)) if vector else b
    if columns.type.ndim < 2 or columns.shape[-2] != x.shape[-1]:
        raise ShapeError(
            with_place(
                f"{name} of a matrix of shape {x.shape} and right-hand sides of shape {b.shape}: "
                f"there must be {x.shape[-1]} rows on both sides. A stack of vectors is given as "
                "columns:\n    x = np.linalg.solve(a, b[..., None])[..., 0]",
                user_source(),
            )
        )
    return columns, vector


def solved_for(name: str, x: Value, b: Value, solve: Any, *factors: Value) -> Tracer:
    """``solve(x, *factors, b)`` with the outer axes broadcast; b may be a vector."""
    columns, vector = right_side(name, x, b)
    outer_x, outer_b = x.shape[:-2], columns.shape[:-2]
    if outer_b and not outer_x:  # one matrix: all right-hand sides become its columns
        size = int(np.prod(outer_b))
        flat = move.reshape(columns, shape=(size, *columns.shape[-2:]))
        made = solve(x, *factors, factorizations.columns_of_batch(flat))
        result = move.reshape(factorizations.batch_of_columns(made, size), shape=columns.shape)
    else:
        outer = _common_outer(name, outer_x, outer_b)
        wide = [move.broadcast_to(v, (*outer, *v.shape[len(outer_x) :])) for v in (x, *factors)]
        result = solve(*wide, move.broadcast_to(columns, (*outer, *columns.shape[-2:])))
    if vector:
        result = move.reshape(result, shape=result.shape[:-1])
    return tracer(result)


def _common_outer(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return shapes.broadcast_shapes(a, b)
    except TypeMismatch:
        raise ShapeError(
            with_place(f"{name}: the outer axes {a} and {b} do not broadcast.", user_source())
        ) from None


def swapped(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def adjoint(a: Any) -> Any:
    """The conjugate transposes of matrices."""
    return np.conjugate(swapped(a)) if a.dtype.kind == "c" else swapped(a)


def identity(like: Value) -> Value:
    """Identity matrices of a type."""
    rows, columns = factorizations.places(like.type)
    return convert(eq(rows, columns), dtype=like.dtype)


# -- factorisations and equations ---------------------------------------------


def cholesky_factor(x: Value, *, lower: bool) -> Tracer:
    """The lower factor from the lower triangle, or the upper one from the upper triangle."""
    if lower:
        return tracer(lower_factor(x))
    return tracer(factorizations.adjoint(lower_factor(factorizations.adjoint(x))))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Tracer:
    return cholesky_factor(square("np.linalg.cholesky", a), lower=not upper)


def solved(name: str, x: Value, b: Value, *, transpose: bool = False) -> Tracer:
    """Solve ``a x = b`` by an LU factorisation, which the derivatives reuse."""
    packed, pivots = factorizations.lu(x)
    trace = current_trace()
    if trace is not None and trace.builder.handles(np.linalg.LinAlgError):
        # in a branch they would get a cotangent, which is NaN for a singular matrix times 0
        packed = stop_gradient(packed)

    def solve(x: Value, packed: Value, pivots: Value, b: Value) -> Value:
        made: Value = factorizations.solve(x, packed, pivots, b, transpose=transpose)
        return made

    return solved_for(name, x, b, solve, packed, pivots)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Tracer:
    x, y = matrices("np.linalg.solve", a, b)
    return solved("np.linalg.solve", checked_square("np.linalg.solve", x), y)


@implements(np.linalg.inv)
def inv(a: Any) -> Tracer:
    x = square("np.linalg.inv", a)
    return solved("np.linalg.inv", x, identity(x))


def pivots_product(x: Value, dtype: Any) -> tuple[Any, Any]:
    """The sign of the determinant, and the logarithm of its magnitude, from U's diagonal."""
    packed, pivots = factorizations.lu(x)
    diagonal: Any = np.diagonal(tracer(packed), axis1=-2, axis2=-1).astype(dtype)
    places = iota(dtype=pivots.dtype, shape=pivots.shape, axis=len(pivots.shape) - 1)
    exchanged = tracer(pivots) != tracer(places)
    odd = np.sum(exchanged, axis=-1) % 2
    size = np.abs(diagonal)
    if diagonal.dtype.kind == "c":
        sign = _product(diagonal / np.where(size == 0, size.dtype.type(1), size))
    else:
        sign = np.prod(np.sign(diagonal), axis=-1)
    return sign * (1 - 2 * odd).astype(diagonal.dtype), np.sum(np.log(size), axis=-1)


def _product(x: Any) -> Any:
    """The product of complex numbers along the last axis, computed as a tree."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        both = x[..., :half] * x[..., half : 2 * half]
        odd = x.shape[-1] % 2
        x = np.concatenate([both, x[..., 2 * half :]], axis=-1) if odd else both
    return x[..., 0] if x.shape[-1] else np.ones(x.shape[:-1], x.dtype)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """At a singular matrix, the result is 0 and -inf, and the derivative is NaN or infinite."""
    x = square("np.linalg.slogdet", a)
    return _SLOGDET(*pivots_product(x, x.dtype))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """``sign * exp(logabsdet)`` as in NumPy; 0 for a singular matrix, whose derivative is NaN."""
    sign, logarithm = slogdet(a)
    return sign * np.exp(logarithm)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    old = shape_of(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    inverse_shape = old[ind:] + old[:ind]
    return np.reshape(inv(np.reshape(a, (int(np.prod(old[:ind])), -1))), inverse_shape)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    if axes is not None:  # move the axes of the unknown to the end
        named = [shapes.normalize_axis(int(k), np.ndim(a)) for k in axes]
        rest = [k for k in range(np.ndim(a)) if k not in named]
        a = np.transpose(a, (*rest, *named))
    unknown = shape_of(a)[len(shape_of(b)) :]
    size = int(np.prod(unknown))
    return np.reshape(solve(np.reshape(a, (-1, size)), np.ravel(b)), unknown)


# -- formulas -----------------------------------------------------------------


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    first, *middle, last = arrays
    labels = "abcdefghijklmnopqrstuvwxyz"
    names = [labels[i : i + 2] for i in range(len(arrays))]
    names[0] = names[0][2 - np.ndim(first) :]
    names[-1] = names[-1][: np.ndim(last)]
    return einsum(",".join(names), first, *middle, last)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        return np.zeros_like(a) + np.eye(shape_of(a)[-1], dtype=dtype_of(a))
    half = matrix_power(a, n // 2) if n > 1 else None
    square = None if half is None else half @ half
    return a if square is None else square @ a if n % 2 else square
