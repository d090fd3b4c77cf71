"""Shared by batching rules: operands with or without a leading batch axis."""

from __future__ import annotations

from typing import NamedTuple

from .program import Value
from .registry import declared


class Batched(NamedTuple):
    """An operand; if ``batched``, its axis 0 is the batch axis."""

    value: Value
    batched: bool


def along(operand: Batched, size: int) -> Value:
    """The operand with a batch axis, repeated along it if it has none."""
    value, batched = operand
    if batched:
        return value
    dims = tuple(range(1, value.type.ndim + 1))
    repeated: Value = declared.broadcast(value, shape=(size, *value.shape), dims=dims)
    return repeated


def later(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Axes after a batch axis has been put before them."""
    return tuple(a + 1 for a in axes)
