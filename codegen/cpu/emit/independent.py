"""Loops whose iterations touch memory of their own, for LLVM to know.

LLVM finds out by itself where arrays are arguments.  Tapes, and arrays that change places from step
to step, are wherever they are: it would ask as the loop runs, for each array that is written and
each other one, and where these are many it leaves the loop scalar.

Legal where the loop is innermost, its statements compute scalars, add them up, or touch single
elements at places that are known, and no iteration touches what another one writes
(``is_any_order``).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from autojit.codegen.analysis.dependences import is_any_order, touches
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.values import Buffer


def is_independent(loop: Loop, moving: Collection[Buffer]) -> bool:
    """Whether an innermost loop touches such memory, and no iteration what another one writes."""
    if not moving or loop.role == "sequence" or not all(map(_is_plain, loop.body)):
        return False
    return any(t.memory in moving for t in touches(loop.body)) and is_any_order(loop)


def _is_plain(s: Any) -> bool:
    """Whether a statement computes a scalar, adds one up, or touches single elements of memory."""
    e = EFFECTS[type(s)]
    touched = (*e.reads(s), *e.writes(s))
    return (
        not (e.bodies(s) or e.updates(s) or e.moves(s) or e.begins(s) or e.finishes(s))
        and not (e.scratch(s) or e.counts(s) or e.needs_count(s))
        and all(a.is_exact and not a.is_rest and a.low == a.high == 0 for a in touched)
    )
