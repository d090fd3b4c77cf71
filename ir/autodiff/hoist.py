"""Hoisting: values that a loop's body computes from constants alone are computed before the loop.

Legal where the loop makes at least one step, which is checked: each step computes the hoisted
values from operands that are the same in all steps.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Builder, Program, Value, building

from .residuals import repeatable


def hoist(body: Program, constants: Sequence[bool], steps: int) -> tuple[Program, Program]:
    """``(outer, inner)``: outer takes the constants (the marked inputs) and returns values that
    inner takes before all of the body's inputs; none where the loop makes no step.

    Only expensive values are hoisted, with the ops that they need; a cheap operation costs less in
    the loop than a load.
    """
    fixed = {v for v, m in zip(body.inputs, constants, strict=True) if m}
    invariant = set(fixed)
    wanted: set[Value] = set()
    for op in body.ops if steps else ():
        if invariant.issuperset(op.operands):
            invariant.update(op.results)
            if op.operands and not repeatable(op):
                wanted.update(op.results)
    moved = []
    needed = set(wanted)
    for op in reversed(body.ops):
        if not needed.isdisjoint(op.results):
            moved.append(op)
            needed.update(op.operands)
    moved.reverse()
    # The dear values that the rest of the body reads.
    gone = set()
    for op in moved:
        if not wanted.isdisjoint(op.results):
            gone.add(op)
    stay = [op for op in body.ops if op not in gone]
    read = {v for op in stay for v in op.operands} | set(body.outputs)
    hoisted = [v for op in moved for v in op.results if v in wanted and v in read]
    inputs = [v for v in body.inputs if v in fixed]
    outer = Program(inputs, moved, hoisted, name=f"{body.name}_invariant")
    if not hoisted:
        return outer, body
    extra = {v: Value(v.type) for v in hoisted}
    builder = Builder()
    new_inputs = [Value(v.type) for v in body.inputs]
    env = {**dict(zip(body.inputs, new_inputs, strict=True)), **extra}
    with building(builder):
        for op in stay:
            results = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in body.outputs]
    return outer, builder.finish([*extra.values(), *new_inputs], outputs, name=body.name)
