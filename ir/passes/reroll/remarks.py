"""Remarks that explain why a repeated stretch became neither arrays nor a loop.

Legal where nothing is rewritten, as is the case here.
"""

from __future__ import annotations

from collections import Counter

from autojit.ir.core.program import Program
from autojit.ir.pass_manager import remarks

from .repetitions import LEAST_STEPS
from .rows import KINDS, LARGEST, LARGEST_ROW
from .steps import Steps

#: The suggested way to write the loop.
WAY_OUT = "Write the loop as one operation: autojit.fori_loop or autojit.scan"


def not_rolled(steps: Steps, least_loop: int) -> None:
    """Note why the steps are not rolled, if remarks are collected.

    Only the first steps at a line are noted, which are the longest stretch.
    """
    notes = remarks.current()
    place = str(steps.template[0].source or steps.program.name)
    if notes is None or any((r.by, r.place) == ("roll", place) for r in notes):
        return
    size = len(steps.columns) * steps.count
    head = f"{steps.count} steps of {len(steps.columns)} operations stay unrolled: "
    why = _why_no_rows(steps)
    if size < least_loop:
        why += f"; and a loop pays only from {least_loop} operations on"
    elif steps.loose:
        why += (
            "; and they cannot become a loop, since the values that they read lie at irregular "
            "distances"
        )
    else:
        why += "; and a loop would not have fewer operations"
    notes.add("roll", place, head + why, WAY_OUT)


def _why_no_rows(steps: Steps) -> str:
    others = [op.kind.name for op in steps.template if not isinstance(op.kind, KINDS)]
    if others:
        return f"{others[0]} cannot be computed for all steps at once"
    largest = max(v.type.size for op in steps.template for v in op.results)
    if largest > LARGEST_ROW or largest * steps.count > LARGEST:
        return (
            f"each step already works on arrays of {largest} elements, which are long enough by "
            "themselves"
        )
    if steps.carried:
        return "a step reads a result of the previous step, and not only to add to it"
    return "computing all steps at once would not need fewer operations"


def not_found(program: Program, least: int) -> None:
    """Note that a program has no repeated stretch, if remarks are collected.

    The remark refers to the line that most of the program comes from.
    """
    notes = remarks.current()
    alike = Counter((op.source, op.kind) for op in program.ops if op.source is not None)
    if notes is None or not alike:
        return
    (((source, _), steps),) = alike.most_common(1)
    if steps < LEAST_STEPS:
        return
    count = sum(op.source == source for op in program.ops)
    if len(program.ops) < least:
        reason = (
            f"the trace has {len(program.ops)} operations, and repeated steps are looked for "
            f"only from {least} on"
        )
        notes.add("roll", str(source), reason)
    elif not any(remark.by == "roll" for remark in notes):
        reason = (
            f"{count} operations come from this line, but no sequence of the same operations is "
            f"repeated {LEAST_STEPS} times"
        )
        notes.add("roll", str(source), reason, WAY_OUT)
