"""A target's requirements on loop nests, known before scheduling.

A new target begins with ``Traits(tasks=False, split_blocks=False, tiles=False)``, in its own
folder: plain loops on one thread, and calls for products and factorizations.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """How loops may be ordered and buffers shared.

    ``reduce_into_buffers``  a reduction may run over its reduced axes outside of those it
                 keeps, as memory lies, and combine into a buffer; otherwise kept loops
                 are outermost, and each element is combined in a register
    ``serial_rows``  iterations of outer loops follow each other, so a buffer for one of
                 them can serve all in turn; otherwise each iteration has its own
    ``splits``   a loop is split where conditions on its index change
    ``bodies``   loops and branches with bodies are compiled
    ``factorizations``  there is linear algebra beyond products
    ``sorts_values``  values are sorted by themselves; otherwise they are read at their places
    ``selects``  a few values of sorted ones are found without the others
    ``callbacks``  functions of the process can be called
    ``sheets``   very long programs of small operations are tables, and no code
    ``tiles``    products of middling size are computed in tiles, without a library
    ``tasks``    long outermost loops run in blocks and are cut into tasks for threads
    ``split_blocks``   long straight-line kernels are split into several
    """

    reduce_into_buffers: bool = True
    serial_rows: bool = True
    splits: bool = True
    tasks: bool = True
    split_blocks: bool = True
    bodies: bool = True
    factorizations: bool = True
    sorts_values: bool = True
    selects: bool = False
    sheets: bool = False
    callbacks: bool = True
    tiles: bool = True


CPU = Traits(selects=True, sheets=True)
#: Iterations of outer loops run concurrently, and a thread keeps its sums in a register. Conditions
#: are evaluated at run time, because splitting loops would reduce parallelism.
CUDA = Traits(
    reduce_into_buffers=False,
    serial_rows=False,
    splits=False,
    tasks=False,
    split_blocks=False,
    callbacks=False,
    tiles=False,
)
