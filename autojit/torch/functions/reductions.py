"""Reductions (sums, extremes, norms), softmax, and scans and sorts along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.torch.engine import dtypes
from autojit.torch.engine.recording import compute, record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor

from .kinks import MEDIAN, MEDIAN_ALONG
from .making import axes, axis, floating, in_dtype
from .pointwise import FUNCTIONS as POINTWISE


class values_and_indices(NamedTuple):
    """Values, and their indices."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return f"torch.return_types(\nvalues={self.values!r},\nindices={self.indices!r})"


class _Reduction:
    """A reduction; its nodes have different names without and with axes."""

    def __init__(self, name: str, impl: Callable[..., Any], second: int = 1) -> None:
        self.all = Operation(f"{name}Backward0", lambda x: impl(x, None, False))
        self.some = Operation(f"{name}Backward{second}", impl)

    def __call__(self, x: Tensor, dim: Any, keepdim: bool, *more: Any) -> Tensor:
        named = axes(dim, x._data.ndim)
        if named is None and not keepdim and not more:
            made: Tensor = record(self.all, (x,))
        else:
            made = record(self.some, (x,), (named, bool(keepdim), *more))
        return made


def _of(impl: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, a, k: impl(x, axis=a, keepdims=k)


_sum, _mean, _prod = (
    _Reduction(n, _of(f)) for n, f in (("Sum", np.sum), ("Mean", np.mean), ("Prod", np.prod))
)
_amax, _amin = _Reduction("Amax", _of(np.max), 0), _Reduction("Amin", _of(np.min), 0)
_var = _Reduction("Var", lambda x, a, k, c: np.var(x, axis=a, keepdims=k, ddof=c), 0)
_std = _Reduction("Std", lambda x, a, k, c: np.std(x, axis=a, keepdims=k, ddof=c), 0)


def _logsumexp(x: Any, a: Any, k: bool) -> Any:
    top = np.max(x, axis=a, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), axis=a, keepdims=True)) + top
    return total if k else np.squeeze(total, a)


_LOGSUMEXP = Operation("Logsumexp", _logsumexp)


def _softmaxed(x: Any, a: int) -> Any:
    e = np.exp(x - np.max(x, axis=a, keepdims=True))
    return e / np.sum(e, axis=a, keepdims=True)


def _log_softmaxed(x: Any, a: int) -> Any:
    shifted = x - np.max(x, axis=a, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=a, keepdims=True))


_SOFTMAX, _LOG_SOFTMAX = Operation("Softmax", _softmaxed), Operation("LogSoftmax", _log_softmaxed)


def _summable(x: Tensor, dtype: Any) -> Tensor:
    if dtype is not None:
        return in_dtype(x, dtypes.numpy_dtype(dtype))
    return in_dtype(x, np.dtype(np.int64)) if x._data.dtype.kind in "biu" else x


def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or along axes."""
    return _sum(_summable(input, dtype), dim, keepdim)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum, with NaN counted as 0."""
    return sum(POINTWISE["masked_fill"](input, POINTWISE["isnan"](input), 0), dim, keepdim)


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of all elements, or along axes."""
    x = input if dtype is None else in_dtype(input, dtypes.numpy_dtype(dtype))
    if kind_of(x._data.dtype) not in "fc":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {x.dtype.name.title()}"
        )
    return _mean(x, dim, keepdim)


def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all elements, or along an axis."""
    return _prod(_summable(input, dtype), dim, keepdim)


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, float]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return dim, correction


def var(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
        correction: Any = None) -> Tensor:  # fmt: skip
    """The variance, divided by the number of elements minus ``correction`` (1)."""
    dim, correction = _correction(dim, unbiased, correction)
    return _var(floating(input), dim, keepdim, correction)


def std(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
        correction: Any = None) -> Tensor:  # fmt: skip
    """The square root of the variance."""
    dim, correction = _correction(dim, unbiased, correction)
    return _std(floating(input), dim, keepdim, correction)


def amax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The largest elements; ties share the gradient."""
    return _amax(input, dim, keepdim)


def amin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The smallest elements; ties share the gradient."""
    return _amin(input, dim, keepdim)


def _picked(index_of: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, a: int, k: bool) -> Any:
        if not x.ndim:
            return x + 0, np.zeros((), np.int64)
        index = np.expand_dims(index_of(x, axis=a), a)
        found = np.take_along_axis(x, index, a)
        return (found, index) if k else (np.squeeze(found, a), np.squeeze(index, a))

    return impl


_MAX, _MIN = (Operation(f"{n}Backward0", _picked(f))
              for n, f in (("Max", np.argmax), ("Min", np.argmin)))  # fmt: skip
_ALL_MAX, _ALL_MIN = Operation("MaxBackward1", np.max), Operation("MinBackward1", np.min)


def _extreme(x: Tensor, dim: Any, keepdim: bool, whole: Operation, along: Operation,
             other: str) -> Any:  # fmt: skip
    if isinstance(dim, Tensor):
        return POINTWISE[other](x, dim)
    if dim is None:
        return record(whole, (x,))
    return values_and_indices(*record(along, (x,), (axis(dim, x._data.ndim), bool(keepdim))))


def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; along an axis, also its index; of two tensors, the elementwise
    maximum."""
    return _extreme(input, dim if other is None else other, keepdim, _ALL_MAX, _MAX, "maximum")


def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; along an axis, also its index; of two tensors, the elementwise
    minimum."""
    return _extreme(input, dim if other is None else other, keepdim, _ALL_MIN, _MIN, "minimum")


