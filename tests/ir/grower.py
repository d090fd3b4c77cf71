"""A growing random program: its inputs, its values so far, and functions that get more values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from autojit.ir.core.declaration import Declaration, full
from autojit.ir.core.program import Builder, Value
from autojit.ir.core.types import Type

Draw = Callable[[st.SearchStrategy[Any]], Any]

DTYPES = tuple(np.dtype(d) for d in ("f8", "f4", "c16", "i8", "i4", "u1", "?"))
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)

MAX_NDIM = 3
MAX_EXTENT = 3
#: The most elements of a value.
MAX_SIZE = 200


class Grower:
    """A program that is being generated.

    ``kinds`` are the ops allowed in the bodies of ops, ``depth`` is the number of surrounding
    bodies, ``index`` is the index of the innermost loop.
    """

    def __init__(
        self, draw: Draw, dtypes: Sequence[np.dtype], min_extent: int,
        kinds: Sequence[Declaration] = (),
    ) -> None:  # fmt: skip
        self.draw = draw
        self.dtypes = dtypes
        self.min_extent = min_extent
        self.kinds = kinds
        self.inputs: list[Value] = []
        self.values: list[Value] = []
        self.extents = st.integers(min_extent, MAX_EXTENT)
        self.builder = Builder()
        self.depth = 0
        self.index: Value | None = None

    def pick(self, items: Iterable[Any]) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def flag(self) -> bool:
        return bool(self.draw(st.booleans()))

    def subset(self, items: Iterable[int]) -> tuple[int, ...]:
        return tuple(i for i in items if self.flag())

    def permutation(self, items: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.draw(st.permutations(list(items))))

    def shape(self, max_ndim: int = MAX_NDIM) -> tuple[int, ...]:
        return tuple(self.draw(st.lists(self.extents, max_size=max_ndim)))

    def fresh(self, type: Type) -> Value:
        """A new input of a type, or now and then a constant."""
        if self.integer(0, 2):
            value = Value(type)
            self.inputs.append(value)
        else:
            value = full(self.element(type.dtype), type)
        self.values.append(value)
        return value

    def element(self, dtype: np.dtype) -> Any:
        if dtype.kind == "b":
            return self.flag()
        if dtype.kind in "iu":
            return self.integer(0 if dtype.kind == "u" else -5, 5)
        parts = [self.pick((*SPECIAL[:4], 0.5, 2.0, -3.0)) for _ in range(2)]
        return complex(*parts) if dtype.kind == "c" else parts[0]

    def value(self, kinds: str = "biufc", min_ndim: int = 0) -> Value | None:
        """A value whose dtype is of one of the kinds; None if there is no such dtype."""
        kinds = kinds.replace("?", "b")
        known = [v for v in self.values if v.dtype.kind in kinds and v.type.ndim >= min_ndim]
        if known and self.integer(0, 4):
            return self.pick(known[-6:])
        dtypes = [d for d in self.dtypes if d.kind in kinds]
        if not dtypes:
            return None
        shape = self.shape()
        return self.fresh(Type(self.pick(dtypes), (2,) * (min_ndim - len(shape)) + shape))

    def like(self, type: Type) -> Value:
        """A value of exactly that type."""
        known = [v for v in self.values if v.type == type]
        return self.pick(known[-6:]) if known and self.integer(0, 4) else self.fresh(type)

    def keep(self, *values: Value | None) -> None:
        """Let later ops use these values."""
        self.values += [v for v in values if v is not None and v.type.size <= MAX_SIZE]
