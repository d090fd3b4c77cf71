"""Linearization: a program becomes a primal program and a linear one.

Reverse mode is linearize, then transpose; forward mode is the two inlined one
after the other (Radul, Paszke, Frostig, Johnson, Maclaurin: "You Only Linearize
Once", POPL 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ops.declaration import full
from ..program import Builder, Op, Program, Value, building


class _Split(Builder):
    """A builder that sorts ops into primal ones and ones linear in the tangents."""

    def __init__(self) -> None:
        super().__init__()
        self.linear_ops: list[Op] = []
        self.linear: set[Value] = set()

    def append(self, op: Op) -> None:
        if any(v in self.linear for v in op.operands):
            self.linear_ops.append(op)
            self.linear.update(op.results)
        else:
            self.ops.append(op)


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
        """How many residuals the primal program returns."""
        return len(self.linear.inputs) - len(self.wrt)


def linearize(program: Program, wrt: Sequence[int]) -> Linearized:
    """Split the derivative of a program with respect to some inputs from its value."""
    builder = _Split()
    inputs = [Value(v.type) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    tangents = {program.inputs[i]: Value(program.inputs[i].type) for i in wrt}
    tangent_inputs = list(tangents.values())
    builder.linear.update(tangent_inputs)
    with building(builder):
        for op in program.ops:
            with builder.at(op.source):
                results = builder.emit(op.kind, [env[v] for v in op.operands], op.params)
                env.update(zip(op.results, results, strict=True))
                moving = [tangents.get(v) for v in op.operands]
                if all(t is None for t in moving):
                    continue
                here = Op(
                    op.kind, tuple(env[v] for v in op.operands), op.params, results, op.source
                )
                for value, tangent in zip(op.results, op.kind.jvp(here, moving), strict=True):
                    if tangent is not None:
                        tangents[value] = tangent
    outputs = [env[v] for v in program.outputs]
    active = tuple(i for i, v in enumerate(program.outputs) if v in tangents)
    linear_outputs = [tangents[program.outputs[i]] for i in active]
    residuals = _free_values(builder.linear_ops, linear_outputs, tangent_inputs)
    primal = Program(
        inputs,
        builder.ops,
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


def _free_values(ops: list[Op], outputs: list[Value], bound: list[Value]) -> list[Value]:
    """Values that are used and not defined, in order of first use."""
    defined = set(bound)
    free: dict[Value, None] = {}
    for op in ops:
        free.update((v, None) for v in op.operands if v not in defined)
        defined.update(op.results)
    free.update((v, None) for v in outputs if v not in defined)
    return list(free)


def jvp(program: Program, wrt: Sequence[int]) -> Program:
    """``(inputs, tangents of wrt) -> (outputs, tangents of all outputs)``.

    Outputs without a derivative (integers, constants) have a zero tangent.
    """
    parts = linearize(program, wrt)
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    tangents = [Value(program.inputs[i].type) for i in parts.wrt]
    n = len(program.outputs)
    with building(builder):
        results = builder.inline(parts.primal, inputs)
        moved = builder.inline(parts.linear, [*results[n:], *tangents])
        outputs = results[:n]
        out_tangents = [full(0, v.type) for v in outputs]
        for i, tangent in zip(parts.active, moved, strict=True):
            out_tangents[i] = tangent
    return _with_captured_last(builder, program, inputs, tangents, [*outputs, *out_tangents])


def vjp(program: Program, wrt: Sequence[int]) -> Program:
    """``(inputs, cotangents of the outputs) -> (outputs, cotangents of wrt)``."""
    from .transpose import transpose

    parts = linearize(program, wrt)
    backward = transpose(parts.linear, parts.residuals)
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    cotangents = [Value(v.type) for v in program.outputs]
    n = len(program.outputs)
    with building(builder):
        results = builder.inline(parts.primal, inputs)
        pulled = builder.inline(backward, [*results[n:], *(cotangents[i] for i in parts.active)])
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
