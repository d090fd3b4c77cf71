"""Unrolled Python loops in traces: repetitions are rolled up, and long rests cause a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import islice

from autojit.errors import UnrolledLoopWarning, warn_at
from autojit.ir.autodiff.partition import needed
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.move import Move
from autojit.ir.pass_manager import remarks
from autojit.ir.tools.program_passes import DERIVATIVES, program_pass
from autojit.session.transform_cache import cached_transform
from autojit.tracing.source import LOOP_AS_ONE_OPERATION

#: Shorter traces are left alone.
LEAST_OPS = 100
#: Repetitions of fewer operations stay unrolled, and are fused as a whole.
LEAST_LOOP = 500
#: The number of ops above which compilation takes seconds.
BUDGET = 5_000
#: The number of scalar arguments above which a warning names them.
MANY_NUMBERS = 1_000


@program_pass(
    "Turns repeated sequences of operations into operations on arrays, or loops.",
    name="roll",
    needs=[DERIVATIVES],
    keeps=[DERIVATIVES],
)
def roll(program: Program, is_body: bool = False) -> Program:
    """The program with repeated stretches as arrays or loops."""
    from autojit.ir.passes.reroll.reroll import roll

    notes = remarks.current()
    before = 0 if notes is None else len(notes)
    made = roll(program, LEAST_OPS, LEAST_LOOP, is_body=is_body)
    if notes is not None:
        from autojit.ir.passes.reroll.remarks import not_found

        if len(made.ops) <= len(program.ops) // 2:
            notes.forget("roll", before)  # what was tried in vain, before a way was found
        else:
            not_found(program, LEAST_OPS)
    return made


def without_long_stretches(program: Program, *, is_body: bool = False) -> Program:
    """The program with repeated stretches as arrays or loops; warns if it stays very long."""
    if len(program.ops) - program.irregular >= LEAST_OPS and _computes(program):
        program = _rolled(program, is_body)
    elif program.irregular:
        program.irregular = len(program.ops)
    elif remarks.current() is not None:
        from autojit.ir.passes.reroll.remarks import not_found

        not_found(program, LEAST_OPS)
    if _is_long(program):
        _warn(program)
    return program


def _computes(program: Program) -> bool:
    """Whether enough ops do more than move numbers from the arguments, or to the results.

    Those are parts of copies of whole arrays (``codegen.driver.packing``), and no loop: a search in
    the 37,000 of a gradient by 11,301 numbers took 2.4 s.
    """
    numbers = sum(not v.shape for v in (*program.inputs, *program.outputs))
    if numbers < LEAST_OPS:
        return True
    moved = _moved(program)
    own = (op for op in program.ops if not (isinstance(op.kind, Move) and op.result in moved))
    return next(islice(own, LEAST_OPS - 1, None), None) is not None


def tidied(program: Program) -> Program:
    """The program of a trace in which loops became operations on arrays, with short forms of these
    and without what they no longer need."""
    from autojit.ir.rewriting import dce
    from autojit.ir.rewriting.rewrite import rewrite
    from autojit.ir.simplification.simplify import simplify

    return dce.run(rewrite(program, [simplify]))


def _rolled(program: Program, is_body: bool) -> Program:
    """The program rolled up; a program without any repetition is noted as irregular.

    Its transformations, such as its gradient, have no repetitions either. Long ones are not
    searched again: three searches in a gradient of 350,000 ops took a fifth of its compile time.
    """
    made = cached_transform(roll, program, is_body)
    if len(made.ops) == len(program.ops) > BUDGET:
        made.irregular = len(made.ops)
    return made


def _is_long(program: Program) -> bool:
    """Whether more distinct ops than the budget are compiled.

    Ops that only move numbers from the arguments, or to the results, do not count: they become
    parts of copies of whole arrays (``codegen.driver.packing``).
    """
    if len(program.ops) <= BUDGET:
        return False
    moved = _moved(program)
    first: dict[Hashable, Op] = {}
    same: dict[Value, Value] = {}
    count = 0
    for op in needed(program.ops, program.outputs):
        operands = [same.get(v, v) for v in op.operands]
        if op.kind.commutative:
            operands.sort(key=id)
        earlier = first.setdefault((op.kind, *operands, op.kind.key(op.params)), op)
        if earlier is not op:
            same.update(zip(op.results, earlier.results, strict=True))
        elif not (isinstance(op.kind, Move) and op.result in moved):
            count += 1
            if count > BUDGET:
                return True
    return False


def _moved(program: Program) -> set[Value]:
    """Values that are only moved, from scalar arguments or to scalar results."""
    taken = {v for v in program.inputs if not v.shape}
    for op in program.ops:
        if isinstance(op.kind, Move) and op.operands[0] in taken:
            taken.add(op.result)
    given = {v for v in program.outputs if not v.shape}
    for op in reversed(program.ops):
        if isinstance(op.kind, Move) and op.result in given:
            given.update(op.operands)
    return taken | given


_NUMBERS = (
    "\n"
    "Each of its {} numbers is a separate argument with separate operations. Pass arrays:\n"
    "    f(np.array(weights))                                # and not f(weights)"
)


def _warn(program: Program) -> None:
    """Warn of a trace that stayed long, and name the line that most of it comes from."""
    lines = Counter(op.source for op in program.ops if op.source is not None)
    source, count = lines.most_common(1)[0] if lines else (None, 0)
    numbers = sum(not v.shape for v in program.inputs)
    warn_at(
        source,
        UnrolledLoopWarning,
        f"The trace has {len(program.ops)} operations, {count} of them from one line: a Python "
        "loop is unrolled while a function is traced, and compiling takes time in proportion. "
        + LOOP_AS_ONE_OPERATION
        + (_NUMBERS.format(numbers) if numbers >= MANY_NUMBERS else ""),
    )
