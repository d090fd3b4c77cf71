"""The steps of a program as loops over rows: the memory that each row touches, and the other
memory touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from autojit.codegen.analysis.dependences import touches
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.effects import Access as Touched
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import is_whole, memory, ranges, walk
from autojit.codegen.loop_ir.values import Buffer, Operand
from autojit.ir.core.affine import Affine, Bounds, Var

#: The statements that a loop over rows may hold.
_KNOWN = (
    Accumulate, AccumulateInto, Begin, Compute, Constant, Fill, Finish, Gather, IndexValue, InRange,
    Load, Loop, Store,
)  # fmt: skip


@dataclass(frozen=True)
class Access:
    """Memory that a step touches.

    ``row`` is the distance of its rows, if each iteration touches only its own row.
    """

    memory: Buffer
    writes: bool
    row: int | None = None


@dataclass
class RowStep:
    """A step as a loop over rows, and its other accesses."""

    step: Kernel | MatrixProduct
    inside: list[Access]
    outside: list[Access] = field(default_factory=list)
    #: For a kernel, the position of its loop; for a product, the meaning of the rows.
    place: int = 0
    way: str = ""

    @property
    def accesses(self) -> list[Access]:
        return [*self.inside, *self.outside]


def _main(kernel: Kernel) -> int | None:
    """The position of the loop with most of the work."""
    loops = [i for i, s in enumerate(kernel.body) if isinstance(s, Loop)]
    return max(loops, key=lambda i: work([kernel.body[i]])) if loops else None


def extents(step: Any) -> list[int]:
    """The possible numbers of rows of a step."""
    if isinstance(step, MatrixProduct):
        return list(dict.fromkeys([*step.batch[:1], step.m]))
    place = _main(step) if isinstance(step, Kernel) else None
    return [] if place is None else [step.body[place].stop]


def as_rows(step: Any, extent: int) -> Iterator[RowStep]:
    """The step as a loop over this many rows, in each possible way."""
    if isinstance(step, MatrixProduct):
        yield from _of_product(step, extent)
        return
    place = _main(step) if isinstance(step, Kernel) else None
    if place is None or not all(isinstance(s, _KNOWN) for s in walk(step.body)):
        return
    loop = step.body[place]
    if (loop.start, loop.stop) != (0, extent) or loop.role not in ("map", "reduce"):
        return
    if not is_whole(loop):
        return
    bounds = ranges(loop.body)
    inside = [
        Access(t.memory, t.changes, _row_of(t.access, loop.var, bounds))
        for t in touches(loop.body)
        if t.memory.kind != "local"
    ]
    rest = [s for i, s in enumerate(step.body) if i != place]
    yield RowStep(step, inside, list(_accesses_of(rest)), place)


def _accesses_of(body: list[Any]) -> Iterator[Access]:
    """The memory that statements touch, at any depth."""
    for t in touches(body):
        if t.memory.kind != "local":
            yield Access(t.memory, t.changes)


def _row_of(access: Touched | None, var: Var, bounds: Bounds) -> int | None:
    """The distance of the rows, if each iteration touches only its own row."""
    if access is None or not access.is_exact:
        return None
    index, count = access.index + access.low, access.size
    step, rest = index.coefficient(var), index.without(var)
    if step <= 0 or not all(v in bounds for v in rest.variables()):
        return None
    low, high = rest.range(bounds)
    return step if low >= 0 and high + count <= step else None


def _of_product(s: MatrixProduct, extent: int) -> Iterator[RowStep]:
    if s.dtype not in ("f32", "f64") or s.c_offset != Affine(0):
        return
    a, b, c = (memory(x) for x in (s.a.buffer, s.b.buffer, s.c))
    *_, a_row, a_step = s.a.strides
    *_, b_step, b_column = s.b.strides
    single = prod(s.batch) == 1
    if len(s.batch) and s.batch[0] == extent and not single:
        inner = s.batch[1:]
        inside = [
            Access(a, False, _row(s.a, s.a.strides[0], (*inner, s.m, s.k), s.a.strides[1:])),
            Access(b, False, _row(s.b, s.b.strides[0], (*inner, s.k, s.n), s.b.strides[1:])),
            Access(c, True, prod(inner) * s.m * s.n),
        ]
        yield RowStep(s, inside, way="batch")
    if single and s.m == extent:
        inside = [
            Access(a, False, _row(s.a, a_row, (s.k,), (a_step,))),
            Access(b, False),
            Access(c, True, s.n),
        ]
        yield RowStep(s, inside, way="rows")
    if single and s.k == extent and s.c.size == s.m * s.n:
        inside = [
            Access(a, False, _row(s.a, a_step, (s.m,), (a_row,))),
            Access(b, False, _row(s.b, b_step, (s.n,), (b_column,))),
            Access(c, True),
        ]
        yield RowStep(s, inside, way="sum")


def _row(o: Operand, step: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The distance of the rows of an operand, if they are disjoint."""
    if o.offset.terms or step <= 0 or any(s < 0 for s in strides):
        return None
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return step if o.offset.constant >= 0 and o.offset.constant + last < step else None


def touched(step: Any) -> list[Access]:
    return list(_accesses_of(step.body if isinstance(step, Kernel) else [step]))


def conflict(one: list[Access], other: list[Access]) -> bool:
    """Whether the order of two steps matters."""
    named, written = {a.memory for a in one}, {a.memory for a in one if a.writes}
    return any(a.memory in (named if a.writes else written) for a in other)
