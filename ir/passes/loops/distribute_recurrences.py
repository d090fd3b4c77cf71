"""Loops over a few numbers that each step changes linearly: all that does not wait for the step
before is computed for many steps at once.

Before, the cotangent of a state that a loop carried, and the gradient by what its steps read::

    for t in reversed(range(10_000)):
        a, b, g = …                       # forty operations on x[t] and p
        u, total = a * u + g, total + b * u

After::

    for block in reversed(forty blocks of 250 steps):
        a, b, g = …                       # arrays, for all steps of the block
        for t in reversed(range(250)):
            us[t], u = u, a[t] * u + g[t]
        total = total + sum(b * us)

A step of the first loop waits for the one before with everything that it computes; one of the
second with a multiplication for each number that is carried, and the rest are vectors.  (Loop
distribution: Kennedy and McKinley, "Loop Distribution with Arbitrary Control Flow",
Supercomputing 1990.)  Cotangents are linear, so the adjoint of every loop over numbers is such a
loop.  What is computed is rounded in another order.

Where that is more than rounding, loops stay as they are.  What two terms would cancel exactly is
what compensated summation (Kahan) computes.  Products of factors may leave the range of floats
where each of them times the state does not, and so may what is distributed over a sum: so a loop
that is no derivative multiplies its state with one number of each step, and nothing added to it.

Legal where the next state is linear in the state with factors that do not depend on it, no terms
cancel, and the other carries are sums that nothing else reads.  A loop that is no derivative
multiplies its state with one number of each step and adds nothing to it before.  The results are
rounded in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import depends, needed
from autojit.ir.core.declaration import MaybeValue, full
from autojit.ir.core.machine import L1, current
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Value,
    building,
    current_builder,
    readers_of,
)
from autojit.ir.ops.arithmetic import add, div, mul, neg, select, sub
from autojit.ir.ops.bodies import INDEX, groups, present
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import Constant, iota
from autojit.ir.ops.move import broadcast_to
from autojit.ir.ops.reduce import sum_
from autojit.ir.regions.scan import Scan, scan
from autojit.ir.regions.segments import in_segments
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

from .scalar_replacement import ScalarSteps, TooLarge
from .terms import joined, negative, sums, total

#: Steps in a block, at least; at most, a number of each takes this part of the first-level cache,
#: so that what they compute stays there.
LEAST_STEPS, OF_A_NUMBER = 64, 1 / 8
#: Vectors: loops over a multiple of so many have no remainder.
WHOLE = 2
#: Numbers that a step may hand on: it multiplies with their square.
MOST_CARRIED = 4
#: How many times as long the loop has to take, and how many cycles of a run must be saved for each
#: operation that is compiled more: it takes some 700,000 to compile.
GAIN = 1.25
WORTH = 100
#: What is left of two numbers that cancel.
CANCELLED = 0.01


@program_pass(
    "Computes what does not wait for the step before for many steps at once.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with such loops in blocks; the same object without any."""
    return rewrite(program, [_rule]) if program.has(Scan) else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not isinstance(op.kind, Scan) or op.params["length"] < LEAST_STEPS or _carries_many(op):
        return None
    try:
        loop = _Recurrence(ScalarSteps(op, rows=True))
    except TooLarge:
        return None
    return loop.emit() if loop.is_linear and loop.pays() else None


def _carries_many(op: Op) -> bool:
    """Whether a loop hands on too many numbers; what is read once may be a sum."""
    body, n = op.params["body"], op.params["constants"]
    readers = readers_of(body.ops, body.outputs)
    carries = body.inputs[n + 1 : n + 1 + op.params["carries"]]
    handed: int = sum(v.type.size for v in carries if readers[v] > 1)
    return handed > MOST_CARRIED


class _Combination(NamedTuple):
    """A number as ``offset + factors[0] * state[0] + …``; None is a zero.

    Factors are values that the program computes, and not the integers of an affine form.
    """

    offset: MaybeValue
    factors: tuple[MaybeValue, ...]


