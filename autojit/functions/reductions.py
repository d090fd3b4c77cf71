"""Reductions: sums, products, extremes and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import MissingDtypeError, ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.declaration import full
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Value
from autojit.ir.core.types import is_half
from autojit.ir.ops import arithmetic, move, reduce
from autojit.protocols.lifting import as_value, dtype_of, shape_of, to_dtype, tracer
from autojit.protocols.registry import implements, uncovered
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

_MISSING = np._NoValue


def _reduced(op: Any, value: Value, axis: Any, keepdims: Any) -> Value:
    axes = shapes.reduced_axes(axis, value.type.ndim)
    result: Value = op(value, axes=axes) if axes else value
    if keepdims is not _MISSING and keepdims:
        result = move.reshape(result, shape=shapes.keep_axes(value.shape, axes))
    return result


def _is_everywhere(where: Any) -> bool:
    """Whether a mask selects all elements."""
    return where is _MISSING or where is True or where is None


def _masked(value: Value, where: Any, neutral: Any) -> Value:
    if _is_everywhere(where):
        return value
    mask = move.broadcast_to(as_value(where, np.dtype(bool)), value.shape)
    return arithmetic.select(mask, value, full(neutral, value.type))


def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which NumPy sums: small integers are widened to the platform's integer."""
    return np.add.reduce(np.empty(0, dtype)).dtype if dtype.kind in "biu" else dtype


def _begun(name: str, ufunc: Any, result: Tracer, initial: Any) -> Tracer:
    """A reduction with an initial value, which NumPy casts to the dtype of the result."""
    if initial is _MISSING or initial is None:
        return result
    if shape_of(initial):
        words = f"{name}: initial= is a single number, not an array of shape {shape_of(initial)}"
        raise ShapeError(with_place(words, user_source()))
    if isinstance(initial, Tracer):
        return ufunc(result, initial.astype(result.dtype))
    return ufunc(result, np.asarray(initial, result.dtype)[()])


def _sum_like(name: str, op: Any, ufunc: Any) -> Callable[..., Tracer]:
    neutral = ufunc.identity

    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = _MISSING,
        initial: Any = _MISSING,
        where: Any = _MISSING,
    ) -> Tracer:
        value = as_value(a)
        value = to_dtype(value, np.dtype(dtype) if dtype else accumulator_dtype(value.dtype))
        result = tracer(_reduced(op, _masked(value, where, neutral), axis, keepdims))
        return _begun(f"np.{name}", ufunc, result, initial)

    function.__name__ = name
    return function


sum = implements(np.sum)(_sum_like("sum", reduce.sum_, np.add))
prod = implements(np.prod)(_sum_like("prod", reduce.product, np.multiply))


def _extreme(name: str, op: Any, ufunc: Any, lowest: str) -> Callable[..., Tracer]:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _MISSING,
        initial: Any = _MISSING,
        where: Any = _MISSING,
    ) -> Tracer:
        value = as_value(a)
        axes = shapes.reduced_axes(axis, value.type.ndim)
        if initial is _MISSING and any_zero(value.shape, axes):
            raise ShapeError(
                with_place(
                    f"np.{name} of an array of shape {value.shape} over axis {axis}: there are "
                    f"no elements, and {name} has no identity. Pass initial=.",
                    user_source(),
                )
            )
        if initial is _MISSING and not _is_everywhere(where):
            raise ShapeError(
                with_place(
                    f"np.{name} with where= needs initial=, which is the result where the mask "
                    f"leaves no elements:\n    np.{name}(x, where=mask, initial={lowest})",
                    user_source(),
                )
            )
        if value.dtype.kind == "c":
            worst = complex(-np.inf, -np.inf) if op is reduce.max_ else complex(np.inf, np.inf)
            result = _complex_extreme(op, _masked(value, where, worst), axes, keepdims)
        else:
            value = _masked(value, where, op.identity(value.dtype))
            result = tracer(_reduced(op, value, axis, keepdims))
        return _begun(f"np.{name}", ufunc, result, initial)

    function.__name__ = name
    return function


