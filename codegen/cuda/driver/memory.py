"""Memory on a card, and the pool that it comes from."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

#: Sizes are multiples of this number of bytes, as in the driver.
GRAIN = 512
#: The most bytes of unused memory that are kept for later calls.
KEPT = 1 << 30


class Memory:
    """Bytes on a card, given back to the pool when the object is no longer referenced."""

    __slots__ = ("card", "keep", "nbytes", "pointer")

    def __init__(self, card: Any, pointer: int, nbytes: int, keep: Any = None) -> None:
        self.card = card
        self.pointer = pointer
        self.nbytes = nbytes
        #: The owner of the memory if it does not come from the pool.
        self.keep = keep

    def __del__(self) -> None:
        if self.keep is None:
            self.card.pool.give(self.pointer, self.nbytes)


class Pool:
    """Unused memory by size, last in first out, on top of the driver's own pool.

    All our work on a card runs in the order of one stream.  So memory can be reused at once,
    without waiting: work launched earlier uses it first.  In the steady state of a loop the driver
    is not called.  ``wait`` waits for launched work.
    """

    def __init__(
        self,
        allocate: Callable[[int], int],
        free: Callable[[int], None],
        wait: Callable[[], None] = lambda: None,
    ) -> None:
        self._allocate = allocate
        self._free = free
        self._wait = wait
        self._unused: dict[int, list[int]] = {}
        self.kept = 0
        #: The most bytes kept. This is an attribute because the module may be gone when memory is
        #: freed at exit.
        self.most = KEPT

    @staticmethod
    def rounded(nbytes: int) -> int:
        """The size that is allocated for ``nbytes`` bytes.

        >>> [Pool.rounded(n) for n in (0, 512, 513)]
        [512, 512, 1024]
        """
        return max(GRAIN, -(-nbytes // GRAIN) * GRAIN)

    def take(self, size: int) -> int:
        """The address of ``size`` bytes; ``size`` is a multiple of GRAIN."""
        try:  # one operation of a list: safe from other threads, and from `give` in between
            pointer = self._unused[size].pop()
        except (KeyError, IndexError):
            return self._new(size)
        self.kept -= size
        return pointer

    def _new(self, size: int) -> int:
        try:
            return self._allocate(size)
        except MemoryError:
            gc.collect()  # frees arrays in reference cycles
            self.trim(0)
            self._wait()  # only then does the driver have the memory back
            return self._allocate(size)

    def give(self, pointer: int, size: int) -> None:
        """Take back memory that is no longer used.

        The garbage collector may call this in the middle of any line, so it takes no lock.
        """
        found = self._unused.get(size)
        if found is None:
            found = self._unused.setdefault(size, [])
        found.append(pointer)
        self.kept += size
        if self.kept > self.most:
            self.trim(self.most // 2)

    def trim(self, most: int) -> None:
        """Give memory back to the driver until at most ``most`` bytes are kept."""
        for size in list(self._unused):
            found = self._unused[size]
            while found and self.kept > most:
                try:
                    pointer = found.pop()
                except IndexError:
                    break
                self.kept -= size
                self._free(pointer)
            if self.kept <= most:
                return
