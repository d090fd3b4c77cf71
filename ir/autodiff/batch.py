"""Batching: a program applied to every element of a batch at once.

Legal where each op computes the elements of a batch separately. If these take different branches or
numbers of steps, no op fails for an element that does not reach it (see ``switch`` and
``while_batch``). Products may be rounded differently. Values that do not depend on the batch are
computed, and may fail, even for an empty batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.pass_manager.records import phase


@phase("batch")
def batch(
    program: Program,
    size: int,
    batched: Sequence[bool],
    outputs: Sequence[bool] | None = None,
) -> Program:
    """The program with a leading axis of ``size`` on the marked inputs and on the outputs.

    Values that do not depend on the marked inputs are computed once, and repeated only when
    combined with the batch or returned.  ``outputs`` marks the outputs that get the axis, all of
    them by default; an output that depends on the batch must be marked.
    """
    builder = Builder()
    inputs = []
    wanted = outputs if outputs is not None else [True] * len(program.outputs)
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
                    several = [made] if isinstance(made, Value) else made
                    results = [Batched(r, True) if isinstance(r, Value) else r for r in several]
                else:
                    plain = builder.emit(op.kind, [o.value for o in operands], op.params)
                    results = [Batched(r, False) for r in plain]
            env.update(zip(op.results, results, strict=True))
        made_outputs = [
            along(env[v], size) if marked else _unbatched(env[v])
            for v, marked in zip(program.outputs, wanted, strict=True)
        ]
    return builder.finish(inputs, made_outputs, name=program.name, captured=program.captured)


def _unbatched(output: Batched) -> Value:
    assert not output.batched
    return output.value
