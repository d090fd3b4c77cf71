"""Tell LLVM which loops have iterations that touch disjoint memory.

LLVM finds out by itself if the arrays are arguments. The addresses of tapes, and of arrays that
swap places between steps, are unknown: LLVM would compare them at run time, each written array with
every other one, and if there are many it leaves the loop scalar.

Legal where the loop is innermost, its statements compute or accumulate scalars or touch single
elements at known places, and no iteration touches memory that another one writes
(``is_any_order``, ``are_separate``).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from autojit.codegen.analysis.dependences import is_any_order, touches
from autojit.codegen.analysis.separate_places import are_separate
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.values import Buffer


def is_independent(loop: Loop, moving: Collection[Buffer]) -> bool:
    """Whether an innermost loop touches moving memory, or computed places whose forms are known,
    and its iterations are independent."""
    if loop.role != "sequence" and any(_has_known_place(s) for s in loop.body):
        return are_separate(loop)
    if not moving or loop.role == "sequence" or not all(map(_is_plain, loop.body)):
        return False
    return any(t.memory in moving for t in touches(loop.body)) and is_any_order(loop)


def _has_known_place(s: Any) -> bool:
    return any(p.line is not None for p in getattr(s, "places", ()))


def _is_plain(s: Any) -> bool:
    """Whether a statement computes a scalar, adds one up, or touches single elements of memory."""
    e = EFFECTS[type(s)]
    touched = (*e.reads(s), *e.writes(s))
    return (
        not (e.bodies(s) or e.updates(s) or e.moves(s) or e.begins(s) or e.finishes(s))
        and not (e.scratch(s) or e.counts(s) or e.needs_count(s))
        and all(a.is_exact and not a.is_rest and a.low == a.high == 0 for a in touched)
    )