def _plain(impl: Callable[..., Any]) -> Callable[..., Tensor]:
    operation = Operation("Question", lambda x, a, k: impl(x, axis=a, keepdims=k))

    def call(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        named = axes(dim, input._data.ndim)
        single = named[0] if named is not None and len(named) == 1 else named
        made: Tensor = compute(operation, (input,), (single, keepdim))
        return made

    return call


argmax: Callable[..., Tensor] = _plain(np.argmax)
argmin: Callable[..., Tensor] = _plain(np.argmin)
all: Callable[..., Tensor] = _plain(np.all)
any: Callable[..., Tensor] = _plain(np.any)
count_nonzero: Callable[..., Tensor] = _plain(np.count_nonzero)


def _normed(x: Any, a: Any, k: bool, p: Any) -> Any:
    size = np.abs(x)
    if p == np.inf:
        return np.max(size, axis=a, keepdims=k)
    if p == -np.inf:
        return np.min(size, axis=a, keepdims=k)
    if p == 0:
        return np.sum((x != 0).astype(size.dtype), axis=a, keepdims=k)
    if p == 1:
        return np.sum(size, axis=a, keepdims=k)
    # At 0 the derivative is the subgradient 0, so the root of 1 replaces the root of 0.
    if p < 0:  # the norm of a vector with a 0 is then 0
        is_zero = np.min(size, axis=a, keepdims=True) == 0
        total = np.sum(np.where(is_zero, 1, size) ** p, axis=a, keepdims=k)
        is_zero = is_zero if k else np.squeeze(is_zero, a)
        return np.where(is_zero, 0, total ** (1 / p))
    total = np.sum(size * size if p == 2 else size**p, axis=a, keepdims=k)
    is_zero = total == 0
    safe = np.where(is_zero, 1, total)
    return np.where(is_zero, 0, np.sqrt(safe) if p == 2 else safe ** (1 / p))


_NORM = Operation("LinalgVectorNorm", _normed)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Tensor:
    """The p-norm of all elements, or along axes."""
    power = 2 if p in ("fro", None) else float(p)
    x = floating(input)
    made: Tensor = record(_NORM, (x,), (axes(dim, x._data.ndim), bool(keepdim), power))
    return made


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))), without overflow."""
    x = floating(input)
    made: Tensor = record(_LOGSUMEXP, (x,), (axes(dim, x._data.ndim), bool(keepdim)))
    return made


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    x = floating(input) if dtype is None else in_dtype(input, dtypes.numpy_dtype(dtype))
    made: Tensor = record(_SOFTMAX, (x,), (axis(dim, x._data.ndim),))
    return made


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax."""
    x = floating(input) if dtype is None else in_dtype(input, dtypes.numpy_dtype(dtype))
    made: Tensor = record(_LOG_SOFTMAX, (x,), (axis(dim, x._data.ndim),))
    return made


def _running(impl: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, a: impl(x, a) if np.ndim(x) else x + 0


_CUMSUM = Operation("Cumsum", _running(np.cumsum))
_CUMPROD = Operation("Cumprod", _running(np.cumprod))


def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along an axis."""
    made: Tensor = record(_CUMSUM, (_summable(input, dtype),), (axis(dim, input._data.ndim),))
    return made


def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along an axis."""
    made: Tensor = record(_CUMPROD, (_summable(input, dtype),), (axis(dim, input._data.ndim),))
    return made


def _sorted(x: Any, a: int, descending: bool) -> Any:
    index = np.argsort(x, axis=a, kind="stable")
    if descending:
        index = np.flip(np.argsort(np.flip(x, a), axis=a, kind="stable"), a)
        index = x.shape[a] - 1 - index
    return np.take_along_axis(x, index, a), index


_SORT = Operation("Sort", _sorted)


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements sorted along an axis, and their original indices."""
    if not input._data.ndim:
        return values_and_indices(POINTWISE["clone"](input), argmax(input))
    a = axis(dim, input._data.ndim)
    return values_and_indices(*record(_SORT, (input,), (a, bool(descending))))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort the elements along an axis."""
    made: Tensor = sort(input, dim, descending).indices
    return made


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest or smallest elements along an axis, and their indices."""
    a = axis(dim, input._data.ndim)
    if not 0 <= k <= input._data.shape[a]:
        raise RuntimeError("selected index k out of range")

    return values_and_indices(*record(_TOPK, (input,), (a, bool(largest), int(k))))


def _top(x: Any, a: int, largest: bool, k: int) -> Any:
    found, index = _sorted(x, a, largest)
    part = (slice(None),) * a + (slice(0, k),)
    return found[part], index[part]


_TOPK = Operation("Topk", _top)


def median(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower median of all elements; along an axis, also its index."""
    if dim is None:
        return record(MEDIAN, (input,))
    a = axis(dim, input._data.ndim)
    return values_and_indices(*record(MEDIAN_ALONG, (input,), (a, bool(keepdim))))


def _by_numpys_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that also accepts ``axis`` and ``keepdims``, NumPy's names for ``dim`` and
    ``keepdim``."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for theirs, ours in (("axis", "dim"), ("keepdims", "keepdim")):
            if theirs in kwargs:
                kwargs[ours] = kwargs.pop(theirs)
        return function(*args, **kwargs)

    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (sum, nansum, mean, prod, var, std, amax, amin, max, min, norm, logsumexp, softmax,
              log_softmax, cumsum, cumprod, sort, argsort, topk, median)
}  # fmt: skip
FUNCTIONS.update(argmax=argmax, argmin=argmin, all=all, any=any, count_nonzero=count_nonzero)
FUNCTIONS = {name: _by_numpys_names(f) for name, f in FUNCTIONS.items()}
