"""Numbers of a step as linear functions of the state that a loop carries.

For a number ``offset + factors[0] * state[0] + …``, the offset and the factors are values that the
step computes without the state.

Legal where the factors do not depend on the state and no terms cancel.  Compensated summation
(Kahan) computes exactly the rest that two cancelling terms would leave.  Products of factors may
leave the range of floats although each factor times the state does not; so may terms that are
distributed over a sum. A loop that is not a derivative must therefore multiply its state by one
number in each step, and add nothing to it before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from autojit.ir.core.declaration import MaybeValue, full
from autojit.ir.core.program import Builder, Op, Value
from autojit.ir.ops.arithmetic import add, div, mul, neg, select, sub
from autojit.ir.ops.linear import Constant

from .terms import joined, negative

#: Two numbers cancel if at most this part of them is left.
CANCELLED = 0.01


class Combination(NamedTuple):
    """A number as ``offset + factors[0] * state[0] + …``; None stands for zero.

    The factors are values that the program computes, unlike the integers of an affine form.
    """

    offset: MaybeValue
    factors: tuple[MaybeValue, ...]


class Combinations:
    """The numbers of a step that depend on its state, as linear functions of it."""

    def __init__(self, state: Sequence[Value], *, derived: bool, builder: Builder) -> None:
        self.state = state
        #: Whether the loop computes tangents or cotangents.
        self.derived = derived
        self.builder = builder
        self.known: dict[Value, Combination] = {}
        #: The values that change from step to step, and the op that computes each value.
        self.moving: set[Value] = set()
        self.maker: dict[Value, Op] = {}
        self.ones: set[MaybeValue] = set()
        #: Products of the state with one number in each step.
        self.scaled: set[Value] = set()
        for j, v in enumerate(state):
            factors: list[MaybeValue] = [None] * len(state)
            one = factors[j] = full(1, v.type)
            self.ones.add(one)
            self.maker[one] = builder.ops[-1]
            self.known[v] = Combination(None, tuple(factors))

    def of(self, v: Value) -> Combination:
        """A number as a linear function of the state."""
        return self.known.get(v) or Combination(v, (None,) * len(self.state))

    def depend(self, values: Iterable[Value]) -> bool:
        """Whether values depend on the state."""
        return not self.known.keys().isdisjoint(values)

    def take(self, op: Op) -> bool:
        """Process an op of the step; return False if its result is not linear in the state."""
        if not self.moving.isdisjoint(op.operands):
            self.moving.update(op.results)
        if not self.depend(op.operands):
            self.builder.append(op)
            self.maker.update((v, op) for v in op.results)
            return True
        start = len(self.builder.ops)
        with self.builder.at(op.source):
            made = self._follow(op)
        if made is None:
            return False
        self.maker.update((v, o) for o in self.builder.ops[start:] for v in o.results)
        self.known[op.result] = made
        return True

    def _follow(self, op: Op) -> Combination | None:
        """The result of an op as a combination of the state; None if it is not linear."""
        if op.kind is neg:
            (a,) = (self.known[v] for v in op.operands)
            self._note(op, op.operands)
            return Combination(negative(a.offset), tuple(map(negative, a.factors)))
        if op.kind is add or op.kind is sub or op.kind is select:
            choice = op.operands[:-2]
            if any(v in self.known for v in choice):
                return None
            a, b = (self.of(v) for v in op.operands[-2:])
            if op.kind is select and not _are_zeros_alike(a, b):
                return None  # 0 times the value not chosen may be NaN
            if op.kind is not select and self._cancel(op, a, b):
                return None
            self._note(op, op.operands)
            pairs = zip((a.offset, *a.factors), (b.offset, *b.factors), strict=True)
            offset, *factors = [joined(op, choice, x, y) for x, y in pairs]
            return Combination(offset, tuple(factors))
        if op.kind is mul or op.kind is div:
            return self._product(op)
        return None

    def _product(self, op: Op) -> Combination | None:
        x, y = op.operands
        if x not in self.known and op.kind is mul:
            x, y = y, x
        if x not in self.known or y in self.known:
            return None
        if y in self.moving and not self.derived:
            if op.kind is div or x in self.scaled or self.known[x].offset is not None:
                return None
            self.scaled.add(op.result)
        self._note(op, [x])
        parts = (self.known[x].offset, *self.known[x].factors)
        offset, *factors = [self._scaled(op, v, y) for v in parts]
        return Combination(offset, tuple(factors))

    def _note(self, op: Op, operands: Sequence[Value]) -> None:
        if not self.scaled.isdisjoint(operands):
            self.scaled.add(op.result)

    def _cancel(self, op: Op, a: Combination, b: Combination) -> bool:
        """Whether terms of a sum or difference cancel, which changes more than the rounding."""
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
        """The number that a factor is, if it is known."""
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


def _are_zeros_alike(a: Combination, b: Combination) -> bool:
    pairs = zip(a.factors, b.factors, strict=True)
    return all((x is None) == (y is None) for x, y in pairs)
