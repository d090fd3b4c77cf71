"""Splits loops over a few numbers with a linear recurrence into vector loops and a short chain.

Everything that does not depend on the previous step is computed for many steps at once.

Before, the cotangent of a carried state, and the gradient with respect to a value that steps read::

    for t in reversed(range(10_000)):
        a, b, g = …                       # forty operations on x[t] and p
        u, total = a * u + g, total + b * u

After::

    for block in reversed(forty blocks of 250 steps):
        a, b, g = …                       # arrays, for all steps of the block
        for t in reversed(range(250)):
            us[t], u = u, a[t] * u + g[t]
        total = total + sum(b * us)

A step of the first loop waits for everything that the previous step computes. A step of the second
waits for one multiplication per carried number, and the rest is computed in vectors.  (Loop
distribution: Kennedy and McKinley, "Loop Distribution with Arbitrary Control Flow", Supercomputing
1990.)  Cotangents are linear, so the adjoint of every loop over numbers is such a loop.  The
results are rounded in another order.

If the results could differ by more than rounding, loops stay as they are.  Compensated summation
(Kahan), for example, computes what exact cancellation of two terms would remove.  Products of
factors may leave the range of floats although each factor times the state does not; so may terms
that are distributed over a sum. A loop that is not a derivative is therefore transformed only if it
multiplies its state by one number in each step, and adds nothing to it before.

Legal where the next state is linear in the state with factors that do not depend on it, no terms
cancel, and the other carries are sums that nothing else reads.  A loop that is not a derivative
must multiply its state by one number in each step and add nothing to it before.  The results are
rounded in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.declaration import full
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Value,
    building,
    current_builder,
    readers_of,
)
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import broadcast_to
from autojit.ir.ops.reduce import sum_
from autojit.ir.passes.loops.steps.recurrence import MOST_CARRIED, Recurrence
from autojit.ir.passes.loops.steps.recurrence_cost import LEAST_STEPS, block_size, pays
from autojit.ir.passes.loops.steps.scalar_steps import ScalarSteps, TooLarge
from autojit.ir.passes.loops.steps.terms import total
from autojit.ir.regions.scan import Scan, scan
from autojit.ir.regions.segments import in_segments
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Computes the parts of a step that do not need the previous step for many steps at once.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these loops in blocks; the same object if there are none."""
    return rewrite(program, [_rule]) if program.has(Scan) else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not isinstance(op.kind, Scan) or op.params["length"] < LEAST_STEPS or _carries_many(op):
        return None
    try:
        loop = Recurrence(ScalarSteps(op, rows=True))
    except TooLarge:
        return None
    return _Blocks(loop).emit() if loop.is_linear and pays(loop) else None


def _carries_many(op: Op) -> bool:
    """Whether a loop passes on too many numbers; a carry that is read once may be a sum."""
    body, n = op.params["body"], op.params["constants"]
    readers = readers_of(body.ops, body.outputs)
    carries = body.inputs[n + 1 : n + 1 + op.params["carries"]]
    handed: int = sum(v.type.size for v in carries if readers[v] > 1)
    return handed > MOST_CARRIED


class _Blocks:
    """A recurrence in blocks of steps."""

    def __init__(self, loop: Recurrence) -> None:
        self.loop = loop

    def emit(self) -> list[Value]:
        """The results of the loop."""
        return self.loop.steps.results(
            self._loop(self.loop.steps.operands(self.loop.steps.op.operands))
        )

    def _loop(self, operands: Sequence[Value]) -> list[Value]:
        length = self.loop.params["length"]
        size = block_size(length) if self.loop.state else length
        if size < length:
            results, _ = in_segments(operands, self.loop.params, size, self._block)
            return results
        values = [*operands[: self.loop.n], full(0, INDEX), *operands[self.loop.n :]]
        return current_builder().inline(self._block(length), values)

    def _block(self, size: int) -> Program:
        """A block of steps."""
        builder = Builder()
        constants, (first,), carries = (
            [Value(v.type) for v in group]
            for group in (self.loop.constants, [self.loop.index], self.loop.carries)
        )
        rows = [Value(v.type.with_shape((size,))) for v in self.loop.rows]
        with building(builder), builder.at(self.loop.steps.op.source):
            index = iota(dtype=INDEX.dtype, shape=(size,), axis=0) + broadcast_to(first, (size,))
            given = [*constants, index, *rows]
            state = [carries[k] for k in self.loop.positions]
            last, states = self._chain(size, given, state) if state else ([], [])
            after = batch(self.loop.terms(), size, [*self._vary(), *[True] * len(states)])
            made = builder.inline(after, [*given, *states])
            following = dict(zip(self.loop.positions, last, strict=True))
            for k, terms in zip(self.loop.sums, made, strict=False):
                following[k] = carries[k] + sum_(terms, axes=(0,))
        outputs = [*(following[k] for k in range(self.loop.m)), *made[len(self.loop.sums) :]]
        return builder.finish(
            [*constants, first, *carries, *rows], outputs, name=self.loop.body.name
        )

    def _vary(self) -> list[bool]:
        return [*[False] * self.loop.n, True, *[True] * len(self.loop.rows)]

    def _chain(
        self, size: int, given: list[Value], state: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The state after all steps, and the states before each step."""
        before = self.loop.factors()
        varying = depends(before, self._vary())
        whole = batch(before, size, self._vary(), varying)
        made = current_builder().inline(whole, given)
        fixed = [v for v, moves in zip(made, varying, strict=True) if not moves]
        streams = [v for v, moves in zip(made, varying, strict=True) if moves]
        builder = Builder()
        with building(builder), builder.at(self.loop.steps.op.source):
            inputs = [Value(v.type) for v in before.outputs]
            own = [Value(v.type) for v in state]
            of = dict(zip(before.outputs, inputs, strict=True))
            outputs = []
            for p, affine in zip(own, self.loop.next, strict=True):
                products = [
                    of[f] * u for f, u in zip(affine.factors, own, strict=True) if f is not None
                ]
                terms = [] if affine.offset is None else [of[affine.offset]]
                outputs.append(total(terms + products) if terms + products else full(0, p.type))
        c = [v for v, moves in zip(inputs, varying, strict=True) if not moves]
        x = [v for v, moves in zip(inputs, varying, strict=True) if moves]
        body = builder.finish(
            [*c, Value(INDEX), *own, *x], [*outputs, *own], name=self.loop.body.name
        )
        params = {**self.loop.params, "body": body, "constants": len(fixed), "carries": len(own),
                  "length": size}  # fmt: skip
        results = current_builder().emit(scan, [*fixed, *state, *streams], params)
        return list(results[: len(own)]), list(results[len(own) :])
