"""The origins of a result's elements, for ops that only move elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """``low <= index < high`` and ``index - low`` a multiple of ``step``."""

    index: Any
    low: int
    high: int
    step: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """One operand element, read where all of the conditions hold.

    Indices are tuples of expressions with ``+``, ``-`` and ``*``; ``arithmetic``
    has ``reshape(index, new_shape, old_shape)`` and ``quotient(index, divisor)``.
    Where no source's conditions hold, the element is zero.
    """

    operand: int
    index: tuple[Any, ...]
    conditions: tuple[Condition, ...] = ()
