"""Loops in the shape in which processors with caches and vectors run them best, and in tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from autojit.codegen.analysis import verifier
from autojit.codegen.analysis.verifier import checked
from autojit.codegen.loop_ir.nodes import Buffer, Kernel, MatrixProduct
from autojit.codegen.loop_ir.traversal import buffers_of

from .coalesce import collapsed
from .delinearize import uncollapsed
from .fission import in_pieces
from .masked_fixups import off_diagonals
from .one_hot_rows import only_ones
from .overrun_rows import in_whole_rows
from .parallelize import parallelize
from .products import in_tasks
from .scatters import scatters_apart
from .strip_mine import in_blocks
from .tile_rows import in_slabs

#: Passes over a kernel, in order, before and after those over steps that belong together.
_FIRST = (uncollapsed, in_whole_rows, off_diagonals)
_LATER = (collapsed, in_blocks, scatters_apart, in_pieces)


def in_shape(steps: list[Any]) -> list[Any]:
    """The steps of a program, each loop and product the way it is run."""
    for kernel in steps if verifier.ACTIVE else ():
        if isinstance(kernel, Kernel):
            verifier.verify_kernel(kernel, "lowering")
    steps = [_passed(s, _FIRST) if isinstance(s, Kernel) else s for s in steps]
    for pass_ in (only_ones, in_slabs):
        steps = _all_passed(steps, pass_)
    elsewhere = _elsewhere(steps)
    return [_tasks(s, elsewhere) if isinstance(s, (Kernel, MatrixProduct)) else s for s in steps]


def _passed(kernel: Kernel, passes: Sequence[Callable[[Kernel], Kernel]]) -> Kernel:
    for run in passes:
        kernel = checked(run.__name__, run, kernel)
    return kernel


def _all_passed(steps: list[Any], run: Callable[[list[Any]], list[Any]]) -> list[Any]:
    made = run(steps)
    if verifier.ACTIVE:
        known = set(map(id, steps))
        for s in made:
            if isinstance(s, Kernel) and id(s) not in known:
                verifier.verify_kernel(s, run.__name__)
    return made


def _tasks(step: Kernel | MatrixProduct, shared: set[Buffer]) -> Kernel | MatrixProduct:
    if isinstance(step, MatrixProduct):
        return in_tasks(step)
    kernel = _passed(step, _LATER)
    return checked("parallelize", lambda k: parallelize(k, shared), kernel)


def _elsewhere(steps: list[Any]) -> set[Buffer]:
    """The memory that more than one step touches."""
    touched = Counter(buffer for s in steps for buffer in _touched(s))
    return {buffer for buffer, times in touched.items() if times > 1}


def _touched(step: Any) -> list[Buffer]:
    return buffers_of(step.body if isinstance(step, Kernel) else [step])
