"""The passes in order."""

from __future__ import annotations

from ..ops.update import Updating
from ..program import Program
from ..verify import verify as check
from . import cse, dce, simplify_parts
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
    if verify:
        check(program)
    program = dce.run(rewrite(program, [fold, simplify, cse.rule()]))
    if verify:
        check(program)
    return program


def resolve_parts(program: Program) -> Program:
    """The program with what is read of replaced windows taken from where it was made.

    Done before a program is differentiated: the derivative of ``u[i + 1] = f(u[i])`` would
    otherwise carry cotangents of the whole array from one step to the one before.
    """
    if not any(isinstance(op.kind, Updating) for op in program.ops):
        return program
    return dce.run(rewrite(program, [simplify_parts.rules.rule]))
