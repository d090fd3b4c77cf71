"""The order of the passes, from the differentiated program to the program that is compiled.

No pass is implemented here.
"""

from __future__ import annotations

from autojit.ir.autodiff import (
    branch_elements,
    branch_stores,
    indexed_scans,
    zero_cotangents,
)
from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.program import Program
from autojit.ir.pass_manager.passes import Pass
from autojit.ir.pass_manager.pipelines import Pipeline, Place
from autojit.ir.rewriting import in_order, inline_calls
from autojit.ir.rewriting.bodies import everywhere
from autojit.ir.simplification.parts import resolve_parts
from autojit.ir.simplification.simplified import simplified
from autojit.ir.tools.program_passes import DERIVATIVES
from autojit.ir.tools.verifier import verify as check

from .algebra import (
    push_gathers,
    push_reductions,
    quotients,
    shares,
    sorted_places,
    swap_products,
    widen_halves,
)
from .loops import (
    begun_sums,
    counted_back,
    distribute_recurrences,
    first_reads,
    rematerialize_tapes,
    restored_elements,
    scalar_replacement,
    select_branches,
    summed_elements,
    undo_steps,
    undo_tapes,
    unroll,
)


def _place(run: Pass[Program], reason: str) -> Place[Program]:
    """Return the place of a pass that also runs on bodies."""
    return Place(everywhere(run), reason)


OPTIMIZE = Pipeline(
    "optimize",
    [
        Place(
            inline_calls.run,
            "All other passes look at operations, and a call hides those of its program.",
        ),
        _place(
            widen_halves.run,
            "All other passes see arithmetic on floats that targets compute with, and no two "
            "roundings to float16 as one.",
        ),
        _place(
            branch_stores.run,
            "As before derivatives: what branches do to arrays is what loops do.",
        ),
        _place(
            branch_elements.run,
            "What is stored after branches is often picked again; they are left with numbers.",
        ),
        _place(
            select_branches.run,
            "Branches over numbers are gone before loops are looked at: a selection is an "
            "operation like others, and its places are those of the step.",
        ),
        _place(
            indexed_scans.run,
            "The passes over loops tell rows, which steps take apart or stack, from arrays that a "
            "step may read anywhere.",
        ),
        _place(
            push_gathers.run,
            "Rows that are not picked are not computed, so nothing else has to look at them.",
        ),
        _place(
            push_reductions.run,
            "It makes products smaller, as picking does: before passes that look at what is "
            "computed.",
        ),
        _place(
            shares.run,
            "Divisions by counts become products, so that quotients sees only the others.",
        ),
        _place(
            quotients.run,
            "It needs the divisions as the rules of derivatives have left them, outside of loops "
            "and in bodies, before loops are taken apart.",
        ),
        _place(
            sorted_places.run,
            "Derivatives have brought the places by now, and gathers are not pushed any more.",
        ),
        _place(
            swap_products.run,
            "Products are final now: those above may have left out, shrunk or moved some.",
        ),
        Place(
            first_reads.run,
            "What loops only read is no tape, and is not copied. It looks at bodies with what it "
            "knows of the loops around them.",
        ),
        _place(
            undo_tapes.run,
            "It finds tapes by the loop that makes them and the one that reads them, which the "
            "passes below take apart.",
        ),
        _place(
            undo_steps.run,
            "A step that undid a tape may begin with an array that a loop in it pushes.",
        ),
        _place(
            begun_sums.run,
            "From the innermost loop outwards: a step that adds in a loop of its own adds only.",
        ),
        _place(
            counted_back.run,
            "The loops above have their last carries and streams; those below see one sweep less.",
        ),
        _place(
            restored_elements.run,
            "Begun sums have brought what is cleared and what is added back together.",
        ),
        Place(
            summed_elements.run,
            "An element that is cleared in each step is not only added to. It looks at bodies with "
            "what it knows of the loops around them.",
        ),
        _place(
            distribute_recurrences.run,
            "It takes apart loops over numbers, and those over small arrays that it reads as "
            "numbers; the rest of the latter become loops over numbers right after.",
        ),
        _place(
            scalar_replacement.run,
            "A step over numbers has its tapes in numbers, which the next pass measures.",
        ),
        _place(
            rematerialize_tapes.run,
            "The tapes that are left are long for good: those of what steps replace are gone.",
        ),
        _place(
            unroll.run,
            "Last: it copies steps, which all others would have to read several times.",
        ),
    ],
    given=[DERIVATIVES],
    then=simplified,
)


#: Passes that tracing and transformations run themselves, and the reasons.
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


def optimize(program: Program, *, verify: bool = False) -> Program:
    """The program to compile: calls are inlined, it is :func:`simplified`, and tapes are small.

    It should not be differentiated any more: the rules of custom derivatives are gone.  With
    ``verify``, the program is checked before and after.
    """
    if verify:
        check(program)
    with seldom_collected():
        program = OPTIMIZE(program)
    if verify:
        check(program)
    return program
