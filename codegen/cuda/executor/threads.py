"""The threads of some blocks: the registers of each, and their memory accesses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.failures import OUT_OF_BOUNDS
from autojit.codegen.cuda.device_program.nodes import (
    Barrier,
    Combine,
    DeviceKernel,
)
from autojit.codegen.loop_ir.nodes import (
    Gather,
    Load,
)
from autojit.codegen.loop_ir.traversal import memory as root_of
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer, Scalar, Trips
from autojit.codegen.loop_text.memory import Memory, OutOfMemory, poisoned
from autojit.ir.core.affine import Affine, Var

from .coalescing import Coalescing
from .races import RaceError, Shadow, Touching

#: The numbers of the threads that reach a statement.
Lanes = np.ndarray


class LaunchError(AssertionError):
    """A kernel does something that a device cannot, such as waiting for threads that never come."""


class Threads:
    """All threads of some blocks of a kernel, as they run."""

    def __init__(
        self, kernel: DeviceKernel, blocks: np.ndarray, memory: Memory, shadows: dict[int, Any],
        status: np.ndarray, places: dict[str, int], counter: Coalescing | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.counter = counter
        self.memory = memory
        self.shadows = shadows
        self.status = status
        self.places = places
        #: For each failure and block, whether a thread of the block has failed.
        self.failed = np.zeros((len(status), len(blocks)), bool)
        self.count = len(blocks) * kernel.threads
        lanes = np.arange(self.count)
        self.local_block = lanes // kernel.threads
        self.block = blocks[self.local_block]
        #: The number of each thread in the whole launch.
        self.number = self.block * kernel.threads + lanes % kernel.threads
        self.vars: dict[Var, np.ndarray] = {
            kernel.block: self.block,
            kernel.thread: lanes % kernel.threads,
        }
        self.scalars: dict[int, np.ndarray] = {}
        self.accumulators: dict[int, np.ndarray] = {}
        self.trips: dict[Trips, np.ndarray] = {}
        widths = [s.width for s in walk(kernel.body) if isinstance(s, (Barrier, Combine))]
        self.team_width = min(widths, default=1)
        self.block_epoch = np.zeros(self.count, int)
        self.team_epoch = np.zeros(self.count, int)
        self.private = {b: poisoned(b.dtype, self.count * b.size) for b in kernel.locals}
        self.shared = {b: poisoned(b.dtype, len(blocks) * b.size) for b in kernel.shared}
        #: The memory of each buffer for these blocks, which may swap buffers.
        self.arrays = dict(memory.arrays)
        self.swapping: Lanes | None = None
        self.current: Any = None

    def of(self, scalar: Scalar, at: Lanes) -> np.ndarray:
        return self.scalars[scalar.number][at]

    def define(self, scalar: Scalar, value: Any, at: Lanes) -> None:
        set_for(self.scalars, scalar.number, value, at, self.count, scalar.dtype)

    def set_var(self, var: Var, value: Any, at: Lanes) -> None:
        found = self.vars.get(var)
        if found is None:
            found = self.vars[var] = np.zeros(self.count, int)
        found[at] = value

    def index(self, index: Affine, at: Lanes) -> np.ndarray:
        here = {v: self.vars[v][at] for v in index.variables()}
        return np.broadcast_to(np.asarray(index.value(here)), at.shape)

    def fail(self, words: str, where: np.ndarray, at: Lanes) -> None:
        """Note a failure of those of the threads for which ``where`` holds."""
        if where.any():
            self.status[self.places[words]] = True
            self.failed[self.places[words], self.local_block[at[where]]] = True

    def have_failed(self, words: Iterable[str], at: Lanes) -> np.ndarray:
        """For each thread, whether one of its block has one of these failures."""
        places = [self.places[w] for w in words]
        blocks = np.logical_or.reduce(self.failed[places], axis=0)
        result: np.ndarray = blocks[self.local_block[at]]
        return result

    def cells(self, buffer: Buffer, index: np.ndarray, at: Lanes) -> tuple[np.ndarray, np.ndarray]:
        """The array with the elements of a buffer, and the places of the elements in it."""
        root = root_of(buffer)
        if root in self.private or root in self.shared:
            if len(index) and (index.min() < 0 or index.max() >= root.size):
                raise OutOfMemory(f"{index.min()} to {index.max()} of {buffer}[{root.size}]")
            if root in self.private:
                return self.private[root], at * root.size + index
            return self.shared[root], self.local_block[at] * root.size + index
        array = self.arrays[root]
        if len(index) and (index.min() < 0 or index.max() >= len(array)):
            raise OutOfMemory(f"{index.min()} to {index.max()} of {buffer}[{len(array)}]")
        return array, index

    def check(self, way: str, buffer: Buffer, array: np.ndarray, cells: Any, at: Lanes) -> None:
        """Raise RaceError if another thread may touch the elements at the same time."""
        root = root_of(buffer)
        if root in self.private or not len(at):
            return
        if self.counter is not None:
            threads, width = self.number[at], array.dtype.itemsize
            if root in self.shared:
                self.counter.touch_shared(
                    self.kernel.name, threads, cells % root.size, width, is_atomic=way == "add"
                )
            else:
                if way == "add":
                    self.counter.add(self.counter.atomics, self.kernel.name, len(threads))
                self.counter.touch(self.kernel.name, threads, cells, width)
        shadow = self.shadows.get(id(array))
        if shadow is None:
            shadow = self.shadows[id(array)] = Shadow(len(array))
        number = self.number[at]
        now = Touching(
            number, self.block[at], number // self.team_width, self.block_epoch[at],
            self.team_epoch[at],
        )  # fmt: skip
        cell = getattr(shadow, way)(np.asarray(cells), now)
        if cell is not None:
            raise RaceError(f"several threads touch {buffer}[{cell}], and one of them writes")

    def read(self, s: Load | Gather, index: np.ndarray, at: Lanes) -> np.ndarray:
        array, cells = self.cells(s.buffer, index, at)
        self.check("read", s.buffer, array, cells, at)
        return array[cells]

    def address(self, s: Any, at: Lanes) -> np.ndarray:
        """The value of an index with its computed places; a place out of bounds counts as 0."""
        total = self.index(s.index, at)
        for p in getattr(s, "places", ()):
            place = self.of(p.scalar, at).astype(np.int64)
            outside = (place < 0) | (place >= p.extent)
            self.fail(OUT_OF_BOUNDS, outside, at)
            total = total + p.stride * np.where(outside, 0, place)
        return total

    def teams(self, width: int, stride: int, at: Lanes) -> np.ndarray:
        """The threads that are here, by teams; raise LaunchError if some of a team are missing."""
        count = self.kernel.threads
        everyone = np.arange(self.count).reshape(-1, count // (width * stride), width, stride)
        teams = everyone.swapaxes(2, 3).reshape(-1, width)
        here = np.zeros(self.count, bool)
        here[at] = True
        there = here[teams]
        if (there.any(1) & ~there.all(1)).any():
            raise LaunchError("some threads of a team do not come here, and the others wait")
        if (stride > 1 or width > self.kernel.warp) and not here.reshape(-1, count)[
            self.local_block[at]
        ].all():
            raise LaunchError("some threads of a block do not come here, and the others wait")
        return teams[there.all(1)]


def set_for(
    where: dict[int, np.ndarray], number: int, value: Any, at: Lanes, count: int, dtype: str
) -> None:
    found = where.get(number)
    if found is None:
        found = where[number] = poisoned(dtype, count)
    found[at] = value
