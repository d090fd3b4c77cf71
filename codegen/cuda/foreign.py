"""Arrays of other libraries on a card are used without a copy if they are contiguous.

They describe themselves by the CUDA array interface, as in CuPy, PyTorch, JAX and Numba:
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.core.types import Type, TypeMismatch, canonical_dtype, dtype_name

from .arrays import DeviceArray, interned
from .driver.memory import Memory

if TYPE_CHECKING:
    from .driver.card import Card


class Foreign(NamedTuple):
    """An array of another library on a card, as its interface describes it."""

    type: Type
    pointer: int
    strides: tuple[int, ...] | None
    stream: int | None
    owner: Any


def is_foreign(x: Any) -> bool:
    """Whether ``x`` is an array on a card that another library made."""
    return hasattr(x, "__cuda_array_interface__") and not isinstance(x, DeviceArray)


def foreign(x: Any) -> Foreign:
    """Read the interface of an array; raise TypeMismatch for a dtype that programs cannot hold."""
    found = x.__cuda_array_interface__
    if found.get("mask") is not None:
        raise TypeMismatch("an array with a mask: pass its data and its mask as two arrays")
    type = interned(Type(canonical_dtype(np.dtype(found["typestr"])), tuple(found["shape"])))
    return Foreign(type, found["data"][0], found.get("strides"), found.get("stream"), x)


def taken(x: Any, card: Card, *, copy: bool = False) -> tuple[DeviceArray, int | None]:
    """An array of another library on this card as a ``DeviceArray``, and the stream on which it is
    made and used, or None if that is ours or unknown.

    The result shares the array's memory, with these exceptions, which are copied at once: a copy is
    requested, the elements are not in row-major order, or complex elements are not at multiples of
    their size.

    Raises:
        TargetError: if the strides are not multiples of the element size.
    """
    found = foreign(x)
    size = found.type.nbytes
    stream = found.stream if found.stream not in (None, card.stream) else None
    if stream is not None:
        card.wait_for(stream)
    if size and (found.pointer % found.type.dtype.itemsize or not _is_contiguous(found)):
        return DeviceArray(found.type, _copied(found, card)), stream
    own = card.copy(found.pointer, size) if copy else None
    memory = own or Memory(card, found.pointer, size, keep=x)
    return DeviceArray(found.type, memory), stream


def _copied(found: Foreign, card: Card) -> Memory:
    """A copy of an array in row-major order; a complex number is copied as two floats."""
    from .strided import copied  # which imports the modules that make kernels

    kind, shape = found.type.dtype, found.type.shape
    rows = (kind.itemsize * step for step in row_major_strides(shape))
    strides = tuple(rows if found.strides is None else found.strides)
    if kind.kind == "c":
        kind = np.dtype(f"f{kind.itemsize // 2}")
        shape, strides = (*shape, 2), (*strides, kind.itemsize)
    if any(s % kind.itemsize for s in strides) or found.pointer % kind.itemsize:
        raise TargetError(
            f"an array on {card.name} with strides {strides} has elements that do not lie at "
            "multiples of their size. Copy it first:\n"
            "    x.contiguous()                     # PyTorch\n"
            "    cupy.ascontiguousarray(x)          # CuPy"
        )
    steps = tuple(s // kind.itemsize for s in strides)
    return copied(card, found.pointer, dtype_name(kind), kind.itemsize, shape, steps)


def _is_contiguous(found: Foreign) -> bool:
    if found.strides is None:
        return True
    expected = found.type.dtype.itemsize
    for extent, stride in zip(found.type.shape[::-1], tuple(found.strides)[::-1], strict=True):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return bool(prod(found.type.shape))
