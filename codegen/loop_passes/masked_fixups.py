"""Take masks of single elements out of a row: compute the row without them, then fix those
elements.

    for j in 0..n:                          for j in 0..n:  y[j] = <where no mask holds>
      y[j] = <masks j == i, j == i + 1> ->  for j at i:     y[j] = <masks j == i, j == i + 1>
                                            for j at i + 1: y[j] = <masks j == i, j == i + 1>

Such masks come from Jacobians and Hessians, whose tangents are rows of the identity matrix, and
from matrices to which a diagonal is added.  Where no mask holds, a row is usually one constant,
which is computed once and filled in.  The fixups run the same statements with known masks, so each
element is the one that the masks would have selected, NaN and infinities included.

Legal where iterations may run in any order and may run again (``reads_own_writes``), and where the
element of each mask lies within the range for all values of the outer variables, or for none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.dependences import reads_own_writes
from autojit.codegen.analysis.loop_level import EVERYTHING, NESTS, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.nodes import Compute, Constant, IndexValue, InRange, Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, substituted, used
from autojit.ir.core.affine import Affine, Bounds, Var

#: The fewest elements that a row has for each fixup.
WORTH = 16

_PURE = (Compute, Constant, IndexValue, InRange, Load)

#: Scalars that are indices: number of the scalar -> affine form.
Indices = dict[int, Affine]


@kernel_pass(
    "Computes rows without masks of single elements, and fixes those elements afterwards.",
    needs=[NESTS, NO_TASKS, OWN_MEMORY],
    keeps=EVERYTHING,
)
def masks_fixed_up(kernel: Kernel) -> Kernel:
    """The kernel with masks of single elements taken out of its innermost loops."""
    _rewrite(kernel.body, {}, {})
    return kernel


def _rewrite(body: list[Any], bounds: Bounds, known: Indices) -> None:
    known = known | _indices(body)
    position = 0
    while position < len(body):
        s = body[position]
        inner = {**bounds, s.var: (s.start, s.stop - 1)} if isinstance(s, Loop) else bounds
        for statements in bodies_of(s):
            _rewrite(statements, inner, known)
        found = _split(s, bounds, known) if isinstance(s, Loop) else [s]
        body[position : position + 1] = found
        position += len(found)


def _indices(body: list[Any]) -> Indices:
    """The known indices of dtype i64.  Narrower integers wrap around and floats are rounded, so
    that different indices may be equal as such."""
    found: Indices = {}
    for s in body:
        if isinstance(s, (IndexValue, Constant)) and s.result.dtype == "i64":
            found[s.result.number] = s.index if isinstance(s, IndexValue) else Affine(int(s.value))
    return found


def _split(loop: Loop, bounds: Bounds, known: Indices) -> list[Loop]:
    """The loop without its masks, and one iteration for each element where a mask holds."""
    if loop.role != "map" or loop.share is not None or loop.is_partial:
        return [loop]
    if not all(isinstance(s, (*_PURE, Store)) for s in loop.body):
        return [loop]
    masks = _masks(loop, known | _indices(loop.body))
    places: list[Affine] = []
    constant: dict[int, Constant] = {}
    for mask, place in masks:
        low, high = place.range(bounds)
        outside = high < loop.start or low >= loop.stop
        if outside or (low >= loop.start and high < loop.stop):
            constant[mask.result.number] = Constant(mask.result, mask.name == "ne")
            places += [] if outside or place in places else [place]
    if not constant or loop.stop - loop.start < WORTH * max(1, len(places)):
        return [loop]
    if reads_own_writes(loop.body):
        return [loop]
    rest = [constant.get(getattr(s, "result", s).number, s) if hasattr(s, "result") else s
            for s in loop.body]  # fmt: skip
    split = [replace(loop, body=_needed(rest))]
    for place in places:
        body = [substituted(s, loop.var, place) for s in loop.body]
        split.append(Loop(Var(1), 0, 1, body, "map", unroll=True))
    return split


def _masks(loop: Loop, known: Indices) -> list[tuple[Compute, Affine]]:
    """Comparisons with the loop's variable, and the index where they hold (where "ne" does not)."""
    found = []
    for s in loop.body:
        if isinstance(s, Compute) and s.name in ("eq", "ne"):
            left, right = (known.get(x.number) for x in s.args)
            if left is None or right is None:
                continue
            difference = left - right
            factor = difference.stride(loop.var)
            if factor in (1, -1):
                found.append((s, difference.without(loop.var) * -factor))
    return found


def _needed(body: list[Any]) -> list[Any]:
    """The statements that a store depends on."""
    wanted: set[int] = set()
    kept = []
    for s in reversed(body):
        if isinstance(s, Store) or s.result.number in wanted:
            wanted |= {x.number for x in used(s)}
            kept.append(s)
    return kept[::-1]
