"""The preparation of a program for differentiation, which does not change derivatives.

Nothing is rewritten here.
"""

from __future__ import annotations

from autojit.ir.pass_manager.pipelines import Pipeline, Place
from autojit.ir.rewriting import cse
from autojit.ir.tools.program_passes import DERIVATIVES

from . import branch_elements, branch_stores, indexed_scans

#: What a program is linearized from.
PREPARE = Pipeline(
    "prepare",
    [
        Place(
            branch_stores.run,
            "An array that branches update would be one of their results, and all of it a "
            "cotangent.",
        ),
        Place(
            branch_elements.run,
            "The cotangent of what a branch picks is an element. What it stored is picked too.",
        ),
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
