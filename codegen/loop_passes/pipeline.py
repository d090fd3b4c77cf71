"""The passes over loop programs, in order: they adapt loops to processors, and create tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.codegen.analysis.arena import plan
from autojit.codegen.analysis.loop_level import NO_TASKS, NOT_PLACED, OWN_MEMORY, pass_of
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.scheduling.traits import Traits
from autojit.ir.pass_manager.pipelines import Pipeline, Place

from .coalesce import coalesced
from .counted_loops import loops_counted
from .delinearize import delinearized
from .fission import fissioned
from .masked_fixups import masks_fixed_up
from .narrow_loops import loops_narrowed
from .one_hot_rows import one_hot_reduced
from .overrun_rows import overrun_rows
from .parallelize import parallelize_kernels
from .products import parallelize_products
from .reuse_buffers import reuse_buffers
from .scatters import scatters_fissioned
from .split_blocks import split_blocks
from .strip_mine import strip_mined
from .tile_rows import tiled_rows


def _with_tasks(traits: Traits) -> bool:
    return traits.tasks


def _with_split_blocks(traits: Traits) -> bool:
    return traits.split_blocks


def _place(
    function: Callable[..., Any], reason: str, where: Callable[[Traits], bool] = _with_tasks
) -> Place[LoopProgram]:
    return Place(pass_of(function), reason, where)


SHAPE = Pipeline(
    "shape loops",
    [
        _place(
            delinearized,
            "The passes over rows look for nests. Indices with quotients defeat them, and "
            "the dependence tests too.",
        ),
        _place(
            overrun_rows,
            "Rows in parts become whole rows before other passes ask whether a loop runs over its "
            "whole range.",
        ),
        _place(masks_fixed_up, "Masks of single elements hide that a row is constant otherwise."),
        _place(
            one_hot_reduced,
            "It absorbs products that read a stored row, which tile_rows would put into a loop of "
            "their own.",
        ),
        _place(
            tiled_rows,
            "It joins products and loops over the same rows while both still run over all of them. "
            "Inside of tiles it coalesces and strip-mines loops itself.",
        ),
        _place(
            coalesced,
            "No later pass looks for rows, and one long loop is better for blocks and tasks.",
        ),
        _place(strip_mined, "It needs loops over all of their range, before they are split."),
        _place(
            scatters_fissioned,
            "It strip-mines the loops that strip_mine has left: innermost ones.",
        ),
        _place(fissioned, "The bodies of loops are final, so that their length can be counted."),
        _place(
            parallelize_kernels,
            "Tasks take the body of a loop as it is: no pass above looks into tasks.",
        ),
        _place(
            parallelize_products,
            "Products that no loop has absorbed are cut into tasks by themselves.",
        ),
        _place(
            loops_counted,
            "The passes above look for statements that arrays became, and no later one has to know "
            "a loop with a condition. Its places are known before the bounds of masks are.",
        ),
        _place(
            loops_narrowed,
            "Loops are final: passes above would have to keep the bounds, and a loop that is cut "
            "into tasks has none.",
        ),
        _place(
            split_blocks,
            "Straight-line code is final; a part becomes a function, as a task does.",
            _with_split_blocks,
        ),
        _place(
            reuse_buffers,
            "It depends on the order of reads and writes, which is final now.",
        ),
        _place(
            plan,
            "It places the temporaries that do not reuse other memory.",
            lambda traits: True,
        ),
    ],
    given=[NO_TASKS, OWN_MEMORY, NOT_PLACED],
)
