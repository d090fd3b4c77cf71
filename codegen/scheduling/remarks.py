"""Remarks about loops: the user's lines they come from, and why two were not fused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_text.printer import text_of
from autojit.ir.core import affine
from autojit.ir.core.program import Op
from autojit.ir.pass_manager import remarks

from .op_loops import Stored

#: The most user lines that a remark names.
_MOST_LINES = 3


def about_loop(by: str, kernel: Kernel, loop: Any, reason: str, way_out: str = "") -> None:
    """Note a remark about a loop of a kernel, if remarks are collected."""
    notes = remarks.current()
    if notes is not None:
        line, _ = text_of(kernel.body, loop)
        place = f"{_lines(kernel)}{line.partition(':')[0]}"
        notes.add(by, place, reason, way_out, about=(kernel.origins, loop))


def _lines(kernel: Kernel) -> str:
    """The user's lines with results that a kernel stores."""
    roots = [op for origin in kernel.origins for op in origin.roots]
    found = list(dict.fromkeys(str(op.source) for op in roots if op.source))
    more = ", …" if len(found) > _MOST_LINES else ""
    return f"{', '.join(found[:_MOST_LINES])}{more}: " if found else f"kernel {kernel.name}: "


# -- fusion --------------------------------------------------------------------------


def not_joined(others: list[Any], first: int, item: Stored, depth: int) -> None:
    """Note why a value joined none of the loops beside its own, if remarks are collected.

    ``others`` are these loops; the ones from ``first`` on come after all operands of the value. The
    remark is about the last loop related to the value.
    """
    notes = remarks.current()
    if notes is None:
        return
    touched = {*item.reads, item.value}
    for position in range(len(others) - 1, -1, -1):
        other = others[position]
        if not touched.isdisjoint(getattr(other, "touched", ())) and other.var is not None:
            reason = _why(other, item, depth, is_behind=position < first)
            about = f"not in one loop with {_named(_last(other))}: {reason}"
            notes.add("fusion", _named(item.op), about, about=(item.op, _last(other), reason))
            return


def _why(other: Any, item: Stored, depth: int, *, is_behind: bool) -> str:
    extent = item.extents[depth]
    if other.var.extent != extent:
        return f"that one has {other.var.extent} iterations, this one {extent}"
    if is_behind:
        return "another value that it reads is computed after that loop"
    here = affine.of(item.vars[depth])
    return next(_conflicts(other, item, depth, here), "it reads a value that is not complete there")


def _conflicts(other: Any, item: Stored, depth: int, here: Any) -> Iterator[str]:
    for value, indices in item.reads.items():
        if value not in other.members:
            continue
        makers = [leaf for leaf in other.leaves() if value in leaf.values]
        name = makers[0].op.kind.name if makers else "what"
        source = makers[0] if makers else None
        if not isinstance(source, Stored) or source.base is not None:
            yield f"it reads the array that {name} changes in place there"
        elif (axis := source.dims[depth]) is None:
            yield f"it reads a result of {name}, which is complete only after the last iteration"
        elif any(index[axis] != here for index in indices):
            yield f"it reads other elements of {name} than the iteration has just computed"


def _last(node: Any) -> Op:
    """The op of the last value that a loop computes."""
    *_, last = node.leaves()
    op: Op = last.op
    return op


def _named(op: Op) -> str:
    return f"{op.kind.name} ({op.source})" if op.source else op.kind.name
