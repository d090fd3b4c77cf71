"""What fails in kernels: flags in the host's memory, which are read when the host waits anyway."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.locks import Lock

#: Bytes of one program's flags, on cache lines of their own, and of what is allocated at once.
_CELL, _PAGE = 256, 4096
#: The most flags of a program, which are 32-bit integers.
MOST = _CELL // 4


class Calls:
    """The calls of a program from one look at its flags to the next.

    Results refer to it: once a call of these has failed, whoever reads one of them is told.
    """

    __slots__ = ("arguments", "error", "explain", "number")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.number = 0
        #: What adds to the error, as the last call has it.
        self.explain: Any = None
        #: Those of the call, as long as there is one.
        self.arguments: Sequence[Any] | None = None

    def note(self, arguments: Sequence[Any], explain: Any) -> None:
        """Another call."""
        self.number += 1
        self.explain = explain
        self.arguments = arguments if self.number == 1 else None


class Flags:
    """The flags of one program.

    Args:
        count: how many there are, at most ``MOST``.
        explain: ``(flags, calls) -> error`` where some are set.
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
        #: What kernels write to: the same address on the host and on every card.
        self.address = owner.cell()
        raw = (ctypes.c_int32 * count).from_address(self.address)
        self._values = np.frombuffer(memoryview(raw), np.int32)
        self._values[:] = 0
        self.calls = Calls()

    def launched(self) -> Calls:
        """Note that the program was launched; the calls that its results belong to."""
        self._owner.pending.add(self)
        return self.calls

    def is_set(self, place: int) -> bool:
        """Whether kernels that are done have noted this failure."""
        return bool(self._values[place])

    def clear(self) -> None:
        """Forget what kernels have noted."""
        self._values[:] = 0

    def check(self) -> BaseException | None:
        """The error of the calls until now, which are done."""
        calls, self.calls = self.calls, Calls()
        if self._values.any():
            found = self._values.copy()
            self.clear()
            calls.error = self._explain(found, calls)
        calls.arguments = None  # which are not kept from here on
        return calls.error

    def __del__(self) -> None:
        self._owner.unused.append(self.address)


class Failures:
    """The programs on a card that may have failed since the host last waited."""

    def __init__(self, allocate: Callable[[int], int]) -> None:
        #: Gives so many bytes of the host's memory that the card can write to.
        self._allocate = allocate
        self._lock = Lock()
        #: Kept until then: results may outlive the program.
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
        """Raise the first error of what was launched; the host has waited for it."""
        if not self.pending:
            return
        found, self.pending = self.pending, set()
        errors = [error for flags in found if (error := flags.check()) is not None]
        if errors:
            raise errors[0]
