"""Which matrix products are compiled, and which are the BLAS's; what tasks share of them.

Matrices that the caches hold are multiplied by vector code of our own (``cpu/tiles.py``), which
reads them where they lie and runs in our own threads.  Of large ones, blocks are copied first
(``cpu/blocked_products.py``).  The BLAS has complex numbers, large products within loops, whose
threads are the BLAS's alone, and what has few columns.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from autojit.codegen.analysis.arena import itemsize
from autojit.codegen.loop_ir.nodes import Buffer, Kernel, MatrixProduct, Operand, RunTasks, Tasks
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .parallelize import (
    AT_A_TIME,
    FEW_TASKS,
    MOST_PRIVATE,
    MOST_TASKS,
    WORK_OF_TASK,
    WORTH_THREADS,
    WORTH_TRYING,
    multiplications,
)

#: A result with fewer columns would leave most of a vector empty.
LEAST_COLUMNS = 8
#: The second matrix is read for every so many rows of the result, and has to be near if there are
#: more; in bytes.
ROWS, LARGEST = 32, 1 << 22
#: The most multiplications of numbers: beyond, blocks for each cache pay; but not for so few rows
#: that B is read once.
MOST, FEW_ROWS = 1 << 27, 8
#: Inside of a loop over steps, where only the BLAS has threads.
MOST_IN_STEPS = 1 << 22
#: Bytes of a panel's row: the widest tile has three vectors of 64.
PANEL_BYTES = 192

#: Of large products: the most steps, in bytes of a row, and rows of A that are copied at a time.
BLOCK_BYTES, BLOCK_ROWS = 2048, 192
#: Steps that lie a multiple of so many bytes apart fall into few sets of the caches.
FAR = 1024
#: Of such steps, how many are summed at a time: the most, in bytes of a row, and bytes of all that
#: they read; and the least.
FAR_STEPS, FAR_BYTES, LEAST_FAR = 512, 1 << 18, 32
#: A block of fewer steps is not worth a copy.
LEAST_STEPS = 8


def block_of(product: MatrixProduct) -> int:
    """How many steps of a large product are summed at a time: the last block has a few, too."""
    return _part(product, BLOCK_BYTES)


def _part(product: MatrixProduct, size: int) -> int:
    most = size // itemsize(product.dtype)
    if product.k <= most:
        return product.k
    sizes = range(most, most // 2, -1)
    return next(s for s in sizes if product.k % s == 0 or product.k % s >= LEAST_STEPS)


def is_far(product: MatrixProduct) -> tuple[bool, bool]:
    """Of both matrices, whether the steps of a tile lie so far apart that they crowd each other out
    of the caches: they fall into the same few sets, or A is too large to be read twice."""
    size = itemsize(product.dtype)
    a, b = (step * size for step in (product.a.strides[-1], product.b.strides[-2]))
    is_long = product.k * size > 2 * FAR_STEPS
    is_large = a >= FAR and product.k * a > LARGEST
    return (
        is_long and a > 0 and (a % FAR == 0 or is_large),
        is_long and b > 0 and b % FAR == 0 and product.b.strides[-1] == 1,
    )


def steps_of(product: MatrixProduct) -> int:
    """How many steps of a product in tiles are summed before the next ones, for all of its tiles:
    of those that lie far apart, as many as the caches hold."""
    far = is_far(product)
    if not any(far):
        return product.k
    size = itemsize(product.dtype)
    row = size * max(product.m * far[0], product.n * far[1])
    return _part(product, max(LEAST_FAR * size, min(FAR_STEPS, FAR_BYTES // row * size)))


def chosen(product: MatrixProduct, *, in_steps: bool = False) -> MatrixProduct:
    """The product with its way: tiles with what they need, or the BLAS."""
    most = MOST_IN_STEPS if in_steps else MOST
    if product.m <= FEW_ROWS and not in_steps:
        most = product.m * product.n * product.k
    if not _in_tiles(product, most):
        return product if in_steps or not _in_blocks(product) else _blocked(product)
    panel = None
    if product.b.strides[-1] != 1 or (is_far(product)[1] and product.m >= ROWS):
        size = product.k * (PANEL_BYTES // itemsize(product.dtype))
        buffer = Buffer(f"panel_of_{product.c}", product.dtype, size, "temp")
        panel = Operand(buffer, Affine(0), ())
    return replace(product, tiled=True, panel=panel)


def _in_tiles(product: MatrixProduct, most: int) -> bool:
    m, n, k = product.m, product.n, product.k
    return (
        product.dtype in ("f32", "f64")
        and m > 0
        and k > 0
        and n >= LEAST_COLUMNS
        and m * n * k <= most
        and (m <= ROWS or n * k * itemsize(product.dtype) <= LARGEST)
        and _is_near(product)
        and len(merged(product)[0]) == 2
    )


def _in_blocks(product: MatrixProduct) -> bool:
    """Whether a large product is computed in blocks."""
    return (
        product.dtype in ("f32", "f64")
        and product.n >= ROWS
        and product.k >= LEAST_STEPS
        and all(1 in o.strides[-2:] for o in (product.a, product.b))
        and len(merged(product)[0]) == 2
    )


def _blocked(product: MatrixProduct) -> MatrixProduct:
    size = block_of(product) * (BLOCK_ROWS + PANEL_BYTES // itemsize(product.dtype))
    buffer = Buffer(f"panel_of_{product.c}", product.dtype, size, "temp")
    return replace(product, tiled=True, blocked=True, panel=Operand(buffer, Affine(0), ()))


def _is_near(product: MatrixProduct) -> bool:
    """Whether B is read along its rows, or is packed into panels that caches hold."""
    row, column = product.b.strides[-2:]
    return column == 1 or (row == 1 and product.k * PANEL_BYTES <= LARGEST)


def merged(product: MatrixProduct) -> tuple[list[int], list[list[int]]]:
    """The batch with as few axes as can be, and two at least; strides of both operands for them.

    >>> from autojit.ir.core.affine import Affine
    >>> from autojit.codegen.loop_ir.nodes import Operand
    >>> c = Buffer("c", "f64", 1024, "temp")
    >>> a, b = (Operand(c, Affine(0), s) for s in [(64, 32, 4, 1), (0, 0, 1, 4)])
    >>> merged(MatrixProduct("f64", (8, 2), 8, 8, 4, a, b, c, Affine(0)))
    ([1, 16], [[0, 32, 4, 1], [0, 0, 1, 4]])
    """
    strides = [list(o.strides) for o in (product.a, product.b)]
    batch = list(product.batch)
    for i in range(len(batch) - 2, -1, -1):
        if all(s[i] == batch[i + 1] * s[i + 1] for s in strides):
            batch[i : i + 2] = [batch[i] * batch[i + 1]]
            for s in strides:
                del s[i]
    missing = max(0, 2 - len(batch))
    return [1] * missing + batch, [[0] * missing + s for s in strides]


def _elements(product: MatrixProduct) -> int:
    """How many elements the matrices have, each counted for its batch."""
    m, n, k = product.m, product.n, product.k
    return prod(product.batch) * (m * k + k * n + m * n)


def in_tasks(product: MatrixProduct) -> Kernel | MatrixProduct:
    """A product in tiles with its items shared by tasks, if that may pay."""
    work = multiplications(product) // AT_A_TIME
    if not product.tiled or work < WORTH_TRYING:
        return product
    count = min(MOST_TASKS, max(FEW_TASKS, work // WORK_OF_TASK))
    if product.panel is not None:
        most = max(MOST_PRIVATE, _elements(product)) if product.blocked else MOST_PRIVATE
        count = max(FEW_TASKS, min(count, most // product.panel.buffer.size))
    task = Var(count)
    shared = replace(product, share=task)
    if product.panel is not None:
        one = product.panel.buffer
        each = Buffer(one.name, one.dtype, count * one.size, "temp")
        shared = replace(shared, panel=Operand(each, affine.of(task) * one.size, ()))
    step = RunTasks(Tasks(task, count, [shared], buffers_of([shared]), work < WORTH_THREADS))
    return Kernel(f"product_{product.c}", [step], buffers_of([step]))
