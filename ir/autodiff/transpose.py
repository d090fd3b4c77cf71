"""Transposition of a linear program: the reverse sweep of reverse mode.

Where a ``select`` does not take a branch, the branch's cotangent is exactly 0, and
has to stay 0 even if it is multiplied by an infinite derivative further on.  So the walk remembers
for each cotangent where it may differ from 0 (its mask), as long as that is a condition followed by
elementwise ops.

Legal where the program is linear in the inputs after the residuals. An op without a transpose by
values that depend on them, or that uses such values as a factor or an integer, is refused
(DerivativeError). Cotangents of a value with several readers are added up, last reader first.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from autojit.ir.core.declaration import Literal, MaybeValue, full
from autojit.ir.core.errors import DerivativeError, with_place
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Source,
    Value,
    building,
    current_builder,
)
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import bitwise_and, bitwise_not, bitwise_or, eq, ne, select
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.pass_manager.records import phase

from .partition import needed, parted
from .poles import Poles
from .recorded_rules import LEAST, Places, RecordedRules


@phase("transpose")
def transpose(program: Program, residuals: int) -> Program:
    """``(residuals, cotangents of the outputs) -> cotangents of the linear inputs``.

    The first ``residuals`` inputs are constants of the linear map; the program is
    linear in the others.
    """
    builder = Builder()
    constants = [Value(v.type) for v in program.inputs[:residuals]]
    seeds = [Value(v.type) for v in program.outputs]
    with building(builder):
        outputs = pulled_back(program, constants, seeds)
    return builder.finish([*constants, *seeds], outputs, name=f"{program.name}_transpose")


def pulled_back(
    program: Program, constants: Sequence[Value], seeds: Sequence[Value]
) -> list[Value]:
    """Emit the cotangents of the linear inputs into the current builder, from the cotangents of the
    outputs; ``constants`` are the values of the first inputs."""
    builder = current_builder()
    linear_inputs = program.inputs[len(constants) :]
    env = dict(zip(program.inputs, constants, strict=False))
    fixed, moving, linear = parted(program.ops, linear_inputs)
    places = Places()
    made_at = {v: op.source for op in moving for v in op.results}
    cotangents = _Cotangents(RecordedRules() if len(moving) >= LEAST else None, places)
    # Ops that do not depend on the linear inputs are copied.
    for op in needed(fixed, [v for half in moving for v in half.operands]):
        results = builder.repeat(op, [env[v] for v in op.operands])
        env.update(zip(op.results, results, strict=True))
    for value, seed in zip(program.outputs, seeds, strict=True):
        if value in linear:
            cotangents.add(value, seed, _EVERYWHERE)
    whole = {v for v in linear if not v.type.is_inexact}
    for op in reversed(moving):
        if not cotangents.reach(op):
            continue
        if whole and not whole.isdisjoint(op.operands):
            raise _not_linear(op)  # it reads a whole number that was made of tangents
        is_linear = [v in linear for v in op.operands]
        with builder.at(places.reversed(op)):
            start = len(builder.ops)
            cotangents.pull(op, _constants_renamed(op, env), is_linear)
            made = builder.ops[start:]
            for new in made:
                if not linear.isdisjoint(new.operands):
                    raise _not_linear(op)
            cotangents.place(made, op, made_at)
    return [cotangents.of.get(v) or full(0, v.type) for v in linear_inputs]


#: Conditions that all hold wherever a cotangent differs from 0.
Mask = tuple[Literal, ...]


class _Cotangents:
    """Cotangents by value, and where they may differ from 0."""

    def __init__(self, rules: RecordedRules | None, places: Places) -> None:
        self._builder = current_builder()
        self._rules = rules
        self._places = places
        self.of: dict[Value, Value] = {}
        self.mask: dict[Value, Mask] = {}
        #: Values with possibly unread elements, whose cotangents are 0.
        self.partial: set[Value] = set()
        self._poles = Poles(self._builder)
        self._constants = _Constants()

    def reach(self, op: Op) -> bool:
        return not self.of.keys().isdisjoint(op.results)

    def add(self, value: Value, cotangent: Value, mask: Mask) -> None:
        known = self.of.get(value)
        if known is None:
            self.of[value], self.mask[value] = cotangent, mask
        else:
            self.of[value] = known + cotangent
            self.mask[value] = _both(self.mask[value], mask)

    def pull(self, op: Op, renamed: Op, is_linear: list[bool]) -> None:
        """Carry the cotangents of an op's results back to its operands."""
        incoming = [self.of.get(v) for v in op.results]
        outgoing = self._transposed(renamed, incoming, is_linear)
        if list(outgoing).count(None) == len(outgoing):
            raise _not_linear(op)
        elementwise = isinstance(op.kind, Elementwise)
        known = self.mask.get(op.results[0], _EVERYWHERE)
        mask = known if elementwise else _EVERYWHERE
        partial = not self.partial.isdisjoint(op.results) or known != mask
        for k, (value, cotangent) in enumerate(zip(op.operands, outgoing, strict=True)):
            if cotangent is None:
                continue
            own = op.kind.mask(renamed, k)
            if mask and own is None and not all(is_linear):
                # A factor, which may be infinite outside of the mask.
                zero = self._constants.zero(cotangent.type)
                cotangent = select(self._constants.holds(mask), cotangent, zero)
            elif partial and elementwise and self._poles.of(renamed, is_linear):
                arrived = incoming[0]
                assert arrived is not None
                # A 0 in this one cotangent is not enough: it may differ from 0 nearby, which
                # matters for the second derivative.
                is_number = eq(cotangent, cotangent)
                kept = bitwise_or(is_number, ne(arrived, self._constants.zero(arrived.type)))
                cotangent = select(kept, cotangent, self._constants.zero(cotangent.type))
            self._note(value, partial or op.kind.leaves_out(op, k))
            self.add(value, cotangent, mask if own is None or own in mask else (*mask, own))

    def _note(self, value: Value, partial: bool) -> None:
        """Note that an op reads a value, maybe not all its elements."""
        if not partial:
            self.partial.discard(value)
        elif value not in self.of:
            self.partial.add(value)

    def _transposed(
        self, op: Op, cotangents: Sequence[MaybeValue], is_linear: list[bool]
    ) -> Sequence[MaybeValue]:
        """As ``op.kind.transpose``."""
        if self._rules is None:
            return op.kind.transpose(op, cotangents, is_linear)
        builder = self._builder
        fixed = [None if linear else v for v, linear in zip(op.operands, is_linear, strict=True)]
        return self._rules.run(
            op, (*fixed, *cotangents), builder.source, (builder.ops,),
            op.kind.transpose, op, cotangents, is_linear,
        )  # fmt: skip

    def place(self, ops: Sequence[Op], op: Op, made_at: Mapping[Value, Source | None]) -> None:
        """Set the source positions of ops that compute cotangents of an op's operands."""
        if not ops:
            return
        given = {self.of[v]: made_at.get(v) for v in op.operands if v in self.of}
        for new in ops:
            for result in new.results:
                source = given.get(result)
                if source is not None and new.source is not None:
                    new.source = self._places.cotangent(new.source, source)


