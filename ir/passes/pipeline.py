"""The passes in order."""

from __future__ import annotations

from ..ops.bodies import BodyOp
from ..program import Program
from ..verify import verify as check
from . import bodies, cse, dce
from .fold import fold
from .rewrite import rewrite
from .simplify import simplify


def optimize(program: Program, *, verify: bool = False) -> Program:
    """The program folded, simplified, without repetition and dead code.

    One walk reaches the fixed point, because every rule looks only at an op and at what
    its operands are made by, and because what the rules emit is offered to them again.
    Values are unchanged to rounding; NaN, infinities and signed zeros stay, except for the
    sign of a sum of copies of -0.0 (see ``simplify_moves``).

    With ``verify`` the program is checked before and after.
    """
    if program.optimized:
        return program
    if verify:
        check(program)
    rules = [fold, simplify, bodies.rule(optimize), cse.rule()]
    while True:
        made = dce.run(rewrite(program, rules))
        # What a loop no longer computes may have been all that read something in it.
        if made is program or not any(isinstance(op.kind, BodyOp) for op in made.ops):
            break
        program, rules = made, [fold, simplify, bodies.rule(optimize), cse.rule()]
    if verify:
        check(made)
    made.optimized = True
    return made
