"""Dtypes by PyTorch's names, and type promotion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autojit.ir.core.halves import BFLOAT16, is_bfloat16, kind_of

from .widening import computable


class dtype:
    """A dtype of tensors; ``numpy`` is the NumPy dtype."""

    def __init__(self, name: str, numpy: Any) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(numpy)
        self.is_floating_point: bool = kind_of(self.numpy) == "f"
        self.is_complex: bool = self.numpy.kind == "c"
        self.itemsize: int = self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


float32: dtype = dtype("float32", np.float32)
float64: dtype = dtype("float64", np.float64)
complex64: dtype = dtype("complex64", np.complex64)
complex128: dtype = dtype("complex128", np.complex128)
int8: dtype = dtype("int8", np.int8)
int16: dtype = dtype("int16", np.int16)
int32: dtype = dtype("int32", np.int32)
int64: dtype = dtype("int64", np.int64)
uint8: dtype = dtype("uint8", np.uint8)
bool_: dtype = dtype("bool", np.bool_)
float16: dtype = dtype("float16", np.float16)
bfloat16: dtype = dtype("bfloat16", BFLOAT16)
#: The floating-point dtypes of 16 bits.
HALVES = (float16, bfloat16)

DTYPES = {
    d.numpy: d
    for d in (
        float32,
        float64,
        complex64,
        complex128,
        int8,
        int16,
        int32,
        int64,
        uint8,
        bool_,
        *HALVES,
    )
}
#: Other names of the dtypes.
ALIASES = {
    "float": float32, "double": float64, "half": float16, "int": int32, "long": int64,
    "short": int16, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
_NUMBERS = (bool, int, float, complex)
_PYTHON = {float: None, int: int64, bool: bool_, complex: complex64}


class _Default:
    float: dtype = float32


default: _Default = _Default()


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of tensors made from Python floats: float32 or float64."""
    if d not in (float32, float64):
        raise TypeError("only floating-point types are supported as the default type")
    default.float = d


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats."""
    return default.float


def numpy_dtype(d: Any) -> np.dtype:
    """The NumPy dtype for a tensor dtype, a NumPy dtype or a Python type."""
    if isinstance(d, dtype):
        return d.numpy
    if d in _PYTHON:
        return (_PYTHON[d] or default.float).numpy
    return np.dtype(d)


def of(numpy: np.dtype) -> dtype:
    """The tensor dtype for a NumPy dtype."""
    try:
        return DTYPES[numpy]
    except KeyError:
        if is_bfloat16(numpy):
            return bfloat16
        raise TypeError(f"can't convert np.ndarray of type {numpy} to a tensor") from None


_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _joined(dtypes: Iterable[np.dtype]) -> np.dtype | None:
    found: np.dtype | None = None
    for d in dtypes:
        if found is None or found == d or (found.kind in "iu" and kind_of(d) == "f"):
            found = d
        elif not (kind_of(found) == "f" and d.kind in "iub"):
            found = np.promote_types(*[np.float32 if is_bfloat16(x) else x for x in (found, d)])
    return found


def result_type(operands: Iterable[Any]) -> np.dtype:
    """The common dtype of tensors and Python numbers, by PyTorch's rules: tensors without axes
    count only if they are of a higher kind than tensors with axes, and numbers only if they are of
    a higher kind than all tensors."""
    groups: tuple[list[np.dtype], list[np.dtype], list[np.dtype]] = ([], [], [])
    for x in operands:
        kind = next((k for k in _NUMBERS if isinstance(x, k)), None)  # np.float64 is a float too
        if kind is not None:
            groups[2].append(numpy_dtype(kind))
        else:
            groups[0 if x.shape else 1].append(x.dtype)
    found: np.dtype | None = None
    for group in groups:
        new = _joined(group)
        if new is not None and (found is None or _ORDER[kind_of(new)] > _ORDER[kind_of(found)]):
            if found is not None and new.kind == "c" and kind_of(found) == "f":
                new = np.promote_types(computable(found), np.complex64)
            found = new
    assert found is not None
    return found