def _complex_extreme(op: Any, value: Value, axes: tuple[int, ...], keepdims: Any) -> Any:
    """The extreme of complex numbers: the element at the position of the extreme."""
    x, shape = tracer(value), value.shape
    kept = [i for i in range(len(shape)) if i not in axes]
    flat = np.reshape(np.transpose(x, (*kept, *axes)), (*(shape[i] for i in kept), -1))
    if 0 in flat.shape:
        return np.zeros(flat.shape[:-1], x.dtype)
    places = (np.argmax if op is reduce.max_ else np.argmin)(flat, axis=-1, keepdims=True)
    wide = keepdims is not _MISSING and keepdims
    picked = np.take_along_axis(flat, places, -1)
    return np.reshape(picked, shapes.keep_axes(shape, axes) if wide else flat.shape[:-1])


def check_ordered(name: str, dtype: np.dtype) -> None:
    """Raise MissingDtypeError for a complex dtype."""
    if dtype.kind == "c":
        raise MissingDtypeError(
            with_place(
                f"{name} of complex operands is not covered by autojit: they have no order. "
                "Apply it to x.real or np.abs(x).",
                user_source(),
            )
        )


def any_zero(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether a reduction over the axes has no elements."""
    return 0 in [shape[i] for i in axes]


max = implements(np.max, np.amax)(_extreme("max", reduce.max_, np.maximum, "-np.inf"))
min = implements(np.min, np.amin)(_extreme("min", reduce.min_, np.minimum, "np.inf"))


def _truth_like(name: str, op: Any) -> Callable[..., Tracer]:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _MISSING,
        *,
        where: Any = _MISSING,
    ) -> Tracer:
        value = _masked(arithmetic.truth(as_value(a)), where, name == "all")
        return tracer(_reduced(op, value, axis, keepdims))

    function.__name__ = name
    return function


any = implements(np.any)(_truth_like("any", reduce.any_))
all = implements(np.all)(_truth_like("all", reduce.all_))


# -- statistics ---------------------------------------------------------------


def count_of(
    shape: tuple[int, ...], axis: Any, where: Any = _MISSING, keepdims: Any = False
) -> Any:
    """The number of elements reduced: an integer, or an array if there is a mask."""
    if not _is_everywhere(where):
        return sum(np.broadcast_to(where, shape), axis, np.int64, None, keepdims)
    axes = shapes.normalize_axes(axis, len(shape))
    return int(np.prod([shape[i] for i in axes], dtype=int))


def _divided(total: Tracer, count: Any) -> Tracer:
    """A sum divided by a number of elements, in the dtype of the sum."""
    if isinstance(count, Tracer) and kind_of(total.dtype) in "fc":
        return total / count.astype(total.dtype)
    quotient = total / (count if isinstance(count, Tracer) else _scalar(count, total))
    return quotient if quotient.dtype == total.dtype else quotient.astype(total.dtype)


@implements(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _MISSING,
    *,
    where: Any = _MISSING,
) -> Tracer:
    kind = np.dtype(dtype) if dtype else summed_in(dtype_of(a))
    total = sum(a, axis, kind, None, keepdims, where=where)
    made = _divided(total, count_of(shape_of(a), axis, where, keepdims))
    return made if dtype else _as_given(made, a)


def summed_in(dtype: np.dtype) -> np.dtype:
    """The dtype in which a mean is computed: sums of float16 may overflow."""
    if is_half(dtype):
        return np.dtype(np.float32)
    return dtype if kind_of(dtype) in "fc" else np.dtype(float)


def _as_given(made: Tracer, a: Any) -> Tracer:
    """Cast the mean of a half-precision array back to its dtype."""
    return made.astype(dtype_of(a)) if is_half(dtype_of(a)) else made


def _scalar(number: float, like: Tracer) -> Any:
    """A number that does not change the dtype of an operation with ``like``."""
    return like.dtype.type(number)


@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = _MISSING,
    *,
    where: Any = _MISSING,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Tracer:
    ddof = ddof if correction is _MISSING else correction
    made = _variance(a, axis, dtype, ddof, keepdims, where, mean)
    return made if dtype else _as_given(made, a)


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any
) -> Tracer:
    """The variance; that of float16 is computed in float32."""
    kind = np.dtype(dtype) if dtype else None if dtype_of(a).kind == "c" else summed_in(dtype_of(a))
    if mean is _MISSING:
        mean = _mean(a, axis, kind, keepdims=True, where=where)
    total = sum(squared(np.subtract(a, mean)), axis, kind, None, keepdims, where=where)
    count = count_of(shape_of(a), axis, where, keepdims)
    return _divided(total, np.maximum(count - ddof, 0))


def squared(x: Any) -> Any:
    """The squared magnitude."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


_mean = mean


def safe_sqrt(square: Any) -> Any:
    """The square root of a sum of squares; its derivative at 0 is taken as 0.

    The root of a sum of squares is a norm. It has a kink at 0, where 0 is its subgradient of
    smallest norm.
    """
    zero = square == 0
    return np.where(zero, _scalar(0, square), np.sqrt(np.where(zero, _scalar(1, square), square)))


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = _MISSING,
    **kwargs: Any,
) -> Tracer:
    kind = dtype or (np.float32 if is_half(dtype_of(a)) else None)
    variance = var(a, axis, kind, out, ddof, keepdims, **kwargs)
    root: Tracer = safe_sqrt(variance)
    root = root if root.dtype == variance.dtype else root.astype(variance.dtype)
    return root if dtype else _as_given(root, a)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _MISSING) -> Tracer:
    return max(a, axis, out, keepdims) - min(a, axis, out, keepdims)


