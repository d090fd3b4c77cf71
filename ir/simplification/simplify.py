"""Algebra: replaces ops by equivalent ops that do less work.

Before::

    %2: f64[3] = neg %1
    %3: f64[3] = add %0, %2
    %4: f64[3] = transpose %3 {axes=(0,)}

After::

    %2: f64[3] = neg %1
    %3: f64[3] = sub %0, %1

The rules are in the modules of this folder, by family: ``arithmetic``, ``choice``, ``masks``,
``moves``, ``parts``, ``places``, ``products``, ``shifts``, ``units`` and ``windows``.

Legal where each family says.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.rewriting.rewrite import OpRule, Rewriter, rewrite
from autojit.ir.tools.program_passes import STRUCTURE, program_pass

from . import arithmetic, choice, masks, moves, parts, places, products, shifts, units, windows

#: The rules of all families.
RULES: dict[Declaration, list[OpRule]] = {}
for _family in (
    arithmetic,
    choice,
    masks,
    moves,
    parts,
    places,
    shifts,
    units,
    products,
    windows,
):
    for _kind, _rules in _family.rules.rules.items():
        RULES.setdefault(_kind, []).extend(_rules)


def simplify(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
    """The rule of this pass: the first of the table's rules that applies."""
    for rule in RULES.get(op.kind, ()):
        value = rule(op, rewriter)
        if value is not None:
            return (value,)
    return None


@program_pass("Replaces operations by cheaper ones.", keeps=STRUCTURE)
def run(program: Program) -> Program:
    """Apply the algebraic rules."""
    return rewrite(program, [simplify])
