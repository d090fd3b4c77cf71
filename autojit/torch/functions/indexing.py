"""Indexing, and functions that read or write at indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.torch.engine.recording import compute, record, wrap
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.views import assign, view

from .making import axis, in_dtype
from .pointwise import masked_fill, where
from .shaping import reshape, unsqueeze


def _is_basic(item: Any) -> bool:
    if isinstance(item, (bool, Tensor, list, np.ndarray)):
        return False
    return item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer))


class _Slice(tuple[Any, ...]):
    """A hashable slice."""

    __slots__ = ()


def _fixed(item: Any) -> Any:
    if isinstance(item, slice):
        return _Slice(None if x is None else int(x) for x in (item.start, item.stop, item.step))
    return int(item) if isinstance(item, (int, np.integer)) else item


def _loose(item: Any) -> Any:
    return slice(*item) if isinstance(item, _Slice) else item


_NAMES = {int: "SelectBackward0", _Slice: "SliceBackward0", type(None): "UnsqueezeBackward0"}


def _at(x: Any, *items: Any) -> Any:
    # With an ellipsis, NumPy returns a single element as a view instead of a scalar.
    rest = () if Ellipsis in items else (Ellipsis,)
    return x[(*map(_loose, items), *rest)]


_BASIC = {kind: Operation(name, _at) for kind, name in _NAMES.items()}


def _advanced(x: Any, *more: Any) -> Any:
    *arrays, items = more
    places = iter(arrays)
    return x[tuple(next(places) if i == "array" else _loose(i) for i in items)]


_INDEX = Operation("Index", _advanced)


def _put(x: Any, new: Any, *more: Any) -> Any:
    *arrays, items, adds = more
    places = iter(arrays)
    index = tuple(next(places) if i == "array" else _loose(i) for i in items)
    made = np.copy(x)
    if adds:
        np.add.at(made, index, new)
    else:
        made[index] = new
    return made


_PUT = Operation("IndexPut", _put)


def _items(index: Any) -> tuple[Any, ...]:
    items = index if isinstance(index, tuple) else (index,)
    return tuple(
        int(i) if isinstance(i, Tensor) and not i.shape and i._data.dtype.kind in "iu"
        and isinstance(i._data, np.ndarray) else i
        for i in items
    )  # fmt: skip


def _parted(items: tuple[Any, ...]) -> tuple[list[Tensor], tuple[Any, ...]]:
    """The index arrays, and their positions; masks become the indices at which they are True."""
    arrays: list[Tensor] = []
    kept: list[Any] = []
    for item in items:
        if _is_basic(item):
            kept.append(_fixed(item))
            continue
        array = item if isinstance(item, Tensor) else wrap(np.asarray(item))
        if array._data.dtype.kind == "b":
            found = [wrap(np.asarray(k)) for k in np.nonzero(array._data)]
        else:
            found = [array]
        arrays += found
        kept += ["array"] * len(found)
    return arrays, tuple(kept)


def getitem(x: Tensor, index: Any) -> Tensor:
    """``x[index]``: a view for numbers and slices, else a copy."""
    items = _items(index)
    if all(map(_is_basic, items)):
        _check(x, items)
        fixed = tuple(map(_fixed, items))
        steps = [type(i) for i in fixed if type(i) in _BASIC and i != (None, None, None)]
        kind = steps[-1] if steps else _Slice
        return view(_BASIC[kind], x, fixed)
    arrays, kept = _parted(items)
    made: Tensor = record(_INDEX, (x, *arrays), (kept,))
    return made


def _check(x: Tensor, items: tuple[Any, ...]) -> None:
    places = [i for i in items if i is not None]
    if Ellipsis not in places and len(places) > x._data.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x._data.ndim}")
    for dim, item in enumerate(places):
        if item is Ellipsis:
            return
        n = x._data.shape[dim]
        if isinstance(item, (int, np.integer)) and not -n <= item < n:
            raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {n}")


def setitem(x: Tensor, index: Any, new: Any) -> None:
    """``x[index] = new``, recorded."""
    items = _items(index)
    value = in_dtype(new, x._data.dtype)
    if all(map(_is_basic, items)):
        _check(x, items)
        assign(getitem(x, index), value)
        return
    (first, *rest) = items
    is_mask = not rest and isinstance(first, Tensor) and first._data.dtype.kind == "b"
    if is_mask and value._data.size == 1:
        mask = reshape(first, *first.shape, *(1,) * (x.ndim - first.ndim))
        assign(x, where(mask, reshape(value, ()), x))
        return
    arrays, kept = _parted(items)
    assign(x, record(_PUT, (x, value, *arrays), (kept, False)))


def _gathered(x: Any, index: Any, a: int) -> Any:
    part = tuple(slice(None) if k == a else slice(0, n) for k, n in enumerate(index.shape))
    return np.take_along_axis(x[part], index, a)


_GATHER = Operation("Gather", _gathered)


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements at indices along an axis."""
    if sparse_grad:
        raise NotImplementedError(
            "gather(sparse_grad=True) is not covered: gradients are dense here. Leave it out:\n"
            "    torch.gather(x, 0, index)"
        )
    a = axis(dim, input._data.ndim)
    check_range(index, input._data.shape[a] if input.shape else 1)
    one = [reshape(x, 1) if x._data.ndim == 0 else x for x in (input, index)]
    made: Tensor = record(_GATHER, one, (a,))
    return made if index.shape else reshape(made, ())


