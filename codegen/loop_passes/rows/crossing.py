"""Scalars that cross between parts of a loop's body, each of which becomes a loop over a block.

    for i in block b:                 for i in block b: z = …;  kept[i] = z
      z = …                     ->    for i in block b: z = kept[i];  … z …
      … z …

A scalar that one part computes and another one uses is kept for each iteration of the block, or
computed again where that is as cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.codegen.loop_ir.nodes import Constant, IndexValue, Load, Store
from autojit.codegen.loop_ir.traversal import substituted, used, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine, Var


def is_repeatable(s: Any) -> bool:
    """Whether computing a statement again is as cheap as loading its result."""
    if isinstance(s, Load):
        return s.guard is None and s.buffer.kind == "input"
    return isinstance(s, (Constant, IndexValue))


class Crossing:
    """The parts of a body, and the scalars that they take from others."""

    def __init__(self, parts: list[list[Any]], is_again: Callable[[Any], bool]) -> None:
        self.parts = parts
        made = {
            s.result.number: (k, s)
            for k, part in enumerate(parts)
            for s in part
            if isinstance(getattr(s, "result", None), Scalar)
        }
        #: The statements that are computed again, by the numbers of their results.
        self.again = {number: s for number, (_, s) in made.items() if is_again(s)}
        #: For each part: the scalars of other parts that it uses.
        self.needed = [
            {
                a.number: a
                for s in walk(part)
                for a in used(s)
                if a.number in made and made[a.number][0] != k
            }
            for k, part in enumerate(parts)
        ]
        #: The scalars that are kept, by number; their places, which whoever keeps them sets: the
        #: buffer, and where the first iteration's is.
        self.kept = {
            number: scalar
            for needed in self.needed
            for number, scalar in needed.items()
            if number not in self.again
        }
        self.places: dict[int, tuple[Buffer, int]] = {}

    def statements(self, k: int, here: Affine, var: Var, place: Affine) -> list[Any]:
        """Part k, in iteration ``here`` of a block, where the variable of the loop is ``place``."""
        body: list[Any] = []
        for number, scalar in self.needed[k].items():
            if number in self.again:
                body.append(substituted(self.again[number], var, place))
            else:
                buffer, start = self.places[number]
                body.append(Load(scalar, buffer, here + start, None))
        for s in self.parts[k]:
            body.append(substituted(s, var, place))
            result = getattr(s, "result", None)
            if result is not None and result.number in self.places:
                buffer, start = self.places[result.number]
                body.append(Store(buffer, here + start, result))
        return body
