"""Loops whose iterations touch separate elements at computed places.

    for j in 0..60, below s8:                  # row s5 may be row s6
      s1 = x[61*s5 of 60 + s3 of 61]           # s3 is the form j + k in both
      s2 = x[61*s6 of 60 + s3 of 61]
      x[61*s5 of 60 + s3 of 61] = s1 * s2

Legal where all accesses to memory that the loop changes have the same axes, where an element has
one place on these axes only, and where one place is the same form in all accesses and moves with
the loop. A computed place is always within its range, so other places may be any. Iterations may
add to cells. A cell that they set has the number of the last one after the loop, which may be read,
so their order matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from autojit.codegen.loop_ir.effects import accesses, changed_buffers
from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Compute,
    Constant,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer, Place
from autojit.ir.core.affine import Var

from .integer_facts import is_cell

_PLAIN = (
    AccumulateInto, Compute, Constant, Gather, IndexValue, InRange, Load, ScatterInto, Store,
)  # fmt: skip


def are_separate(loop: Loop) -> bool:
    """Whether no iteration of an innermost loop touches an element that another one changes."""
    if not all(isinstance(s, _PLAIN) for s in loop.body):
        return False
    touching: dict[Buffer, list[Any]] = defaultdict(list)
    for s in loop.body:
        for a in accesses(s):
            if not touching[memory(a.buffer)] or touching[memory(a.buffer)][-1] is not s:
                touching[memory(a.buffer)].append(s)
    changed = {memory(b) for s in loop.body for b in changed_buffers(s)}
    return all(
        _is_sum(found) if is_cell(b) else _are_apart(found, loop.var)
        for b, found in touching.items()
        if b in changed
    )


def sums_in(loop: Loop) -> bool:
    """Whether a loop adds to memory, so that its iterations are not wholly independent."""
    return any(isinstance(s, (AccumulateInto, ScatterInto)) for s in loop.body)


def _is_sum(found: Sequence[Any]) -> bool:
    """Whether iterations only add to a cell."""
    return all(isinstance(s, AccumulateInto) for s in found)


def _are_apart(found: Sequence[Any], var: Var) -> bool:
    """Whether accesses to one array are at different elements in different iterations."""
    axes = [_axes(s) for s in found]
    if any(x is None or x != axes[0] for x in axes) or any(
        s.index != found[0].index for s in found
    ):
        return False
    places = [_places(s) for s in found]
    if not places[0]:
        return bool(found[0].index.stride(var))
    return found[0].index.stride(var) == 0 and any(
        all(p.line is not None and p.line == at[0].line for p in at)
        and bool(at[0].line.stride(var))
        for at in zip(*places, strict=True)
    )


def _places(s: Any) -> list[Place]:
    """The computed places of an access, the one with the smallest stride first."""
    return sorted(getattr(s, "places", ()), key=lambda p: p.stride)


def _axes(s: Any) -> list[tuple[int, int]] | None:
    """The axes of an access; None if one element may be at several places."""
    axes, reach = [(p.stride, p.extent) for p in _places(s)], 0
    for stride, extent in axes:
        if stride <= reach:
            return None
        reach += stride * (extent - 1)
    return axes
