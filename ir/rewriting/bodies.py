"""Simplifies ops with bodies: facts known outside are used inside, and unread results are dropped.

Before::

    %1: f64[] = constant {dtype=f64, shape=(), value=2.0}
    %2: f64[], %3: f64[9] = scan %1, %0 {body=program body(%0: f64[], %1: i64[], %2: f64[]) {
      %3: f64[] = mul %2, %0
      return %3, %3
    }, carries=1, constants=1, length=9, reverse=False}
    return %2

After::

    %1: f64[] = scan %0 {body=program body(%0: i64[], %1: f64[]) {
      %2: f64[] = constant {dtype=f64, shape=(), value=2.0}
      %3: f64[] = mul %1, %2
      return %3
    }, carries=1, constants=0, length=9, reverse=False}
    return %1

The declaration of an op says which operands its bodies take unchanged (``shared``) and how the op
computes only some of its results (``narrow``).

Legal where bodies take an operand unchanged, according to the declaration.  Nothing changes in the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.linear import constant
from autojit.ir.pass_manager.passes import Pass

from .rewrite import Rewriter

Optimize = Callable[[Program], Program]


def rule(optimize: Optimize) -> Callable[[Op, Rewriter], Sequence[Value] | None]:
    """Return the rule of this pass: bodies are optimised, and constants move into them."""

    def improve(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        if not isinstance(op.kind, BodyOp):
            return None
        found = _absorbed(op, rewriter) or op.kind.simplified(op)
        if found is not None:
            return found if isinstance(found, tuple) else rewriter.emit(op.kind, *_parts(found))
        params = {name: _optimized(value, optimize) for name, value in op.params.items()}
        if all(params[name] is op.params[name] for name in params):
            return None
        return rewriter.emit(op.kind, op.operands, params)

    return improve


def everywhere(run: Pass[Program]) -> Pass[Program]:
    """Return a pass that also runs on the programs in bodies, from the innermost outwards."""

    def improved(program: Program) -> Program:
        if not program.has(BodyOp):
            return run.function(program)
        ops = []
        for op in program.ops:
            if isinstance(op.kind, BodyOp):
                params = {name: _optimized(value, whole) for name, value in op.params.items()}
                if any(params[name] is not op.params[name] for name in params):
                    op = Op(op.kind, op.operands, params, op.results, op.source)
            ops.append(op)
        if all(a is b for a, b in zip(ops, program.ops, strict=True)):
            return run.function(program)
        made: Program = run.function(program.with_body(ops, program.outputs))
        return made

    whole = replace(run, function=improved)
    return whole


def _parts(op: Op) -> tuple[Sequence[Value], dict[str, Any]]:
    return op.operands, op.params


def _optimized(value: Any, optimize: Optimize) -> Any:
    if isinstance(value, Program):
        return optimize(value)
    if isinstance(value, tuple) and any(isinstance(v, Program) for v in value):
        made = tuple(_optimized(v, optimize) for v in value)
        return value if all(a is b for a, b in zip(made, value, strict=True)) else made
    return value


def _absorbed(op: Op, rewriter: Rewriter) -> Op | None:
    """Return the op without shared operands that are constants, repeated or not read."""
    kind = op.kind
    assert isinstance(kind, BodyOp)
    shared = kind.shared(op)
    first: dict[Value, int] = {}
    replaced: dict[int, Any] = {}  # position -> the constant, or another position
    for k in shared:
        value = op.operands[k]
        definition = rewriter.definition(value, constant)
        if definition is not None:
            replaced[k] = definition.params
        elif value in first:
            replaced[k] = first[value]
        elif not kind.reads(op, k):
            replaced[k] = None
        else:
            first[value] = k
    if not replaced:
        return None
    return kind.without(op, replaced)


def rebuilt(body: Program, inputs: dict[int, Any]) -> Program:
    """Return the body without some inputs. Each is replaced by a constant (its parameters), by
    another input (its position), or by nothing if it is not read (None)."""
    builder = Builder()
    kept = [i for i in range(len(body.inputs)) if i not in inputs]
    new = {i: Value(body.inputs[i].type) for i in kept}
    with building(builder):
        env = {body.inputs[i]: v for i, v in new.items()}
        for i, what in inputs.items():
            if isinstance(what, int):
                env[body.inputs[i]] = new[what]
            elif what is not None:
                (env[body.inputs[i]],) = builder.emit(constant, (), what)
        for op in body.ops:
            results = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in body.outputs]
    return builder.finish(new.values(), outputs, name=body.name)


def narrowed(op: Op, used: Sequence[bool]) -> Op | None:
    """Return the op that computes only the used results; None if it already does.

    The results of the new op are the remaining ones of the old op.
    """
    if not isinstance(op.kind, BodyOp):
        return None
    return op.kind.narrow(op, used)
