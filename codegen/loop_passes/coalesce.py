"""Loops over rows and columns of what lies in one piece are one loop.

    for i in 0..3000:                      for t in 0..36000:
      for j in 0..12:              ->        y[t] = x[t] * x[t]
        y[12*i + j] = x[12*i + j] * x[12*i + j]

Twelve columns are one vector of eight and a rest of four, which is computed one by one; a sum over
all of them would be added up for each row.

Legal where no index tells rows from columns, and both loops run over all of their ranges.
"""

from __future__ import annotations

from typing import Any

from autojit.codegen.analysis.loop_level import FLAT, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, is_whole, with_indices
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var


@kernel_pass(
    "Makes nests over rows and columns of what lies in one piece one loop.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def collapsed(kernel: Kernel) -> Kernel:
    """The kernel with nests of two loops made one loop, where all that they touch allows it."""
    _rewrite(kernel.body)
    return kernel


def _rewrite(body: list[Any]) -> None:
    for position, s in enumerate(body):
        for inner in bodies_of(s):
            _rewrite(inner)
        if isinstance(s, Loop):
            body[position] = _one_loop(s)


def _one_loop(outer: Loop) -> Loop:
    """The nest as one loop, if it can be."""
    if len(outer.body) != 1 or not is_whole(outer):
        return outer
    (inner,) = outer.body
    if not isinstance(inner, Loop) or inner.start or inner.role not in ("map", "reduce"):
        return outer
    if inner.share is not None or inner.only is not None:
        return outer
    if outer.role not in ("map", "reduce") or any(isinstance(s, Loop) for s in inner.body):
        return outer
    width = inner.stop
    both = Var(outer.var.extent * width)
    try:
        body = [_with_one(s, outer.var, inner.var, width, both) for s in inner.body]
    except _Apart:
        return outer
    role = "reduce" if "reduce" in (outer.role, inner.role) else "map"
    return Loop(both, outer.start * width, outer.stop * width, body, role)


class _Apart(Exception):
    """An index tells rows from columns."""


def _with_one(s: Any, row: Var, column: Var, width: int, both: Var) -> Any:
    """The statement with one variable in place of two."""
    if bodies_of(s):
        raise _Apart
    return with_indices(s, lambda index: _joined(index, row, column, width, both))


def _joined(index: Affine, row: Var, column: Var, width: int, both: Var) -> Affine:
    step = index.stride(column)
    if step is None or index.stride(row) != step * width:
        raise _Apart
    return index.without(row).without(column) + affine.of(both) * step