_EVERYWHERE: Mask = ()


def _both(a: Mask, b: Mask) -> Mask:
    """The conditions that are in both masks, in the order of the first."""
    if a == b or not a:
        return a
    kept = set(b)
    return tuple([m for m in a if m in kept])


class _Constants:
    """Values that do not depend on cotangents, each emitted once: zeros, and masks as bools.

    Masks grow by one condition at each op, so a mask is usually another mask and one more
    condition.
    """

    def __init__(self) -> None:
        self._zeros: dict[Type, Value] = {}
        self._literals: dict[Literal, Value] = {}
        self._held: dict[Mask, Value] = {}

    def zero(self, type: Type) -> Value:
        found = self._zeros.get(type)
        if found is None:
            found = self._zeros[type] = full(0, type)
        return found

    def holds(self, mask: Mask) -> Value:
        """Whether all conditions of a mask hold."""
        found = self._held.get(mask)
        if found is None:
            before = self._held.get(mask[:-1])
            parts = mask if before is None else mask[-1:]
            literals = [self._literal(m) for m in parts]
            first = [] if before is None else [before]
            found = self._held[mask] = functools.reduce(bitwise_and, [*first, *literals])
        return found

    def _literal(self, literal: Literal) -> Value:
        condition, wanted = literal
        if wanted:
            return condition
        found = self._literals.get(literal)
        if found is None:
            found = self._literals[literal] = bitwise_not(condition)
        return found


def _not_linear(op: Op) -> DerivativeError:
    """The error for an op between tangents without a transpose, which only a custom rule can
    cause."""
    return DerivativeError(
        with_place(
            f"{op.kind.name} is applied to a tangent and is not linear. The tangents that a "
            "custom rule returns must be linear in those that it receives.",
            op.source,
        )
    )


def _constants_renamed(op: Op, env: dict[Value, Value]) -> Op:
    operands = tuple([env.get(v, v) for v in op.operands])
    return Op(op.kind, operands, op.params, op.results, op.source)
