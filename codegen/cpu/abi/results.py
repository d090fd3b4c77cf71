"""Memory of large results is reused once nothing refers to an earlier result.

A fresh block of megabytes costs a page fault every few kilobytes, which can take longer than
computing the values stored in it. Blocks therefore return to a pool when the last array that uses
them is gone, and the next result of the same size takes them.
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
#: The most bytes the pool keeps; the least recently requested sizes are freed first.
MOST_KEPT = 1 << 28


class Block:
    """A block of memory, and the array interface of the last array in it."""

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
        """Set the array interface for this shape, type and strides (None: C order)."""
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
        self._lock = Lock()  # a garbage collection while it is held may return blocks

    def take(self, size: int) -> Block:
        """Return a block of this many bytes, uninitialised."""
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
        """Return all free blocks to the operating system."""
        with self._lock.current:
            self._free.clear()
            self.kept = 0


pool = Pool()


class Lease:
    """A block lent to an array and its views; it returns to the pool when the last one is gone."""

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
    """Return a function that makes uninitialised arrays of one type from the pool."""
    size, type = prod(shape) * dtype.itemsize, (shape, held_as(dtype).str, strides)
    take, array_of = pool.take, np.asarray

    def allocate() -> np.ndarray:
        block = take(size)
        if block.type is not type:
            block.tell(type)
        return array_of(Lease(pool, block))

    return allocate
