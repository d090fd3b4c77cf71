"""Rolling: a stretch of ops that repeats itself becomes ops on all steps at once, or a loop.

Before (the trace of ``for i in range(n): x = sin(x) * w[i]``)::

    %2: f64[] = sin %1
    %3: f64[1] = slice %0 {start=(0,), stop=(1,), stride=(1,)}
    …
    %8: f64[] = sin %7
    %9: f64[1] = slice %0 {start=(1,), stop=(2,), stride=(1,)}
    …

After: a ``scan`` of the steps, in which the slice is taken at the index of the step.  Steps that
do not wait for each other, as in ``total = total + sin(x[i])``, become arrays instead: see
``roll_rows``.

The steps have to be equal op for op.  An operand is one of the same step, one of a step shortly
before, or one and the same value for all of them; parameters that declarations call
``sliding`` may move by a constant amount.

Legal where ``repetitions`` finds the steps equal and ``roll_steps`` knows each operand.  A loop
gives the same bits; where steps become arrays, sums are rounded in another order (see
``roll_rows``).
"""

from __future__ import annotations

import numpy as np

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.move import Move
from autojit.ir.rewriting import dce, in_order
from autojit.ir.rewriting.rewrite import rewrite
from autojit.ir.simplification.simplify import simplify

from .loop import as_loop
from .numbers import with_arrays
from .repetitions import Ops, repetitions
from .rows import as_rows
from .steps import Steps
from .tables import DATA, DATA_AND_PARTS, with_tables

#: How many stretches that cannot be rolled up are tried.
MOST_FAILURES = 16
#: Ops of a stretch from which on it becomes arrays, once the program is found to repeat itself.
LEAST_ROWS = 24
#: Numbers among the arguments from which on the steps are looked for with all of them as elements
#: of arrays first.
MANY_NUMBERS = 64


def roll(program: Program, least: int, least_loop: int, *, is_body: bool = False) -> Program:
    """The program with repetitions of at least ``least`` ops as arrays, and of at least
    ``least_loop`` ops as loops where they cannot be arrays; the same object without any.

    What it captures more than the program are tables of numbers.  The numbers of a body are in
    registers: each step would have to put them into an array."""
    arrays = None if is_body else with_arrays(program)
    made = program
    if arrays is None or arrays.numbers < MANY_NUMBERS:
        made = _in_some_order(program, least, least_loop)
    if arrays is not None and len(made.ops) >= least:
        other = _in_some_order(arrays.program, least, least_loop)
        # What puts the numbers together is not computed where they are passed as an array.
        if len(other.ops) - arrays.numbers <= len(made.ops) // 2:
            return other
        if made is program and arrays.numbers >= MANY_NUMBERS:
            made = _in_some_order(program, least, least_loop)
    return made


def _in_some_order(program: Program, least: int, least_loop: int) -> Program:
    """The program rolled up as it was traced, or else in an order that the trace does not have."""
    ops = Ops(program.ops)
    made = _with_tables(program, ops, least, least_loop)
    if len(program.ops) >= least_loop and len(made.ops) >= least:
        ordered = in_order.run(program)
        if in_order.repeats_more(ordered, program, ops.alike):
            other = _with_tables(ordered, Ops(ordered.ops), least, least_loop)
            if len(other.ops) <= len(made.ops) // 2:
                return other
    return made


def _with_tables(program: Program, ops: Ops, least: int, least_loop: int) -> Program:
    """The program rolled up, with tables of what differs from step to step where that helps."""
    made = _rolled(program, ops, least, least_loop)
    for kinds in (DATA, DATA_AND_PARTS):
        if len(made.ops) < least_loop or _computing(made) < least:
            break
        tabled = with_tables(program, ops, least_loop, kinds)
        if tabled is not None:
            other = _rolled(tabled, Ops(tabled.ops), least, least_loop)
            if len(other.ops) <= len(made.ops) // 2:
                made = other
    return made


def _computing(program: Program) -> int:
    """How many ops do more than move elements."""
    return sum(not isinstance(op.kind, Move) for op in program.ops)


