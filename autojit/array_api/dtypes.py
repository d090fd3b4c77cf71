"""Queries about dtypes, which also accept arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autojit.protocols.lifting import dtype_of
from autojit.tracing.array_methods import CPU, check_device
from autojit.tracing.created_arrays import bare, is_traced

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64", "complex64", "complex128")  # fmt: skip


def _dtype(x: Any) -> np.dtype:
    """A dtype, or the dtype of an array."""
    return np.dtype(x) if isinstance(x, (np.dtype, type, str)) else dtype_of(bare(x))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    check_device(device)
    return (
        np.asarray(x).astype(dtype, copy=copy) if not is_traced(x) else x.astype(dtype, copy=copy)
    )


def can_cast(from_: Any, to: Any, /) -> bool:
    return np.can_cast(_dtype(from_), to)


class FloatInfo(NamedTuple):
    """The limits of a dtype as Python numbers, which take the dtype of the arrays they meet."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


def finfo(type: Any, /) -> FloatInfo:
    found = np.finfo(_dtype(type))
    return FloatInfo(
        bits=found.bits,
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=found.dtype,
    )


def iinfo(type: Any, /) -> Any:
    return np.iinfo(_dtype(type))


class Info:
    """The result of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """Shapes may depend on values if these are known, and in NumPy arrays."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return CPU

    def devices(self) -> list[str]:
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        check_device(device)
        return {
            "real floating": np.dtype(float),
            "complex floating": np.dtype(complex),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.intp),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        check_device(device)
        wanted = (kind,) if isinstance(kind, str) else tuple(_KINDS) if kind is None else kind
        letters = "".join(_KINDS[word] for word in wanted)
        found = {name: np.dtype(name) for name in _NAMES}
        return {name: dtype for name, dtype in found.items() if dtype.kind in letters}
