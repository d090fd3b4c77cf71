"""Launches of a printed source as the driver takes them: kernels, grids, blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.values import Buffer

from .driver.compiler import Kernel, Parameter
from .driver.extraction import Extraction
from .driver.launching import Step
from .source import Launch
from .tapes import STEPS

#: The widest read of a thread, in bytes. All memory of ours begins at multiples of it: the pool's
#: (``driver/memory.py:GRAIN``), temporaries in it, and flags of failures.
WIDEST = 16


def kernel_of(
    extraction: Extraction, launch: Launch, by_value: Collection[Buffer] = (),
    of_pairs: Collection[Buffer] = (),
) -> Kernel:  # fmt: skip
    """The kernel of a launch as a module of its own; some buffers are scalars passed by value, and
    some inputs are complex numbers."""
    parameters = tuple(
        Parameter(
            numpy_dtype(b.dtype).name, b.size, b in by_value, b.kind == "tape",
            _aligned(b, is_of_pairs=b in of_pairs),
        )
        for b in launch.buffers
    )  # fmt: skip
    names = tuple(extraction.parameters(launch.name))
    return Kernel(extraction.module(launch.name), parameters, names)


def _aligned(b: Buffer, *, is_of_pairs: bool) -> int:
    """What addresses of a buffer are multiples of: those of arguments, of an element at least."""
    own = itemsize(b.dtype) * (2 if is_of_pairs else 1)
    return own if b.kind == "input" else WIDEST


def step_of(launch: Launch, function: int, slots: Mapping[Buffer, int]) -> Step:
    """A launch of a loaded kernel, for buffers in these slots; tapes have one more, their steps."""
    parameters = []
    for buffer in launch.buffers:
        parameters += [slots[buffer], *([slots[STEPS]] if buffer.kind == "tape" else [])]
    return Step(function, (launch.blocks, 1, 1), (launch.threads, 1, 1), tuple(parameters))


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
