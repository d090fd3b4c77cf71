"""Calls: an op that represents a program is replaced by that program's ops.

Before::

    %1: f64[] = custom_jvp %0 {body=program f(%0: f64[]) {
      %1: f64[] = sin %0
      return %1
    }, constants=0, rule=…}

After::

    %1: f64[] = sin %0

Calls in the bodies of other ops are replaced as well. Ops that no output needs are removed first:
some ops have derivatives only in one mode, and are rejected here if they remain.

Legal where the program will not be differentiated any more: a call computes the same as its
program, but may have another derivative. A call that reverse mode must repeat stays. Nothing
changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.tools.program_passes import CALLS_INLINED, program_pass

from . import dce
from .rewrite import Rewriter, rewrite


@program_pass(
    "Replaces calls by the operations of the called programs.",
    gives=[CALLS_INLINED],
)
def run(program: Program) -> Program:
    """Inline all calls; return the same object if there are none and all ops are needed."""
    program = dce.run(program)
    return rewrite(program, [_inline]) if any(map(_has_programs, program.kinds)) else program


def _has_programs(kind: Declaration) -> bool:
    """Whether ops of a kind may expand to programs, or have programs as parameters."""
    return isinstance(kind, BodyOp) or type(kind).expand is not Declaration.expand


def _inline(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
    called = op.kind.expand(op)
    if called is not None:
        return rewriter.inline(called, op.operands)
    params = {name: _inlined(value) for name, value in op.params.items()}
    if all(params[name] is value for name, value in op.params.items()):
        return None
    return rewriter.emit(op.kind, op.operands, params)


def _inlined(value: Any) -> Any:
    """Return a parameter with the calls in its programs inlined; the same object if none."""
    if isinstance(value, Program):
        return run(value)
    if isinstance(value, tuple):
        items = tuple(map(_inlined, value))
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value
