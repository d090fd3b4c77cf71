"""New scalars and accumulators, with numbers that the lowering does not use."""

from __future__ import annotations

from itertools import count
from typing import Any

from autojit.codegen.loop_ir.nodes import Compute, Constant, InRange, Load
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core.affine import Affine

_numbers = count(1 << 32)


def scalar(dtype: str) -> Scalar:
    """A new scalar."""
    return Scalar(next(_numbers), dtype, 0, None)


def accumulator(dtype: str, combine: str = "add", identity: Any = 0) -> Accumulator:
    """A new accumulator."""
    return Accumulator(next(_numbers), dtype, combine, identity)


def constant_scalar(value: Any, dtype: str) -> Constant:
    """A statement that defines a constant."""
    return Constant(scalar(dtype), value)


def loaded(buffer: Buffer, index: Affine, guard: Scalar | None = None) -> Load:
    """A statement that loads an element."""
    return Load(scalar(buffer.dtype), buffer, index, guard)


def computed(name: str, *args: Scalar, dtype: str = "") -> Compute:
    """A statement that computes a scalar of the dtype of its operands."""
    return Compute(scalar(dtype or args[-1].dtype), name, args)


def within(index: Affine, low: int, high: int) -> InRange:
    """A statement that tests whether an index is in a range."""
    return InRange(scalar("bool"), index, low, high)
