"""``np.ndindex`` and ``np.ndenumerate`` as iterators that hold their shape, so that a loop over one
of them can be captured."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from .ranges import FEW_ROWS, Parts
from .scalars import any_traced
from .table import When, answers


class Places(Parts):
    """``np.ndindex(shape)``."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape

    def made(self) -> Any:
        return np.ndindex(self.shape)

    def __length_hint__(self) -> int:
        return prod(self.shape)


class PlacesAndElements(Places):
    """``np.ndenumerate(array)``."""

    def __init__(self, array: Any) -> None:
        super().__init__(np.shape(array))
        self.array, self.parts = array, (array,)

    def made(self) -> Iterator[Any]:
        return ((at, self.array[at]) for at in np.ndindex(self.shape))


@answers(np.ndindex, when=When.ALWAYS)
def ndindex(*shape: Any) -> Any:
    """``np.ndindex``."""
    if any_traced(shape):
        return np.ndindex(*shape)
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    plain = np.ndindex(*shape)  # which checks the shape
    return Places(tuple(map(int, given))) if prod(given) > FEW_ROWS else plain
