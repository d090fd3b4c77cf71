"""Python loops in traced functions: rolled up where they repeat themselves, else warned of."""

from __future__ import annotations

from collections import Counter

from autojit.ir.program import Program

from .errors import UnrolledLoopWarning, warn_at
from .remembered import remembered

#: Shorter traces are left alone.
LEAST_OPS = 100
#: Repetitions of fewer operations are no loops: unrolled, they are fused as a whole.
LEAST_LOOP = 500
#: Ops beyond which compilation takes seconds.
BUDGET = 5_000


def roll(program: Program) -> Program:
    """The program with repeated stretches as arrays or loops."""
    from autojit.ir.passes.roll import roll

    return roll(program, LEAST_OPS, LEAST_LOOP)


def _merged(program: Program) -> Program:
    """The program with what it computes twice computed once, as what is compiled is."""
    from autojit.ir.passes import cse, dce

    return dce.run(cse.run(program))


def without_long_stretches(program: Program) -> Program:
    """The program with repeated stretches as arrays or loops; warns where it stays very long."""
    if len(program.ops) >= LEAST_OPS:
        program = remembered(roll, program)
    if len(program.ops) > BUDGET and len(remembered(_merged, program).ops) > BUDGET:
        lines = Counter(op.source for op in program.ops if op.source is not None)
        source, count = lines.most_common(1)[0] if lines else (None, 0)
        warn_at(
            source,
            UnrolledLoopWarning,
            f"The trace has {len(program.ops)} operations, {count} of them from one line: a "
            "Python loop is unrolled while a function is traced, and compiling takes time in "
            "proportion. A loop that is one operation:\n"
            "    x = fori_loop(0, n, lambda i, x: step(x, w[i]), x)  "
            "# for i in range(n): x = step(x, w[i])\n"
            "    x, ys = scan(lambda x, row: (step(x, row), x), x, w)  "
            "# for row in w: ys.append(x); x = step(x, row)",
        )
    return program
