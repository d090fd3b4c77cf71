"""The numbers of a card, and the sizes of launches that follow from them.

The numbers common to all cards that autojit runs on are from NVIDIA's CUDA C++ Programming Guide,
table "Technical Specifications per Compute Capability" (7.5 to 12.0): 32 threads in a warp, 1,024
in a block, 48 KiB of shared memory per block unless more is requested.  A processor holds 2,048
threads (8.0, 9.0, 10.0), 1,536 (8.6, 8.9, 12.0) or 1,024 (7.5).  The number of processors is read
from the card; without a card it is 108 (A100, NVIDIA's whitepaper).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

_IMPORTS = """\
import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice
"""


@dataclass(frozen=True)
class Machine:
    """A card, and sizes of launches.

    A block has ``threads`` threads, a power of two and a multiple of ``warp``, and ``shared`` bytes
    of shared memory.  Each of ``processors`` processors holds ``resident`` threads at a time.
    ``warp`` threads run together, and can exchange registers.  ``tile`` x ``tile`` threads multiply
    tiles of matrices.

    ``row`` is the shortest loop that a team shares: with fewer iterations than threads in a quarter
    of a warp, most of the 32 bytes that a read takes from memory belong to other teams anyway.
    A reduction of up to ``few`` iterations is not worth a second launch, which takes about 2
    microseconds (Zhang et al., "A Study of Single and Multi-device Synchronization Methods in
    Nvidia GPUs", 2020).  In this time, a block of 256 threads can wait for memory eight times
    (about 500 cycles each, Jia et al., "Dissecting the NVIDIA Volta GPU Architecture", 2018).

    ``together`` says whether all blocks of a launch can be made to run at the same time, so that
    they may wait for each other.

    ``libraries`` has the installed NVIDIA libraries, by the names of ``libraries/prototypes.py``.
    """

    threads: int = 256
    processors: int = 108
    resident: int = 2048
    warp: int = 32
    tile: int = 16
    shared: int = 48 << 10
    row: int = 8
    few: int = 2048
    together: bool = True
    imports: str = _IMPORTS
    libraries: Container[str] = frozenset()

    @property
    def most_blocks(self) -> int:
        """The number of blocks that run at the same time; any more would only wait."""
        return self.processors * max(1, self.resident // self.threads)

    @property
    def most_threads(self) -> int:
        """The number of threads that run at the same time."""
        return self.most_blocks * self.threads
