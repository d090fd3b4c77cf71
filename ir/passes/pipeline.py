"""The passes in order."""

from __future__ import annotations

from ..ops.bodies import BodyOp
from ..program import Program
from ..verify import verify as check
from . import (
    bodies,
    cse,
    dce,
    inline_calls,
    loop_rows,
    pick_first,
    quotients,
    recurrences,
    restore,
    scalar_steps,
    shares,
    simplify_parts,
    sum_first,
    swap_products,
    tapes_in_segments,
    unroll,
)
from .fold import fold
from .rewrite import rewrite
from .simplify import simplify


def optimize(program: Program, *, verify: bool = False) -> Program:
    """The program that code is made of: calls inlined, :func:`simplified`, tapes made small.

    It is no longer differentiated as the user asked for: the rules of custom derivatives
    are gone.  With ``verify`` the program is checked before and after.
    """
    if verify:
        check(program)
    program = simplified(inline_calls.run(program))
    for run in (
        loop_rows.run,
        pick_first.run,
        sum_first.run,
        shares.run,
        quotients.run,
        swap_products.run,
        restore.run,
        recurrences.run,
        scalar_steps.run,
        tapes_in_segments.run,
        unroll.run,
    ):
        program = simplified(bodies.everywhere(run)(program))
    if verify:
        check(program)
    return program


def simplified(program: Program) -> Program:
    """The program folded, simplified, without repetition and dead code.

    One walk reaches the fixed point, because every rule looks only at an op and at what
    its operands are made by, and because what the rules emit is offered to them again.
    Values are unchanged to rounding; NaN, infinities and signed zeros stay but for those in
    sums: of copies and of updates (``simplify_moves``), in products with what repeats
    (``simplify_products``), with unit matrices (``simplify_units``) and of windows
    (``simplify_windows``), and in what cancels (``simplify_shifts``).
    """
    if program.simplified:
        return program
    while True:
        rules = [fold, simplify, bodies.rule(simplified), cse.rule()]
        made = dce.run(rewrite(program, rules))
        # What a loop no longer computes may have been all that read something in it.
        if made is program or not made.has(BodyOp):
            break
        program = made
    made.simplified = True
    return made


def resolve_parts(program: Program) -> Program:
    """The program with what is read of replaced windows taken from where it was made.

    Done before a program is differentiated: the derivative of ``u[i + 1] = f(u[i])`` would
    otherwise carry cotangents of the whole array from one step to the one before.
    """
    return dce.run(rewrite(program, [simplify_parts.rules.rule]))
