"""Requirements of statements on the entry: a status for failures, a table of addresses."""

from __future__ import annotations

from typing import Any

from autojit.codegen.cpu.llvm.scalars import is_float
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import is_check
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Compute, Gather, RunTasks, ScatterInto
from autojit.codegen.loop_ir.sequences import Recall, Repeat
from autojit.ir.special.external import external


def can_fail(statement: Any) -> bool:
    """Whether a statement can fail when it runs."""
    if isinstance(statement, Compute):
        power = statement.name == "pow" and not is_float(statement.result.dtype)
        return power or is_check(statement.name)
    if isinstance(statement, (Gather, ScatterInto)):
        return any(place.line is None for place in statement.places)
    # A loop of unknown length can be interrupted.
    return isinstance(statement, (Factorization, Callback, Repeat))


def needs_table(s: Any) -> bool:
    """Whether a statement calls a function whose address is in the table."""
    if isinstance(s, MatrixProduct):
        return not s.tiled
    if isinstance(s, Compute):
        return external(s.name) is not None
    return isinstance(s, (RunTasks, Factorization, Callback, Repeat)) or (
        isinstance(s, Recall) and bool(s.tapes)
    )
