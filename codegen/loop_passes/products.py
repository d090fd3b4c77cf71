"""Decides which matrix products are compiled and which go to the BLAS, and divides them into tasks.

Matrices that the caches hold are multiplied by vector code of our own (``cpu/tiles.py``), which
reads them where they lie and runs in our own threads.  Of large ones, blocks are copied first
(``cpu/blocked_products.py``).  The BLAS has complex numbers, large products within loops, whose
threads are the BLAS's alone, and what has few columns.

Legal, in tiles, where numbers are real and the batch is one of two axes (``merged``); tasks share
the tiles of the result, and each has a panel of its own.  Sums are rounded in another order than
the BLAS's.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from autojit.codegen.analysis.loop_level import IN_TASKS, OWN_MEMORY, steps_pass
from autojit.codegen.loop_ir.cost import itemsize, work_of_product
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import RunTasks, Tasks
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer, Operand
from autojit.codegen.loop_passes.tasks.task_cost import (
    FEW_TASKS,
    is_measured,
    most_private,
    task_count,
)
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.machine import L2, LAST, current

#: A result with fewer columns would leave most of a vector empty.
LEAST_COLUMNS = 8
#: The second matrix is read for every so many rows of the result, and has to be near if there are
#: more: in this part of the last level of the caches.
ROWS, LARGEST = 32, 1 / 4
#: The most multiplications of numbers: beyond, blocks for each cache pay; but not for so few rows
#: that B is read once.
MOST, FEW_ROWS = 1 << 27, 8
#: Inside of a loop over steps, where only the BLAS has threads.
MOST_IN_STEPS = 1 << 22
#: The most vectors in a row of a tile; a panel of B has room for them.
MOST_VECTORS = 3

#: Of large products: the most steps, in bytes of a row, and rows of A that are copied at a time.
BLOCK_BYTES, BLOCK_ROWS = 2048, 192
#: Steps that lie a multiple of so many bytes apart fall into few sets of the caches.
FAR = 1024
#: Of such steps, how many are summed at a time: the most, in bytes of a row; the part of the
#: second-level cache that all that they read takes; and the least.
FAR_STEPS, FAR_PART, LEAST_FAR = 512, 1 / 4, 32
#: A block of fewer steps is not worth a copy.
LEAST_STEPS = 8


def panel_bytes() -> int:
    """Bytes of a panel's row: room for the widest tile."""
    return MOST_VECTORS * current().vector_bytes


def _near() -> int:
    """The most bytes of a matrix that is still in the cache when it is read again."""
    return current().cache(LAST, LARGEST)


def block_of(product: MatrixProduct) -> int:
    """How many steps of a large product are summed at a time, so that the last block is not
    tiny."""
    return _part(product, BLOCK_BYTES)


