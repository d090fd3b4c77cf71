"""The launches of one kernel of the loop program, and their numbers of threads."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Combine, DeviceKernel, Share, When
from autojit.codegen.cuda.device_program.numbers import constant_scalar, scalar
from autojit.codegen.cuda.mapping.nests.staging import MOST_BYTES
from autojit.codegen.loop_ir.nodes import Fill, Finish, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .copies import with_copies
from .machine import Machine


class Launches:
    """A list of the launches of a kernel, with helpers that make them."""

    def __init__(
        self, kernel: Kernel, machine: Machine, private: Collection[Buffer] = (),
        most: int = MOST_BYTES,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.machine = machine
        #: The temporaries that no other kernel touches, and the bytes of them that a block may keep
        #: in shared memory.
        self.private = private
        self.most = most
        self.launches: list[DeviceKernel] = []

    def add(
        self, name: str, doc: str, grid: int, threads: int,
        write: Callable[[Var, Var], list[Any]],
        of_block: Collection[Buffer] = (),
    ) -> None:  # fmt: skip
        """Add a kernel.

        ``write`` is called with the variables of the block and of the thread.  It adds to
        ``of_block`` the local buffers that all threads of a block use.
        """
        block, thread = Var(grid), Var(threads)
        body = write(block, thread)
        used = dict.fromkeys(memory(b) for s in walk(body) for b in buffers_named(s))
        shared = [b for b in used if b in of_block]
        local = [b for b in used if b.kind == "local" and b not in of_block]
        given = [b for b in used if b.kind != "local" and b not in of_block]
        warp = self.machine.warp
        made = DeviceKernel(
            name, doc, grid, threads, block, thread, body, given, shared, local, warp
        )
        self.launches.append(with_copies(made))

    def threads(self, widths: list[int]) -> int:
        """The threads of a block: those of the widest team if it exceeds a warp, else the usual
        number."""
        widest = max(widths)
        return widest if widest > self.machine.warp else self.machine.threads

    def units(self, block: Var, thread: Var, width: int) -> tuple[Affine, int]:
        """The first iteration of a thread's team, and the number of teams."""
        slots = max(1, thread.extent // width)
        slot = affine.divide(affine.of(thread), width, {})[0]
        return affine.of(block) * slots + slot, block.extent * slots

    def blocks(self, count: int, threads: int = 0) -> int:
        """The number of blocks for ``count`` threads, at most as many as run at the same time."""
        threads = threads or self.machine.threads
        needed = -(-count // threads)
        return max(1, min(needed, self.machine.most_threads // threads))

    def fill(self, name: str, fill: Fill) -> None:
        """Add a kernel that sets elements of a buffer to one value."""
        if not fill.count:
            return
        n, blocks = Var(fill.count), self.blocks(fill.count)

        def write(block: Var, thread: Var) -> list[Any]:
            value = constant_scalar(fill.value, fill.buffer.dtype)
            store = Store(fill.buffer, fill.start + affine.of(n), value.result)
            first, step = self.units(block, thread, 1)
            return [value, Share(n, first, fill.count, step, [store])]

        doc = f"A thread for each of {fill.count} elements."
        self.add(name, doc, blocks, self.machine.threads, write)

    def partial(self, a: Accumulator, size: int) -> Buffer:
        """A buffer of partial results that blocks leave to a later launch."""
        return Buffer("partial", a.dtype, size, "temp")


def left_by_block(a: Accumulator, partial: Buffer, block: Var, thread: Var) -> list[Any]:
    """Statements that store the total of a block's threads for a later launch."""
    total = scalar(a.dtype)
    store = Store(partial, affine.of(block), total)
    return [Combine(a, thread.extent), Finish(total, a), When(affine.of(thread), 0, 1, [store])]
