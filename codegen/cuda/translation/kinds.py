"""Scalar kinds, values, and their LLVM types and constants.

Kinds are the dtypes of the loop IR (``f64``, ``u32``, ``bool``).  A ``bool`` has one bit, and eight
in memory.  An ``f16`` is its bits: its only operations are conversions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.errors import TargetError

#: LLVM's types of values.
LLVM = {
    "bool": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u8": "i8", "u16": "i16",
    "u32": "i32", "u64": "i64", "f16": "i16", "f32": "float", "f64": "double",
}  # fmt: skip
#: LLVM's types of elements in memory.
STORED = {**LLVM, "bool": "i8"}
#: Kinds by the names of NumPy's types.
OF_NUMPY = {
    "bool": "bool", "bool_": "bool",
    **{f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
}  # fmt: skip


def refused(words: str) -> TargetError:
    """An error about text that the printer should not have written."""
    return TargetError(f"this GPU code cannot be translated: {words}")


def bits(kind: str) -> int:
    """The number of bits of a kind.

    >>> bits("u16"), bits("bool")
    (16, 1)
    """
    return 1 if kind == "bool" else int(kind[1:])


def is_float(kind: str) -> bool:
    return kind in ("f32", "f64")


def is_integer(kind: str) -> bool:
    return kind[0] in "iu"


def is_signed(kind: str) -> bool:
    return kind[0] == "i"


def limits(kind: str) -> tuple[int, int]:
    """The least and the greatest number of an integer kind.

    >>> limits("u8"), limits("i8")
    ((0, 255), (-128, 127))
    """
    count = bits(kind) - is_signed(kind)
    return (-(1 << count) if is_signed(kind) else 0), (1 << count) - 1


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar in LLVM's text; ``number`` is its value if that is known.

    An integer of 64 bits that comes from smaller ones has less than ``2**width`` as its magnitude.
    """

    kind: str
    text: str
    number: int | float | None = None
    width: int | None = None

    @property
    def magnitude(self) -> int:
        """The number of bits of an integer's magnitude, at most."""
        if isinstance(self.number, int):
            return self.number.bit_length()
        return bits(self.kind) if self.width is None else self.width

    @property
    def typed(self) -> str:
        """The value after its LLVM type."""
        return f"{LLVM[self.kind]} {self.text}"


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of a kind in memory, at a pointer.

    ``count`` is their number; device functions do not know it.  If ``is_swapped``, the pointer
    changes, and ``pointer`` is the slot that has it.
    """

    kind: str
    pointer: str
    count: Value | None
    is_swapped: bool = False


def constant(kind: str, number: Any) -> Value:
    """A constant, rounded or wrapped to the kind.

    >>> constant("u8", -1).text, constant("f64", 1.5).text
    ('255', '0x3FF8000000000000')
    """
    if kind == "bool":
        return Value(kind, "true" if number else "false", int(bool(number)))
    if kind == "f16":
        return Value(kind, str(int(np.float16(number).view(np.uint16))))
    if is_float(kind):
        with np.errstate(all="ignore"):
            rounded = float(np.float32(number)) if kind == "f32" else float(number)
        return Value(kind, f"0x{struct.pack('>d', rounded).hex().upper()}", rounded)
    low, high = limits(kind)
    wrapped = (int(number) - low) % (high - low + 1) + low
    return Value(kind, str(wrapped), wrapped)
