"""Copies to a card from memory that may change, or be freed, as soon as the call has returned.

``cuMemcpyHtoDAsync`` does not allow this: from pageable memory it "might be synchronous", from
pinned memory it is not (CUDA Driver API, "API synchronization behavior").  So a small array is
first copied to pinned memory of ours; for a large one, the call waits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from autojit.ir.core.locks import Lock

#: The largest array in bytes that is copied twice, and the size of the pinned memory.  A copy of
#: 1 MB within host memory takes about as long as a wait for the card, 100 microseconds.
SMALL, PINNED = 1 << 20, 8 << 20


class Uploads:
    """The pinned memory of a card, used from its beginning to its end.

    Use begins again at its start after a wait for the card.
    """

    def __init__(
        self,
        copy: Callable[[int, int, int], None],
        wait: Callable[[], None],
        allocate: Callable[[int], int],
    ) -> None:
        #: ``copy(pointer, address, nbytes)`` copies in the order of the card's work, ``wait()``
        #: waits for all work, and ``allocate(nbytes)`` returns pinned memory.
        self._copy, self._wait, self._allocate = copy, wait, allocate
        self._lock = Lock()
        self._start = 0
        self._used = 0
        #: The number of copies so far.
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
        """Note a wait for the card that began when ``count`` copies had been made."""
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
