"""Programs and the two parts that they are split into, for the tests beside this module."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from autojit.ir.autodiff.linearize import Linearized, forward, linearize
from autojit.ir.autodiff.partition import depends, separate
from autojit.ir.autodiff.residuals import choose_residuals, repeatable
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import chosen, others
from autojit.ir.simplification.simplified import simplified


@dataclass(frozen=True)
class Split:
    """A program, its linear inputs and outputs, its two parts, and the inputs of the first part
    that the second part gets for free."""

    whole: Program
    linear: Sequence[bool]
    moved: Sequence[bool]
    parts: Linearized
    free: Sequence[bool]

    def composed(self) -> Program:
        """The program that runs one part after the other."""
        primal, linear = self.parts.primal, self.parts.linear
        fixed = len(primal.outputs) - self.parts.residuals
        builder = Builder()
        inputs = [Value(t) for t in self.whole.in_types]
        with building(builder):
            made = builder.inline(primal, others(inputs, self.linear))
            pushed = builder.inline(linear, [*made[fixed:], *chosen(inputs, self.linear)])
        assert (fixed, len(pushed)) == (self.moved.count(False), self.moved.count(True))
        sources = {False: iter(made), True: iter(pushed)}
        return builder.finish(inputs, [next(sources[moves]) for moves in self.moved])

    def residuals(self) -> tuple[Value, ...]:
        primal = self.parts.primal
        return primal.outputs[len(primal.outputs) - self.parts.residuals :]

    def bytes(self) -> int:
        """The bytes of the residuals that are not free."""
        free = chosen(self.parts.primal.inputs, self.free)
        return sum(v.type.nbytes for v in self.residuals() if v not in free)

    def with_choice(self, may_repeat: Callable[[Op], bool] = repeatable) -> Split:
        return replace(self, parts=choose_residuals(self.parts, self.free, may_repeat))

    def fewest_bytes(self, may_repeat: Callable[[Op], bool] = repeatable) -> int:
        """The fewest bytes of any set of values from which the residuals can be computed; tries all
        sets."""
        primal = simplified(self.parts.primal)
        needed = set(primal.outputs[len(primal.outputs) - self.parts.residuals :])
        free = set(chosen(primal.inputs, self.free))
        values = [*primal.inputs, *(v for op in primal.ops for v in op.results)]
        candidates = [v for v in values if v not in free]
        repeated = [op for op in primal.ops if may_repeat(op)]
        return min(
            sum(v.type.nbytes for v in stored)
            for count in range(len(candidates) + 1)
            for stored in itertools.combinations(candidates, count)
            if needed <= _computed(repeated, free.union(stored))
        )


def _computed(ops: Iterable[Op], known: set[Value]) -> set[Value]:
    """The values that the ops compute from known values, together with the known ones."""
    found = set(known)
    for op in ops:
        if found.issuperset(op.operands):
            found.update(op.results)
    return found


def separated(program: Program, linear: Sequence[bool], free: Sequence[bool]) -> Split:
    """Separate the ops that depend on the marked inputs from the others."""
    nonlinear, moving, _ = separate(program, linear)
    moved = depends(program, linear)
    parts = Linearized(nonlinear, moving, _places(linear), _places(moved))
    return Split(program, linear, moved, parts, others(free, linear))


def linearized(program: Program, by: Sequence[bool], free: Sequence[bool]) -> Split:
    """Values and derivatives with respect to the marked inputs; the original computes them
    together."""
    whole, active = forward(program, _places(by))
    linear = [False] * len(by) + [True] * by.count(True)
    moved = [False] * len(program.outputs) + [True] * len(active)
    return Split(whole, linear, moved, linearize(program, _places(by)), free)


def _places(marks: Sequence[bool]) -> tuple[int, ...]:
    return tuple(i for i, marked in enumerate(marks) if marked)
