"""Types of values: a dtype and a shape, printed ``f64[3,4]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from .halves import BFLOAT16, is_bfloat16
from .halves import is_half as is_half

#: The short name of every dtype that a program can hold.
DTYPE_NAMES: dict[np.dtype, str] = {
    np.dtype(np.bool_): "bool",
    np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint8): "u8",
    np.dtype(np.uint16): "u16",
    np.dtype(np.uint32): "u32",
    np.dtype(np.uint64): "u64",
    np.dtype(np.float16): "f16",
    BFLOAT16: "bf16",
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(np.complex64): "c64",
    np.dtype(np.complex128): "c128",
}
_DTYPES = {name: dtype for dtype, name in DTYPE_NAMES.items()}
#: Names of dtypes in other libraries, used to suggest the intended one.
DTYPE_ALIASES = {
    **{dtype.name: name for dtype, name in DTYPE_NAMES.items() if dtype.names is None},
    "bool_": "bool", "boolean": "bool", "int": "i64", "long": "i64", "uint": "u64",
    "half": "f16", "bfloat16": "bf16", "single": "f32", "float": "f64", "float_": "f64",
    "double": "f64", "real": "f64", "csingle": "c64", "complex": "c128", "cdouble": "c128",
}  # fmt: skip


class TypeMismatch(TypeError):
    """Operands whose shapes or dtypes do not fit the op."""


class NoSuchAxis(TypeMismatch):
    """An axis that an array does not have."""


@cache
def dtype_name(dtype: np.dtype) -> str:
    """The short name of a dtype.

    >>> dtype_name(np.dtype("float32"))
    'f32'
    """
    try:
        return DTYPE_NAMES[np.dtype(dtype)]
    except KeyError:
        if is_bfloat16(np.dtype(dtype)):
            return DTYPE_NAMES[BFLOAT16]
        known = ", ".join("bfloat16" if d is BFLOAT16 else d.name for d in DTYPE_NAMES)
        raise TypeMismatch(
            f"dtype {np.dtype(dtype).name} is not supported; supported are: {known}"
        ) from None


def dtype_from_name(name: str) -> np.dtype:
    """The dtype with a short name.

    >>> dtype_from_name("c128")
    dtype('complex128')
    """
    try:
        return _DTYPES[name]
    except KeyError:
        meant = f"; did you mean {DTYPE_ALIASES[name]}?" if name in DTYPE_ALIASES else ""
        raise TypeMismatch(f"unknown dtype {name!r}{meant or _known()}") from None


def _known() -> str:
    return f"; known: {', '.join(_DTYPES)}"


def canonical_dtype(dtype: np.dtype) -> np.dtype:
    """The representative of all equal dtype objects, in native byte order."""
    return _DTYPES[dtype_name(np.dtype(dtype).newbyteorder("="))]


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value.

    >>> str(Type(np.dtype(float), (3, 4)))
    'f64[3,4]'
    """

    dtype: np.dtype
    shape: tuple[int, ...] = ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def is_inexact(self) -> bool:
        """Whether values of this type have derivatives (float or complex)."""
        return self.dtype.kind in "fc" or is_bfloat16(self.dtype)

    def with_shape(self, shape: tuple[int, ...]) -> Type:
        return Type(self.dtype, tuple(shape))

    def with_dtype(self, dtype: np.dtype | type) -> Type:
        return Type(np.dtype(dtype), self.shape)

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    __repr__ = __str__


def parse_type(text: str) -> Type:
    """Read a type as the IR prints it.

    >>> parse_type("f64[3,4]").shape
    (3, 4)
    """
    name, bracket, rest = text.strip().partition("[")
    if not bracket or not rest.endswith("]"):
        raise TypeMismatch(f"a type is written like f64[3,4] or f32[]; got {text!r}{_meant(text)}")
    body = rest[:-1].strip()
    try:
        shape = tuple(int(part) for part in body.split(",")) if body else ()
    except ValueError:
        raise TypeMismatch(
            f"the shape in {text!r} must be integers, as in f64[3,4]{_meant(text)}"
        ) from None
    if any(extent < 0 for extent in shape):
        raise TypeMismatch(f"the shape in {text!r} has a negative extent")
    if name.strip() not in _DTYPES and (meant := _meant(text)):
        raise TypeMismatch(f"unknown dtype {name.strip()!r}{meant}")
    return Type(dtype_from_name(name.strip()), shape)


def _meant(text: str) -> str:
    """A suggestion for a text that is not a type.

    >>> _meant("float64(3, 4)"), _meant("f64[2x3]"), _meant("double"), _meant("f65[2]")
    ('; did you mean f64[3,4]?', '; did you mean f64[2,3]?', '; did you mean f64[]?', '')
    >>> _meant("f46[2]"), _meant("flaot32[2]"), _meant("f64[3")
    ('; did you mean f64[2]?', '; did you mean f32[2]?', '; did you mean f64[3]?')
    """
    found = re.fullmatch(r"\s*(\w+)\s*(?:[\[(<]([\d\s,x*×]*)(?:[\])>]|$))?\s*", text)
    if not found:
        return ""
    near = [n for n in (*_DTYPES, *DTYPE_ALIASES) if sorted(n) == sorted(found[1])]
    near = [n for n in (found[1], *near) if n in _DTYPES or n in DTYPE_ALIASES]
    if not near:
        return ""
    name = DTYPE_ALIASES.get(near[0], near[0])
    return f"; did you mean {name}[{','.join(re.findall(r'[0-9]+', found[2] or ''))}]?"


def type_of(array: object) -> Type:
    """The type of an array or scalar, as NumPy sees it."""
    array = np.asarray(array)
    return Type(canonical_dtype(array.dtype), array.shape)