def _rolled(program: Program, ops: Ops, least: int, least_loop: int) -> Program:
    while len(program.ops) >= least:
        made = _Round(program, least_loop).run(ops, least)
        if made is None:
            break
        # What reads all steps (np.stack of a list) becomes a read of the stacked array.
        made = dce.run(rewrite(made, [simplify]))
        if len(made.ops) >= len(program.ops):
            break
        program, ops, least = made, Ops(made.ops), min(least, LEAST_ROWS)
    return program


class _Round:
    """A program in which stretches that do not overlap are rolled up."""

    def __init__(self, program: Program, least_loop: int) -> None:
        self.program = program
        self.least_loop = least_loop
        self.builder = Builder()
        #: What computes the values there are so far (None: an input), and what took whose place.
        self.maker: dict[Value, Op | None] = dict.fromkeys(program.inputs)
        self.replaced: dict[Value, Value] = {}
        #: Up to where ops of the program are copied or rolled up.
        self.position = 0

    def run(self, ops: Ops, least: int) -> Program | None:
        """The program; None where there is nothing of at least so many ops to roll up."""
        chosen = self._chosen(ops, least)
        with building(self.builder):
            rolled = [self._roll(steps) for steps in sorted(chosen, key=lambda s: s.start)]
        if not any(rolled):
            return None
        self._copy(len(self.program.ops))
        outputs = [self.replaced.get(v, v) for v in self.program.outputs]
        return self.program.with_body(self.builder.ops, outputs)

    def _chosen(self, ops: Ops, least: int) -> list[Steps]:
        """The longest stretches that can be rolled up and do not overlap."""
        maker: dict[Value, Op | None] = {v: op for op in self.program.ops for v in op.results}
        free = np.ones(len(self.program.ops), bool)
        chosen: list[Steps] = []
        failures = 0
        for stretch in repetitions(ops, least, free):
            steps, trial = Steps(self.program, stretch), Builder()
            with building(trial):
                if not self._emitted(trial, steps, maker, stretch.size):
                    failures += 1
                    if failures == MOST_FAILURES:
                        break
                    continue
            free[steps.start : steps.stop] = False
            chosen.append(steps)
        return chosen

    def _emitted(
        self, builder: Builder, steps: Steps, maker: dict[Value, Op | None], size: int
    ) -> dict[Value, Value] | None:
        """What takes the place of what steps compute; None where they cannot be rolled up, or
        would not become fewer ops than they were."""
        before = len(builder.ops)
        with builder.at(steps.template[0].source):
            replaced = as_rows(builder, steps, maker)
            if replaced is None and not steps.loose and size >= self.least_loop:
                del builder.ops[before:]
                replaced = as_loop(builder, steps, self._inner)
        return replaced if len(builder.ops) - before < size else None

    def _inner(self, body: Program) -> Program:
        """The body of a loop, in which there may be loops."""
        return _rolled(body, Ops(body.ops), LEAST_ROWS, self.least_loop)

    def _roll(self, steps: Steps) -> bool:
        """Copy the ops before the steps, and roll these up, if that is still possible."""
        self._copy(steps.start)
        steps.rename(self.replaced)
        before = len(self.builder.ops)
        replaced = None
        if all(v in self.maker for v in steps.operands()):
            size = steps.stop - steps.start
            replaced = self._emitted(self.builder, steps, self.maker, size)
        if replaced is None:
            del self.builder.ops[before:]
            return False
        self._note(before)
        self.replaced.update(replaced)
        self.position = steps.stop
        return True

    def _copy(self, stop: int) -> None:
        """Copy ops of the program up to one."""
        before = len(self.builder.ops)
        for op in self.program.ops[self.position : stop]:
            operands = tuple([self.replaced.get(v, v) for v in op.operands])
            self.builder.append(Op(op.kind, operands, op.params, op.results, op.source))
        self.position = max(self.position, stop)
        self._note(before)

    def _note(self, before: int) -> None:
        for op in self.builder.ops[before:]:
            self.maker.update(dict.fromkeys(op.results, op))
