"""Turns branches that compute a few numbers into selections.

Before::

    %3: f64[] = switch %2, %0, %1 {branches=(program otherwise(%0: f64[], %1: f64[]) {
      return %0
    }, program then(%0: f64[], %1: f64[]) {
      %2: f64[] = add %0, %1
      return %2
    })}

After::

    %3: f64[] = add %0, %1
    %4: f64[] = select %c, %3, %0

A mispredicted jump costs more than a few operations whose results are not used, and a loop with a
jump cannot become vector code.  The pass runs after differentiation, because the derivative of a
selection multiplies the derivative of the other branch, which may be NaN, by zero.

Legal where no op of a branch may fail and none is a loop.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.machine import current
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.arithmetic import convert, eq, le, select
from autojit.ir.ops.bodies import BOOL
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Broadcast, Reshape, broadcast
from autojit.ir.regions.switch import Switch
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, STRUCTURE, program_pass

#: Kinds of ops that may move out of a branch.
KINDS = (Elementwise, Constant, Broadcast, Reshape)
#: Arrays of at most this many elements count as numbers: one vector.
FEW = 4


@program_pass(
    "Computes all branches and selects a result, if the results are a few numbers.",
    needs=[CALLS_INLINED],
    keeps=STRUCTURE,
)
def run(program: Program) -> Program:
    """The program without these branches; the same object if there are none."""
    return rewrite(program, [_rule]) if program.has(Switch) else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not isinstance(op.kind, Switch) or not all(map(_is_small, op.params["branches"])):
        return None
    work = sorted(sum(o.kind.work(o) for o in b.ops) for b in op.params["branches"])
    if sum(work[:-1]) > _of_a_jump():
        return None
    cases = [at.inline(b, op.operands[1:]) for b in op.params["branches"]]
    return [_selected(op.operands[0], each, at) for each in zip(*cases, strict=True)]


def _of_a_jump() -> float:
    """The number of additions in the time of a jump that is mispredicted half of the time."""
    costs = current().costs
    return costs.misprediction / 2 * costs.scalar_rate


def _is_small(branch: Program) -> bool:
    plain = all(isinstance(op.kind, KINDS) for op in branch.ops)
    values = [*branch.outputs, *(v for op in branch.ops for v in op.results)]
    return plain and not branch.may_fail and all(v.type.size <= FEW for v in values)


def _selected(index: Value, cases: Sequence[Value], at: Rewriter) -> Value:
    result = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        if cases[k] is not result:
            result = _choice(index, k, len(cases), cases[k], result, at)
    return result


def _choice(index: Value, k: int, count: int, here: Value, later: Value, at: Rewriter) -> Value:
    made = at.definition(index, convert)
    if count == 2 and made is not None and made.operands[0].type == BOOL:
        condition, here, later = made.operands[0], later, here
    else:
        condition = eq(index, k) if k else le(index, 0)
    if here.shape:
        condition = broadcast(condition, shape=here.shape, dims=())
    return select(condition, here, later)
