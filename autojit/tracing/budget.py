"""The warning of a trace that goes on and on."""

from __future__ import annotations

from autojit.errors import UnrolledLoopWarning, warn_at
from autojit.ir.core.program import Source

#: Ops beyond which tracing itself takes seconds (20 to 40 us each), before anything is rolled up.
TRACE_BUDGET = 100_000

LOOP_AS_ONE_OPERATION = (
    "A loop that is one operation:\n"
    "    x = fori_loop(0, n, lambda i, x: step(x, w[i]), x)  "
    "# for i in range(n): x = step(x, w[i])\n"
    "    x, ys = scan(lambda x, row: (step(x, row), x), x, w)  "
    "# for row in w: ys.append(x); x = step(x, row)"
)


def warn_while_tracing(source: Source | None) -> None:
    """Warn of a trace that is not over yet."""
    warn_at(
        source,
        UnrolledLoopWarning,
        f"The trace has {TRACE_BUDGET} operations so far, and goes on: Python's loops, "
        "comprehensions and recursion are unrolled while a function is traced. "
        + LOOP_AS_ONE_OPERATION,
    )
