"""Functions that arrange elements: triangles, blocks, pairs, tiles, windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.torch.engine import dtypes
from autojit.torch.engine.recording import compute, record, wrap
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.views import strided, view

from .indexing import check_range
from .making import axis, function, in_dtype, tensors
from .shaping import FUNCTIONS as SHAPING
from .shaping import broadcast_to, cat, expand, reshape, split, stack

_TAKE_ALONG = function("Gather", lambda x, i, a: np.take_along_axis(x, i, a))
_DIAG_EMBED = function("DiagEmbed", lambda x, k, a, b: _embedded(x, k, a, b))
_ROT90 = function("Rot90", lambda x, k, axes: np.rot90(x, k, axes))
_TENSORDOT = function("Tensordot", lambda a, b, axes: np.tensordot(a, b, axes))


def _embedded(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    n = x.shape[-1] + abs(offset)
    rows = np.arange(x.shape[-1]) + max(-offset, 0)
    mask = np.zeros((x.shape[-1], n, n), x.dtype)
    mask[np.arange(x.shape[-1]), rows, rows + offset] = 1
    return np.moveaxis(np.tensordot(x, mask, 1), (-2, -1), (dim1, dim2))


def _windows(x: Any, a: int, n: int, step: int) -> Any:
    starts = np.arange(0, x.shape[a] - n + 1, step)
    return np.moveaxis(np.take(x, starts[:, None] + np.arange(n), axis=a), a + 1, -1)


def _seen_windows(x: Any, a: int, n: int, step: int) -> Any:
    seen = np.lib.stride_tricks.sliding_window_view(x, n, a, writeable=x.flags.writeable)
    return seen[(slice(None),) * a + (slice(None, None, step),)]


_WINDOWS = strided("Unfold", _windows, _seen_windows)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements at indices along an axis, or of the flattened tensor if ``dim`` is None."""
    x = SHAPING["ravel"](input) if dim is None else input
    made: Tensor = _TAKE_ALONG((x, indices), 0 if dim is None else axis(dim, x._data.ndim))
    return made


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices whose diagonals are the rows along the last axis."""
    ndim = input._data.ndim + 1
    made: Tensor = _DIAG_EMBED((input,), int(offset), axis(dim1, ndim), axis(dim2, ndim))
    return made


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal."""
    return diag_embed(reshape(input, -1), offset)


def block_diag(*tensors_: Tensor) -> Tensor:
    """A block-diagonal matrix."""
    blocks = [t if t.ndim == 2 else reshape(t, 1, -1) for t in tensors(*tensors_)]
    columns = sum(b.shape[1] for b in blocks)
    before, made = 0, []
    for b in blocks:
        ends = (before, columns - before - b.shape[1])
        left, right = (b.new_zeros(b.shape[0], n) for n in ends)
        made.append(cat([left, b, right], 1))
        before += b.shape[1]
    return cat(made, 0)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None,
                 device: Any = None) -> Tensor:  # fmt: skip
    """The indices of the lower triangle: rows, then columns."""
    made: Tensor = wrap(np.stack(np.tril_indices(row, offset, col)))
    return made if dtype is None else in_dtype(made, dtypes.numpy_dtype(dtype))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None,
                 device: Any = None) -> Tensor:  # fmt: skip
    """The indices of the upper triangle: rows, then columns."""
    made: Tensor = wrap(np.stack(np.triu_indices(row, offset, col)))
    return made if dtype is None else in_dtype(made, dtypes.numpy_dtype(dtype))


def cartesian_prod(*tensors_: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    if len(tensors_) == 1:
        return tensors_[0]
    grids = SHAPING["meshgrid"](*tensors_, indexing="ij")
    return stack([reshape(g, -1) for g in grids], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a vector, as rows."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(len(input)), r))
    made: Tensor = input[wrap(np.array(rows, np.int64).reshape(-1, r))]
    return made


def broadcast_tensors(*tensors_: Tensor) -> tuple[Tensor, ...]:
    """Tensors broadcast to their common shape."""
    shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors_))
    return tuple(broadcast_to(t, shape) for t in tensors_)


