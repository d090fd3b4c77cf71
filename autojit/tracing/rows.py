"""The rows of an array as arrays of their own, which are read from it when they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.ops.move import reshape, slice_

from .context import inside
from .tracer import Tracer


class Row(Tracer):
    """One row of an array that a loop has stacked: a separate array, as the loop's step created
    it."""

    __slots__ = ("awaited", "number", "stack")

    def __init__(self, stack: Tracer, number: int, weak: type | None) -> None:
        kind = stack.type
        super().__init__(Value(Type(kind.dtype, kind.shape[1:])), stack.owner, weak)
        self.stack, self.number = stack, number
        #: Its value as long as it was not read.
        self.awaited: Value | None = self.own

    @property
    def value(self) -> Value:
        if self.awaited is not None and self.own is self.awaited:
            with inside(self.owner):
                self.own = _row(self.stack.own, self.number)
            self.awaited = None
        return super().value

    @property
    def is_untouched(self) -> bool:
        """Whether it has been neither changed nor read."""
        return self.awaited is not None and self.own is self.awaited and not self.lost


def _row(stack: Value, number: int) -> Value:
    shape = stack.shape
    start, stop = (number, *(0 for _ in shape[1:])), (number + 1, *shape[1:])
    picked = slice_(stack, start=start, stop=stop, stride=(1,) * len(shape))
    return reshape(picked, shape=shape[1:])


def runs(items: Sequence[Any]) -> Iterator[tuple[Any, int, int]]:
    """Stretches of a list: rows of one array, one after the other, as ``(array, start, stop)``,
    and all else as ``(item, -1, -1)``."""
    place = 0
    while place < len(items):
        first = items[place]
        end = place + 1
        if isinstance(first, Row) and first.is_untouched:
            while end < len(items) and _follows(items[end], first, end - place):
                end += 1
            yield first.stack, first.number, first.number + end - place
        else:
            yield first, -1, -1
        place = end


def _follows(x: Any, first: Row, distance: int) -> bool:
    return (
        isinstance(x, Row)
        and x.is_untouched
        and x.stack is first.stack
        and x.number == first.number + distance
    )
