"""Loops whose iterations touch separate elements at computed places.

    for j in 0..60, below s8:                  # row s5 may be row s6
      s1 = x[61*s5 of 60 + s3 of 61]           # s3 is the form j + k in both
      s2 = x[61*s6 of 60 + s3 of 61]
      x[61*s5 of 60 + s3 of 61] = s1 * s2

Legal where all accesses to memory that the loop changes have the same axes, where an element has
one place on these axes only, and where each access that changes memory and each other one have an
axis on which their places differ between iterations: they are the same form and move with the
loop, or their ranges are apart, as those of column k and of the columns after it. A computed place
is always within its range, so other places may be any. Iterations may add to cells. A cell that
they set has the number of the last one after the loop, which may be read, so their order matters.
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
from autojit.ir.core.affine import Affine, Var, of

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
    """Whether accesses to one array are at different elements in different iterations, unless
    both only read."""
    computed = [s for s in found if getattr(s, "places", ())]
    if not computed:
        return _are_one(found) and bool(found[0].index.stride(var))
    base, axes = computed[0].index, axes_of(computed[0])
    if axes is None or base.stride(var) != 0:
        return False
    lines = []
    for s in found:
        at = _lines(s, base, axes)
        if at is None:
            return False
        lines.append(at)
    return all(
        any(never_meet(p, q, var) for p, q in zip(lines[k], others, strict=True))
        for k, s in enumerate(found)
        for x, others in zip(found[k:], lines[k:], strict=True)
        if changed_buffers(s) or changed_buffers(x)
    )


def _are_one(found: Sequence[Any]) -> bool:
    return all(s.index == found[0].index for s in found)


def _lines(s: Any, base: Affine, axes: Sequence[tuple[int, int]]) -> list[Affine | None] | None:
    """The forms of an access's place on each axis, None where one is not known; None if the access
    has other axes."""
    places = places_of(s)
    if places:
        same = s.index == base and [(p.stride, p.extent) for p in places] == list(axes)
        return [p.line for p in places] if same else None
    rest, found = s.index - base, list[Affine | None]()
    for stride, extent in reversed(axes):
        terms = ((v, _whole(c, stride)) for v, c in rest.terms)
        line = Affine(_whole(rest.constant, stride), tuple(x for x in terms if x[1]))
        low, high = line.range({})
        if low < 0 or high >= extent:
            return None
        rest -= line * stride
        found.append(line)
    return found[::-1] if rest == Affine(0) else None


def _whole(number: int, stride: int) -> int:
    """The number of whole strides in a number, rounded towards zero."""
    return number // stride if number >= 0 else -(-number // stride)


def never_meet(one: Affine | None, other: Affine | None, var: Var) -> bool:
    """Whether two places differ for any two different values of a loop variable."""
    if one is None or other is None:
        return False
    strides = one.stride(var), other.stride(var)
    if None in strides:
        return False
    if one == other:
        return strides[0] != 0
    later = Var(var.extent)
    low, high = (one - other.substitute(var, of(later))).range({})
    return low > 0 or high < 0


def places_of(s: Any) -> list[Place]:
    """The computed places of an access, the one with the smallest stride first."""
    return sorted(getattr(s, "places", ()), key=lambda p: p.stride)


def axes_of(s: Any) -> list[tuple[int, int]] | None:
    """The axes of an access; None if one element may be at several places."""
    axes, reach = [(p.stride, p.extent) for p in places_of(s)], 0
    for stride, extent in axes:
        if stride <= reach:
            return None
        reach += stride * (extent - 1)
    return axes
