"""Loops in the shape in which processors with caches and vectors run them best, and in tasks."""

from __future__ import annotations

from typing import Any

from .blocks import in_blocks
from .collapse import collapsed
from .diagonals import off_diagonals
from .lone import only_ones
from .loops import Kernel, MatrixProduct
from .parallel import parallelize
from .pieces import in_pieces
from .products import in_tasks
from .rows import in_whole_rows
from .scatters import scatters_apart
from .slabs import in_slabs
from .uncollapse import uncollapsed


def in_shape(steps: list[Any]) -> list[Any]:
    """The steps of a program, each loop and product the way it is run."""
    steps = in_slabs(only_ones([_rows(s) if isinstance(s, Kernel) else s for s in steps]))
    return [_tasks(s) if isinstance(s, (Kernel, MatrixProduct)) else s for s in steps]


def _rows(kernel: Kernel) -> Kernel:
    return off_diagonals(in_whole_rows(uncollapsed(kernel)))


def _tasks(step: Kernel | MatrixProduct) -> Kernel | MatrixProduct:
    if isinstance(step, MatrixProduct):
        return in_tasks(step)
    return parallelize(in_pieces(scatters_apart(in_blocks(collapsed(step)))))
