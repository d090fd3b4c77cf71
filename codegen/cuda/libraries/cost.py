"""How long products and factorizations take by our own kernels and by libraries.

The figures are of an A100 (NVIDIA's whitepaper, 2020: per processor and cycle 64 multiplications
with additions of float32 and 32 of float64, 1.41 GHz, 1.555 TB/s), and a launch takes 2 us there
(see ``mapping/machine.py``).  Other cards have more of all: both sides of a comparison scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from autojit.codegen.cuda.matrices.butterflies import radices_of
from autojit.codegen.cuda.matrices.fourier import LONGEST_SUM, passes_of
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct

#: Cycles a second, and bytes a second of memory.
CYCLES, BANDWIDTH = 1.41e9, 1.555e12
#: Multiplications with additions of real numbers that a processor does in a cycle.
MULTIPLY = {"f16": 256, "bf16": 256, "f32": 64, "c64": 64, "f64": 32, "c128": 32}
#: A product of complex numbers is four of real ones.
PRODUCTS = {"c64": 4, "c128": 4}
#: Seconds of a launch; a library's call takes one more on the host, where it breaks up a table.
LAUNCH = 2e-6
#: Our tiles read two numbers of shared memory for each multiplication, at 128 bytes a cycle.
SHARED = 128
#: The part of the peak that libraries reach on large matrices; the smallest tiles that they have
#: (``CUBLASLT_MATMUL_TILE_32x32`` among those that keep most of it).
REACHED, TILE = 0.9, 32
#: Factorizations go by panels of so many columns, with some launches each (MAGMA's and cuSOLVER's
#: blocked algorithms; Haidar et al., "Batched matrix computations on hardware accelerators", 2015).
PANEL, LAUNCHES_OF_PANEL = 64, 6
#: Cycles in which a block goes through one step that its threads wait for: a barrier and a read.
STEP = 500
#: Cycles of a thread for each element that it changes in memory.
ELEMENT = 20
#: Multiplications with additions of an n x n factorization, in n³; steps in n; and how much of it
#: goes through memory row by row.
_WORK = {
    "cholesky": (1 / 6, 4, 0.0), "lu": (1 / 3, 6, 0.0), "solve": (1.0, 4, 0.0),
    "triangular_solve": (0.5, 2, 0.0), "qr": (4 / 3, 6, 0.0), "eigh": (4.5, 40, 0.5),
    "svd": (9.0, 60, 0.5), "pinv": (10.0, 60, 0.5), "cholesky_tangent": (2.0, 4, 0.0),
    "cholesky_cotangent": (2.0, 4, 0.0),
}  # fmt: skip
#: Sweeps that our rotations take, each of n rounds over all columns.
SWEEPS = 8
_ROTATING = ("eigh", "svd", "pinv")
#: The first of our passes writes numbers of 16 bytes eight apart, and half of each sector of 32
#: bytes is written by others: they move about twice what they need.
APART = 2
#: Bytes of shared memory a block (see ``mapping/machine.py``).
SHARED_BYTES = 48 << 10


@dataclass(frozen=True)
class Seconds:
    """Estimates for our own kernels, and for libraries."""

    own: float
    library: float

    @property
    def prefers_library(self) -> bool:
        """Whether the library is faster."""
        return self.library < self.own


def of_product(p: MatrixProduct, processors: int, tile: int) -> Seconds:
    """A product: arithmetic or memory, whichever takes longer, and the launch."""
    batch, peak = prod(p.batch), MULTIPLY[p.dtype]
    size = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}[p.dtype]
    work = PRODUCTS.get(p.dtype, 1) * batch * p.m * p.n * p.k
    moved = batch * (p.m * p.k + p.k * p.n + p.m * p.n) * size / BANDWIDTH
    mine = min(peak, SHARED // (2 * size))
    own = _arithmetic(p, work, mine, tile, processors)
    library = _arithmetic(p, work, REACHED * peak, TILE, processors)
    return Seconds(LAUNCH + max(own, moved), 2 * LAUNCH + max(library, moved))


def _arithmetic(p: MatrixProduct, work: float, rate: float, tile: int, processors: int) -> float:
    """Seconds of as many tiles as there are; with fewer than processors, some of these wait."""
    tiles = prod(p.batch) * ceil(p.m / tile) * ceil(p.n / tile)
    return work / (rate * min(processors, tiles) * CYCLES)


def of_factorization(s: Factorization, processors: int, threads: int, calls: int = 1) -> Seconds:
    """A block a matrix, whose threads wait at each step; or a library, matrix by matrix.

    ``calls`` are those that a transform takes.
    """
    batch, long, few = prod(s.batch), max(s.m, s.n), min(s.m, s.n)
    if s.name == "fourier":
        return _of_transform(s, batch, processors * threads, calls)
    cubes, steps, in_memory = _WORK[s.name]
    columns = s.k if s.name in ("solve", "triangular_solve") else few
    volume = long * few * columns
    touched = volume * (SWEEPS if s.name in _ROTATING else 1)
    count = SWEEPS * few if s.name in _ROTATING else few
    cycles = count * STEP * 3 + touched * ELEMENT / min(threads, max(1, long * few))
    own = LAUNCH + ceil(batch / processors) * cycles / CYCLES
    rate = 0.5 * MULTIPLY[s.dtype] * processors * CYCLES
    panels = ceil(few / PANEL) * LAUNCHES_OF_PANEL + steps
    moved = in_memory * volume * 16 / BANDWIDTH
    each = panels * LAUNCH + cubes * volume * PRODUCTS.get(s.dtype, 1) / rate + moved
    return Seconds(own, batch * each)


def _of_transform(s: Factorization, batch: int, at_once: int, calls: int) -> Seconds:
    """Memory or arithmetic of ours, and memory of the library's, which reads and writes once."""
    n, lines = s.params["length"], batch * s.m
    launches, times = passes_of(s, SHARED_BYTES)
    moved = 2 * lines * n * 16 / BANDWIDTH
    sums = n if n <= LONGEST_SUM and radices_of(n) is None else 0
    arithmetic = ceil(lines * n / at_once) * sums * ELEMENT / CYCLES
    own = launches * LAUNCH + max(APART * times * moved, arithmetic)
    return Seconds(own, (2 + calls) * LAUNCH + moved)
