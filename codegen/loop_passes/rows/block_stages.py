"""The body of a loop over rows, cut into stages that each become a loop over a block of rows.

Legal where no other statements stand between two loops that share an accumulator.  A scalar that
one stage computes and another one uses is kept for each row of the block, or computed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Begin,
    Constant,
    Finish,
    IndexValue,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.traversal import substituted, used, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine, Var


@dataclass
class Stage:
    """Consecutive statements that become one loop over a block."""

    has_loop: bool
    body: list[Any] = field(default_factory=list)


def stages_of(loop: Loop) -> list[Stage] | None:
    """The body, cut where inner loops begin and end; an accumulator's begin and finish stay with
    its loop.

    None if other statements stand between two loops that share an accumulator.
    """
    begun = {s.accumulator.number: s for s in loop.body if isinstance(s, Begin)}
    ends = {s.accumulator.number: s for s in loop.body if isinstance(s, Finish)}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, s in enumerate(loop.body):
        for a in walk([s]) if isinstance(s, Loop) else ():
            if isinstance(a, Accumulate) and a.accumulator.number in begun:
                first.setdefault(a.accumulator.number, position)
                last[a.accumulator.number] = position
    stages: list[Stage] = []
    summed: set[int] = set()
    for position, s in enumerate(loop.body):
        if isinstance(s, Loop):
            begins = [n for n in begun if first.get(n) == position]
            if not stages or not stages[-1].has_loop or (begins and not summed):
                stages.append(Stage(True))
            done = [n for n in begun if last.get(n) == position]
            stages[-1].body += [begun[n] for n in begins] + [s] + [ends[n] for n in done]
            summed = (summed | set(begins)) - set(done)
        elif not (isinstance(s, (Begin, Finish)) and s.accumulator.number in first):
            if summed:
                return None
            if not stages or stages[-1].has_loop:
                stages.append(Stage(False))
            stages[-1].body.append(s)
    return stages


class Crossing:
    """Scalars that one stage computes and another one uses: each is kept in a buffer of the
    block."""

    def __init__(self, stages: list[Stage], size: int) -> None:
        self.defined_in = {
            s.result.number: k
            for k, stage in enumerate(stages)
            for s in stage.body
            if hasattr(s, "result")
        }
        self.again = {s.result.number: s for stage in stages for s in stage.body if _repeatable(s)}
        self.buffers: dict[int, Buffer] = {}
        self.needed: list[dict[int, Scalar]] = []
        for k, stage in enumerate(stages):
            self.needed.append(self._needed_from_others(k, stage))
        for needs in self.needed:
            for number, scalar in needs.items():
                if number not in self.again and number not in self.buffers:
                    name = f"block{number}"
                    self.buffers[number] = Buffer(name, scalar.dtype, size, "local")

    def _needed_from_others(self, k: int, stage: Stage) -> dict[int, Scalar]:
        needs: dict[int, Scalar] = {}
        for s in walk(stage.body):
            for scalar in used(s):
                if self.defined_in.get(scalar.number, k) != k:
                    needs[scalar.number] = scalar
        return needs

    def statements(self, k: int, stage: Stage, here: Affine, var: Var, row: Affine) -> list[Any]:
        body: list[Any] = []
        for number, scalar in self.needed[k].items():
            if number in self.again:
                body.append(substituted(self.again[number], var, row))
            else:
                body.append(Load(scalar, self.buffers[number], here, None))
        for s in stage.body:
            body.append(substituted(s, var, row))
            result = getattr(s, "result", None)
            if result is not None and result.number in self.buffers:
                body.append(Store(self.buffers[result.number], here, result))
        return body


def _repeatable(s: Any) -> bool:
    """Whether recomputing a statement is as cheap as loading its result."""
    if isinstance(s, Load):
        return s.guard is None and s.buffer.kind == "input"
    return isinstance(s, (Constant, IndexValue))
