"""Memory of large results: taken over from results that nobody holds any more.

A fresh block of megabytes costs a page fault every few kilobytes, which can take
longer than computing what goes into it.  So blocks come back to a pool when the
last array that shows them is gone, and the next result of that size takes them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from autojit.ir.locks import Lock

from ..arena import ALIGNMENT

#: Results of at least this many bytes come from the pool.
POOLED = 1 << 17
#: What the pool keeps at most; the sizes that were asked for longest ago go first.
MOST_KEPT = 1 << 28


class Pool:
    """Free blocks by size."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most = most
        self.kept = 0
        self._free: OrderedDict[int, list[np.ndarray]] = OrderedDict()
        self._lock = Lock()  # a collection inside of the lock may give blocks back

    def take(self, size: int) -> np.ndarray:
        """A block of so many bytes, with whatever is in it."""
        with self._lock:
            blocks = self._free.get(size)
            if blocks:
                self._free.move_to_end(size)
                self.kept -= size
                return blocks.pop()
        block = np.empty(size + ALIGNMENT, np.uint8)
        start = -block.ctypes.data % ALIGNMENT
        return block[start : start + size]

    def give_back(self, block: np.ndarray) -> None:
        with self._lock:
            if block.nbytes > self.most:
                return
            self._free.setdefault(block.nbytes, []).append(block)
            self._free.move_to_end(block.nbytes)
            self.kept += block.nbytes
            while self.kept > self.most:
                size, blocks = next(iter(self._free.items()))
                if blocks:
                    blocks.pop()
                    self.kept -= size
                if not blocks:
                    del self._free[size]

    def clear(self) -> None:
        """Give all free blocks to the operating system."""
        with self._lock:
            self._free.clear()
            self.kept = 0


pool = Pool()


class Lease:
    """A block lent to an array, and to the views of it; it comes back with the last of them."""

    __slots__ = ("__array_interface__", "block", "pool")

    def __init__(self, pool: Pool, block: np.ndarray, shape: tuple[int, ...], dtype: Any) -> None:
        self.pool = pool
        self.block = block
        self.__array_interface__ = {
            "version": 3,
            "data": (block.ctypes.data, False),
            "shape": shape,
            "typestr": dtype.str,
        }

    def __del__(self) -> None:
        self.pool.give_back(self.block)


def allocator(shape: tuple[int, ...], dtype: np.dtype) -> Callable[[], np.ndarray]:
    """A function that gives uninitialised arrays of one type from the pool."""
    size = prod(shape) * dtype.itemsize

    def allocate() -> np.ndarray:
        return np.asarray(Lease(pool, pool.take(size), shape, dtype))

    return allocate
