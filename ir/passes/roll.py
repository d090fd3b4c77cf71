"""Rolling: a stretch of ops that repeats itself becomes ops on all steps at once, or a loop.

Before (the trace of ``for i in range(n): x = sin(x) * w[i]``)::

    %2: f64[] = sin %1
    %3: f64[1] = slice %0 {start=(0,), stop=(1,), stride=(1,)}
    …
    %8: f64[] = sin %7
    %9: f64[1] = slice %0 {start=(1,), stop=(2,), stride=(1,)}
    …

After: a ``scan`` of the steps, in which the slice is taken at the index of the step.  Steps that
do not wait for each other, as in ``total = total + sin(x[i])``, become arrays instead: see
``roll_rows``.

The steps have to be equal op for op.  An operand is one of the same step, one of a step shortly
before, or one and the same value for all of them; parameters that declarations call
``sliding`` may move by a constant amount.
"""

from __future__ import annotations

from functools import partial

from ..program import Builder, Op, Program, building
from . import dce
from .repetitions import Stretch, repetitions
from .rewrite import rewrite
from .roll_loop import as_loop
from .roll_rows import as_rows
from .roll_steps import Steps
from .simplify import simplify

#: Ops of a stretch from which on it becomes arrays, once the program is found to repeat itself.
LEAST_ROWS = 24


def roll(program: Program, least: int, least_loop: int) -> Program:
    """The program with repetitions of at least ``least`` ops as arrays, and of at least
    ``least_loop`` ops as loops where they cannot be arrays; the same object without any."""
    smaller: Program | None = program
    while smaller is not None and len(smaller.ops) >= least:
        program = smaller
        made = (_replaced(program, found, least_loop) for found in repetitions(program, least))
        smaller = next((p for p in made if p is not None), None)
        least = min(least, LEAST_ROWS)
    return program if smaller is None else smaller


def _replaced(program: Program, found: Stretch, least_loop: int) -> Program | None:
    """The program with one stretch rolled up; None where that cannot be or does not shorten it."""
    steps = Steps(program, found)
    builder = Builder()
    builder.ops.extend(program.ops[: steps.start])
    with building(builder), builder.at(steps.template[0].source):
        replaced = as_rows(builder, steps)
        if replaced is None:
            if found.loose or found.size < least_loop:
                return None
            del builder.ops[steps.start :]
            inner = partial(roll, least=LEAST_ROWS, least_loop=least_loop)
            replaced = as_loop(builder, steps, inner)
    for op in program.ops[steps.stop :]:
        operands = tuple([replaced.get(v, v) for v in op.operands])
        builder.append(Op(op.kind, operands, op.params, op.results, op.source))
    outputs = [replaced.get(v, v) for v in program.outputs]
    # What reads all steps (np.stack of a list) becomes a read of the stacked array.
    made = dce.run(rewrite(program.with_body(builder.ops, outputs), [simplify]))
    return made if len(made.ops) < len(program.ops) else None
