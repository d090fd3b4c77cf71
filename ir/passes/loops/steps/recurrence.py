"""Loops that carry a few numbers, their state, and whose next state is linear in the state."""

from __future__ import annotations

from autojit.ir.autodiff.partition import needed
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.arithmetic import add, mul, sub
from autojit.ir.ops.bodies import groups, present

from .combinations import Combination, Combinations
from .scalar_steps import ScalarSteps
from .terms import sums, total

#: The most numbers that a step may pass on: the work grows with their square.
MOST_CARRIED = 4


class Recurrence:
    """A loop that carries a few numbers, its state, and accumulates sums."""

    def __init__(self, steps: ScalarSteps) -> None:
        self.steps, self.params = steps, steps.params
        self.body: Program = self.params["body"]
        self.n, self.m = self.params["constants"], self.params["carries"]
        self.constants, (self.index,), self.carries, self.rows = groups(
            self.body.inputs, self.n, 1, self.m
        )
        self.sums = sums(self.body, self.carries)
        self.positions = [k for k in range(self.m) if k not in self.sums]
        self.state = [self.carries[k] for k in self.positions]
        #: The next state, and the ops that compute its offsets and factors.
        self.next: list[Combination] = []
        self.ops: list[Op] = []
        #: The number of dependent operations from one state to the next.
        self.waiting = 0
        self.is_linear = len(self.state) <= MOST_CARRIED and self._solve()

    def _solve(self) -> bool:
        """Find the next state as a linear function of the state; return False if it is not one."""
        if any(v.dtype.kind != "f" for v in self.state):
            return False
        outputs = [self.body.outputs[p] for p in self.positions]
        depth = dict.fromkeys(self.state, 0)
        products: set[Value] = set()  # may be fused with an addition
        builder = Builder()
        with building(builder):
            derived = "derivative" in self.params
            numbers = Combinations(self.state, derived=derived, builder=builder)
            numbers.moving = {self.index, *self.rows}
            for op in needed(self.body.ops, outputs):
                if not numbers.take(op):
                    return False
                if not numbers.depend(op.operands):
                    continue
                depth[op.result] = 1 + max(
                    depth.get(v, 0) - (op.kind in (add, sub) and v in products) for v in op.operands
                )
                if op.kind is mul:
                    products.add(op.result)
        self.next = [numbers.of(v) for v in outputs]
        self.ops = builder.ops
        self.waiting = max((depth.get(v, 0) for v in outputs), default=0)
        return True

    def factors(self) -> Program:
        """The offsets and factors of a step, without zeros."""
        outputs = present([v for a in self.next for v in (a.offset, *a.factors)])
        inputs = [*self.constants, self.index, *self.rows]
        return Program(inputs, needed(self.ops, outputs), outputs, name=f"{self.body.name}_factors")

    def terms(self) -> Program:
        """The terms that a step adds to each sum, followed by its stacked results."""
        builder = Builder()
        with building(builder):
            totals = [total(terms) for terms in self.sums.values()]
        outputs = [*totals, *self.body.outputs[self.m :]]
        inputs = [*self.constants, self.index, *self.rows, *self.state]
        ops = needed([*self.body.ops, *builder.ops], outputs)
        return Program(inputs, ops, outputs, name=f"{self.body.name}_terms")
