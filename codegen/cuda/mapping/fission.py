"""Few long rows: what follows a reduction becomes a kernel of its own, which all blocks share.

    for i in 0..4:                       for i in 0..4:
      m = max of row i                     m = max of row i
      for j in 0..1000000:          ->     saved[i] = m
        y[i, j] = x[i, j] - m            for i in 0..4, j in 0..1000000:
                                           y[i, j] = x[i, j] - saved[i]

Legal where iterations of the nest are independent, since then all first halves may come before all
second ones; and where what the second half computes again reads nothing that the first one writes.
"""

from __future__ import annotations

from typing import Any

from autojit.codegen.analysis.dependences import touches, written
from autojit.codegen.loop_ir.nodes import Begin, Finish, Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine

from .structure import Nest, live
from .teams import Reduced


def halves(kernel: Kernel, nest: Nest, first: Reduced, scalars: list[Any]) -> list[Kernel]:
    """The kernel as two, the first of which ends with the first reduction; or nothing."""
    ends = [k for k, s in enumerate(first.rest) if isinstance(s, Loop | Begin)]
    if not ends or any(loop.start or loop.role != "map" for loop in nest.loops):
        return []
    now, later = first.rest[: ends[0]], first.rest[ends[0] :]
    row, below = Affine(0), 1
    for loop in reversed(nest.loops):
        row = row + affine.of(loop.var) * below
        below *= loop.stop
    saving: list[Any] = []
    definitions: list[Any] = [*scalars, *nest.between, *first.before]
    for s in now:
        if isinstance(s, Finish):
            saved = Buffer("saved", s.result.dtype, nest.count, "temp")
            saving.append(Store(saved, row, s.result))
            definitions.append(Load(s.result, saved, row, None))
        elif not isinstance(s, Store):
            definitions.append(s)
    again = live(definitions, later)
    head = [*first.begins, *first.loops, *now]
    if {t.memory for t in touches(again)} & written(head):
        return []
    needed = {s.result.number for s in again if isinstance(s, Load)}
    saving = [s for s in saving if s.value.number in needed]
    outside = live([*scalars, *nest.between, *first.before], [*head, *saving])
    return [
        _kernel(kernel.name, nest, [*outside, *head, *saving]),
        _kernel(f"{kernel.name}_then", nest, [*again, *later]),
    ]


def _kernel(name: str, nest: Nest, body: list[Any]) -> Kernel:
    for loop in reversed(nest.loops):
        body = [Loop(loop.var, 0, loop.stop, body, "map")]
    return Kernel(name, body, buffers_of(body))
