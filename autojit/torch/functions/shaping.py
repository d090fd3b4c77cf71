"""Functions that change shapes: views, joins and repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.torch.engine.recording import record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.views import strided, view

from .kinds_of_arguments import whole_sizes
from .making import axes, axis, tensors


def _inferred(size: tuple[int, ...], total: int) -> tuple[int, ...]:
    known = math.prod(n for n in size if n != -1)
    missing = size.count(-1)
    if missing > 1:
        raise RuntimeError("only one dimension can be inferred")
    if missing and known and total % known == 0:
        return tuple(total // known if n == -1 else n for n in size)
    if missing or known != total:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {total}")
    return size


_RESHAPE, _VIEW = (Operation(n, lambda x, s: x.reshape(s)) for n in ("Reshape", "View"))


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape: a view if possible."""
    return view(_VIEW, input, (_inferred(whole_sizes(shape), input._data.size),))


def view_as_shape(input: Tensor, *shape: Any) -> Tensor:
    """A view of another shape; an error if the elements would have to move."""
    size = _inferred(whole_sizes(shape), input._data.size)
    if isinstance(input._data, np.ndarray):
        made = input._data.view()
        try:
            made.shape = size
        except AttributeError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one "
                "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            ) from None
    return view(_VIEW, input, (size,))


_TRANSPOSE = Operation("Transpose", np.swapaxes)
_T = Operation("T", lambda x: x.T)
_PERMUTE = Operation("Permute", np.transpose)
_SQUEEZE, _UNSQUEEZE = Operation("Squeeze", np.squeeze), Operation("Unsqueeze", np.expand_dims)


def _expanded(x: Any, shape: tuple[int, ...]) -> Any:
    """A writeable ``np.broadcast_to``; `check_overlap` refuses writes to repeated elements."""
    made = np.broadcast_to(x, shape)
    if x.__class__ is np.ndarray and x.flags.writeable:
        made = np.lib.stride_tricks.as_strided(x, made.shape, made.strides)
    return made


_EXPAND = Operation("Expand", np.broadcast_to, eager=_expanded)


def _written(x: Any, k: int, a: int, b: int) -> Any:
    """A writeable ``np.diagonal``."""
    made = np.diagonal(x, k, a, b)
    if x.flags.writeable:
        made.flags.writeable = True
    return made


_DIAGONAL = strided("Diagonal", lambda x, k, a, b: np.diagonal(x, k, a, b), _written)
_MOVE = Operation("Permute", np.moveaxis)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two axes exchanged."""
    n = input._data.ndim
    return view(_TRANSPOSE, input, (axis(dim0, n), axis(dim1, n)))


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view."""
    if input._data.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return view(_T, input)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """A view with the axes in another order."""
    order = axes(whole_sizes(dims), input._data.ndim) or ()
    return view(_PERMUTE, input, (order,))


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with some axes moved."""
    return view(_MOVE, input, (axes(source, input.ndim), axes(destination, input.ndim)))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """A view without axes of length 1."""
    shape = input._data.shape
    chosen = range(len(shape)) if dim is None else axes(dim, len(shape)) or ()
    return view(_SQUEEZE, input, (tuple(a for a in chosen if shape and shape[a] == 1),))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with one more axis."""
    return view(_UNSQUEEZE, input, (axis(dim, input._data.ndim + 1),))


def expand(input: Tensor, *size: Any) -> Tensor:
    """A view in which axes of length 1 are repeated; -1 keeps the length of an axis."""
    size = whole_sizes(size)
    old = (1,) * (len(size) - input._data.ndim) + tuple(input._data.shape)
    return view(
        _EXPAND, input, (tuple(o if n == -1 else n for n, o in zip(size, old, strict=True)),)
    )


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """A view broadcast to a shape."""
    return expand(input, *size)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of a matrix."""
    n = input._data.ndim
    return view(_DIAGONAL, input, (offset, axis(dim1, n), axis(dim2, n)))


_SELECT = Operation("Select", lambda x, a, i: x[(*(slice(None),) * a, i, ...)])
_NARROW = Operation("Slice", lambda x, a, i, j, k: x[(slice(None),) * a + (slice(i, j, k),)])


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """A view of the slice at one index of an axis."""
    a = axis(dim, input._data.ndim)
    n = input._data.shape[a]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {a} with size {n}")
    return view(_SELECT, input, (a, int(index) % n))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of a range of an axis."""
    return view(_NARROW, input, (axis(dim, input._data.ndim), int(start), int(start + length), 1))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices along an axis."""
    a = axis(dim, input._data.ndim)
    return tuple(select(input, a, i) for i in range(input._data.shape[a]))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts along an axis: of one size, or of a list of sizes."""
    a = axis(dim, tensor._data.ndim)
    n, sizes = tensor._data.shape[a], split_size_or_sections
    if isinstance(sizes, int):
        sizes = [min(sizes, n - i) for i in range(0, n, sizes)] or [0]
    starts = np.cumsum([0, *sizes])
    if starts[-1] != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {a}), but got split_sizes={list(sizes)}"
        )
    return tuple(narrow(tensor, a, int(s), k) for s, k in zip(starts, sizes, strict=False))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most ``chunks`` equal parts along an axis."""
    n = input._data.shape[axis(dim, input._data.ndim)]
    return split(input, max(1, -(-n // chunks)), dim)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """A range of axes merged into one."""
    shape = tuple(input._data.shape) or (1,)
    a, b = axis(start_dim, len(shape)), axis(end_dim, len(shape))
    return reshape(input, *shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :])


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One axis split into several."""
    shape, a = tuple(input._data.shape), axis(dim, input._data.ndim)
    return reshape(input, *shape[:a], *_inferred(tuple(sizes), shape[a]), *shape[a + 1 :])


