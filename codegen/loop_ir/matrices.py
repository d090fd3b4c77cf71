"""Statements about whole matrices: products, and the other ops of linear algebra."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.shapes import row_major_strides

from .effects import Access, declare
from .origins import Origins
from .values import Buffer, Operand


def _rest_of(o: Operand, dtype: str) -> Access:
    """The access from an offset on: results are contiguous."""
    offset = o.offset * parts_of(dtype)
    count = max(1, o.buffer.size - offset.constant)
    return Access(o.buffer, offset, 0, count - 1, is_rest=True)


def parts_of(dtype: str) -> int:
    """How many scalars make up an element."""
    return 2 if dtype[0] == "c" else 1


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

    A step of the program, or a statement in the body of a loop.  It is computed by the BLAS, or in
    tiles (see ``products``), with a panel for columns of b that have to be copied; if a share is
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
    #: Whether it uses tiles of blocks that are copied for the caches; the panel holds the task's
    #: blocks.
    blocked: bool = False
    panel: Operand | None = None
    share: Var | None = None
    #: The ops that it computes.
    origins: Origins = field(default=(), compare=False, repr=False)

    @property
    def parts(self) -> int:
        """How many scalars make up an element; offsets and strides count elements."""
        return parts_of(self.dtype)

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
        """The accesses of the operands; empty ones have none."""
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
        """The access of the result."""
        count = prod(self.batch) * self.m * self.n * self.parts
        return Access(self.c, self.c_offset * self.parts, 0, count - 1)


@declare(
    reads=lambda s: [
        Access(o.buffer, o.offset * parts_of(dtype), is_rest=True)
        for o, dtype in zip(s.inputs, s.elements, strict=False)
        if s.is_some
    ],
    writes=lambda s: [
        _rest_of(o, dtype)
        for o, dtype in zip(s.outputs, s.elements[len(s.inputs) :], strict=True)
        if s.is_some
    ],
    buffers=lambda s: s.buffers,
)
@dataclass(slots=True)
class Factorization:
    """A linear algebra op on every matrix of a batch.

    A matrix has ``m`` rows and ``n`` columns; ``k`` is the number of right-hand sides.  The results
    are contiguous, and row-major except for those of a Fourier transform. All inputs are contiguous
    and row-major, except the last, whose strides are free.  Offsets and strides count elements. A
    step of the program, or a statement in the body of a loop.
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
    #: The dtypes of the results, if they differ from those of `elements`.
    gives: tuple[str, ...] = ()
    #: The ops that it computes.
    origins: Origins = field(default=(), compare=False, repr=False)

    @property
    def elements(self) -> tuple[str, ...]:
        """The dtypes of the elements of inputs, then of results: of complex matrices, floats in a
        buffer are the parts of complex numbers."""
        first, results = self.inputs, self.outputs
        return (*map(self._element, first), *(self.gives or map(self._element, results)))

    def _element(self, o: Operand) -> str:
        is_complex = self.dtype[0] == "c" and o.buffer.dtype[0] == "f"
        return self.dtype if is_complex else o.buffer.dtype

    @property
    def is_some(self) -> bool:
        """Whether there are matrices, and these have elements."""
        return 0 not in (*self.batch, self.m, self.n)

    @property
    def buffers(self) -> list[Buffer]:
        """Inputs, then results."""
        return [o.buffer for o in (*self.inputs, *self.outputs)]
