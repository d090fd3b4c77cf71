"""Transposition of a linear program: the reverse sweep of reverse mode."""

from __future__ import annotations

from ..ops.declaration import MaybeValue, full
from ..program import Builder, Op, Program, Value, building


def transpose(program: Program, residuals: int) -> Program:
    """``(residuals, cotangents of the outputs) -> cotangents of the linear inputs``.

    The first ``residuals`` inputs are constants of the linear map; the program is
    linear in the others.
    """
    constants, linear_inputs = program.inputs[:residuals], program.inputs[residuals:]
    builder = Builder()
    env = {v: Value(v.type) for v in constants}
    linear = set(linear_inputs)
    for op in program.ops:
        if any(v in linear for v in op.operands):
            linear.update(op.results)
    seeds = [Value(v.type) for v in program.outputs]
    cotangents: dict[Value, Value] = {}
    with building(builder):
        for op in program.ops:  # what does not depend on the linear inputs, as it stands
            if linear.isdisjoint(op.results):
                with builder.at(op.source):
                    results = builder.emit(op.kind, [env[v] for v in op.operands], op.params)
                env.update(zip(op.results, results, strict=True))
        for value, seed in zip(program.outputs, seeds, strict=True):
            if value in linear:
                _accumulate(cotangents, value, seed)
        for op in reversed(program.ops):
            incoming = [cotangents.get(v) for v in op.results]
            if linear.isdisjoint(op.results) or all(c is None for c in incoming):
                continue
            is_linear = [v in linear for v in op.operands]
            with builder.at(op.source):
                outgoing = op.kind.transpose(_constants_renamed(op, env), incoming, is_linear)
                for value, cotangent in zip(op.operands, outgoing, strict=True):
                    _accumulate(cotangents, value, cotangent)
        outputs = [cotangents[v] if v in cotangents else full(0, v.type) for v in linear_inputs]
    inputs = [*(env[v] for v in constants), *seeds]
    return builder.finish(inputs, outputs, name=f"{program.name}_transpose")


def _accumulate(cotangents: dict[Value, Value], value: Value, cotangent: MaybeValue) -> None:
    if cotangent is not None:
        known = cotangents.get(value)
        cotangents[value] = cotangent if known is None else known + cotangent


def _constants_renamed(op: Op, env: dict[Value, Value]) -> Op:
    operands = tuple(env.get(v, v) for v in op.operands)
    return Op(op.kind, operands, op.params, op.results, op.source)
