"""One round of rolling: rolls the repeated stretches of a program, the longest first.

Before, with a stretch of 800 ops and one of 300::

    %1 = …
    …                                   # 800 ops: 100 times the same 8
    %801 = …
    …                                   # 300 ops: 60 times the same 5

After, with the ops between them copied::

    %1, %2 = scan …                     # or ops on arrays
    %3 = …
    %4 = sum …

Legal where stretches do not overlap, each reads only values computed before it (``_roll``), and
``as_rows`` or ``as_loop`` allows combining its steps.  A stretch that would not become shorter
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.move import concatenate, reshape

from .loop import as_loop
from .remarks import not_rolled
from .repetitions import Ops, repetitions
from .rows import as_rows
from .steps import Flow, Steps

#: The most stretches that are tried in vain.
MOST_FAILURES = 16


def _is_put_together(value: Value, flow: Flow) -> bool:
    """Whether a value is only joined with others into an array.

    Simplification replaces its readers by reads of the array of all steps.
    """
    ops = flow.program.ops
    for number, _ in flow.readers.get(value, ()):
        if number == len(ops) or ops[number].kind is not reshape:
            return False
        inner = flow.readers.get(ops[number].result, ())
        if not all(n < len(ops) and ops[n].kind is concatenate for n, _ in inner):
            return False
    return True


class Round:
    """A program being rewritten with non-overlapping stretches rolled."""

    def __init__(
        self, program: Program, least_loop: int, inner: Callable[[Program], Program]
    ) -> None:
        self.program = program
        self.least_loop = least_loop
        #: Rolls the body of a loop.
        self.inner = inner
        self.builder = Builder()
        #: The op that computes each new value (None: an input), and the values that replace old
        #: ones.
        self.maker: dict[Value, Op | None] = dict.fromkeys(program.inputs)
        self.replaced: dict[Value, Value] = {}
        #: The ops of the program before this position are copied or rolled.
        self.position = 0

    def run(self, ops: Ops, least: int) -> Program | None:
        """The program; None if there is no stretch of at least ``least`` ops to roll."""
        chosen = self._chosen(ops, least)
        with building(self.builder):
            rolled = [self._roll(steps) for steps in sorted(chosen, key=lambda s: s.start)]
        if not any(rolled):
            return None
        self._copy(len(self.program.ops))
        outputs = [self.replaced.get(v, v) for v in self.program.outputs]
        return self.program.with_body(self.builder.ops, outputs)

    def _chosen(self, ops: Ops, least: int) -> list[Steps]:
        """The longest stretches that can be rolled and do not overlap."""
        maker: dict[Value, Op | None] = {v: op for op in self.program.ops for v in op.results}
        free = np.ones(len(self.program.ops), bool)
        chosen: list[Steps] = []
        flow, failures = Flow(self.program), 0
        for stretch in repetitions(ops, least, free):
            steps, trial = Steps(flow, stretch), Builder()
            with building(trial):
                if not self._emitted(trial, steps, maker, stretch.size):
                    not_rolled(steps, self.least_loop)
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
        """Emit the rolled steps; return the values that replace their results.

        None if the steps cannot be rolled, or would not become fewer ops.
        """
        before = len(builder.ops)
        with builder.at(steps.template[0].source):
            replaced = as_rows(builder, steps, maker)
            if replaced is None and not steps.loose and size >= self.least_loop:
                del builder.ops[before:]
                replaced = as_loop(builder, steps, self.inner)
        if replaced is None:
            return None
        # Two ops read the result of a single step (``steps.row``).
        vanishing = 2 * sum(_is_put_together(v, steps.flow) for v in replaced)
        return replaced if len(builder.ops) - before - vanishing < size else None

    def _roll(self, steps: Steps) -> bool:
        """Copy the ops before the steps, and roll the steps if that is still possible."""
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
        """Copy the ops of the program before ``stop``."""
        before = len(self.builder.ops)
        for op in self.program.ops[self.position : stop]:
            operands = tuple([self.replaced.get(v, v) for v in op.operands])
            self.builder.append(Op(op.kind, operands, op.params, op.results, op.source))
        self.position = max(self.position, stop)
        self._note(before)

    def _note(self, before: int) -> None:
        for op in self.builder.ops[before:]:
            self.maker.update(dict.fromkeys(op.results, op))
