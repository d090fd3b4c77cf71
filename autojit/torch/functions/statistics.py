"""Statistics, running extremes, differences, integrals and distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.torch.engine.modes import recording
from autojit.torch.engine.recording import compute, record, wrap
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor

from .making import axes, axis, floating, function, tensors
from .reductions import FUNCTIONS as REDUCTIONS
from .reductions import values_and_indices


def _shares_of(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, q, a, k, how: compute(x, np.asarray(q, x.dtype), a, method=how, keepdims=k)


_QUANTILE = function("Quantile", _shares_of(np.quantile))
_NANQUANTILE = function("Nanquantile", _shares_of(np.nanquantile))


def quantile(input: Tensor, q: Any, dim: Any = None, keepdim: bool = False, *,
             interpolation: str = "linear") -> Tensor:  # fmt: skip
    """The q-quantiles of all elements, or along an axis."""
    return _quantile(_QUANTILE, input, q, dim, keepdim, interpolation)


def nanquantile(input: Tensor, q: Any, dim: Any = None, keepdim: bool = False, *,
                interpolation: str = "linear") -> Tensor:  # fmt: skip
    """The q-quantiles, ignoring NaN."""
    return _quantile(_NANQUANTILE, input, q, dim, keepdim, interpolation)


def _quantile(
    call: Callable[..., Any], x: Tensor, q: Any, dim: Any, keepdim: bool, how: str
) -> Tensor:
    if isinstance(q, Tensor) and q.requires_grad and recording():
        raise NotImplementedError("quantile: no derivative by q is covered; give q.detach()")
    shares = q.tolist() if isinstance(q, Tensor) else q
    share = tuple(shares) if isinstance(shares, list) else float(shares)
    if not all(0 <= s <= 1 for s in (share if isinstance(share, tuple) else (share,))):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    a = None if dim is None else axis(dim, x._data.ndim)
    made: Tensor = call((x,), share, a, bool(keepdim), how)
    return made


_NANMEAN = Operation("Nanmean", lambda x, a, k: np.nanmean(x, axis=a, keepdims=k))


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The mean, ignoring NaN."""
    made: Tensor = record(_NANMEAN, (input,), (axes(dim, input._data.ndim), bool(keepdim)))
    return made


def std_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
             correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The standard deviation, and the mean."""
    spread = REDUCTIONS["std"](input, dim, unbiased, keepdim, correction=correction)
    return spread, REDUCTIONS["mean"](input, None if isinstance(dim, bool) else dim, keepdim)


def var_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
             correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The variance, and the mean."""
    spread = REDUCTIONS["var"](input, dim, unbiased, keepdim, correction=correction)
    return spread, REDUCTIONS["mean"](input, None if isinstance(dim, bool) else dim, keepdim)


