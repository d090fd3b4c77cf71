"""Launches of a printed source in the form that the driver takes: kernels, grids, blocks."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import changed_buffers
from autojit.codegen.loop_ir.sequences import Swap
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer

from .device_program.nodes import WIDEST, Barrier, Combine, DeviceKernel, Meeting, Together
from .driver.compiler import Kernel, Parameter
from .driver.extraction import Extraction
from .driver.launching import Step
from .source import Launch
from .tapes import STEPS

#: Temporaries and partial results begin at multiples of this number of bytes.
_ALIGNED = 256

#: The ``struct`` formats of scalars passed by value, each in a slot of 8 bytes.
FORMATS = {
    "bool": "?7x", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q", "u8": "B7x",
    "u16": "H6x", "u32": "I4x", "u64": "Q", "f16": "e6x", "bf16": "H6x", "f32": "f4x", "f64": "d",
}  # fmt: skip


def inputs_at_once(kernel: DeviceKernel) -> set[Buffer]:
    """The inputs from which threads load several neighbouring elements at once."""
    every = (s for s in walk(kernel.body) if isinstance(s, Together))
    return {root for s in every if (root := memory(s.body[0].buffer)).kind == "input"}


def kernel_of(
    extraction: Extraction, launch: Launch, by_value: Collection[Buffer] = (),
    of_pairs: Collection[Buffer] = (), *, is_aligned: bool = True,
) -> Kernel:  # fmt: skip
    """The kernel of a launch as a module of its own.

    Our own memory always begins at multiples of ``WIDEST`` bytes: memory from the pool
    (``driver/memory.py:GRAIN``), temporaries in it, and failure flags. Inputs may not, depending on
    the call. For such calls there is another kernel, which reads neighbours one by one.

    Args:
        by_value: the buffers that are scalars passed by value.
        of_pairs: the inputs that are complex numbers.
        is_aligned: whether the inputs begin at multiples of ``WIDEST`` bytes.
    """
    wide = inputs_at_once(launch.kernel) if is_aligned else ()
    exchanged = _exchanged(launch.kernel)
    parameters = tuple(
        Parameter(
            numpy_dtype(b.dtype).name, b.size, b in by_value, b.kind == "tape",
            WIDEST if b in wide else _aligned(b, is_of_pairs=b in of_pairs), b in exchanged,
        )
        for b in launch.buffers
    )  # fmt: skip
    names = tuple(extraction.parameters(launch.name))
    return Kernel(extraction.module(launch.name), parameters, names)


def _exchanged(kernel: DeviceKernel) -> set[Buffer]:
    """The buffers in which a thread may read, after a barrier, elements that others have written.

    These are all written buffers if the kernel has a barrier, and none otherwise.
    """
    every = list(walk(kernel.body))
    if not any(isinstance(s, Barrier | Combine | Meeting | Swap) for s in every):
        return set()
    return {memory(b) for s in every for b in changed_buffers(s)}


def _aligned(b: Buffer, *, is_of_pairs: bool) -> int:
    """The alignment of a buffer in bytes; for an input, only that of one element is certain."""
    own = itemsize(b.dtype) * (2 if is_of_pairs else 1)
    return own if b.kind == "input" else WIDEST


def step_of(launch: Launch, function: int, slots: Mapping[Buffer, int], fitting: int = 0) -> Step:
    """A launch of a loaded kernel, for buffers in these slots; a tape also passes its step count.

    ``fitting`` is the number of blocks that fit on the card at a time (0: not known). If the kernel
    works with any number of blocks, no more than these are launched: the last ones would run when
    most of the card is idle.
    """
    blocks = launch.blocks
    if fitting and launch.kernel.is_elastic:
        blocks = min(blocks, fitting)
    parameters = []
    for buffer in launch.buffers:
        parameters += [slots[buffer], *([slots[STEPS]] if buffer.kind == "tape" else [])]
    grid, block = (blocks, 1, 1), (launch.threads, 1, 1)
    return Step(function, grid, block, tuple(parameters), launch.kernel.meets)


def numpy_dtype(dtype: str) -> np.dtype:
    """The dtype of a buffer.

    >>> numpy_dtype("f32"), numpy_dtype("bool")
    (dtype('float32'), dtype('bool'))
    """
    if dtype == "bool":
        return np.dtype(bool)
    if dtype == "bf16":
        return np.dtype(np.uint16)
    return np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])


def slot_of(number: Any, pack: Callable[[Any], bytes]) -> int:
    """A scalar as the 8 bytes of its slot."""
    try:
        return int.from_bytes(pack(number), "little")
    except struct.error:
        raise OverflowError(f"Python integer {number} out of bounds for int64") from None


class Layout(NamedTuple):
    """The offsets of the temporaries in their memory, and its size in bytes."""

    offsets: dict[Buffer, int]
    nbytes: int


def layout_of(temps: dict[Buffer, int], partials: Sequence[Buffer]) -> Layout:
    """The layout of an arena that the temporaries share, with the partial results after it."""
    offsets = dict(temps)
    end = max((o + b.size * itemsize(b.dtype) for b, o in temps.items()), default=0)
    for b in partials:
        offsets[b] = -(-end // _ALIGNED) * _ALIGNED
        end = offsets[b] + b.size * itemsize(b.dtype)
    return Layout(offsets, end)
