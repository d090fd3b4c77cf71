"""What a program goes through before it is differentiated: derivatives stay those of the user.

Nothing is rewritten here.
"""

from __future__ import annotations

from ..core.pipelines import Pipeline, Place
from . import cse, loop_rows
from .program_passes import DERIVATIVES

#: What a program is linearized from.
PREPARE = Pipeline(
    "prepare",
    [
        Place(
            loop_rows.run,
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