class AminmaxResult(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> AminmaxResult:
    """The smallest and the largest of all elements, or along an axis."""
    both = [REDUCTIONS[name](input, dim, keepdim) for name in ("amin", "amax")]
    return AminmaxResult(*both)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along an axis, counted from 1, and its index."""
    a = axis(dim, input._data.ndim)
    if not 1 <= k <= input._data.shape[a]:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension")
    values, indices = REDUCTIONS["sort"](input, a)
    picked = [x.select(a, k - 1) for x in (values, indices)]
    return values_and_indices(*[x.unsqueeze(a) if keepdim else x for x in picked])


def _running(compare: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, a: int) -> Any:
        places = np.arange(x.shape[a]).reshape((-1,) + (1,) * (x.ndim - 1 - a))
        extreme = compare.accumulate(x, axis=a)  # type: ignore[attr-defined]
        # The last index at which the running extreme occurred.
        index = np.maximum.accumulate(np.where(x == extreme, places, 0), axis=a)
        return np.take_along_axis(x, index, a), index

    return impl


_CUMMAX = Operation("Cummax", _running(np.maximum))
_CUMMIN = Operation("Cummin", _running(np.minimum))


def cummax(input: Tensor, dim: int) -> Any:
    """The running maximum along an axis, and its index."""
    return values_and_indices(*record(_CUMMAX, (input,), (axis(dim, input._data.ndim),)))


def cummin(input: Tensor, dim: int) -> Any:
    """The running minimum along an axis, and its index."""
    return values_and_indices(*record(_CUMMIN, (input,), (axis(dim, input._data.ndim),)))


_LOGCUMSUMEXP = function("Logcumsumexp", lambda x, a: np.logaddexp.accumulate(x, axis=a))


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of running sums of exponentials."""
    made: Tensor = _LOGCUMSUMEXP((floating(input),), axis(dim, input._data.ndim))
    return made


_DIFF = function("Diff", lambda x, n, a: np.diff(x, n, a))


def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    from .shaping import cat

    if n == 0:
        return input.clone()
    parts = [x for x in (prepend, input, append) if x is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    made: Tensor = _DIFF((x,), int(n), axis(dim, x._data.ndim))
    return made


def trapezoid(y: Tensor, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral by the trapezoidal rule along an axis."""
    return REDUCTIONS["sum"](_areas(y, x, dx, dim), dim)


def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The cumulative integral by the trapezoidal rule along an axis."""
    return REDUCTIONS["cumsum"](_areas(y, x, dx, dim), dim)


def _areas(y: Tensor, x: Any, dx: float, dim: int) -> Any:
    a = axis(dim, y._data.ndim)
    n = y._data.shape[a]
    sums = y.narrow(a, 1, n - 1) + y.narrow(a, 0, n - 1)
    if x is None:
        return sums * (dx / 2)
    widths = diff(x, dim=0 if x.ndim == 1 else a)
    if x.ndim == 1:
        widths = widths.reshape(-1, *(1,) * (y.ndim - 1 - a))
    return sums * widths / 2


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The p-norms of the differences of all pairs of rows."""
    a, b = tensors(x1, x2)
    return REDUCTIONS["norm"](a.unsqueeze(-2) - b.unsqueeze(-3), p, -1)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference."""
    return REDUCTIONS["norm"](input - other, p)


_COV = function("Cov", lambda x, c: np.cov(x, ddof=c).astype(x.dtype))
_CORRCOEF = function("Corrcoef", lambda x: np.corrcoef(x).astype(x.dtype))


def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of the rows."""
    if fweights is not None or aweights is not None:
        raise NotImplementedError("cov: fweights and aweights are not covered")
    return _COV((input,), int(correction))


def corrcoef(input: Tensor) -> Any:
    """The correlations of the rows."""
    return _CORRCOEF((input,))


def searchsorted(sorted_sequence: Tensor, values: Any, *, out_int32: bool = False,
                 right: bool = False, side: str | None = None) -> Tensor:  # fmt: skip
    """The indices at which values must be inserted to keep rows sorted."""
    end: Any = side or ("right" if right else "left")
    rows = sorted_sequence._data
    given = values if isinstance(values, Tensor) else wrap(np.asarray(values, rows.dtype))
    if rows.ndim == 1:
        found = compute(Operation("Searchsorted", lambda r, v: np.searchsorted(r, v, end)),
                        (sorted_sequence, given))  # fmt: skip
    else:
        flat = zip(rows.reshape(-1, rows.shape[-1]), given._data.reshape(-1, given.shape[-1]),
                   strict=True)  # fmt: skip
        places = [np.searchsorted(r, v, end) for r, v in flat]
        found = wrap(np.stack(places).reshape(given._data.shape))
    made: Tensor = found.int() if out_int32 else found.long()
    return made


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The index of each element's interval between boundaries."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """A histogram: the counts of elements in equal intervals."""
    x = input._data
    ends = (float(x.min()), float(x.max())) if min == max == 0 else (min, max)
    made: Tensor = wrap(np.histogram(x, bins, ends)[0].astype(x.dtype))
    return made


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (quantile, nanquantile, nanmean, std_mean, var_mean, aminmax, kthvalue, cummax, cummin,
              logcumsumexp, diff, trapezoid, cumulative_trapezoid, cdist, dist, cov, corrcoef,
              searchsorted, bucketize, histc)
}  # fmt: skip
FUNCTIONS["trapz"] = trapezoid