def tile(input: Tensor, *dims: Any) -> Tensor:
    """Copies side by side; ``dims`` are the counts along the last axes."""
    counts = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    counts = (1,) * (input.ndim - len(counts)) + counts
    return input.repeat(*counts)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """The tensor rotated by k right angles in the plane of two axes."""
    made: Tensor = _ROT90((input,), int(k), tuple(axis(d, input.ndim) for d in dims))
    return made


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over axes of both tensors."""
    pair = dims if isinstance(dims, int) else tuple(
        tuple(d) if isinstance(d, (list, tuple)) else (d,) for d in dims
    )  # fmt: skip
    made: Tensor = _TENSORDOT(tensors(a, b), pair)
    return made


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of the windows along an axis; a new last axis runs within each window."""
    return view(_WINDOWS, input, (axis(dimension, input.ndim), int(size), int(step)))


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis: a number of parts, or the parts between indices."""
    n = input.shape[dim]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        sizes = [n // count + (k < n % count) for k in range(count)]
    else:
        ends = [*(min(k % n if k < 0 else k, n) for k in indices_or_sections), n]
        sizes = [max(b - a, 0) for a, b in zip([0, *ends], ends, strict=False)]
    return split(input, sizes, dim)


def column_stack(tensors_: Sequence[Tensor]) -> Tensor:
    """Vectors as the columns of a matrix, matrices side by side."""
    return cat([t if t.ndim > 1 else reshape(t, -1, 1) for t in tensors_], 1)


def dstack(tensors_: Sequence[Tensor]) -> Tensor:
    """Tensors stacked in depth, along a third axis."""
    return cat([_atleast(t, 3) for t in tensors_], 2)


def _atleast(t: Tensor, ndim: int) -> Tensor:
    if t.ndim >= ndim:
        return t
    if ndim == 3:
        return reshape(t, *((1, -1, 1) if t.ndim < 2 else (*t.shape, 1)))
    return reshape(t, *(1,) * (ndim - t.ndim), *t.shape)


def _at_least(ndim: int) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        listed = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
        made = tuple(_atleast(t, ndim) for t in listed)
        return made[0] if len(given) == 1 and listed is given else made

    return call


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices assigned at indices of an axis."""
    check_range(index, input.shape[axis(dim, input.ndim)])
    made = input.clone()
    made[(slice(None),) * axis(dim, input.ndim) + (index,)] = source
    return made


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number at indices of an axis."""
    made = input.clone()
    made[(slice(None),) * axis(dim, input.ndim) + (index,)] = value
    return made


def index_put(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy with values assigned, or added, at indices of all axes."""
    made = input.clone()
    if not accumulate:
        made[tuple(indices)] = values
        return made
    flat = wrap(np.ravel_multi_index([i._data for i in indices], tuple(input.shape)))
    given = expand(values, *flat.shape) if values.shape != flat.shape else values
    added = reshape(input, -1).index_add(0, reshape(flat, -1), reshape(given, -1))
    return reshape(added, *input.shape)


def isin(elements: Any, test_elements: Any) -> Tensor:
    """Whether each element is among the test elements."""
    return compute(Operation("Isin", np.isin), tensors(elements, test_elements))


def unique_consecutive(input: Tensor) -> Tensor:
    """The elements without consecutive repetitions."""
    x = input._data.ravel()
    keep = np.ones(x.shape, bool)
    keep[1:] = x[1:] != x[:-1]
    made: Tensor = wrap(x[keep])
    return made


def _flipped(k: int) -> Callable[[Tensor], Any]:
    return lambda input: SHAPING["flip"](input, k)


_VANDER = Operation("Vander", lambda x, n, up: np.vander(x, n, increasing=up).astype(x.dtype))


def vander(x: Tensor, N: int | None = None, *, increasing: bool = False) -> Tensor:
    """The matrix whose columns are powers of a vector."""
    made: Tensor = record(_VANDER, (x,), (len(x) if N is None else N, increasing))
    return made


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (take_along_dim, diag_embed, diagflat, block_diag, cartesian_prod, combinations,
              broadcast_tensors, tile, rot90, tensordot, unfold, tensor_split, column_stack, dstack,
              index_copy, index_fill, index_put, isin, unique_consecutive, vander)
}  # fmt: skip
FUNCTIONS.update(
    fliplr=_flipped(1), flipud=_flipped(0), row_stack=SHAPING["vstack"],
    atleast_1d=_at_least(1), atleast_2d=_at_least(2), atleast_3d=_at_least(3),
    hsplit=lambda x, n: tensor_split(x, n, 0 if x.ndim == 1 else 1),
    vsplit=lambda x, n: tensor_split(x, n, 0),
    adjoint=lambda x: SHAPING["transpose"](x, -2, -1).conj(),
)  # fmt: skip
#: Functions without tensor arguments.
FACTORIES: dict[str, Callable[..., Any]] = {
    "tril_indices": tril_indices, "triu_indices": triu_indices
}  # fmt: skip