class _Recurrence:
    """A loop that hands on a few numbers, its state, and sums up others."""

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
        self.ones: set[MaybeValue] = set()
        #: Whether the loop is of tangents or cotangents.
        self.derived = "derivative" in self.params
        #: What changes from step to step, and what computes each value.
        self.moving: set[Value] = {self.index, *self.rows}
        self.maker: dict[Value, Op] = {}
        #: Products with one number of each step.
        self.scaled: set[Value] = set()
        #: The next state, and the ops that compute its offsets and factors.
        self.next: list[_Combination] = []
        self.ops: list[Op] = []
        #: How many operations wait for each other from one state to the next.
        self.waiting = 0
        self.is_linear = len(self.state) <= MOST_CARRIED and self._solve()

    def _solve(self) -> bool:
        """Find the next state as a linear function of the state, if it is one."""
        if any(v.dtype.kind != "f" for v in self.state):
            return False
        outputs = [self.body.outputs[p] for p in self.positions]
        known: dict[Value, _Combination] = {}
        depth = dict.fromkeys(self.state, 0)
        products: set[Value] = set()  # which an addition takes in
        builder = Builder()
        with building(builder):
            for j, v in enumerate(self.state):
                factors: list[MaybeValue] = [None] * len(self.state)
                one = factors[j] = full(1, v.type)
                self.ones.add(one)
                self.maker[one] = builder.ops[-1]
                known[v] = _Combination(None, tuple(factors))
            for op in needed(self.body.ops, outputs):
                if not self.moving.isdisjoint(op.operands):
                    self.moving.update(op.results)
                if known.keys().isdisjoint(op.operands):
                    builder.append(op)
                    self.maker.update((v, op) for v in op.results)
                    continue
                start = len(builder.ops)
                with builder.at(op.source):
                    made = self._follow(op, known)
                if made is None:
                    return False
                self.maker.update((v, o) for o in builder.ops[start:] for v in o.results)
                known[op.result] = made
                depth[op.result] = 1 + max(
                    depth.get(v, 0) - (op.kind in (add, sub) and v in products) for v in op.operands
                )
                if op.kind is mul:
                    products.add(op.result)
        self.next = [self._known(v, known) for v in outputs]
        self.ops = builder.ops
        self.waiting = max((depth.get(v, 0) for v in outputs), default=0)
        return True

    def _known(self, v: Value, known: dict[Value, _Combination]) -> _Combination:
        return known.get(v) or _Combination(v, (None,) * len(self.state))

    def _follow(self, op: Op, known: dict[Value, _Combination]) -> _Combination | None:
        """What an op makes of the state; None where that is not linear."""
        if op.kind is neg:
            (a,) = (known[v] for v in op.operands)
            self._note(op, op.operands)
            return _Combination(negative(a.offset), tuple(map(negative, a.factors)))
        if op.kind is add or op.kind is sub or op.kind is select:
            choice = op.operands[:-2]
            if any(v in known for v in choice):
                return None
            a, b = (self._known(v, known) for v in op.operands[-2:])
            if op.kind is select and not _are_zeros_alike(a, b):
                return None  # 0 times what is not chosen may be NaN
            if op.kind is not select and self._cancel(op, a, b):
                return None
            self._note(op, op.operands)
            pairs = zip((a.offset, *a.factors), (b.offset, *b.factors), strict=True)
            offset, *factors = [joined(op, choice, x, y) for x, y in pairs]
            return _Combination(offset, tuple(factors))
        if op.kind is mul or op.kind is div:
            return self._product(op, known)
        return None

    def _product(self, op: Op, known: dict[Value, _Combination]) -> _Combination | None:
        x, y = op.operands
        if x not in known and op.kind is mul:
            x, y = y, x
        if x not in known or y in known:
            return None
        if y in self.moving and not self.derived:
            if op.kind is div or x in self.scaled or known[x].offset is not None:
                return None
            self.scaled.add(op.result)
        self._note(op, [x])
        parts = (known[x].offset, *known[x].factors)
        offset, *factors = [self._scaled(op, v, y) for v in parts]
        return _Combination(offset, tuple(factors))

    def _note(self, op: Op, operands: Sequence[Value]) -> None:
        if not self.scaled.isdisjoint(operands):
            self.scaled.add(op.result)

    def _cancel(self, op: Op, a: _Combination, b: _Combination) -> bool:
        """Whether numbers of a sum or difference cancel, which then is more than rounding."""
        for x, y in zip(a.factors, b.factors, strict=True):
            if x is None or y is None:
                continue
            if x is y and op.kind is sub:
                return True
            p, q = self._number(x), self._number(y)
            if p is not None and q is not None:
                total = p + q if op.kind is add else p - q
                if abs(total) < CANCELLED * max(abs(p), abs(q)):
                    return True
        return False

    def _number(self, v: Value) -> float | None:
        """A factor that is known."""
        op = self.maker.get(v)
        if op is None:
            return None
        if isinstance(op.kind, Constant):
            return float(op.params["value"])
        if op.kind is neg or op.kind is mul or op.kind is div:
            numbers = [self._number(operand) for operand in op.operands]
            if None not in numbers and 0.0 not in numbers[1:]:
                return float(op.kind.evaluate(*numbers))
        return None

    def _scaled(self, op: Op, v: MaybeValue, y: Value) -> MaybeValue:
        if v is None or op.kind is div:
            return None if v is None else v / y
        return y if v in self.ones else v * y

    # -- what it costs ---------------------------------------------------------------

    def pays(self) -> bool:
        """Whether the loop is faster in blocks, by enough for the code that is compiled more."""
        if not self.state:
            return True
        before, after = self._work(self._before()), self._work(self._after())
        if not before + after:
            return False
        work = self._work(self.body)
        handed = len(present([v for a in self.next for v in (a.offset, *a.factors)]))
        machine = current()
        latency, rate = machine.costs.latency, machine.costs.scalar_rate
        chain = max(latency * len(self.state), (handed + len(self.state)) / rate)
        cycles = max(latency * self.waiting, work / rate)
        in_blocks = chain + (before + after) / machine.rate
        saved = (cycles - in_blocks) * self.params["length"]
        return cycles > GAIN * in_blocks and saved > WORTH * (before + after - work)

    def _work(self, program: Program) -> int:
        """How many operations a step takes, but for what is the same in each."""
        moving = set(program.inputs).difference(self.constants)
        work = 0
        for op in program.ops:
            if not moving.isdisjoint(op.operands):
                moving.update(op.results)
                work += op.kind.cost if isinstance(op.kind, Elementwise) else 1
        return work

    def _before(self) -> Program:
        """The offsets and factors of a step, without the zeros."""
        outputs = present([v for a in self.next for v in (a.offset, *a.factors)])
        inputs = [*self.constants, self.index, *self.rows]
        return Program(inputs, needed(self.ops, outputs), outputs, name=f"{self.body.name}_factors")

    def _after(self) -> Program:
        """What a step adds to each sum, then what it returns for stacking."""
        builder = Builder()
        with building(builder):
            totals = [total(terms) for terms in self.sums.values()]
        outputs = [*totals, *self.body.outputs[self.m :]]
        inputs = [*self.constants, self.index, *self.rows, *self.state]
        ops = needed([*self.body.ops, *builder.ops], outputs)
        return Program(inputs, ops, outputs, name=f"{self.body.name}_terms")

    # -- the loop in blocks ----------------------------------------------------------

    def emit(self) -> list[Value]:
        """The results of the loop."""
        return self.steps.results(self._loop(self.steps.operands(self.steps.op.operands)))

    def _loop(self, operands: Sequence[Value]) -> list[Value]:
        length = self.params["length"]
        size = _block_size(length) if self.state else length
        if size < length:
            results, _ = in_segments(operands, self.params, size, self._block)
            return results
        values = [*operands[: self.n], full(0, INDEX), *operands[self.n :]]
        return current_builder().inline(self._block(length), values)

    def _block(self, size: int) -> Program:
        """So many steps."""
        builder = Builder()
        constants, (first,), carries = (
            [Value(v.type) for v in group] for group in (self.constants, [self.index], self.carries)
        )
        rows = [Value(v.type.with_shape((size,))) for v in self.rows]
        with building(builder), builder.at(self.steps.op.source):
            index = iota(dtype=INDEX.dtype, shape=(size,), axis=0) + broadcast_to(first, (size,))
            given = [*constants, index, *rows]
            state = [carries[k] for k in self.positions]
            last, states = self._chain(size, given, state) if state else ([], [])
            after = batch(self._after(), size, [*self._vary(), *[True] * len(states)])
            made = builder.inline(after, [*given, *states])
            following = dict(zip(self.positions, last, strict=True))
            for k, terms in zip(self.sums, made, strict=False):
                following[k] = carries[k] + sum_(terms, axes=(0,))
        outputs = [*(following[k] for k in range(self.m)), *made[len(self.sums) :]]
        return builder.finish([*constants, first, *carries, *rows], outputs, name=self.body.name)

    def _vary(self) -> list[bool]:
        return [*[False] * self.n, True, *[True] * len(self.rows)]

    def _chain(
        self, size: int, given: list[Value], state: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The state after so many steps, and the states before each."""
        before = self._before()
        varying = depends(before, self._vary())
        whole = batch(before, size, self._vary(), varying)
        made = current_builder().inline(whole, given)
        fixed = [v for v, moves in zip(made, varying, strict=True) if not moves]
        streams = [v for v, moves in zip(made, varying, strict=True) if moves]
        builder = Builder()
        with building(builder), builder.at(self.steps.op.source):
            inputs = [Value(v.type) for v in before.outputs]
            own = [Value(v.type) for v in state]
            of = dict(zip(before.outputs, inputs, strict=True))
            outputs = []
            for p, affine in zip(own, self.next, strict=True):
                products = [
                    of[f] * u for f, u in zip(affine.factors, own, strict=True) if f is not None
                ]
                terms = [] if affine.offset is None else [of[affine.offset]]
                outputs.append(total(terms + products) if terms + products else full(0, p.type))
        c = [v for v, moves in zip(inputs, varying, strict=True) if not moves]
        x = [v for v, moves in zip(inputs, varying, strict=True) if moves]
        body = builder.finish([*c, Value(INDEX), *own, *x], [*outputs, *own], name=self.body.name)
        params = {**self.params, "body": body, "constants": len(fixed), "carries": len(own),
                  "length": size}  # fmt: skip
        results = current_builder().emit(scan, [*fixed, *state, *streams], params)
        return list(results[: len(own)]), list(results[len(own) :])


def _are_zeros_alike(a: _Combination, b: _Combination) -> bool:
    pairs = zip(a.factors, b.factors, strict=True)
    return all((x is None) == (y is None) for x, y in pairs)


def _block_size(length: int) -> int:
    """How many steps go into a block: best all alike, and whole vectors."""
    machine = current()
    most, whole = max(1, machine.cache(L1, OF_A_NUMBER) // 8), WHOLE * machine.lanes()
    sizes = [s for s in range(LEAST_STEPS, most + 1) if length % s == 0]
    return max(sizes, key=lambda s: (min(s & -s, whole), s), default=min(length, most))
