"""Dead code: ops that no output depends on are left out.

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

Inputs stay, read or not: they are what callers pass.
"""

from __future__ import annotations

from ..program import Op, Program


def run(program: Program) -> Program:
    """Leave out what is not needed; the same object where everything is."""
    live = set(program.outputs)
    kept: list[Op] = []
    for op in reversed(program.ops):
        if not live.isdisjoint(op.results):
            kept.append(op)
            live.update(op.operands)
    if len(kept) == len(program.ops):
        return program
    return program.with_body(reversed(kept), program.outputs)
