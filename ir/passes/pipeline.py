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
    masked_products,
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
            "The passes after it see only floats that targets compute with, and cannot merge two "
            "roundings to float16.",
        ),
        _place(
            branch_stores.run,
            "As before derivatives: a store that is moved out of a branch is a store of the "
            "loop around it.",
        ),
        _place(
            branch_elements.run,
            "Elements that are stored after a branch are often read again; then the branch "
            "returns only numbers.",
        ),
        _place(
            select_branches.run,
            "Branches over numbers become selections before the loop passes run: a selection is "
            "an ordinary operation of the step.",
        ),
        _place(
            indexed_scans.run,
            "The passes over loops distinguish rows, one of which each step reads or writes, "
            "from arrays that a step may read anywhere.",
        ),
        _place(
            masked_products.run,
            "Loops run over rows by now, and masks are as the slices with traced bounds left them.",
        ),
        _place(
            push_gathers.run,
            "Rows that are not selected are not computed, so no later pass has to process them.",
        ),
        _place(
            push_reductions.run,
            "Like push_gathers, it makes products smaller, so it runs before the passes that "
            "examine them.",
        ),
        _place(
            shares.run,
            "Divisions by counts become products, so that quotients sees only the others.",
        ),
        _place(
            quotients.run,
            "It needs the divisions as the rules of derivatives have left them, outside loops "
            "and in bodies, before loops are taken apart.",
        ),
        _place(
            sorted_places.run,
            "The permutations that derivatives need exist by now, and no later pass moves gathers.",
        ),
        _place(
            swap_products.run,
            "Products are final now: the passes above may remove, shrink or move some.",
        ),
        Place(
            first_reads.run,
            "Arrays that a loop only reads need neither a tape nor a copy. The pass visits "
            "bodies itself, since it needs facts about the loops around them.",
        ),
        _place(
            undo_tapes.run,
            "It finds tapes by the loop that makes them and the one that reads them, which the "
            "passes below take apart.",
        ),
        _place(
            undo_steps.run,
            "After undo_tapes, a step may begin with an array that a loop inside it pushes.",
        ),
        _place(
            begun_sums.run,
            "It works from the innermost loop outwards: a step whose inner loop only adds to "
            "an array also only adds to it.",
        ),
        _place(
            counted_back.run,
            "Carries and streams are final after the passes above, and the passes below see "
            "one sweep less.",
        ),
        _place(
            restored_elements.run,
            "begun_sums has brought the clearing of an element and the addition of its old "
            "value together.",
        ),
        Place(
            summed_elements.run,
            "It needs elements that are only added to, so restored_elements runs before it. The "
            "pass visits bodies itself, since it needs facts about the loops around them.",
        ),
        _place(
            distribute_recurrences.run,
            "It takes apart loops over numbers, and those over small arrays that it reads as "
            "numbers; the rest of the latter become loops over numbers right after.",
        ),
        _place(
            scalar_replacement.run,
            "The tapes of a step over numbers are numbers, whose size the next pass measures.",
        ),
        _place(
            rematerialize_tapes.run,
            "The remaining tapes cannot be shortened in another way: undo_tapes has replaced "
            "the others.",
        ),
        _place(
            unroll.run,
            "It runs last, since it copies steps, and the other passes would have to process "
            "each copy.",
        ),
    ],
    given=[DERIVATIVES],
    then=simplified,
)


#: Passes that tracing and transformations run themselves, and the reasons.
BY_THEMSELVES = {
    "trace": Place(
        resolve_parts,
        "Without it, the derivative of a loop that fills an array would carry a cotangent of the "
        "whole array from step to step.",
    ),
    "roll": Place(
        in_order.run,
        "Repetitions are found only in a canonical order of the operations, which depends on "
        "nothing but their operands.",
    ),
    "derivative of scan": Place(
        zero_cotangents.run,
        "After differentiation, one of two operations that cancel in a loop is on a tape, "
        "where no rule finds it.",
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