_CAT = Operation("Cat", lambda *x: np.concatenate(x[:-1], x[-1]))
_STACK = Operation("Stack", lambda *x: np.stack(x[:-1], x[-1]))


def cat(tensors_: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors concatenated along an axis."""
    given = [x for x in tensors_ if tuple(x._data.shape) != (0,)] or list(tensors_)
    _check_alike(given, axis(dim, given[0]._data.ndim))
    made: Tensor = record(_CAT, tensors(*given), (axis(dim, given[0]._data.ndim),))
    return made


def _check_alike(given: Sequence[Tensor], a: int) -> None:
    first = tuple(given[0]._data.shape)
    for number, x in enumerate(given):
        shape = tuple(x._data.shape)
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for k, (p, q) in enumerate(zip(first, shape, strict=True)):
            if k != a and p != q:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {a}. Expected size {p} but "
                    f"got size {q} for tensor number {number} in the list."
                )


def stack(tensors_: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors stacked along a new axis."""
    for number, x in enumerate(tensors_):
        if x._data.shape != tensors_[0]._data.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got "
                f"{list(tensors_[0].shape)} at entry 0 and {list(x.shape)} at entry {number}"
            )
    made: Tensor = record(_STACK, tensors(*tensors_), (axis(dim, tensors_[0]._data.ndim + 1),))
    return made


def hstack(tensors_: Sequence[Tensor]) -> Tensor:
    """Tensors joined horizontally."""
    whole = [reshape(x, 1) if not x.ndim else x for x in tensors_]
    return cat(whole, 0 if whole[0].ndim == 1 else 1)


def vstack(tensors_: Sequence[Tensor]) -> Tensor:
    """Tensors joined vertically."""
    return cat([reshape(x, 1, -1) if x.ndim < 2 else x for x in tensors_], 0)


_FLIP, _ROLL = Operation("Flip", np.flip), Operation("Roll", np.roll)
_TILE = Operation("Repeat", np.tile)
_REPEAT = Operation("RepeatInterleave", np.repeat)
_TRIL, _TRIU = Operation("Tril", np.tril), Operation("Triu", np.triu)
_DIAG = Operation("Diag", np.diag)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """The elements in reverse order along axes."""
    made: Tensor = record(_FLIP, (input,), (axes(whole_sizes(dims), input._data.ndim) or (),))
    return made


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """The elements shifted along axes; those shifted beyond the end reappear at the beginning."""
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else shifts
    named = axes(dims, input._data.ndim)
    if isinstance(shifts, int) and named is not None:
        shifts = (shifts,) * len(named)
    made: Tensor = record(_ROLL, (input,), (shifts, named))
    return made


def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated along each axis."""
    made: Tensor = record(_TILE, (input,), (whole_sizes(repeats),))
    return made


def repeat_interleave(input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    """Each element repeated."""
    a = None if dim is None else axis(dim, input._data.ndim)
    made: Tensor = record(_REPEAT, (input,), (repeats, a))
    return made


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle; elsewhere 0."""
    made: Tensor = record(_TRIL, (input,), (diagonal,))
    return made


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle; elsewhere 0."""
    made: Tensor = record(_TRIU, (input,), (diagonal,))
    return made


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    made: Tensor = record(_DIAG, (input,), (diagonal,))
    return made


def meshgrid(*tensors_: Tensor, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Grids of coordinates."""
    given = tensors_[0] if isinstance(tensors_[0], (tuple, list)) else tensors_
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    shape = tuple(x._data.size for x in given)
    grids = [
        expand(reshape(x, *(-1 if k == i else 1 for k in range(len(shape)))), *shape)
        for i, x in enumerate(given)
    ]
    return tuple(transpose(g, 0, 1) if indexing == "xy" and len(shape) > 1 else g for g in grids)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (reshape, transpose, t, permute, movedim, squeeze, unsqueeze, broadcast_to, diagonal,
              select, narrow, unbind, split, chunk, flatten, unflatten, cat, stack, hstack, vstack,
              flip, roll, repeat_interleave, tril, triu, diag, meshgrid)
}  # fmt: skip
FUNCTIONS.update(swapaxes=transpose, swapdims=transpose, concat=cat, concatenate=cat,
                 moveaxis=movedim, ravel=lambda x: reshape(x, -1))  # fmt: skip
#: Functions that are only methods of tensors.
METHODS: dict[str, Callable[..., Any]] = {
    "view": view_as_shape, "expand": expand, "repeat": repeat,
    "expand_as": lambda x, other: expand(x, *other.shape),
    "view_as": lambda x, other: view_as_shape(x, *other.shape),
    "reshape_as": lambda x, other: reshape(x, *other.shape),
}  # fmt: skip
