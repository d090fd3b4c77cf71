"""Loops in the shape in which processors with caches and vectors run them best, and in tasks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .blocks import in_blocks
from .collapse import collapsed
from .diagonals import off_diagonals
from .lone import only_ones
from .loops import Buffer, Kernel, MatrixProduct
from .parallel import parallelize
from .pieces import in_pieces
from .products import in_tasks
from .rows import in_whole_rows
from .slabs import in_slabs
from .uncollapse import uncollapsed
from .walk import buffers_of


def in_shape(steps: list[Any]) -> list[Any]:
    """The steps of a program, each loop and product the way it is run."""
    steps = in_slabs(only_ones([_rows(s) if isinstance(s, Kernel) else s for s in steps]))
    elsewhere = _elsewhere(steps)
    return [_tasks(s, elsewhere) if isinstance(s, (Kernel, MatrixProduct)) else s for s in steps]


def _rows(kernel: Kernel) -> Kernel:
    return off_diagonals(in_whole_rows(uncollapsed(kernel)))


def _tasks(step: Kernel | MatrixProduct, shared: set[Buffer]) -> Kernel | MatrixProduct:
    if isinstance(step, MatrixProduct):
        return in_tasks(step)
    return parallelize(in_pieces(in_blocks(collapsed(step))), shared)


def _elsewhere(steps: list[Any]) -> set[Buffer]:
    """The memory that more than one step touches."""
    touched = Counter(buffer for s in steps for buffer in _touched(s))
    return {buffer for buffer, times in touched.items() if times > 1}


def _touched(step: Any) -> list[Buffer]:
    return buffers_of(step.body if isinstance(step, Kernel) else [step])