def _part(product: MatrixProduct, size: int) -> int:
    most = size // itemsize(product.dtype)
    if product.k <= most:
        return product.k
    sizes = range(most, most // 2, -1)
    even = (s for s in sizes if product.k % s == 0 or product.k % s >= LEAST_STEPS)
    return next(even, most)


def is_far(product: MatrixProduct) -> tuple[bool, bool]:
    """For both matrices, whether the steps of a tile evict each other from the caches: they are so
    far apart that they fall into the same few sets, or A is too large to be read twice."""
    size = itemsize(product.dtype)
    a, b = (step * size for step in (product.a.strides[-1], product.b.strides[-2]))
    is_long = product.k * size > 2 * FAR_STEPS
    is_large = a >= FAR and product.k * a > _near()
    return (
        is_long and a > 0 and (a % FAR == 0 or is_large),
        is_long and b > 0 and b % FAR == 0 and product.b.strides[-1] == 1,
    )


def steps_of(product: MatrixProduct) -> int:
    """How many steps of a tiled product are summed, for all of its tiles, before the next ones: if
    they are far apart, as many as the caches hold."""
    far = is_far(product)
    if not any(far):
        return product.k
    size = itemsize(product.dtype)
    row = size * max(product.m * far[0], product.n * far[1])
    most = min(FAR_STEPS, current().cache(L2, FAR_PART) // row * size)
    return _part(product, max(LEAST_FAR * size, most))


def chosen(product: MatrixProduct, *, in_steps: bool = False) -> MatrixProduct:
    """The product with its method: tiles and their parameters, or the BLAS."""
    most = MOST_IN_STEPS if in_steps else MOST
    if product.m <= FEW_ROWS and not in_steps:
        most = product.m * product.n * product.k
    if not _is_tiled(product, most):
        return product if in_steps or not _is_blocked(product) else _blocked(product)
    panel = None
    if product.b.strides[-1] != 1 or (is_far(product)[1] and product.m >= ROWS):
        size = product.k * (panel_bytes() // itemsize(product.dtype))
        buffer = Buffer(f"panel_of_{product.c}", product.dtype, size, "temp")
        panel = Operand(buffer, Affine(0), ())
    return replace(product, tiled=True, panel=panel)


def _is_tiled(product: MatrixProduct, most: int) -> bool:
    m, n, k = product.m, product.n, product.k
    return (
        product.dtype in ("f32", "f64")
        and m > 0
        and k > 0
        and n >= LEAST_COLUMNS
        and m * n * k <= most
        and (m <= ROWS or n * k * itemsize(product.dtype) <= _near())
        and _is_near(product)
        and len(merged(product)[0]) == 2
    )


def _is_blocked(product: MatrixProduct) -> bool:
    """Whether a large product is computed in blocks."""
    return (
        product.dtype in ("f32", "f64")
        and product.n >= ROWS
        and product.k >= LEAST_STEPS
        and all(1 in o.strides[-2:] for o in (product.a, product.b))
        and len(merged(product)[0]) == 2
    )


def _blocked(product: MatrixProduct) -> MatrixProduct:
    size = block_of(product) * (BLOCK_ROWS + panel_bytes() // itemsize(product.dtype))
    buffer = Buffer(f"panel_of_{product.c}", product.dtype, size, "temp")
    return replace(product, tiled=True, blocked=True, panel=Operand(buffer, Affine(0), ()))


def _is_near(product: MatrixProduct) -> bool:
    """Whether B is read along its rows, or is packed into panels that caches hold."""
    row, column = product.b.strides[-2:]
    return column == 1 or (row == 1 and product.k * panel_bytes() <= _near())


def merged(product: MatrixProduct) -> tuple[list[int], list[list[int]]]:
    """The batch with as few axes as possible, but at least two; and both operands' strides for
    them.

    >>> from autojit.ir.core.affine import Affine
    >>> from autojit.codegen.loop_ir.values import Operand
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
    """The number of elements of the matrices, including their batch."""
    m, n, k = product.m, product.n, product.k
    return prod(product.batch) * (m * k + k * n + m * n)


def parallelize_product(product: MatrixProduct) -> Kernel | MatrixProduct:
    """A tiled product divided among tasks, if that may pay."""
    work = work_of_product(product)
    count = task_count(work) if product.tiled else 0
    if not count:
        return product
    if product.panel is not None:
        most = max(most_private(), _elements(product)) if product.blocked else most_private()
        count = max(FEW_TASKS, min(count, most // product.panel.buffer.size))
    task = Var(count)
    shared = replace(product, share=task)
    if product.panel is not None:
        one = product.panel.buffer
        each = Buffer(one.name, one.dtype, count * one.size, "temp")
        shared = replace(shared, panel=Operand(each, affine.of(task) * one.size, ()))
    step = RunTasks(Tasks(task, count, [shared], buffers_of([shared]), is_measured(work)))
    return Kernel(f"product_{product.c}", [step], buffers_of([step]), origins=product.origins)


@steps_pass("Shares the tiles of products by tasks.", needs=[OWN_MEMORY], keeps=IN_TASKS)
def parallelize_products(steps: list[Any]) -> list[Any]:
    """The steps of a program, with tiled products divided among tasks where that may pay."""
    return [parallelize_product(s) if isinstance(s, MatrixProduct) else s for s in steps]
