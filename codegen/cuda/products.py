"""Matrix products as tiled kernels.

A block computes a tile of the result from tiles of the operands in shared memory.
This is right for every layout, and several times slower than cuBLAS on large matrices,
to which these calls can go without a change to the loop program.
"""

from __future__ import annotations

from math import prod

from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.values import Operand

from .helpers import numpy_type
from .kernels import Launch
from .structure import Machine

_PARTS = {"c64": "f32", "c128": "f64"}

_REAL = """
@cuda.jit
def {name}({arguments}):
    \"\"\"{doc}\"\"\"
    left = cuda.shared.array((TILE, TILE), {t})
    right = cuda.shared.array((TILE, TILE), {t})
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    matrix, tile = cuda.blockIdx.x // {tiles}, cuda.blockIdx.x % {tiles}
    i, j = tile // {across} * TILE + y, tile % {across} * TILE + x
    total = {t}(0.0)
    for start in range(0, {k}, TILE):
        inside = i < {m} and start + x < {k}
        left[y, x] = {a}[{at_a}] if inside else {t}(0.0)
        inside = start + y < {k} and j < {n}
        right[y, x] = {b}[{at_b}] if inside else {t}(0.0)
        cuda.syncthreads()
        for q in range(TILE):
            total += left[y, q] * right[q, x]
        cuda.syncthreads()
    if i < {m} and j < {n}:
        {c}[matrix * {size} + i * {n} + j] = total
"""

_COMPLEX = """
@cuda.jit
def {name}({arguments}):
    \"\"\"{doc}\"\"\"
    matrix, tile = cuda.blockIdx.x // {tiles}, cuda.blockIdx.x % {tiles}
    i = tile // {across} * TILE + cuda.threadIdx.y
    j = tile % {across} * TILE + cuda.threadIdx.x
    if i < {m} and j < {n}:
        re, im = {t}(0.0), {t}(0.0)
        for q in range({k}):
            at_a, at_b = 2 * ({at_a}), 2 * ({at_b})
            a_re, a_im = {a}[at_a], {a}[at_a + 1]
            b_re, b_im = {b}[at_b], {b}[at_b + 1]
            re += a_re * b_re - a_im * b_im
            im += a_re * b_im + a_im * b_re
        at = 2 * (matrix * {size} + i * {n} + j)
        {c}[at] = re
        {c}[at + 1] = im
"""


def write(product: MatrixProduct, name: str, machine: Machine) -> list[Launch]:
    """The launch of one product, or none if the result is empty."""
    m, n, k = product.m, product.n, product.k
    across, down = -(-n // machine.tile), -(-m // machine.tile)
    blocks = across * down * prod(product.batch)
    if not blocks:
        return []
    buffers = list(dict.fromkeys((product.a.buffer, product.b.buffer, product.c)))
    real = product.dtype not in _PARTS
    row_b, column_a = ("start + y", "start + x") if real else ("q", "q")
    batch = f"{prod(product.batch)} of " if product.batch else ""
    part = _PARTS.get(product.dtype, product.dtype)
    text = (_REAL if real else _COMPLEX).strip().format(
        name=name, arguments=", ".join(map(str, buffers)), t=numpy_type(part),
        doc=f"{batch}[{m}, {k}] @ [{k}, {n}], a block for each tile of the result.",
        tiles=across * down, across=across, m=m, n=n, k=k, size=m * n,
        a=product.a.buffer, b=product.b.buffer, c=product.c,
        at_a=_place(product.a, product.batch, "i", column_a),
        at_b=_place(product.b, product.batch, row_b, "j"),
    )  # fmt: skip
    return [Launch(name, buffers, blocks, "(TILE, TILE)", text + "\n")]


def _place(operand: Operand, batch: tuple[int, ...], row: str, column: str) -> str:
    """The index of an element, from the number of the matrix, its row and its column."""
    terms = []
    below = prod(batch)
    for position, extent in enumerate(batch):
        below //= extent
        index = f"matrix // {below}" if below > 1 else "matrix"
        index = f"{index} % {extent}" if position else index
        terms.append((index, operand.strides[position]))
    terms += [(row, operand.strides[-2]), (column, operand.strides[-1])]
    parts = [_times(index, stride) for index, stride in terms if stride]
    if operand.offset.constant:
        parts.append(str(operand.offset.constant))
    return " + ".join(parts) or "0"


def _times(index: str, stride: int) -> str:
    simple = index.isidentifier()
    if stride == 1:
        return index if simple else f"({index})"
    return f"{index} * {stride}" if simple else f"({index}) * {stride}"
