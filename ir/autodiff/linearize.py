"""Linearization: a program becomes a primal program and a linear one.

Reverse mode is linearize, then transpose; forward mode is the two inlined one
after the other (Radul, Paszke, Frostig, Johnson, Maclaurin: "You Only Linearize
Once", POPL 2023).

Legal where the inputs to differentiate by are inexact, which is checked. The primal program
computes the values by the same ops, so they are bit-identical; the linear one is the derivative
that the ops declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.core.declaration import Declaration, MaybeValue, full, require
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Source,
    Value,
    building,
    current_builder,
)
from autojit.ir.pass_manager.records import phase

from .final.integers import Integers, StepBuilder
from .kept_errors import with_errors
from .partition import free_values, halves, needed
from .preparing import PREPARE
from .recorded_rules import LEAST, Places, RecordedRules
from .transpose import transpose


class _Split(StepBuilder):
    """A builder that sorts ops into primal ones and ones linear in the tangents."""

    def __init__(self) -> None:
        super().__init__()
        self.linear_ops: list[Op] = []
        self.linear: set[Value] = set()
        #: Whether an op was partly primal; some of its results may not be needed.
        self.halved = False

    def append(self, op: Op) -> None:
        if self.linear.isdisjoint(op.operands):
            self.ops.append(op)
            return
        fixed, moving = halves(op, self.linear)
        self.halved = self.halved or bool(fixed)
        self.ops += fixed
        self.linear_ops += moving
        self.linear.update(v for half in moving for v in half.results)


class Linearized(NamedTuple):
    """``primal`` returns the outputs, then the residuals; ``linear`` takes the residuals,
    then the tangents of the inputs in ``wrt``, and returns the tangents of the outputs
    in ``active`` (the others are zero)."""

    primal: Program
    linear: Program
    wrt: tuple[int, ...]
    active: tuple[int, ...]

    @property
    def residuals(self) -> int:
        """The number of residuals that the primal program returns."""
        return len(self.linear.inputs) - len(self.wrt)


@phase("linearize")
def linearize(program: Program, wrt: Sequence[int], around: Integers | None = None) -> Linearized:
    """Split the derivative of a program with respect to some inputs from its value.

    Common subexpressions are differentiated once: the cotangents of equal values are summed before
    they propagate, which later passes could not recover from two sums of products. ``around`` has
    the known facts about integers among the inputs of a loop's step.
    """
    _check_inexact(program, wrt)
    given, program = program.inputs, PREPARE(program)
    builder = _Split()
    inputs = [Value(v.type) for v in program.inputs]
    builder.know(around, given, inputs)
    env = dict(zip(program.inputs, inputs, strict=True))
    tangents = {program.inputs[i]: Value(program.inputs[i].type) for i in wrt}
    tangent_inputs = list(tangents.values())
    builder.linear.update(tangent_inputs)
    with building(builder):
        push_tangents(program, env, tangents, split=True)
    outputs = [env[v] for v in program.outputs]
    active = tuple(i for i, v in enumerate(program.outputs) if v in tangents)
    linear_outputs = [tangents[program.outputs[i]] for i in active]
    residuals = free_values(builder.linear_ops, linear_outputs, tangent_inputs)
    primal = Program(
        inputs,
        needed(builder.ops, [*outputs, *residuals]) if builder.halved else builder.ops,
        [*outputs, *residuals],
        name=program.name,
        captured=program.captured,
    )
    linear = Program(
        [*residuals, *tangent_inputs],
        builder.linear_ops,
        linear_outputs,
        name=f"{program.name}_linear",
    )
    return Linearized(primal, linear, tuple(wrt), active)


def _check_inexact(program: Program, wrt: Sequence[int]) -> None:
    """Raise TypeMismatch unless the inputs have derivatives."""
    for i in wrt:
        type = program.inputs[i].type
        require(type.is_inexact, f"input {i} of {program.name} is {type}, which has no tangents")


class _Differentiated:
    """Ops with their derivatives; a rule runs once for all ops of the same form."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._split = builder if isinstance(builder, _Split) else None
        self._rules = RecordedRules()
        self._places = Places()

    def can_repeat(self, op: Op) -> bool:
        """Whether the op's derivative is its ``jvp``, which may be recorded."""
        kind = op.kind
        return kind.rules_by_type and type(kind).differentiate is Declaration.differentiate

    def __call__(
        self, op: Op, operands: Sequence[Value], tangents: Sequence[MaybeValue]
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        """As ``op.kind.differentiate``."""
        builder, split = self._builder, self._split
        place = self._places.of_derivative(op)
        with builder.at(op.source):
            results = builder.repeat(op, operands)
        values = (*operands, *results, *tangents)
        if split is None:
            lists: tuple[list[Op], ...] = (builder.ops,)
        else:
            lists, before = (builder.ops, split.linear_ops), len(split.linear_ops)
        made = self._rules.run(
            op, values, place, lists, self._derived, op, operands, results, tangents, place,
            linear=() if split is None else split.linear,
        )  # fmt: skip
        if split is not None:
            for linear in split.linear_ops[before:]:
                split.linear.update(linear.results)
        return results, made

    def _derived(
        self,
        op: Op,
        operands: Sequence[Value],
        results: tuple[Value, ...],
        tangents: Sequence[MaybeValue],
        place: Source | None,
    ) -> Sequence[MaybeValue]:
        """The tangents of the results, emitted."""
        emitted = Op(op.kind, tuple(operands), op.params, results, op.source)
        with self._builder.at(place):
            return op.kind.jvp(emitted, tangents)


def push_tangents(
    program: Program, env: dict[Value, Value], tangents: dict[Value, Value], *, split: bool
) -> None:
    """Emit the ops of a program with their derivatives into the current builder.

    ``env`` and ``tangents`` hold the inputs and their tangents, and are filled for the rest;
    a value without a tangent has a zero one.
    """
    builder = current_builder()
    differentiated = _Differentiated(builder) if len(program.ops) >= LEAST else None
    for op in program.ops:
        operands = [env[v] for v in op.operands]
        moving = [tangents.get(v) for v in op.operands]
        if moving.count(None) == len(moving):
            env.update(zip(op.results, builder.repeat(op, operands), strict=True))
            continue
        if differentiated is not None and differentiated.can_repeat(op):
            results, made = differentiated(op, operands, moving)
        else:
            with builder.at(op.source):
                results, made = op.kind.differentiate(operands, op.params, moving, split=split)
        env.update(zip(op.results, results, strict=True))
        for value, tangent in zip(op.results, made, strict=True):
            if tangent is not None:
                tangents[value] = tangent


class Forward(NamedTuple):
    """``program`` takes the inputs, then the tangents of those in ``wrt``, and returns the
    outputs, then the tangents of those in ``active`` (the others are zero)."""

    program: Program
    active: tuple[int, ...]


@phase("forward")
def forward(
    program: Program, wrt: Sequence[int], *, split: bool = False, around: Integers | None = None
) -> Forward:
    """A program that computes values and tangents together.

    With ``split``, no op that depends on tangents also computes a value. ``around`` is as in
    :func:`linearize`.
    """
    _check_inexact(program, wrt)
    builder = StepBuilder()
    inputs = [Value(v.type) for v in program.inputs]
    builder.know(around, program.inputs, inputs)
    env = dict(zip(program.inputs, inputs, strict=True))
    tangents = {program.inputs[i]: Value(program.inputs[i].type) for i in wrt}
    tangent_inputs = list(tangents.values())
    with building(builder):
        push_tangents(program, env, tangents, split=split)
    active = tuple(i for i, v in enumerate(program.outputs) if v in tangents)
    outputs = [env[v] for v in program.outputs]
    outputs += [tangents[program.outputs[i]] for i in active]
    made = builder.finish([*inputs, *tangent_inputs], outputs, name=program.name)
    return Forward(made, active)


def jvp(program: Program, wrt: Sequence[int]) -> Program:
    """``(inputs, tangents of wrt) -> (outputs, tangents of all outputs)``.

    Outputs without a derivative (integers, constants) have a zero tangent.
    """
    made, active = forward(program, wrt)
    n = len(program.outputs)
    builder = Builder()
    with building(builder):
        inputs = [Value(v.type) for v in program.inputs]
        tangents = [Value(program.inputs[i].type) for i in wrt]
        results = builder.inline(made, [*inputs, *tangents])
        out_tangents = [full(0, v.type) for v in results[:n]]
        for i, tangent in zip(active, results[n:], strict=True):
            out_tangents[i] = tangent
        out_tangents = with_errors(tuple(builder.ops), results[:n], out_tangents)
    return _with_captured_last(builder, program, inputs, tangents, [*results[:n], *out_tangents])


def vjp(program: Program, wrt: Sequence[int]) -> Program:
    """``(inputs, cotangents of the outputs) -> (outputs, cotangents of wrt)``."""
    parts = linearize(program, wrt)
    backward = transpose(parts.linear, parts.residuals)
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    cotangents = [Value(v.type) for v in program.outputs]
    n = len(program.outputs)
    with building(builder):
        results = builder.inline(parts.primal, inputs)
        pulled = builder.inline(backward, [*results[n:], *(cotangents[i] for i in parts.active)])
        pulled = with_errors(tuple(builder.ops), results[:n], pulled)
    return _with_captured_last(builder, program, inputs, cotangents, [*results[:n], *pulled])


def _with_captured_last(
    builder: Builder,
    program: Program,
    inputs: list[Value],
    extra: list[Value],
    outputs: list[Value],
) -> Program:
    """Captured arrays are bound to the last inputs, so new inputs go before them."""
    split = len(inputs) - len(program.captured)
    ordered = [*inputs[:split], *extra, *inputs[split:]]
    return builder.finish(ordered, outputs, name=program.name, captured=program.captured)
