"""Kernels report failures by flags in host memory, which are read when the host waits anyway."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.locks import Lock

#: Bytes of one program's flags, on cache lines of their own, and bytes of one allocation.
_CELL, _PAGE = 256, 4096
#: The most flags of a program, which are 32-bit integers.
MOST = _CELL // 4


class Calls:
    """The calls of a program between two checks of its flags.

    Their results refer to this object: if one of the calls has failed, reading any of the results
    raises the error.
    """

    __slots__ = ("arguments", "error", "explain", "number")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.number = 0
        #: The last call's function that adds to the error.
        self.explain: Any = None
        #: The arguments of the call, as long as there is only one.
        self.arguments: Sequence[Any] | None = None

    def note(self, arguments: Sequence[Any], explain: Any) -> None:
        """Note another call."""
        self.number += 1
        self.explain = explain
        self.arguments = arguments if self.number == 1 else None


class Flags:
    """The flags of one program.

    Args:
        count: the number of flags, at most ``MOST``.
        explain: ``(flags, calls) -> error``, called if flags are set.
    """

    def __init__(
        self,
        owner: Failures,
        count: int,
        explain: Callable[[np.ndarray, Calls], BaseException],
    ) -> None:
        assert count <= MOST
        self._owner = owner
        self._explain = explain
        #: The address that kernels write to; it is the same on the host and on every card.
        self.address = owner.cell()
        raw = (ctypes.c_int32 * count).from_address(self.address)
        self._values = np.frombuffer(memoryview(raw), np.int32)
        self._values[:] = 0
        self.calls = Calls()

    def launched(self) -> Calls:
        """Note that the program was launched; return the calls that its results belong to."""
        self._owner.pending.add(self)
        return self.calls

    def is_set(self, place: int) -> bool:
        """Whether finished kernels have set this flag."""
        return bool(self._values[place])

    def clear(self) -> None:
        """Reset all flags."""
        self._values[:] = 0

    def check(self) -> BaseException | None:
        """The error of the calls so far, which have finished; None if they have not failed."""
        calls, self.calls = self.calls, Calls()
        if self._values.any():
            found = self._values.copy()
            self.clear()
            calls.error = self._explain(found, calls)
        calls.arguments = None  # so that they can be freed
        return calls.error

    def __del__(self) -> None:
        self._owner.unused.append(self.address)


class Failures:
    """The programs on a card that may have failed since the host last waited."""

    def __init__(self, allocate: Callable[[int], int]) -> None:
        #: Allocates bytes of host memory that the card can write to.
        self._allocate = allocate
        self._lock = Lock()
        #: The flags of launched programs, kept until the next check: results may outlive a program.
        self.pending: set[Flags] = set()
        self.unused: list[int] = []

    def cell(self) -> int:
        """The address of memory for one program's flags."""
        with self._lock:
            if not self.unused:
                page = self._allocate(_PAGE)
                self.unused += range(page, page + _PAGE, _CELL)
            return self.unused.pop()

    def check(self) -> None:
        """Raise the first error of the launched programs, for which the host has waited."""
        if not self.pending:
            return
        found, self.pending = self.pending, set()
        errors = [error for flags in found if (error := flags.check()) is not None]
        if errors:
            raise errors[0]
