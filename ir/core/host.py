"""Process functions that programs call: parameters without a textual form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from .types import Type

#: Unique numbers that identify functions in the process.
_numbers = count()


class HostFunction:
    """A function that programs call, equal only to itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"<host function {self.name}, number {self.number}>"

    def call(self, arrays: Sequence[Any], types: Sequence[Type]) -> list[np.ndarray]:
        """The results, of exactly these types, for arrays that the function may keep."""
        raise NotImplementedError

    def no_derivative(self) -> str:
        """The error message when a derivative is requested."""
        return f"{self.name} is called as it is and has no derivative"

    def native(self, call: Any, python: Any) -> tuple[int, Any] | None:
        """The address of ``int64 f(void **arrays, void *status)`` and what keeps it alive; None
        where Python calls the function.  It is 0 where nothing fails, and else the result of
        ``python``, a C function of the same signature, by which Python calls the function."""
        return None
