"""The Cholesky decomposition and its derivatives by LAPACK and the BLAS.

A row-major matrix is the transposed matrix in LAPACK: our L is an upper triangle U = Lᵀ there, and
our product A B is Bᵀ Aᵀ.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.matmul.blas import scalar
from autojit.codegen.loop_ir.errors import NOT_POSITIVE

from .lapack import call, failed
from .matrices import I32, I64, Matrix, MatrixEmitter

#: The width of blocks of columns in the derivative: all but a block's own part is matrix products.
BLOCK = 48


def factor(e: MatrixEmitter, a: Matrix, factor: Matrix) -> None:
    """Copy the lower triangle, clear the upper one, and factorize in place."""
    n, zero = e.step.n, e.number(0)
    with e.loop(0, n * n) as place:
        e.store(zero, factor._replace(row=1), place)
    with e.loop(0, n) as i, e.loop(0, e.add(i, 1)) as j:
        e.store(e.load(a, i, j), factor, i, j)
    info = e.allocas.alloca(I32)
    call(e, "potrf", "U", n, factor.pointer, n, info)
    e.fail_if(failed(e, info), NOT_POSITIVE)


def tangent(e: MatrixEmitter, factor: Matrix, a: Matrix, x: Matrix) -> None:
    """Compute L Φ(L⁻¹ A L⁻ᵀ), where A is the symmetric part of ``a``."""
    b, n, half = e.builder, e.step.n, e.number(0.5)
    one, u = scalar(e.module, e.step.dtype, 1, 1.0), factor.pointer
    with e.loop(0, n) as i, e.loop(0, e.add(i, 1)) as j:
        value = b.fmul(b.fadd(e.load(a, i, j), e.load(a, j, i)), half)
        e.store(value, x, i, j)
        e.store(value, x, j, i)
    call(e, "trsm", "R", "U", "N", "N", n, n, one, u, n, x.pointer, n)
    call(e, "trsm", "L", "U", "T", "N", n, n, one, u, n, x.pointer, n)
    with e.loop(0, n) as i:
        e.store(b.fmul(e.load(x, i, i), half), x, i, i)
        _clear_right_of(e, x, i, n)
    call(e, "trmm", "R", "U", "N", "N", n, n, one, u, n, x.pointer, n)


def cotangent(e: MatrixEmitter, factor: Matrix, g: Matrix, x: Matrix) -> None:
    """Compute the symmetric part of L⁻ᵀ Φ(Lᵀ G) L⁻¹, from the last block of columns to the first.

    Relative to the rows and columns of a block, L and the matrix that starts as G are divided::

        . . .         R before the block, D on the diagonal,
        R D .         B and C below it
        B C .
    """
    b, n = e.builder, e.step.n
    with e.loop(0, n) as i, e.loop(0, e.add(i, 1)) as j:
        e.store(e.load(g, i, j), x, i, j)
    blocks = -(-n // BLOCK)
    with e.loop(0, blocks) as step:
        start = b.mul(b.sub(ir.Constant(I64, blocks - 1), step), ir.Constant(I64, BLOCK))
        whole = b.add(start, ir.Constant(I64, BLOCK))
        is_last = b.icmp_unsigned(">", whole, ir.Constant(I64, n))
        stop = b.select(is_last, ir.Constant(I64, n), whole)
        _Block(e, factor, x, start, stop).emit()
    with e.loop(0, n) as i, e.loop(0, e.add(i, 1)) as j:
        value = b.fmul(e.load(x, i, j), e.number(0.5))
        e.store(value, x, i, j)
        e.store(value, x, j, i)


class _Block:
    """One block of columns."""

    def __init__(
        self, e: MatrixEmitter, factor: Matrix, x: Matrix, start: ir.Value, stop: ir.Value
    ) -> None:
        self.e, self.factor, self.x, self.start, self.stop = e, factor, x, start, stop
        self.before = self._count(start)
        self.width = self._count(e.builder.sub(stop, start))
        self.below = self._count(e.builder.sub(ir.Constant(I64, e.step.n), stop))
        dtype = e.step.dtype
        self.one = scalar(e.module, dtype, 1, 1.0)
        self.minus_one = scalar(e.module, dtype, 1, -1.0)

    def emit(self) -> None:
        """Update the matrix that starts as G; _g marks its blocks."""
        e, start, stop = self.e, self.start, self.stop
        d, r = e.at(self.factor, start, start), e.at(self.factor, start, 0)
        below, c = e.at(self.factor, stop, 0), e.at(self.factor, stop, start)
        d_g, r_g = e.at(self.x, start, start), e.at(self.x, start, 0)
        c_g, b_g = e.at(self.x, stop, start), e.at(self.x, stop, 0)
        width, before, rows = self.width, self.before, self.below
        self._triangle("trsm", "L", "N", width, rows, d, c_g)  # C_g D⁻¹
        self._subtract("N", "N", before, rows, width, r, c_g, b_g)  # B_g - C_g R
        self._subtract("N", "T", width, width, rows, c, c_g, d_g)  # D_g - C_gᵀ C
        self._on_diagonal(d, d_g)
        self._subtract("N", "T", before, width, rows, below, c_g, r_g)  # R_g - C_gᵀ B
        self._subtract("N", "N", before, width, width, r, d_g, r_g)  # R_g - D_g R

    def _on_diagonal(self, d: ir.Value, d_g: ir.Value) -> None:
        """Compute D⁻ᵀ (P + Pᵀ) D⁻¹ with P = Φ(Dᵀ D_g), reading the lower triangle only."""
        e, x, width = self.e, self.x, self.width
        with e.loop(self.start, self.stop) as i:
            _clear_right_of(e, x, i, self.stop)
        self._triangle("trmm", "R", "T", width, width, d, d_g)
        with e.loop(self.start, self.stop) as i, e.loop(self.start, e.add(i, 1)) as j:
            e.store(e.load(x, i, j), x, j, i)
        self._triangle("trsm", "R", "T", width, width, d, d_g)
        self._triangle("trsm", "L", "N", width, width, d, d_g)

    def _triangle(
        self, routine: str, side: str, turned: str, m: ir.Value, n: ir.Value,
        triangle: ir.Value, matrix: ir.Value,
    ) -> None:  # fmt: skip
        lead = self.e.step.n
        call(self.e, routine, side, "U", turned, "N", m, n, self.one, triangle, lead, matrix, lead)

    def _subtract(
        self, turned: str, other_turned: str, m: ir.Value, n: ir.Value, k: ir.Value,
        a: ir.Value, b: ir.Value, c: ir.Value,
    ) -> None:  # fmt: skip
        e, lead = self.e, self.e.step.n
        call(e, "gemm", turned, other_turned, m, n, k, self.minus_one, a, lead, b, lead,
             self.one, c, lead)  # fmt: skip

    def _count(self, value: ir.Value) -> ir.Value:
        """Store a number of rows or columns in memory, and return its address."""
        place = self.e.allocas.alloca(I32)
        self.e.builder.store(self.e.builder.trunc(value, I32), place)
        return place


def _clear_right_of(e: MatrixEmitter, x: Matrix, i: ir.Value, stop: int | ir.Value) -> None:
    """Clear a row from the element after the diagonal up to a column."""
    b = e.builder
    first = b.add(i, ir.Constant(I64, 1))
    last = ir.Constant(I64, stop) if isinstance(stop, int) else stop
    with b.if_then(b.icmp_unsigned("<", first, last)), e.loop(first, last) as j:
        e.store(e.number(0), x, i, j)
