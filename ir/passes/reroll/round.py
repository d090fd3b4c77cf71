"""One round of rolling: the stretches of a program that repeat themselves, the longest first.

Before, with a stretch of 800 ops and one of 300::

    %1 = …
    …                                   # 800 ops that are 100 times the same 8
    %801 = …
    …                                   # 300 ops that are 60 times the same 5

After, with what is between them copied::

    %1, %2 = scan …                     # or ops on arrays
    %3 = …
    %4 = sum …

Legal where stretches do not overlap, each reads only what is computed before it (``_roll``), and
``as_rows`` or ``as_loop`` says that its steps may be put together.  One that would not become fewer
ops stays as it is.
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

#: How many stretches that cannot be rolled up are tried.
MOST_FAILURES = 16


def _is_put_together(value: Value, flow: Flow) -> bool:
    """Whether a value is only put into an array with others: what reads it from the array of all
    steps goes when that is simplified."""
    ops = flow.program.ops
    for number, _ in flow.readers.get(value, ()):
        if number == len(ops) or ops[number].kind is not reshape:
            return False
        inner = flow.readers.get(ops[number].result, ())
        if not all(n < len(ops) and ops[n].kind is concatenate for n, _ in inner):
            return False
    return True


class Round:
    """A program in which stretches that do not overlap are rolled up."""

    def __init__(
        self, program: Program, least_loop: int, inner: Callable[[Program], Program]
    ) -> None:
        self.program = program
        self.least_loop = least_loop
        #: Rolls up the body of a loop.
        self.inner = inner
        self.builder = Builder()
        #: What computes the values there are so far (None: an input), and what took whose place.
        self.maker: dict[Value, Op | None] = dict.fromkeys(program.inputs)
        self.replaced: dict[Value, Value] = {}
        #: Up to where ops of the program are copied or rolled up.
        self.position = 0

    def run(self, ops: Ops, least: int) -> Program | None:
        """The program; None if there is no stretch of at least this many ops to roll up."""
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
        """The values that take the place of the steps' results; None if they cannot be rolled
        up, or would not become fewer ops than they were."""
        before = len(builder.ops)
        with builder.at(steps.template[0].source):
            replaced = as_rows(builder, steps, maker)
            if replaced is None and not steps.loose and size >= self.least_loop:
                del builder.ops[before:]
                replaced = as_loop(builder, steps, self.inner)
        if replaced is None:
            return None
        # Two ops read what one step computed (``steps.row``).
        vanishing = 2 * sum(_is_put_together(v, steps.flow) for v in replaced)
        return replaced if len(builder.ops) - before - vanishing < size else None

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
