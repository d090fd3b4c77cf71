"""Turns loops over small arrays into loops over numbers (scalar replacement of aggregates).

Before::

    %1: f64[2], %2: f64[100,2] = scan %p, %y {body=program step(%0: f64[4], %1: i64[], %2: f64[2]) {
      … slices of %0 and %2, … concatenate …
    }, …}

After::

    %a: f64[], %b: f64[], %c: f64[100], %d: f64[100] = scan %p, (slice %y), (slice %y) {
      body=program step(%0: f64[4], %1: i64[], %2: f64[], %3: f64[]) { … }, …}

Arrays that a step only reads stay arrays.  The dependencies of each element are now visible;
before, each element of a concatenated array was a choice among all of its parts.

Legal where the arrays that change have a few elements each; each op computes its elements one by
one, moves them or adds up their products; and no op may fail for an element that nobody reads.
Sums may be rounded in another order, and zeros that only pad an array are not added, so that -0.0
keeps its sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.move import Concatenate, Pad
from autojit.ir.passes.loops.steps.scalar_steps import MOVING, ScalarSteps, TooLarge
from autojit.ir.regions.scan import Scan, scan
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

#: The fewest single elements in an array that each step builds from them.
MANY_PARTS = 3


@program_pass(
    "Replaces the small arrays of loops by numbers.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these loops replaced by loops over numbers."""
    return rewrite(program, [_rule]) if program.has(Scan) else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not isinstance(op.kind, Scan) or not _takes_apart(op):
        return None
    try:
        steps = ScalarSteps(op, rows=False)
    except TooLarge:
        return None
    return steps.results(at.emit(scan, steps.operands(op.operands), steps.params))


def _takes_apart(op: Op) -> bool:
    """Whether steps build arrays from single elements, or pad single elements into arrays.

    The arrays must be read or passed on, and must vary from step to step; others stay arrays.
    """
    body, m = op.params["body"], op.params["carries"]
    varying = set(body.inputs[op.params["constants"] :])
    for inner in body.ops:
        if not varying.isdisjoint(inner.operands):
            varying.update(inner.results)
    read = set(body.outputs[:m])
    for inner in reversed(body.ops):
        if not isinstance(inner.kind, MOVING) or not read.isdisjoint(inner.results):
            read.update(inner.operands)
    taken = read & varying
    for inner in body.ops:
        single = [v for v in inner.operands if v.type.size == 1]
        parts = inner.result.type.size if isinstance(inner.kind, Pad) else len(single)
        made = isinstance(inner.kind, (Pad, Concatenate)) and inner.result in taken
        if made and single and parts >= MANY_PARTS:
            return True
    return False
