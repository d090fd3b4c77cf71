"""Estimates of the time of products and factorizations by our own kernels and by libraries.

The figures are those of an A100 (``device_program/figures.py``), with 64 multiply-adds of float32
and 32 of float64 per processor and cycle (NVIDIA's whitepaper, 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from autojit.codegen.cuda.device_program.figures import BANDWIDTH, CYCLES, LAUNCH
from autojit.codegen.cuda.matrices.butterflies import radices_of
from autojit.codegen.cuda.matrices.fourier import LONGEST_SUM, passes_of
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct

#: Multiply-adds of real numbers by a processor in a cycle.
MULTIPLY = {"f16": 256, "bf16": 256, "f32": 64, "c64": 64, "f64": 32, "c128": 32}
#: A product of complex numbers is four of real ones.
PRODUCTS = {"c64": 4, "c128": 4}
#: Bytes of shared memory per cycle; our tiles read two numbers for each multiplication.
SHARED = 128
#: The fraction of the peak that libraries reach on large matrices; the side of their smallest
#: tiles that still reach most of it (``CUBLASLT_MATMUL_TILE_32x32``).
REACHED, TILE = 0.9, 32
#: The columns of a panel of a factorization, and the launches for a panel (blocked algorithms of
#: MAGMA and cuSOLVER; Haidar et al., "Batched matrix computations on hardware accelerators", 2015).
PANEL, LAUNCHES_OF_PANEL = 64, 6
#: Cycles of one step of a block for which its threads wait: a barrier and a read.
STEP = 500
#: Cycles of a thread for each element that it changes in memory.
ELEMENT = 20
#: For an n x n factorization: multiply-adds in units of n³; additional launches; and the fraction
#: that passes through memory row by row.
_WORK = {
    "cholesky": (1 / 6, 4, 0.0), "lu": (1 / 3, 6, 0.0), "solve": (1.0, 4, 0.0),
    "triangular_solve": (0.5, 2, 0.0), "qr": (4 / 3, 6, 0.0), "eigh": (4.5, 40, 0.5),
    "svd": (9.0, 60, 0.5), "pinv": (10.0, 60, 0.5), "cholesky_tangent": (2.0, 4, 0.0),
    "cholesky_cotangent": (2.0, 4, 0.0),
}  # fmt: skip
#: The number of sweeps of our rotations, each with n rounds over all columns.
SWEEPS = 8
_ROTATING = ("eigh", "svd", "pinv")
#: The factor by which our passes move more than they need.  The first one writes numbers of 16
#: bytes that are eight apart, and other threads write the other half of each sector of 32 bytes.
APART = 2
#: Bytes of shared memory per block (see ``mapping/machine.py``).
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
    """Estimate a product: arithmetic or memory, whichever takes longer, plus the launch."""
    batch, peak = prod(p.batch), MULTIPLY[p.dtype]
    size = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}[p.dtype]
    work = PRODUCTS.get(p.dtype, 1) * batch * p.m * p.n * p.k
    moved = batch * (p.m * p.k + p.k * p.n + p.m * p.n) * size / BANDWIDTH
    mine = min(peak, SHARED // (2 * size))
    own = _arithmetic(p, work, mine, tile, processors)
    library = _arithmetic(p, work, REACHED * peak, TILE, processors)
    return Seconds(LAUNCH + max(own, moved), 2 * LAUNCH + max(library, moved))


def _arithmetic(p: MatrixProduct, work: float, rate: float, tile: int, processors: int) -> float:
    """The seconds for all tiles; if there are fewer tiles than processors, some of these idle."""
    tiles = prod(p.batch) * ceil(p.m / tile) * ceil(p.n / tile)
    return work / (rate * min(processors, tiles) * CYCLES)


def of_factorization(s: Factorization, processors: int, threads: int, calls: int = 1) -> Seconds:
    """Estimate a factorization by our kernels, with a block per matrix whose threads wait at each
    step, and by a library, matrix by matrix.

    ``calls`` is the number of library calls of a transform.
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
    """Estimate a transform: memory or arithmetic of our kernels, and memory of the library, which
    reads and writes once."""
    n, lines = s.params["length"], batch * s.m
    launches, times = passes_of(s, SHARED_BYTES)
    moved = 2 * lines * n * 16 / BANDWIDTH
    sums = n if n <= LONGEST_SUM and radices_of(n) is None else 0
    arithmetic = ceil(lines * n / at_once) * sums * ELEMENT / CYCLES
    own = launches * LAUNCH + max(APART * times * moved, arithmetic)
    return Seconds(own, (2 + calls) * LAUNCH + moved)
