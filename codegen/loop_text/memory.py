"""The memory of an interpreted loop program: one array per buffer, or parts of one arena.

Unwritten memory is poisoned: with NaN for floats, and the least number for integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.types import dtype_from_name


class OutOfMemory(AssertionError):
    """A statement touches elements outside of its buffer."""


def poisoned(dtype: str, size: int) -> np.ndarray:
    """Return an array that stands for unwritten memory.

    >>> poisoned("f64", 2), poisoned("i8", 1)
    (array([nan, nan]), array([-128], dtype=int8))
    """
    array = np.empty(size, dtype_from_name(dtype))
    poison(array)
    return array


def poison(array: np.ndarray) -> None:
    kind = array.dtype.kind
    if kind == "V":  # a NaN of bfloat16
        array.view(np.uint16)[...] = 0x7FFF
        return
    array[...] = np.nan if kind == "f" else True if kind == "b" else np.iinfo(array.dtype).min


class Memory:
    """The arrays of all buffers except locals; buffers that are swapped exchange their arrays."""

    def __init__(self, program: LoopProgram, inputs: Sequence[np.ndarray]) -> None:
        self.program = program
        self.arrays: dict[Buffer, np.ndarray] = {}
        #: What notes refer to: tapes, and numbers of steps.
        self.kept: list[tuple[list[np.ndarray], int]] = []
        for buffer, array in zip(program.inputs, inputs, strict=True):
            self.arrays[buffer] = array
            array.flags.writeable = False
        for buffer in program.outputs:
            self.arrays[buffer] = poisoned(buffer.dtype, buffer.size)
        arena = np.empty(program.arena, "u1")
        for buffer, offset in program.temps.items():
            part = arena[offset : offset + buffer.size * itemsize(buffer.dtype)]
            self.arrays[buffer] = part.view(dtype_from_name(buffer.dtype))

    def begin(self, buffers: Sequence[Buffer]) -> None:
        """Poison buffers at their first use: others may have been in their place."""
        for buffer in buffers:
            if buffer in self.program.temps:
                poison(self.arrays[buffer])

    def array(self, buffer: Buffer, locals_: dict[Buffer, np.ndarray]) -> np.ndarray:
        """Return the array of a buffer."""
        root = memory(buffer)
        arrays = locals_ if root.kind == "local" else self.arrays
        found = arrays.get(root)
        if found is None:
            found = arrays[root] = poisoned(root.dtype, root.size)
        return found

    def grow(self, tape: Buffer, steps: int) -> None:
        """Make room on a tape for this many steps."""
        root = memory(tape)
        old = self.arrays.get(root)
        size = max(1, steps) * root.size
        if old is None or len(old) < size:
            made = poisoned(root.dtype, 2 * size)
            if old is not None:
                made[: len(old)] = old
            self.arrays[root] = made

    def swap(self, first: Buffer, second: Buffer, locals_: dict[Buffer, np.ndarray]) -> None:
        a, b = self.array(first, locals_), self.array(second, locals_)
        for buffer, array in (first, b), (second, a):
            root = memory(buffer)
            (locals_ if root.kind == "local" else self.arrays)[root] = array


def place(array: np.ndarray, index: Any, buffer: Buffer) -> Any:
    """Return an index, or an array of them, if it is within its buffer; else raise."""
    index = np.asarray(index)
    if index.size and (index.min() < 0 or index.max() >= len(array)):
        raise OutOfMemory(f"{index.min()} to {index.max()} of {buffer}[{len(array)}]")
    return index
