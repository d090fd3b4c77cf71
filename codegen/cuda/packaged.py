"""Launches of a printed source as the driver takes them: kernels, grids, blocks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.values import Buffer

from .driver.compiler import Kernel, Parameter
from .driver.extraction import Extraction
from .kernels import Launch
from .structure import Machine

Sizes = tuple[int, int, int]


def kernel_of(extraction: Extraction, launch: Launch, by_value: Collection[Buffer] = ()) -> Kernel:
    """The kernel of a launch as a module of its own; some buffers are scalars passed by value."""
    parameters = tuple(
        Parameter(numpy_dtype(b.dtype).name, b.size, b in by_value) for b in launch.buffers
    )
    names = tuple(extraction.parameters(launch.name))
    return Kernel(extraction.module(launch.name), parameters, names)


def grid_of(launch: Launch) -> Sizes:
    return _three(launch.blocks)


def block_of(launch: Launch, machine: Machine) -> Sizes:
    """The threads of a block, which are written as in the source."""
    names = {name.upper(): size for name, size in vars(machine).items()}
    return _three(eval(launch.block, names) if isinstance(launch.block, str) else launch.block)


def _three(sizes: Any) -> Sizes:
    given = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    x, y, z = (*map(int, given), 1, 1)[:3]
    return x, y, z


def numpy_dtype(dtype: str) -> np.dtype:
    """The dtype of a buffer.

    >>> numpy_dtype("f32"), numpy_dtype("bool")
    (dtype('float32'), dtype('bool'))
    """
    if dtype == "bool":
        return np.dtype(bool)
    return np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
