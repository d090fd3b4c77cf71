"""Stop gradients at extrema whose cotangent is zero, in the bodies of loops.

A log-sum-exp as users write it, ``m + log(sum(exp(x - m)))`` with ``m = max(x)``, does not depend
on m.  Outside of loops ``ir/simplification/shifts.py`` finds that the cotangent of m is zero.  In a
loop, half of the cancelling terms are on a tape. So the body is examined before it is
differentiated: if the cotangent of an extremum is zero for all cotangents of the body's results,
the extremum becomes its ``stop_gradient``. Then no indices of largest elements are kept and no
shares of ties computed.

Legal where the results do not depend on the extremum in exact arithmetic, whatever all other values
are.  Values do not change. Derivatives lose rounding errors, and NaN where infinities would have
cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from autojit.ir.core.errors import DerivativeError
from autojit.ir.core.program import Builder, Op, Program, Source, Value, building
from autojit.ir.ops.arithmetic import stop_gradient
from autojit.ir.ops.reduce import Extremum, max_, min_
from autojit.ir.rewriting.rewrite import Rewriter
from autojit.ir.simplification.shifts import is_zero
from autojit.ir.tools.program_passes import DERIVATIVES, STRUCTURE, program_pass

from .linearize import linearize
from .transpose import transpose

#: Longer bodies, and those with more extrema, are left alone.
MOST_OPS, MOST = 1000, 16


@program_pass(
    "Treats extrema that cancel as constants in derivatives.",
    needs=[DERIVATIVES],
    keeps=STRUCTURE,
)
def run(body: Program) -> Program:
    """The body with such extrema made constants for its derivatives."""
    if not body.has(Extremum):
        return body
    # Equality of programs ignores the user's lines and names.
    found = _made(body, tuple([op.source for op in body.ops]))
    if found == body:
        return body
    return Program(found.inputs, found.ops, found.outputs, name=body.name, captured=body.captured)


@lru_cache(maxsize=256)
def _made(body: Program, sources: tuple[Source | None, ...]) -> Program:
    extrema = [
        op.result for op in body.ops if op.kind in (max_, min_) and op.result.dtype.kind == "f"
    ]
    if not extrema or len(extrema) > MOST or len(body.ops) > MOST_OPS:
        return body
    idle = {v for v in extrema if _is_idle(v, body)}
    return _without(body, idle) if idle else body


def _is_idle(v: Value, body: Program) -> bool:
    """Whether the body's results do not depend on a value, in exact arithmetic."""
    after = _depending(v, body.ops)
    made = {result for op in after for result in op.results}
    outputs = [o for o in body.outputs if o in made and o.type.is_inexact]
    if v in body.outputs or not outputs:
        return False
    others = {o for op in after for o in op.operands} - made - {v}
    part = Program([v, *others], after, outputs)
    try:
        split = linearize(part, [0])
    except DerivativeError:  # nobody may ask for this derivative
        return False
    if not split.active:
        return False  # as after a stop_gradient of the user's
    at = Rewriter([])
    with building(at):
        results = at.inline(split.primal, [Value(i.type) for i in part.inputs])
        cotangents = [Value(outputs[k].type) for k in split.active]
        backward = transpose(split.linear, split.residuals)
        (cotangent,) = at.inline(backward, [*results[len(outputs) :], *cotangents])
    return is_zero(cotangent, at)


def _depending(v: Value, ops: Sequence[Op]) -> list[Op]:
    """The ops whose results depend on a value."""
    reached, found = {v}, []
    for op in ops:
        if not reached.isdisjoint(op.operands):
            reached.update(op.results)
            found.append(op)
    return found


def _without(body: Program, idle: set[Value]) -> Program:
    builder = Builder()
    replaced: dict[Value, Value] = {}
    with building(builder):
        for op in body.ops:
            operands = tuple([replaced.get(v, v) for v in op.operands])
            builder.append(Op(op.kind, operands, op.params, op.results, op.source))
            for v in idle.intersection(op.results):
                with builder.at(op.source):
                    replaced[v] = stop_gradient(v)
    return body.with_body(builder.ops, body.outputs)