# -- logarithms of sums -------------------------------------------------------


#: Floating-point dtypes in which logsumexp computes without widening.
_NARROW = (np.dtype(np.float16), np.dtype(np.float32))


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """``log(sum(b * exp(a)))`` without overflow; b must keep the sum positive."""
    if return_sign:
        raise uncovered("logsumexp", " with return_sign=")
    x = tracer(
        as_value(
            a, dtype_of(a) if dtype_of(a) in _NARROW else np.result_type(dtype_of(a), np.float64)
        )
    )
    axes = shapes.reduced_axes(axis, x.ndim)
    top = np.max(x, axes, keepdims=True, initial=-np.inf)
    # The shift cancels in exact arithmetic, so it carries no derivative.
    shift = np.where(np.isfinite(top), top, _scalar(0, top))
    shift = stop(shift)
    terms = np.exp(x - shift)
    if b is not None:
        terms = b * terms
    total = np.log(np.sum(terms, axes, keepdims=True)) + shift
    return total if keepdims else np.reshape(total, shapes.without_axes(x.shape, axes))


def stop(x: Tracer) -> Tracer:
    """The value with its derivative cut off."""
    return tracer(arithmetic.stop_gradient(as_value(x)))


def reduce_ufunc(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    **kwargs: Any,
) -> Any:
    """``ufunc.reduce``; note that its default axis is 0."""
    if ufunc in (np.add, np.multiply):
        function = sum if ufunc == np.add else prod
        return function(array, axis, dtype, out, keepdims, **kwargs)
    answers = {
        np.maximum: max,
        np.minimum: min,
        np.logical_or: any,
        np.logical_and: all,
    }
    if ufunc in answers and dtype is None and (ufunc.identity is None or "initial" not in kwargs):
        return answers[ufunc](array, axis, out, keepdims, **kwargs)
    if ufunc == np.logaddexp and dtype is None and out is None and not kwargs:
        return logsumexp(array, axis, keepdims=keepdims)
    return hooks.fold_ufunc(ufunc, array, axis, dtype, out, keepdims, **kwargs)


hooks.reduce_ufunc = reduce_ufunc
