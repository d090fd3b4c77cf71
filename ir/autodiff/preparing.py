"""What a program goes through before it is differentiated: derivatives stay those of the user.

Nothing is rewritten here.
"""

from __future__ import annotations

from autojit.ir.core.pipelines import Pipeline, Place
from autojit.ir.rewriting import cse, in_order
from autojit.ir.simplification.parts import resolve_parts
from autojit.ir.tools.program_passes import DERIVATIVES

from . import indexed_scans, zero_cotangents

#: What a program is linearized from.
PREPARE = Pipeline(
    "prepare",
    [
        Place(
            indexed_scans.run,
            "The cotangents of rows are stacked; those of elements that are read at an index would "
            "be added to an array that the loop carries.",
        ),
        Place(
            cse.before_derivatives,
            "The cotangents of equal values are summed before they go on, which no later pass "
            "makes of two sums of products. Rows of loops may have become equal.",
        ),
    ],
    given=[DERIVATIVES],
)

#: Passes that tracing and transformations run by themselves, and why there.
BY_THEMSELVES = {
    "trace": Place(
        resolve_parts,
        "The derivative of a loop that fills an array would carry cotangents of all of it from "
        "step to step.",
    ),
    "roll": Place(
        in_order.run,
        "Statements that a program has in another order in each run repeat themselves only in "
        "one that depends on nothing but what they read.",
    ),
    "derivative of scan": Place(
        zero_cotangents.run,
        "One half of what cancels in a loop is on a tape, where no rule finds it afterwards.",
    ),
}
