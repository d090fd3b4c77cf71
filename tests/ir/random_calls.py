"""Samplers of ops that stand for a program: bodies like those of loops.

The rule of a ``custom_jvp`` is the derivative of its body, so every test of derivatives applies.
"""

from __future__ import annotations

from typing import Any

from autojit.ir.autodiff.linearize import forward
from autojit.ir.core.declaration import Declaration, full
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import or_zero
from autojit.ir.regions.checkpoint import POLICIES, Checkpoint
from autojit.ir.regions.custom import CustomJVP
from autojit.ir.regions.implicit import LinearSolve, Root
from tests.ir.grower import Grower
from tests.ir.random_bodies import FindSampler, Inner


def _body(grow: Grower, find: FindSampler) -> tuple[Program, list[Value]]:
    """A body that closes over values and takes other outer values as operands; and the operands."""
    operands = [v for v in grow.values if grow.flag()][-2:]
    inputs = [Value(v.type) for v in operands]
    inner = Inner(grow, inputs)
    with building(inner.builder):
        inner.grow(find)
        known = inner.values or [inner.fresh(Type(grow.pick(grow.dtypes), grow.shape(2)))]
        outputs = [inner.pick(known[-6:]) for _ in range(inner.integer(1, 2))]
    body = inner.builder.finish([*inner.bound, *inputs], outputs, name="body")
    return body, [*inner.captured, *operands]


def _checkpoint(grow: Grower, kind: Checkpoint, find: FindSampler) -> Value:
    body, operands = _body(grow, find)
    params = {"body": body, "keep": grow.flag(), "policy": grow.pick(POLICIES)}
    return _emit(grow, kind, operands, params)


def _custom_jvp(grow: Grower, kind: CustomJVP, find: FindSampler) -> Value:
    body, operands = _body(grow, find)
    rule = _derivative(body)
    return _emit(grow, kind, operands, {"body": body, "constants": 0, "rule": rule})


def _derivative(body: Program) -> Program:
    """The derivative that the body has without a rule."""
    wrt = [i for i, t in enumerate(body.in_types) if t.is_inexact]
    made, active = forward(body, wrt)
    n = len(body.outputs)
    builder = Builder()
    inputs = [Value(t) for t in made.in_types]
    with building(builder):
        results = builder.inline(made, inputs)
        tangents = dict(zip(active, results[n:], strict=True))
        moving = [i for i, t in enumerate(body.out_types) if t.is_inexact]
        outputs = [*results[:n], *(or_zero(tangents.get(i), results[i].type) for i in moving)]
    return builder.finish(inputs, outputs, name="rule")


def _program(types: list[Any], formula: Any) -> Program:
    builder = Builder()
    inputs = [Value(t) for t in types]
    with building(builder):
        return builder.finish(inputs, [formula(*inputs)], name="formula")


def _regular(c: Value) -> Value:
    """A number that is not close to 0."""
    return c * c + full(2, c.type) if c.dtype.kind == "f" else full(3 + 1j, c.type)


def _linear_solve(grow: Grower, kind: LinearSolve, find: FindSampler) -> Value | None:
    b = grow.value("fc")
    if b is None:
        return None
    types = [b.type] * 2
    solve = _program(types, lambda c, b: b / _regular(c))
    params = {"constants": 1, "matvec": _program(types, lambda c, x: _regular(c) * x),
              "solve": solve, "transpose_solve": solve}  # fmt: skip
    return _emit(grow, kind, [grow.like(b.type), b], params)


def _root(grow: Grower, kind: Root, find: FindSampler) -> Value | None:
    e = grow.value("fc")
    if e is None:
        return None
    types = [e.type] * 3
    params = {
        "constants": 2,
        "f": _program(types, lambda c, e, x: _regular(c) * x - e),
        "solve": _program(types, lambda c, e, x: e / _regular(c)),
        "tangent_solve": _program([*types, e.type], lambda c, e, x, b: b / _regular(c)),
    }
    return _emit(grow, kind, [grow.like(e.type), e, grow.like(e.type)], params)


def _emit(grow: Grower, kind: Declaration, operands: list[Value], params: dict[str, Any]) -> Value:
    results = grow.builder.emit(kind, operands, params)
    grow.keep(*results)
    return grow.pick(results)


def calls(find: FindSampler) -> dict[type[Declaration], Any]:
    """Samplers of these ops, given the sampler of the ops in their bodies."""
    table: dict[type[Declaration], Any] = {
        Checkpoint: _checkpoint, CustomJVP: _custom_jvp, LinearSolve: _linear_solve, Root: _root,
    }  # fmt: skip
    return {
        family: lambda grow, kind, draw=draw: draw(grow, kind, find)
        for family, draw in table.items()
    }
