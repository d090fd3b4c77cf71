"""The passes in order."""

from __future__ import annotations

from autojit.ir.autodiff import indexed_scans
from autojit.ir.core.program import Program
from autojit.ir.rewriting import bodies, dce, inline_calls
from autojit.ir.rewriting.rewrite import rewrite
from autojit.ir.simplification import parts
from autojit.ir.simplification.simplified import simplified
from autojit.ir.tools.verifier import verify as check

from .algebra import push_gathers, push_reductions, quotients, shares, swap_products
from .loops import (
    distribute_recurrences,
    rematerialize_tapes,
    scalar_replacement,
    undo_tapes,
    unroll,
)


def optimize(program: Program, *, verify: bool = False) -> Program:
    """The program that code is made of: calls inlined, :func:`simplified`, tapes made small.

    It is no longer differentiated as the user asked for: the rules of custom derivatives
    are gone.  With ``verify`` the program is checked before and after.
    """
    if verify:
        check(program)
    program = simplified(inline_calls.run(program))
    for run in (
        indexed_scans.run,
        push_gathers.run,
        push_reductions.run,
        shares.run,
        quotients.run,
        swap_products.run,
        undo_tapes.run,
        distribute_recurrences.run,
        scalar_replacement.run,
        rematerialize_tapes.run,
        unroll.run,
    ):
        program = simplified(bodies.everywhere(run)(program))
    if verify:
        check(program)
    return program


def resolve_parts(program: Program) -> Program:
    """The program with what is read of replaced windows taken from where it was made.

    Done before a program is differentiated: the derivative of ``u[i + 1] = f(u[i])`` would
    otherwise carry cotangents of the whole array from one step to the one before.
    """
    return dce.run(rewrite(program, [parts.rules.rule]))
