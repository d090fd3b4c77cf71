"""Search for the pass that changed a program's results.

The steps of compilation are repeated one by one, and the outcome of each is interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_passes.pipeline import SHAPE
from autojit.codegen.loop_text.interpreter import flat, interpret_loops, shaped
from autojit.codegen.lowering.lower import Lowering
from autojit.codegen.scheduling.traits import CPU
from autojit.codegen.scheduling.views import without_last_reshapes
from autojit.ir.core.program import Program
from autojit.ir.passes.pipeline import OPTIMIZE
from autojit.ir.tools.interpreter import interpret, watching

from .differences import difference

#: The most statements that the interpreter of loops may run for a program: about ten seconds.
MOST_STATEMENTS = 3_000_000


def named_pass(program: Program, arrays: Sequence[Any], wanted: Sequence[Any]) -> str:
    """The pass that made compiled code differ from the interpreter, in words."""
    bare = program.bound_to(())
    with watching(None):
        return _over_programs(bare, arrays, wanted)


def _over_programs(program: Program, arrays: Sequence[Any], wanted: Sequence[Any]) -> str:
    unit = program
    for run in OPTIMIZE.wanted(None):
        for each in (run, OPTIMIZE.then):
            if each is None:
                continue
            made = each(unit)
            if made is not unit and _differs(program, arrays, wanted, made):
                return f"the pass {each.name}"
            unit = made
    return _over_loops(program, unit, arrays, wanted)


def _differs(program: Program, arrays: Sequence[Any], wanted: Sequence[Any], made: Program) -> bool:
    try:
        got = interpret(made, arrays)
    except Exception:
        return True
    return difference(program, arrays, wanted, got) is not None


def _over_loops(
    program: Program, optimized: Program, arrays: Sequence[Any], wanted: Sequence[Any]
) -> str:
    loops = Lowering(without_last_reshapes(optimized), CPU).unshaped()
    if _work(loops) > MOST_STATEMENTS:
        return (
            "lowering, a pass over loops or code generation (the loops are too long to interpret)"
        )
    if _loops_differ(program, arrays, wanted, loops):
        return "lowering, or the schedule that it follows"
    for run in SHAPE.wanted(CPU):
        loops = run(loops)
        if _loops_differ(program, arrays, wanted, loops):
            return f"the pass {run.name} over loops"
    return "code generation, since the interpreter of loops agrees with that of programs"


def _work(loops: LoopProgram) -> int:
    return sum(work(step.body if isinstance(step, Kernel) else [step]) for step in loops.steps)


def _loops_differ(
    program: Program, arrays: Sequence[Any], wanted: Sequence[Any], loops: LoopProgram
) -> bool:
    given = [flat(np.asarray(a), b) for a, b in zip(arrays, loops.inputs, strict=True)]
    try:
        made = interpret_loops(loops, given)
    except Exception:
        return True
    got = [shaped(a, t) for a, t in zip(made, program.out_types, strict=True)]
    return difference(program, arrays, wanted, got) is not None
