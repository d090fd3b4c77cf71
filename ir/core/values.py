"""Values of programs, their operators, and the places in the user's code that they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .types import Type


class Source(NamedTuple):
    """The place in the user's code that an op comes from."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


#: What the operators of values emit, by their names; ``ops.arithmetic`` fills it in.
OPERATORS: dict[str, Callable[..., Value]] = {}


def _operator(name: str) -> tuple[Callable[[Any, Any], Value], Callable[[Any, Any], Value]]:
    """An operator, and its reflection."""
    return (
        lambda self, other: OPERATORS[name](self, other),
        lambda self, other: OPERATORS[name](other, self),
    )


class Value:
    """One SSA value.  Equal only to itself.

    The operators (``+ - * /``) emit ops into the current builder, so that derivative rules read
    like formulas.
    """

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def __repr__(self) -> str:
        return f"<value {self.type}>"

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")

    def __neg__(self) -> Value:
        return OPERATORS["neg"](self)
