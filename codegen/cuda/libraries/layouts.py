"""Row-major operands are described to libraries as column-major, with a leading dimension."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autojit.codegen.cuda.device_program.calls import LibraryCall, Part
from autojit.codegen.loop_ir.matrices import MatrixProduct, parts_of
from autojit.codegen.loop_ir.values import Operand

from .gemm import Gemm, Stored
from .prototypes import DATA_TYPES


def stored(rows: int, columns: int, strides: Sequence[int], step: int) -> Stored | None:
    """The storage of a matrix with these strides, or None if libraries cannot read it.

    Libraries read the transpose: the memory of a row-major matrix is its column-major transpose.

    >>> stored(2, 3, (3, 1), 6)
    Stored(rows=3, columns=2, leading=3, step=6, turned=False)
    >>> stored(2, 3, (1, 2), 6)
    Stored(rows=2, columns=3, leading=2, step=6, turned=True)
    """
    row, column = strides
    if columns == 1 or column == 1:
        leading = row if rows > 1 else columns
        if leading >= columns:
            return Stored(columns, rows, leading, step)
    if rows == 1 or row == 1:
        leading = column if columns > 1 else rows
        if leading >= rows:
            return Stored(rows, columns, leading, step, turned=True)
    return None


def step_of(batch: Sequence[int], strides: Sequence[int]) -> int | None:
    """The number of elements from one matrix to the next, or None if the distances differ.

    >>> step_of((2, 3), (12, 4)), step_of((2, 3), (0, 0)), step_of((2, 3), (0, 4))
    (4, 0, None)
    """
    step, below = 0, 1
    for extent, stride in reversed(list(zip(batch, strides, strict=True))):
        if extent == 1:
            continue
        if below == 1:
            step = stride
        elif stride != step * below:
            return None
        below *= extent
    return step


def product_call(product: MatrixProduct, name: str) -> LibraryCall | None:
    """A product as a call of cuBLASLt, or None if this is impossible.

    ``c = a b`` is ``cᵀ = bᵀ aᵀ``, and the transpose of a row-major matrix is column-major.
    """
    m, n, k, batch = product.m, product.n, product.k, prod(product.batch)
    if product.dtype not in DATA_TYPES or not m * n * k * batch:
        return None
    operands = (product.b, k, n), (product.a, m, k)
    found = []
    for operand, rows, columns in operands:
        outer = len(product.batch)
        step = step_of(product.batch, operand.strides[:outer])
        as_stored = None
        if step is not None and step >= 0 and not operand.offset.variables():
            as_stored = stored(rows, columns, operand.strides[outer:], step)
        if as_stored is None:
            return None
        found.append(as_stored)
    if product.c_offset.variables():
        return None
    made = Stored(n, m, n, m * n)
    first, second = found
    routine = Gemm(product.dtype, first, second, made, batch)
    parts = [
        _part(operand, kept, batch, product.parts)
        for (operand, _, _), kept in zip(operands, found, strict=True)
    ]
    offset = product.c_offset.constant * product.parts
    parts.append(Part(product.c, offset, batch * m * n * product.parts, "w"))
    many = f"{batch} of " if product.batch else ""
    doc = f"{many}[{m}, {k}] @ [{k}, {n}] by cuBLASLt."
    return LibraryCall(name, doc, routine, parts, origins=product.origins)


def _part(operand: Operand, kept: Stored, batch: int, parts: int) -> Part:
    reach = (batch - 1) * kept.step + (kept.columns - 1) * kept.leading + kept.rows
    return Part(operand.buffer, operand.offset.constant * parts, reach * parts, "r")


def whole(operand: Operand, dtype: str, count: int, access: str) -> Part:
    """The part of a contiguous result whose matrices have ``count`` elements each."""
    parts = parts_of(dtype)
    size = count * parts
    return Part(operand.buffer, operand.offset.constant * parts, size, access, size)
