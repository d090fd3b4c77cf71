"""Copies to a card from memory that may change, or go, as soon as the call has returned.

``cuMemcpyHtoDAsync`` promises no such thing: from pageable memory it "might be synchronous", from
pinned memory it is not (CUDA Driver API, "API synchronization behavior").  So what is small is
copied to pinned memory of ours first, and what is large is waited for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from autojit.ir.core.locks import Lock

#: The most bytes that are copied twice, and the bytes of pinned memory.  A copy of 1 MB within the
#: host's memory takes about as long as a wait for the card, 100 microseconds.
SMALL, PINNED = 1 << 20, 8 << 20


class Uploads:
    """The pinned memory of a card, given out from its beginning to its end.

    It begins again once the card has been waited for.
    """

    def __init__(
        self,
        copy: Callable[[int, int, int], None],
        wait: Callable[[], None],
        allocate: Callable[[int], int],
    ) -> None:
        #: ``copy(pointer, address, nbytes)`` in the order of the card's work, ``wait()`` for all of
        #: it, and ``allocate(nbytes)`` of pinned memory.
        self._copy, self._wait, self._allocate = copy, wait, allocate
        self._lock = Lock()
        self._start = 0
        self._used = 0
        #: How many copies there were.
        self.count = 0

    def write(self, pointer: int, array: np.ndarray) -> None:
        """Copy a C-contiguous array to an address on the card."""
        data, size = array.ctypes.data, array.nbytes
        if size > SMALL:
            self._copy(pointer, data, size)
            self._wait()
            return
        with self._lock:
            place = self._place(size)
            ctypes.memmove(place, data, size)
            self._copy(pointer, place, size)
            self.count += 1

    def done(self, count: int) -> None:
        """The card has been waited for, when there were so many copies."""
        with self._lock:
            if count == self.count:
                self._used = 0

    def _place(self, size: int) -> int:
        if not self._start:
            self._start = self._allocate(PINNED)
        if self._used + size > PINNED:
            self._wait()
            self._used = 0
        place = self._start + self._used
        self._used += -(-size // 64) * 64
        return place
