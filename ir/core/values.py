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


class Adjoint(Source):
    """The place of an op that carries cotangents back through what comes from there.

    It equals that place.  ``of`` is where the value was computed whose cotangent the op gives: None
    where it gives none, or one of an input.
    """

    of: Source | None = None

    @classmethod
    def at(cls, source: Source | None, of: Source | None = None) -> Source | None:
        """The place, as that of an adjoint."""
        if source is None:
            return None
        made = cls(*source)
        made.of = of
        return made

    @staticmethod
    def plain(source: Source | None) -> Source | None:
        """The place itself."""
        return None if source is None else Source(*source)


#: What the operators of values emit, by their names; ``ops.arithmetic`` fills it in.
OPERATORS: dict[str, Callable[..., Value]] = {}


class Value:
    """One SSA value.  Equal only to itself.

    The operators (``+ - * /``) emit ops into the current builder, so that derivative rules read
    like formulas.
    """

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type: Type = type

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def __repr__(self) -> str:
        return f"<value {self.type}>"

    def __add__(self, other: Any) -> Value:
        return OPERATORS["add"](self, other)

    def __radd__(self, other: Any) -> Value:
        return OPERATORS["add"](other, self)

    def __sub__(self, other: Any) -> Value:
        return OPERATORS["sub"](self, other)

    def __rsub__(self, other: Any) -> Value:
        return OPERATORS["sub"](other, self)

    def __mul__(self, other: Any) -> Value:
        return OPERATORS["mul"](self, other)

    def __rmul__(self, other: Any) -> Value:
        return OPERATORS["mul"](other, self)

    def __truediv__(self, other: Any) -> Value:
        return OPERATORS["div"](self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return OPERATORS["div"](other, self)

    def __neg__(self) -> Value:
        return OPERATORS["neg"](self)
