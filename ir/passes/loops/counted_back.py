"""Removes a first sweep that only counts, if a backward sweep can compute its numbers.

    first sweep: c = 0; while c < n: push(c + k); c += 1      number = n - 1, n - 2, … 0:
    backward:    pop(i); … x[i] …                        ->       i = number + k; … x[i] …

Such loops remain when the reverse of a loop reads everything it needs from arrays: the first sweep
only counts the steps and pushes values computed from its counters. But the number of steps is known
in advance, and a backward step can compute these values itself.

Legal where each carry of the first sweep is a counter that grows by a constant, and the loop
continues while a counter that grows by 1 is less than a constant of the loop.  A backward step
computes the values of the forward step with the same number.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.final.integers import counters_of
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.arithmetic import ge, lt, maximum
from autojit.ir.ops.bodies import INDEX
from autojit.ir.regions.while_ import While
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Iterates backwards over a range without counting the steps first.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with such loops; the same object if there are none."""
    return rewrite(program, [_rule]) if program.has(While) else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not isinstance(op.kind, While) or op.params["backward"] != (False, True):
        return None
    n, (m, _) = op.params["constants"], op.params["carries"]
    first, second = op.params["sweeps"]
    steps_of = counters_of(first, n, m)
    found = _counted(op.params["condition"], n)
    if len(steps_of) < m or found is None or steps_of[found[0]] != 1:
        return None
    starts = op.operands[n : n + m]
    counter, bound = found
    steps = maximum(op.operands[bound] - starts[counter], 0)
    last = steps - 1
    body = _backwards(first, second, n, m, [steps_of[k] for k in range(m)])
    constants = [*op.operands[:n], *starts, last]
    params = {
        "backward": (False,), "carries": (1 + op.params["carries"][1],),
        "condition": _condition(body, n + m), "constants": len(constants), "sweeps": (body,),
    }  # fmt: skip
    zero = steps - steps
    _, *results = at.emit(op.kind, [*constants, zero, *op.operands[n + m :]], params)
    ends = [start + steps * steps_of[k] for k, start in enumerate(starts)]
    return [*ends, *results]


def _counted(condition: Program, n: int) -> tuple[int, int] | None:
    """The carry and the constant such that a loop continues while the former is less."""
    made = condition.ops[-1] if condition.ops else None
    if made is None or made.kind is not lt or condition.outputs[0] is not made.result:
        return None
    counter, bound = made.operands
    if counter not in condition.inputs[n:] or bound not in condition.inputs[:n]:
        return None
    return condition.inputs.index(counter) - n, condition.inputs.index(bound)


def _backwards(first: Program, second: Program, n: int, m: int, by: Sequence[int]) -> Program:
    """A backward step: ``(constants, starts, number of the last step, steps done, carries)``."""
    builder = Builder()
    constants = [Value(v.type) for v in first.inputs[:n]]
    starts = [Value(v.type) for v in first.inputs[n:]]
    last, done = Value(INDEX), Value(INDEX)
    carries = [Value(v.type) for v in second.inputs[n + len(first.outputs) - m :]]
    with building(builder):
        number = last - done
        counters = [start + number * step for start, step in zip(starts, by, strict=True)]
        made = builder.inline(first, [*constants, *counters])
        outputs = builder.inline(second, [*constants, *made[m:], *carries])
        following = done + 1
    inputs = [*constants, *starts, last, done, *carries]
    return builder.finish(inputs, [following, *outputs[: len(carries)]], name=second.name)


def _condition(body: Program, last: int) -> Program:
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    with building(builder):
        goes_on = ge(inputs[last], inputs[last + 1])
    return builder.finish(inputs, [goes_on], name="condition")
