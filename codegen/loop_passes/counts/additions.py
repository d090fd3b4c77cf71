"""Split a counted loop that adds to two elements of an array, so that each loop is vector code.

    for i in 0..n, below k:  # in turn       for i in 0..n, below k:  # reduces
      s1 = g[i]                                s1 = g[i]
      s2 = s1 * s3                             y[i] += s1
      y[k - i] += s2                   ->    for i in 0..n, below k:  # reduces
      y[i] += s1                               s1 = g[i]
      g[i] = 0                                 s2 = s1 * s3
                                               y[k - i] += s2
                                               g[i] = 0

The reverse of a loop that reads two elements of an array is such a loop. Two iterations may add to
one element, so their order matters to LLVM; in each of the two loops they touch separate elements.

Legal where the loop only adds floats to the array, where the iterations of each loop made are
separate (``are_separate``), and where the first loop reads what the iteration has not changed yet:
no earlier statement of the body changes memory that it reads. Sums have another order, as those of
``counts.sums``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.integer_facts import is_cell
from autojit.codegen.analysis.separate_places import are_separate
from autojit.codegen.loop_ir.cost import is_function
from autojit.codegen.loop_ir.effects import accesses, changed_buffers, effects_of
from autojit.codegen.loop_ir.errors import is_check
from autojit.codegen.loop_ir.nodes import (
    Compute,
    Constant,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
)
from autojit.codegen.loop_ir.traversal import memory, used
from autojit.codegen.loop_ir.values import Buffer

_VALUES = (Compute, Constant, Gather, IndexValue, InRange, Load)


def with_additions_apart(loop: Loop) -> list[Loop]:
    """The loop, after loops for those of its additions that keep its iterations from being
    separate; the loop alone if they would be no vector code either."""
    moved = _additions(loop)
    if not moved or are_separate(loop) or not all(map(_is_vector_code, loop.body)):
        return [loop]
    rest = replace(loop, body=[s for s in loop.body if not any(s is x for x in moved)])
    if not are_separate(rest):
        return [loop]
    made: list[Loop] = []
    for s in moved:
        body = _needed(loop.body, s)
        if body is None:
            return [loop]
        first = replace(loop, body=body)
        if not are_separate(first):
            return [loop]
        made.append(first)
    return [*made, rest]


def _additions(loop: Loop) -> list[ScatterInto]:
    """All additions but the first to each array to which the loop only adds."""
    touching: dict[Buffer, list[Any]] = defaultdict(list)
    for s in loop.body:
        for buffer in {memory(a.buffer) for a in accesses(s)}:
            touching[buffer].append(s)
    return [
        s
        for buffer, found in touching.items()
        if not is_cell(buffer) and buffer.dtype[0] == "f"
        if all(isinstance(s, ScatterInto) and s.combine == "add" for s in found)
        for s in found[1:]
    ]


def _is_vector_code(s: Any) -> bool:
    """Whether a statement may be a part of vector code, and raises no error."""
    if isinstance(s, (Gather, ScatterInto)):
        return all(p.line is not None for p in s.places)
    return not isinstance(s, Compute) or not (is_check(s.name) or is_function(s))


def _needed(body: list[Any], last: ScatterInto) -> list[Any] | None:
    """An addition after the statements whose results it needs; None if these read memory that the
    iteration has changed before."""
    wanted, read = {x.number for x in used(last)}, set[Buffer]()
    made: list[Any] = [last]
    place = next(k for k, s in enumerate(body) if s is last)
    for k in range(place - 1, -1, -1):
        s = body[k]
        if isinstance(s, _VALUES) and s.result.number in wanted:
            wanted |= {x.number for x in used(s)}
            read |= {memory(a.buffer) for a in effects_of(s).reads(s)}
            made.append(s)
        elif not read.isdisjoint(memory(b) for b in changed_buffers(s)):
            return None
    return made[::-1]
