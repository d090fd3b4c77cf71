"""Loops whose iterations touch memory of their own, for LLVM to know.

LLVM finds out by itself where arrays are arguments.  Tapes, and arrays that change places from step
to step, are wherever they are: it would ask as the loop runs, for each array that is written and
each other one, and where these are many it leaves the loop scalar.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from autojit.codegen.loop_ir.effects import EFFECTS, Access
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine


def that_move(body: list[Any]) -> set[Buffer]:
    """The memory that is not always at one place: of tapes, and of buffers that change places."""
    found: set[Buffer] = set()
    for s in walk(body):
        found.update(map(memory, EFFECTS[type(s)].moves(s)))
    return found


def is_independent(loop: Loop, moving: Collection[Buffer]) -> bool:
    """Whether an innermost loop touches such memory, and no iteration what another one writes."""
    if not moving or loop.role == "sequence" or not all(map(_is_plain, loop.body)):
        return False
    places: dict[Buffer, Affine] = {}
    found: list[Access] = []
    for s in loop.body:
        e = EFFECTS[type(s)]
        found += [*e.reads(s), *e.writes(s)]
        places.update((memory(a.buffer), a.index) for a in e.writes(s))
    if not any(memory(a.buffer) in moving for a in found):
        return False
    return all(index.stride(loop.var) for index in places.values()) and all(
        places.get(memory(a.buffer), a.index) == a.index for a in found
    )


def _is_plain(s: Any) -> bool:
    """Whether a statement computes a scalar, adds one up, or touches single elements of memory."""
    e = EFFECTS[type(s)]
    touched = (*e.reads(s), *e.writes(s))
    return (
        not (e.bodies(s) or e.updates(s) or e.moves(s) or e.begins(s) or e.finishes(s))
        and not (e.scratch(s) or e.counts(s) or e.needs_count(s))
        and all(a.is_exact and not a.is_rest and a.low == a.high == 0 for a in touched)
    )
