"""The order of a counted loop's iterations, and its role.

Legal where the iterations touch separate elements (``are_separate``), apart from sums: then they
run in any order. A loop that mostly moves backwards through memory runs from its last step to its
first, so that vectors need not be reversed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.separate_places import are_separate, sums_in
from autojit.codegen.loop_ir.effects import accesses
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.traversal import memory, substituted
from autojit.ir.core.affine import Affine, Var, of


def without_single_loops(body: list[Any]) -> list[Any]:
    """The statements with loops of one iteration written out."""
    made: list[Any] = []
    for s in body:
        if isinstance(s, Loop) and s.stop - s.start == 1 and s.unroll and s.share is None:
            inner = [substituted(x, s.var, Affine(s.start)) for x in s.body]
            made += without_single_loops(inner)
        else:
            made.append(s)
    return made


def ordered(loop: Loop, end: Affine | None) -> Loop:
    """A loop with the role that its iterations allow, running forwards through memory.

    ``end`` is the form of its end, None if it is not known.
    """
    if not are_separate(loop):
        return loop
    loop = replace(loop, role="reduce" if sums_in(loop) else "map")
    if end is None or sum(map(_direction, loop.body, [loop.var] * len(loop.body))) >= 0:
        return loop
    back = of(loop.var) * -1 + (end - 1)
    var = Var(loop.var.extent)
    body = [substituted(s, loop.var, back) for s in loop.body]
    return replace(loop, var=var, body=[substituted(s, loop.var, of(var)) for s in body])


def _direction(s: Any, var: Var) -> int:
    """1 if a statement moves forwards through memory as the variable grows, -1 if backwards."""
    if not any(memory(a.buffer).kind != "local" for a in accesses(s)):
        return 0
    step = s.index.stride(var) or 0
    for place in getattr(s, "places", ()):
        step += place.stride * ((place.line.stride(var) or 0) if place.line is not None else 0)
    return (step > 0) - (step < 0)
