"""Turns a repeated stretch into a ``scan``.

Legal where each operand is fixed, computed in the same step, or handed on by earlier steps, and
parameters are equal or slide evenly.  Every step computes the same as before: nothing changes in
the results.
"""

from __future__ import annotations

from collections.abc import Callable

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.ops.bodies import INDEX
from autojit.ir.regions.scan import scan

from .steps import Each, Made, Steps, row


def as_loop(
    builder: Builder, steps: Steps, inner: Callable[[Program], Program]
) -> dict[Value, Value]:
    """Emit the loop; return the values that replace the results that are needed later.

    Results of the middle steps that are needed later are stacked.  ``inner`` is applied to the
    body.
    """
    last_step = steps.count - 1
    stacked = dict.fromkeys((k, r) for step, k, r in steps.later if step < last_step)
    carried: dict[Made, Value | None] = dict(steps.carried)
    for _, k, r in steps.later:
        if (k, r) not in stacked:
            carried.setdefault(Made(k, r, 1), None)
    constants = dict.fromkeys(v for reads in steps.reads for v in reads if isinstance(v, Value))
    body = inner(_body(steps, list(constants), list(carried), list(stacked)))
    firsts = [_zero(steps, made) if value is None else value for made, value in carried.items()]
    results = builder.emit(
        scan,
        [*constants, *firsts],
        {"body": body, "constants": len(constants), "carries": len(firsts),
         "length": steps.count, "reverse": False},
    )  # fmt: skip
    last = dict(zip(carried, results, strict=False))
    stacks = dict(zip(stacked, results[len(carried) :], strict=True))
    return {
        value: row(stacks[k, r], step) if (k, r) in stacks else last[Made(k, r, 1)]
        for (step, k, r), value in steps.later.items()
    }


def _zero(steps: Steps, made: Made) -> Value:
    """The value of a result before the first step, which no step reads."""
    return full(0, steps.template[made.op].results[made.result].type)


def _body(
    steps: Steps, fixed: list[Value], carried: list[Made], stacked: list[tuple[int, int]]
) -> Program:
    builder = Builder()
    constants = {v: Value(v.type) for v in fixed}
    index = Value(INDEX)
    template = steps.template
    carries = {made: Value(template[made.op].results[made.result].type) for made in carried}
    #: A value that the step itself computes has ``ago`` 0.
    known = dict(carries)
    with building(builder):
        for k, op in enumerate(template):
            operands = []
            for read in steps.reads[k]:
                assert not isinstance(read, Each), "a loop has a loose stretch"
                operands.append(constants[read] if isinstance(read, Value) else known[read])
            with builder.at(op.source):
                slide = steps.slide(k)
                if slide is None:
                    results = builder.emit(op.kind, operands, op.params)
                else:
                    results = (op.kind.at_step(operands, op, slide, index),)
            known.update((Made(k, r, 0), v) for r, v in enumerate(results))
    outputs = [known[made._replace(ago=made.ago - 1)] for made in carried]
    outputs += [known[Made(k, r, 0)] for k, r in stacked]
    return builder.finish([*constants.values(), index, *carries.values()], outputs, name="body")
