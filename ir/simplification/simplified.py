"""Applies all rewriting rules until none applies; every transformation may request it.

A program knows whether it is simplified (``Program.simplified``), so a repeated request is free.

Legal where each of its passes is legal.
"""

from __future__ import annotations

from autojit.ir.core.program import Program
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.rewriting import bodies, cse, dce
from autojit.ir.rewriting.fold import fold
from autojit.ir.rewriting.rewrite import rewrite
from autojit.ir.tools.program_passes import FINAL, SIMPLIFIED, program_pass

from .simplify import simplify


@program_pass(
    "Applies the rules of fold, simplify, cse and dce until none of them changes the program.",
    gives=[SIMPLIFIED],
    keeps=FINAL,
    done=lambda program: program.simplified,
)
def simplified(program: Program) -> Program:
    """Fold and simplify a program, and remove repetition and dead code.

    One walk reaches the fixed point: every rule looks only at an op and at the ops that make its
    operands, and the ops that rules emit are offered to the rules again. Values are unchanged up to
    rounding. NaN, infinities and signed zeros are preserved except in sums of parts (``masks``), of
    copies and of updates (``moves``), products with repeated operands (``products``) or with unit
    matrices (``units``), sums of windows (``windows``), and terms that cancel (``shifts``).
    """
    while True:
        rules = [fold, simplify, bodies.rule(simplified), cse.rule()]
        made = dce.run(rewrite(program, rules))
        # A result that a loop no longer computes may have been the only reader of other values
        # in it.
        if made is program or not made.has(BodyOp):
            break
        program = made
    made.simplified = True
    return made
