"""Sheets: thousands of small operations as rows of a table, which one loop runs through.

The code of a trace without loops (a chain of unlike operations, a lattice of numbers in lists) is
as long as the trace. A row takes 24 bytes and needs no compilation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from autojit.ir.core.affine import Affine

from .effects import Access, declare
from .origins import Origins
from .values import Buffer
from .vocabulary import PREDICATES

#: Numbers of a row.
ROW = 6
#: A product and a sum, rounded once where the machine can: ``a * b + c``, ``a * b - c``,
#: ``c - a * b``.
FUSED = {"mul_add": 3, "mul_sub": 3, "sub_mul": 3}
#: Words of rows besides those of floats: bools are 0 and 1, ``copy`` moves elements, and ``sum``
#: adds all elements, from the first to the last.
OWN = {"copy": 1, "sum": 1, "select": 3, "and": 2, "or": 2, "xor": 2, "not": 1, **FUSED}
#: Words whose result is 0 or 1.
TRUTHS = {*PREDICATES, "and", "or", "xor", "not"}


def _whole(buffer: Buffer) -> Access:
    return Access(buffer, Affine(0), 0, buffer.size - 1)


@declare(
    reads=lambda s: [_whole(b) for b in s.inputs if b.size],
    writes=lambda s: [_whole(b) for b in s.outputs if b.size],
    scratch=lambda s: [_whole(s.cells)],
    buffers=lambda s: [*s.inputs, *s.outputs, s.cells],
)
@dataclass(slots=True)
class Sheet:
    """Rows that compute cells from cells, in order; a step of a program.

    The first cells hold the constants, then the elements of the inputs, then the results of the
    rows. Each output is ``size`` cells, beginning at its first cell.

    A row is ``(word, extent, result, *operands)``: the number of a word in ``words``, how many
    elements it computes, the first cell of these, and for each of three operands its first cell.
    Element ``i`` of an operand is ``i`` cells after the first. A negative operand is ``~cell``:
    that cell is used for all elements. Operands that a word does not have are 0. Operands do not
    overlap the cells of the result.
    """

    cells: Buffer
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    places: tuple[int, ...]
    constants: tuple[float, ...]
    words: tuple[str, ...]
    #: Their numbers, 32 bits each.
    rows: bytes
    #: The ops that it computes.
    origins: Origins = field(default=(), compare=False, repr=False)

    @property
    def dtype(self) -> str:
        return self.cells.dtype

    @property
    def starts(self) -> list[int]:
        """The first cell of each input."""
        found, at = [], len(self.constants)
        for buffer in self.inputs:
            found.append(at)
            at += buffer.size
        return found

    @property
    def table(self) -> np.ndarray:
        """The numbers of the rows, a row a line."""
        return np.frombuffer(self.rows, np.int32).reshape(-1, ROW)
