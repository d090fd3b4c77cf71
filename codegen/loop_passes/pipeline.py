"""The passes over loop programs in order: loops become what processors run best, and tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.codegen.analysis.arena import plan
from autojit.codegen.analysis.loop_level import NO_TASKS, NOT_PLACED, OWN_MEMORY, pass_of
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.scheduling.traits import Traits
from autojit.ir.pass_manager.pipelines import Pipeline, Place

from .coalesce import collapsed
from .delinearize import uncollapsed
from .fission import in_pieces
from .masked_fixups import off_diagonals
from .one_hot_rows import only_ones
from .overrun_rows import in_whole_rows
from .parallelize import each_parallelized
from .products import all_in_tasks
from .reuse_buffers import take_over
from .scatters import scatters_apart
from .split_blocks import in_chunks
from .strip_mine import in_blocks
from .tile_rows import in_slabs


def _with_tasks(traits: Traits) -> bool:
    return traits.tasks


def _with_chunks(traits: Traits) -> bool:
    return traits.chunks


def _place(
    function: Callable[..., Any], reason: str, where: Callable[[Traits], bool] = _with_tasks
) -> Place[LoopProgram]:
    return Place(pass_of(function), reason, where)


SHAPE = Pipeline(
    "shape loops",
    [
        _place(
            uncollapsed,
            "The passes over rows look for nests. Indices with quotients say little to them, and "
            "to those that ask whether iterations meet.",
        ),
        _place(
            in_whole_rows,
            "Rows in parts become whole ones before others ask whether a loop runs over all of its "
            "range.",
        ),
        _place(off_diagonals, "Masks of single places hide what a row is otherwise."),
        _place(
            only_ones,
            "It takes in products that read what a row stores, which slabs would put into a "
            "loop of their own.",
        ),
        _place(
            in_slabs,
            "It joins products and loops over the same rows while both still run over all of them. "
            "Inside of slabs it collapses loops and runs them in blocks itself.",
        ),
        _place(
            collapsed,
            "All that looks for rows is done; one long loop is better for blocks and tasks.",
        ),
        _place(in_blocks, "It takes loops over all of their range, before they are divided."),
        _place(
            scatters_apart,
            "It puts into blocks of its own what the pass over blocks has left: loops without "
            "others inside.",
        ),
        _place(in_pieces, "The bodies of loops are final, so their length can be counted."),
        _place(
            each_parallelized,
            "Tasks take what is in a loop as it is: no pass above looks into tasks.",
        ),
        _place(all_in_tasks, "Products that no loop has taken in are cut by themselves."),
        _place(
            in_chunks,
            "What is left without loops is final; a chunk is a function, as a task is.",
            _with_chunks,
        ),
        _place(
            take_over,
            "It asks in which order memory is read and written, which is final now.",
        ),
        _place(
            plan,
            "It gives places to the temporaries that have no memory of others.",
            lambda traits: True,
        ),
    ],
    given=[NO_TASKS, OWN_MEMORY, NOT_PLACED],
)
