"""Loops over rows and columns of what lies in one piece are one loop.

    for i in 0..3000:                      for t in 0..36000:
      for j in 0..12:              ->        y[t] = x[t] * x[t]
        y[12*i + j] = x[12*i + j] * x[12*i + j]

Twelve columns are one vector of eight and a rest of four, which is computed one by one; a sum over
all of them would be added up for each row.

Legal where no index tells rows from columns, and both loops run over all of their ranges.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from autojit.codegen.loop_ir.nodes import Kernel, Loop
from autojit.codegen.loop_ir.traversal import bodies_of, is_whole
from autojit.ir.core.affine import Affine, Quotient, Var


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
    changes = {
        f.name: _joined(value, row, column, width, both)
        for f in fields(s)
        if isinstance(value := getattr(s, f.name), Affine)
    }
    return replace(s, **changes) if changes else s


def _joined(index: Affine, row: Var, column: Var, width: int, both: Var) -> Affine:
    step = 0
    rest = []
    for atom, coefficient in index.terms:
        if atom is column:
            step = coefficient
        elif isinstance(atom, Quotient) and not {row, column}.isdisjoint(atom.operand.variables()):
            raise _Apart
        elif atom is not row:
            rest.append((atom, coefficient))
    if dict(index.terms).get(row, 0) != step * width:
        raise _Apart
    return Affine(index.constant, tuple(rest)) + Affine(0, ((both, step),) if step else ())
