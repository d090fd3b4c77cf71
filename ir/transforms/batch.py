"""Batching: a program applied to every element of a batch at once."""

from __future__ import annotations

from collections.abc import Sequence

from ..ops.batching import Batched, along
from ..program import Builder, Program, Value, building


def batch(program: Program, size: int, batched: Sequence[bool]) -> Program:
    """The program with a leading axis of ``size`` on the marked inputs and on every output.

    What does not depend on the marked inputs is computed once, and repeated only where
    it meets the batch or is returned.
    """
    builder = Builder()
    inputs = []
    env: dict[Value, Batched] = {}
    for value, marked in zip(program.inputs, batched, strict=True):
        shape = (size, *value.shape) if marked else value.shape
        new = Value(value.type.with_shape(shape))
        inputs.append(new)
        env[value] = Batched(new, marked)
    with building(builder):
        for op in program.ops:
            operands = [env[v] for v in op.operands]
            with builder.at(op.source):
                if any(o.batched for o in operands):
                    made = op.kind.batch(op, operands, size)
                    results = (made,) if isinstance(made, Value) else made
                    marked = True
                else:
                    results = builder.emit(op.kind, [o.value for o in operands], op.params)
                    marked = False
            for value, result in zip(op.results, results, strict=True):
                env[value] = Batched(result, marked)
        outputs = [along(env[v], size) for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)
