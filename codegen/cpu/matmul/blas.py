"""Matrix products as calls of the BLAS, whose functions are in the table (see ``abi``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.cpu.llvm.scalars import llvm_type, memory_type
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_ir.values import Buffer, Operand
from autojit.ir.core.affine import Affine

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()

#: transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, all by reference.
SIGNATURE = ir.FunctionType(ir.VoidType(), [POINTER] * 13)
_PREFIX = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
_PARTS = {"c64": "f32", "c128": "f64"}


def function_name(product: MatrixProduct) -> str:
    return _PREFIX[product.dtype] + "gemm"


def needed(program: LoopProgram) -> list[str]:
    """Return the BLAS functions that a program calls."""
    names = {
        function_name(s)
        for s in statements(program)
        if isinstance(s, MatrixProduct) and not s.tiled
    }
    return sorted(names)


def load(
    builder: ir.IRBuilder, table: ir.Value, functions: Sequence[str], product: MatrixProduct
) -> ir.Value:
    """Load the BLAS function of a product from the table."""
    position = abi.OWN_SLOTS + functions.index(function_name(product))
    return abi.load(builder, table, position, SIGNATURE.as_pointer())


def emit(
    module: ir.Module,
    builder: ir.IRBuilder,
    function: ir.Value,
    product: MatrixProduct,
    address: Callable[[Buffer, Affine], ir.Value],
) -> None:
    """Write the calls of one product: one per matrix of the batch, in loops if there are several.

    The BLAS stores matrices in column order, so the row-major C = A B is computed as C' = B' A'.
    """
    if 0 in product.batch:
        return
    part = _PARTS.get(product.dtype, product.dtype)
    parts = 2 if product.dtype in _PARTS else 1
    trans_a, lead_a = _layout(product.a, product.m, product.k)
    trans_b, lead_b = _layout(product.b, product.k, product.n)
    numbers = {
        name: integer(module, I32, value)
        for name, value in {
            "m": product.m, "n": product.n, "k": product.k, "lda": lead_a, "ldb": lead_b,
            "ldc": max(1, product.n),
        }.items()
    }  # fmt: skip
    one = scalar(module, part, parts, 1.0)
    zero = scalar(module, part, parts, 0.0)
    result = Operand(product.c, product.c_offset, product.strides_of_results)
    operands = (product.a, product.b, result)
    firsts = [address(o.buffer, o.offset * parts) for o in operands]
    with ExitStack() as loops:
        index = [loops.enter_context(_counted(builder, extent)) for extent in product.batch]
        a, b, c = (
            _moved(builder, first, o, index, parts)
            for first, o in zip(firsts, operands, strict=True)
        )
        builder.call(
            function,
            [
                character(module, trans_b), character(module, trans_a),
                numbers["n"], numbers["m"], numbers["k"],
                one, b, numbers["ldb"], a, numbers["lda"], zero, c, numbers["ldc"],
            ],
        )  # fmt: skip


def _counted(builder: ir.IRBuilder, extent: int) -> CountedLoop:
    """Return a loop over an axis of the batch, which LLVM does not unroll."""
    start, stop = ir.Constant(I64, 0), ir.Constant(I64, extent)
    return CountedLoop(builder, start, stop, keep_rolled=True)


def _moved(
    builder: ir.IRBuilder, first: ir.Value, operand: Operand, index: list[ir.Value], parts: int
) -> ir.Value:
    """Return the pointer to a matrix of the batch, given the pointer to the first."""
    total = first
    for i, stride in zip(index, operand.strides, strict=False):
        if stride:
            offset = builder.mul(i, ir.Constant(I64, stride * parts))
            kind = memory_type(operand.buffer.dtype)
            total = builder.gep(total, [offset], inbounds=True, source_etype=kind)
    return total


def _layout(operand: Operand, rows: int, columns: int) -> tuple[str, int]:
    """Return how the column-major BLAS sees a row-major matrix: as it is (N) or transposed (T)."""
    row, column = operand.strides[-2:]
    if column == 1 and row >= columns:
        return "N", max(1, row)
    if row == 1 and column >= rows:
        return "T", max(1, column)
    # One row or one column: the stride across it has no meaning.
    return ("N", max(1, columns)) if column == 1 else ("T", max(1, rows))


def integer(module: ir.Module, kind: ir.Type, value: int) -> ir.Value:
    return _global(module, f"int_{value}", ir.Constant(kind, value))


def character(module: ir.Module, letter: str) -> ir.Value:
    return _global(module, f"char_{letter}", ir.Constant(ir.IntType(8), ord(letter)))


def scalar(module: ir.Module, part: str, parts: int, value: float) -> ir.Value:
    kind = ir.ArrayType(llvm_type(part), parts)
    return _global(
        module,
        f"{part}_{parts}_{int(value)}",
        ir.Constant(kind, [value, 0.0][:parts]),
    )


def _global(module: ir.Module, symbol: str, value: ir.Constant) -> ir.Value:
    found = module.globals.get(symbol)
    if found is None:
        found = ir.GlobalVariable(module, value.type, symbol)
        found.initializer = value
        found.global_constant = True
        found.linkage = "internal"
    return found
