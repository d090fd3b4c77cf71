"""Counts of the sectors of memory that warps touch, and of their turns at banks of shared memory.

A load or store of a warp transfers each sector of 32 bytes that its threads touch. Shared memory
has 32 banks of 4 bytes: threads that touch different words of one bank take turns (CUDA C++
Programming Guide, "Device Memory Accesses" and "Shared Memory"). Caches are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

SECTOR, ROW_OF_BANKS, WARP = 32, 128, 32


@dataclass
class Coalescing:
    """Counts for the kernels of a run, by name: sectors, requests of warps, and turns at banks."""

    sectors: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    #: Atomic updates of global memory, counted for each thread; updates of one place wait for each
    #: other.
    atomics: dict[str, int] = field(default_factory=dict)

    #: The accesses within :meth:`as_one`.
    _parts: list[tuple[str, np.ndarray, np.ndarray, int]] | None = None

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Count all accesses inside of the block as one access of each thread."""
        parts: list[tuple[str, np.ndarray, np.ndarray, int]] = []
        self._parts = parts
        try:
            yield
        finally:
            self._parts = None
        if parts:
            kernel, _, _, width = parts[0]
            threads, elements = (np.concatenate([p[i] for p in parts]) for i in (1, 2))
            self.touch(kernel, threads, elements, width)

    def touch(self, kernel: str, threads: np.ndarray, elements: np.ndarray, width: int) -> None:
        """Count an access of threads, by their numbers, to elements of ``width`` bytes in global
        memory."""
        if self._parts is not None:
            self._parts.append((kernel, threads, elements, width))
            return
        sectors = elements * width // SECTOR
        pairs = np.stack([threads // WARP, sectors])
        self.add(self.sectors, kernel, np.unique(pairs, axis=1).shape[1])
        self.add(self.requests, kernel, len(np.unique(pairs[0])))

    def touch_shared(
        self, kernel: str, threads: np.ndarray, elements: np.ndarray, width: int,
        *, is_atomic: bool = False,
    ) -> None:  # fmt: skip
        """Count an access of threads to shared memory: 16 threads at a time if elements have 8
        bytes.

        Atomic updates of one element take turns, too.
        """
        together = min(WARP, ROW_OF_BANKS // width)
        banks = elements % (ROW_OF_BANKS // width)
        found = np.stack([threads // together, banks, elements])
        found = found if is_atomic else np.unique(found, axis=1)
        places, counts = np.unique(found[:2], axis=1, return_counts=True)
        turns = np.zeros(int(places[0].max(initial=-1)) + 1, int)
        np.maximum.at(turns, places[0], counts)
        self.add(self.turns, kernel, int(turns.sum()))

    @staticmethod
    def add(where: dict[str, int], kernel: str, count: int) -> None:
        where[kernel] = where.get(kernel, 0) + count
