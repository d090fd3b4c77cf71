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
            "Otherwise an array that branches update would be one of their results, with a "
            "cotangent of the whole array.",
        ),
        Place(
            branch_elements.run,
            "The cotangent of an element that a branch reads is a number. Elements that "
            "branches stored are read, too.",
        ),
        Place(
            indexed_scans.run,
            "The cotangents of rows are stacked. Those of elements that are read at an index "
            "would be added to an array that the loop carries.",
        ),
        Place(
            cse.before_derivatives,
            "The cotangents of equal values are summed before they are propagated; no later pass "
            "could merge two sums of products. Rows of loops may have become equal.",
        ),
    ],
    given=[DERIVATIVES],
)
