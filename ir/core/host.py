"""Functions of the process that programs call: parameters that have no text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from .types import Type

#: Numbers that tell functions apart; none is given twice in a process.
_numbers = count()


class HostFunction:
    """A function that programs call, equal to none but itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"<host function {self.name}, number {self.number}>"

    def call(self, arrays: Sequence[Any], types: Sequence[Type]) -> list[np.ndarray]:
        """The results, of just these types, for arrays that are the function's own."""
        raise NotImplementedError

    def no_derivative(self) -> str:
        """The message where a derivative is asked for."""
        return f"{self.name} is called as it is and has no derivative"

    def native(self, call: Any, python: Any) -> tuple[int, Any] | None:
        """The address of ``int64 f(void **arrays, void *status)`` and what keeps it alive; None
        where Python calls the function.  It is 0 where nothing fails, and else the result of
        ``python``, a C function of the same signature, by which Python calls the function."""
        return None
