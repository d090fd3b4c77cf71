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

from autojit.codegen.loop_ir.program import ALIGNMENT
from autojit.ir.core.halves import held_as
from autojit.ir.core.locks import Lock

#: Results of at least this many bytes come from the pool.
POOLED = 1 << 17
#: What the pool keeps at most; the sizes that were asked for longest ago go first.
MOST_KEPT = 1 << 28


class Block:
    """Memory, and what NumPy was told of the array that was there last."""

    __slots__ = ("address", "memory", "size", "told", "type")

    def __init__(self, size: int) -> None:
        memory = np.empty(size + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        self.memory = memory
        self.address = memory.ctypes.data + start
        self.size = size
        self.type: Any = None
        self.told: dict[str, Any] = {}

    def tell(self, type: tuple[tuple[int, ...], str, tuple[int, ...] | None]) -> None:
        """What NumPy asks of an array of this shape, type and strides (None: in C order)."""
        self.type = type
        shape, typestr, strides = type
        data = (self.address, False)
        self.told = {"version": 3, "data": data, "shape": shape, "typestr": typestr}
        if strides is not None:
            self.told["strides"] = strides


class Pool:
    """Free blocks by size."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most = most
        self.kept = 0
        self._free: OrderedDict[int, list[Block]] = OrderedDict()
        self._lock = Lock()  # a collection inside of the lock may give blocks back

    def take(self, size: int) -> Block:
        """A block of so many bytes, with whatever is in it."""
        with self._lock.current:
            blocks = self._free.get(size)
            if blocks:
                self.kept -= size
                return blocks.pop()
        return Block(size)

    def give_back(self, block: Block) -> None:
        with self._lock.current:
            size, free = block.size, self._free
            if size > self.most:
                return
            if size in free:
                free[size].append(block)
                free.move_to_end(size)
            else:
                free[size] = [block]
            self.kept += size
            while self.kept > self.most:
                size, blocks = next(iter(free.items()))
                if blocks:
                    blocks.pop()
                    self.kept -= size
                if not blocks:
                    del free[size]

    def clear(self) -> None:
        """Give all free blocks to the operating system."""
        with self._lock.current:
            self._free.clear()
            self.kept = 0


pool = Pool()


class Lease:
    """A block lent to an array, and to the views of it; it comes back with the last of them."""

    __slots__ = ("__array_interface__", "block", "pool")

    def __init__(self, pool: Pool, block: Block) -> None:
        self.pool = pool
        self.block = block
        self.__array_interface__ = block.told

    def __del__(self) -> None:
        self.pool.give_back(self.block)


def allocator(
    shape: tuple[int, ...],
    dtype: np.dtype,
    pool: Pool = pool,
    strides: tuple[int, ...] | None = None,
) -> Callable[[], np.ndarray]:
    """A function that gives uninitialised arrays of one type from the pool."""
    size, type = prod(shape) * dtype.itemsize, (shape, held_as(dtype).str, strides)
    take, array_of = pool.take, np.asarray

    def allocate() -> np.ndarray:
        block = take(size)
        if block.type is not type:
            block.tell(type)
        return array_of(Lease(pool, block))

    return allocate
