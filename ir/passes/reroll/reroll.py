"""Rolling: a repeated stretch of ops becomes ops on all steps at once, or a loop.

Before (the trace of ``for i in range(n): x = sin(x) * w[i]``)::

    %2: f64[] = sin %1
    %3: f64[1] = slice %0 {start=(0,), stop=(1,), stride=(1,)}
    …
    %8: f64[] = sin %7
    %9: f64[1] = slice %0 {start=(1,), stop=(2,), stride=(1,)}
    …

After: a ``scan`` over the steps, in which the slice is taken at the index of the step.  Independent
steps, as in ``total = total + sin(x[i])``, become arrays instead: see ``roll_rows``.

The steps must be equal op by op.  An operand is a value of the same step, a value of a step shortly
before, or the same value in all steps. Parameters that declarations call ``sliding`` may change by
a constant amount.

Legal where ``repetitions`` finds the steps equal and ``roll_steps`` knows each operand.  A loop
gives the same bits; if steps become arrays, sums are rounded in another order (see ``roll_rows``).
"""

from __future__ import annotations

from autojit.ir.core.program import Program
from autojit.ir.ops.move import Move
from autojit.ir.rewriting import dce, in_order
from autojit.ir.rewriting.rewrite import rewrite
from autojit.ir.simplification.simplify import simplify

from .numbers import with_arrays
from .repetitions import Ops
from .round import Round
from .tables import DATA, DATA_AND_PARTS, with_tables

#: The fewest ops of a stretch that becomes arrays, once the program was found to repeat.
LEAST_ROWS = 24
#: A program with more ops than this is long, even after rolling. If it stays longer than this, and
#: than half of its length, it is left as traced. It is not searched again after a search that
#: gained less than a tenth: twelve searches in a lattice of 72,000 ops took 7 s to gain a tenth in
#: total.
LONG = 20_000
GAIN = 0.9
#: With at least this many scalar arguments, steps are first searched with all of them as elements
#: of arrays.
MANY_NUMBERS = 64


def roll(program: Program, least: int, least_loop: int, *, is_body: bool = False) -> Program:
    """The program with repetitions of at least ``least`` ops as arrays, else as loops.

    Loops are made of at least ``least_loop`` ops. The same object is returned if there are none.
    Arrays captured in addition to the program's own are tables of numbers.  The scalars of a body
    are in registers, so each of its steps would have to put them into an array."""
    arrays = None if is_body else with_arrays(program)
    made = program
    if arrays is None or arrays.numbers < MANY_NUMBERS:
        made = _in_some_order(program, least, least_loop)
    if arrays is not None and len(made.ops) >= least:
        other = _in_some_order(arrays.program, least, least_loop)
        # The ops that join the numbers do not count: the numbers are passed as an array.
        if len(other.ops) <= len(made.ops) // 2:
            return arrays.of_numbers(other)
        if made is program and arrays.numbers >= MANY_NUMBERS:
            made = _in_some_order(program, least, least_loop)
    return made


def _in_some_order(program: Program, least: int, least_loop: int) -> Program:
    """The program, rolled in its traced order, or else in another valid order."""
    ops = Ops(program.ops)
    made = _with_tables(program, ops, least, least_loop)
    if len(program.ops) >= least_loop and len(made.ops) >= least:
        ordered = in_order.run(program)
        if in_order.repeats_more(ordered, program, ops.alike):
            other = _with_tables(ordered, Ops(ordered.ops), least, least_loop)
            if len(other.ops) <= len(made.ops) // 2:
                return other
    return made


def _with_tables(program: Program, ops: Ops, least: int, least_loop: int) -> Program:
    """The rolled program, with tables of the values that differ between steps if that helps."""
    made = _rolled(program, ops, least, least_loop)
    for kinds in (DATA, DATA_AND_PARTS):
        if len(made.ops) < least_loop or _computing(made) < least:
            break
        tabled = with_tables(program, ops, least_loop, kinds)
        if tabled is not None:
            other = _rolled(tabled, Ops(tabled.ops), least, least_loop)
            if len(other.ops) <= len(made.ops) // 2:
                made = other
    return made


def _computing(program: Program) -> int:
    """The number of ops that do more than move elements."""
    return sum(not isinstance(op.kind, Move) for op in program.ops)


def _rolled(program: Program, ops: Ops, least: int, least_loop: int) -> Program:
    def inner(body: Program) -> Program:  # a body may contain loops
        return _rolled(body, Ops(body.ops), LEAST_ROWS, least_loop)

    traced = program
    while len(program.ops) >= least:
        made = Round(program, least_loop, inner).run(ops, least)
        if made is None:
            break
        # An op that reads all steps (np.stack of a list) becomes a read of the stacked array.
        made = dce.run(rewrite(made, [simplify]))
        if len(made.ops) >= len(program.ops):
            break
        gain = len(made.ops) / len(program.ops)
        program, least = made, min(least, LEAST_ROWS)
        if len(program.ops) > LONG and gain > GAIN:
            break
        ops = Ops(program.ops)
    return program if len(program.ops) <= max(LONG, len(traced.ops) // 2) else traced
