"""Statements about whole matrices: products, and the other ops of linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.shapes import row_major_strides

from .effects import Access, declare
from .values import Buffer, Operand


def _rest_of(o: Operand) -> Access:
    """What follows: results are contiguous, as far as they go."""
    count = max(1, o.buffer.size - o.offset.constant)
    return Access(o.buffer, o.offset, 0, count - 1, is_rest=True)


@declare(
    reads=lambda s: s.read,
    writes=lambda s: (s.written,),
    scratch=lambda s: () if s.panel is None else (Access(s.panel.buffer, s.panel.offset),),
    buffers=lambda s: s.buffers,
    share=lambda s: s.share,
)
@dataclass(slots=True)
class MatrixProduct:
    """``c[batch] = a[batch] @ b[batch]``; c is row-major and contiguous.

    A step of the program, or a statement in the body of a loop.  It is the BLAS's, or computed in
    tiles (see ``products``), with a panel for columns of b that have to be copied; where a share is
    given, only the task's part of the tiles.
    """

    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    c: Buffer
    c_offset: Affine
    tiled: bool = False
    #: In tiles of blocks that are copied for the caches; the panel has the task's.
    blocked: bool = False
    panel: Operand | None = None
    share: Var | None = None

    @property
    def parts(self) -> int:
        """How many scalars make up an element; offsets and strides count elements."""
        return 2 if self.dtype[0] == "c" else 1

    @property
    def strides_of_results(self) -> tuple[int, ...]:
        """Strides of c, as those of an operand."""
        return row_major_strides((*self.batch, self.m, self.n))

    @property
    def buffers(self) -> list[Buffer]:
        """Operands, the result, and the panel."""
        found = [self.a.buffer, self.b.buffer, self.c]
        return found if self.panel is None else [*found, self.panel.buffer]

    @property
    def read(self) -> list[Access]:
        """Where the operands are; those without elements are nowhere."""
        shapes = (self.a, self.m, self.k), (self.b, self.k, self.n)
        found = []
        for operand, rows, columns in shapes:
            shape = (*self.batch, rows, columns)
            if 0 not in shape:
                ends = [(n - 1) * d for n, d in zip(shape, operand.strides, strict=True)]
                low, high = sum(min(0, e) for e in ends), sum(max(0, e) for e in ends)
                low, high = low * self.parts, (high + 1) * self.parts - 1
                found.append(Access(operand.buffer, operand.offset * self.parts, low, high))
        return found

    @property
    def written(self) -> Access:
        """Where the result is."""
        count = prod(self.batch) * self.m * self.n * self.parts
        return Access(self.c, self.c_offset * self.parts, 0, count - 1)


@declare(
    reads=lambda s: [Access(o.buffer, o.offset, is_rest=True) for o in s.inputs if s.is_some],
    writes=lambda s: [_rest_of(o) for o in s.outputs if s.is_some],
    buffers=lambda s: s.buffers,
)
@dataclass(slots=True)
class Factorization:
    """A linear algebra op on every matrix of a batch.

    A matrix has ``m`` rows and ``n`` columns; ``k`` is the number of right-hand sides.  The
    results are row-major and contiguous, and so are the matrices of all inputs but the last,
    whose strides are free.  A step of the program, or a statement in the body of a loop.
    """

    name: str
    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    params: dict[str, Any]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def is_some(self) -> bool:
        """Whether there are matrices, and these have elements."""
        return 0 not in (*self.batch, self.m, self.n)

    @property
    def buffers(self) -> list[Buffer]:
        """Inputs, then results."""
        return [o.buffer for o in (*self.inputs, *self.outputs)]