def check_range(index: Tensor, n: int) -> None:
    data = index._data
    if isinstance(data, np.ndarray) and data.size and not (data.min() >= 0 and data.max() < n):
        wrong = data.max() if data.max() >= n else data.min()
        raise RuntimeError(f"index {wrong} is out of bounds for dimension with size {n}")


def _grid(index: Any, a: int) -> tuple[Any, ...]:
    shape = index.shape
    return tuple(
        index if k == a else np.arange(n).reshape([-1 if j == k else 1 for j in range(len(shape))])
        for k, n in enumerate(shape)
    )


def _scattered(x: Any, index: Any, source: Any, a: int, adds: bool) -> Any:
    made = np.copy(x)
    source = source[tuple(slice(0, n) for n in index.shape)] if source.shape else source
    if adds:
        np.add.at(made, _grid(index, a), source)
    else:
        made[_grid(index, a)] = source
    return made


_SCATTER, _SCATTER_ADD = Operation("Scatter", _scattered), Operation("ScatterAdd", _scattered)


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None
) -> Tensor:
    """A copy with elements set at indices along an axis."""
    a = axis(dim, input._data.ndim)
    check_range(index, input._data.shape[a])
    source = in_dtype(src if value is None else value, input._data.dtype)
    made: Tensor = record(_SCATTER, (input, index, source), (a, False))
    return made


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with elements added at indices along an axis."""
    a = axis(dim, input._data.ndim)
    check_range(index, input._data.shape[a])
    made: Tensor = record(_SCATTER_ADD, (input, index, src), (a, True))
    return made


_TAKE = Operation("IndexSelect", np.take)
_TAKE_FLAT = Operation("Take", lambda x, i: x.reshape(-1)[i])


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices at indices of an axis."""
    a = axis(dim, input._data.ndim)
    check_range(index, input._data.shape[a])
    made: Tensor = record(_TAKE, (input, index), (a,))
    return made


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at indices, counted in row-major order."""
    made: Tensor = record(_TAKE_FLAT, (input, index))
    return made


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices added at indices of an axis."""
    a = axis(dim, input._data.ndim)
    check_range(index, input._data.shape[a])
    items = ((_Slice((None, None, None)),) * a) + ("array",)
    made: Tensor = record(_PUT, (input, source, index), (items, True))
    return made


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements at which a mask is True."""
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    return getitem(input.expand(*shape).reshape(-1), mask.expand(*shape).reshape(-1))


_NONZERO = Operation("Nonzero", lambda x: np.stack(np.nonzero(x), -1))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements."""
    if as_tuple:
        return tuple(wrap(np.asarray(k)) for k in np.nonzero(input._data))
    return compute(_NONZERO, (input,))


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False,
           return_counts: bool = False, dim: int | None = None) -> Any:  # fmt: skip
    """The distinct elements, sorted."""
    options: Any = {"return_inverse": return_inverse, "return_counts": return_counts}
    found: Any = np.unique(input._data, axis=dim, **options)
    return tuple(map(wrap, found)) if isinstance(found, tuple) else wrap(found)


def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number occurs."""
    w = None if weights is None else weights._data
    made: Tensor = wrap(np.bincount(input._data, w, minlength))
    return made


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (gather, scatter, scatter_add, index_select, take, index_add, masked_select, nonzero,
              unique, bincount)
}  # fmt: skip
__all__ = ["FUNCTIONS", "getitem", "masked_fill", "setitem", "unsqueeze"]
