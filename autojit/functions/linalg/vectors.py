"""NumPy's ufuncs for products of vectors; older releases of NumPy lack some of them."""

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
