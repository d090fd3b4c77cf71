"""Coalesce a nest of two loops over contiguous memory into one loop.

    for i in 0..3000:                      for t in 0..36000:
      for j in 0..12:              ->        y[t] = x[t] * x[t]
        y[12*i + j] = x[12*i + j] * x[12*i + j]

Twelve columns are one vector of eight and four elements that are computed one by one. A sum over
all elements would be combined once per row.

Legal where each index depends on the two variables through one linear form (row * width + column),
and both loops run over all of their ranges.
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
    "Coalesces nests of two loops over contiguous memory.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def coalesced(kernel: Kernel) -> Kernel:
    """The kernel with nests of two loops coalesced if all of their accesses are contiguous."""
    _rewrite(kernel.body)
    return kernel


def _rewrite(body: list[Any]) -> None:
    for position, s in enumerate(body):
        for inner in bodies_of(s):
            _rewrite(inner)
        if isinstance(s, Loop):
            body[position] = _coalesced(s)


def _coalesced(outer: Loop) -> Loop:
    """The nest as one loop; unchanged if that is not legal."""
    if len(outer.body) != 1 or not is_whole(outer):
        return outer
    (inner,) = outer.body
    if not isinstance(inner, Loop) or inner.start or inner.role not in ("map", "reduce"):
        return outer
    if inner.share is not None or inner.is_partial:
        return outer
    if outer.role not in ("map", "reduce") or any(isinstance(s, Loop) for s in inner.body):
        return outer
    width = inner.stop
    joined = Var(outer.var.extent * width)
    try:
        body = [_with_joined(s, outer.var, inner.var, width, joined) for s in inner.body]
    except _NotLinear:
        return outer
    role = "reduce" if "reduce" in (outer.role, inner.role) else "map"
    return Loop(joined, outer.start * width, outer.stop * width, body, role)


class _NotLinear(Exception):
    """An index does not depend on rows and columns through one linear form."""


def _with_joined(s: Any, row: Var, column: Var, width: int, joined: Var) -> Any:
    """The statement with the coalesced variable instead of the two."""
    if bodies_of(s):
        raise _NotLinear
    return with_indices(s, lambda index: _joined(index, row, column, width, joined))


def _joined(index: Affine, row: Var, column: Var, width: int, joined: Var) -> Affine:
    step = index.stride(column)
    if step is None or index.stride(row) != step * width:
        raise _NotLinear
    return index.without(row).without(column) + affine.of(joined) * step
