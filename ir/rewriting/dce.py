"""Dead code: ops that no output depends on are removed.

Before::

    program main(%0: f64[3]) {
      %1: f64[3] = sin %0
      %2: f64[3] = exp %1
      return %1
    }

After::

    program main(%0: f64[3]) {
      %1: f64[3] = sin %0
      return %1
    }

Inputs stay even if they are not read: callers pass them. Ops with bodies are narrowed to the
results that are read (see ``bodies``).

Legal where no output depends on the removed ops.  Nothing changes in the results; an error that
such an op would raise goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.tools.program_passes import EVERYTHING, program_pass

from .bodies import narrowed


@program_pass("Removes operations that no output depends on.", keeps=EVERYTHING)
def run(program: Program) -> Program:
    """Remove the ops that are not needed; return the same object if all are."""
    live = set(program.outputs)
    kept: list[Op] = []
    changed = False
    for op in reversed(program.ops):
        if not live.isdisjoint(op.results):
            if isinstance(op.kind, BodyOp):
                smaller = narrowed(op, [v in live for v in op.results])
                changed = changed or smaller is not None
                op = smaller or op
            kept.append(op)
            live.update(op.operands)
    if len(kept) == len(program.ops) and not changed:
        return program
    return program.with_body(reversed(kept), program.outputs)


def with_outputs(program: Program, outputs: Sequence[Value]) -> Program:
    """Return the program with other outputs, without the ops that these do not need."""
    return run(program.with_body(program.ops, outputs))
