"""Products of vectors: `cross`, and NumPy's ufuncs, some of which older releases of NumPy lack."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.types import is_half
from autojit.protocols.lifting import dtype_of
from autojit.protocols.registry import PRODUCTS, implements

from .products import mismatch


def vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    """``np.vecdot``: contract one axis of each operand and keep the dtype."""
    x, y = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    if np.shape(x)[-1] != np.shape(y)[-1]:
        raise mismatch("np.vecdot", a, b, "both vectors must have as many components")
    terms = np.multiply(np.conj(x) if dtype_of(x).kind == "c" else x, y)
    if terms.dtype.kind == "b":
        return np.any(terms, axis=-1)
    if is_half(terms.dtype):  # sum the products before rounding to half precision
        return np.einsum("...i,...i->...", x, y)
    return np.sum(terms, axis=-1).astype(terms.dtype)


def matvec(a: Any, b: Any) -> Any:
    """``np.matvec``: stacks of matrices times stacks of vectors."""
    return np.matmul(a, b[..., None])[..., 0]


def vecmat(a: Any, b: Any) -> Any:
    """``np.vecmat``: stacks of vectors, conjugated, times stacks of matrices."""
    return np.matmul(np.conj(a)[..., None, :], b)[..., 0, :]


for _product in (vecdot, matvec, vecmat):
    if hasattr(np, _product.__name__):
        PRODUCTS[getattr(np, _product.__name__)] = _product


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return vecdot(x1, x2, axis)


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    counts = np.shape(x)[-1], np.shape(y)[-1]
    if not {2, 3}.issuperset(counts):
        raise mismatch("np.cross", a, b, "both vectors must have 2 or 3 components")
    if counts == (2, 2):  # the third component of the product
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x, y = (v if n == 3 else _with_third(v) for v, n in zip((x, y), counts, strict=True))
    ahead, behind = ([np.roll(v, shift, axis=-1) for v in (x, y)] for shift in (-1, 1))
    return np.moveaxis(ahead[0] * behind[1] - behind[0] * ahead[1], -1, axisc)


def _with_third(plane: Any) -> Any:
    """Vectors in a plane as vectors in space."""
    return np.concatenate([plane, np.zeros_like(plane[..., :1])], axis=-1)


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if np.shape(x1)[axis] != 3 or np.shape(x2)[axis] != 3:
        raise mismatch("np.linalg.cross", x1, x2, "both vectors must have 3 components")
    return cross(x1, x2, axis=axis)
