"""Matrix products as calls of the BLAS, whose functions are in the table (see ``abi``)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..loops import Buffer, LoopProgram, MatrixProduct, Operand
from .scalars import llvm_type

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()

#: transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, all by reference.
SIGNATURE = ir.FunctionType(ir.VoidType(), [POINTER] * 13)
_PREFIX = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
_PARTS = {"c64": "f32", "c128": "f64"}


def function_name(product: MatrixProduct) -> str:
    return _PREFIX[product.dtype] + "gemm"


def needed(program: LoopProgram) -> list[str]:
    """The BLAS functions that a program calls."""
    names = {function_name(s) for s in program.steps if isinstance(s, MatrixProduct)}
    return sorted(names)


def emit(
    module: ir.Module,
    builder: ir.IRBuilder,
    function: ir.Value,
    product: MatrixProduct,
    places: dict[Buffer, ir.Value],
) -> None:
    """The calls of one product, one for each matrix of the batch.

    The BLAS stores by columns, so the row-major C = A B is computed as C' = B' A'.
    """
    part = _PARTS.get(product.dtype, product.dtype)
    parts = 2 if product.dtype in _PARTS else 1
    trans_a, lead_a = _layout(product.a, product.m, product.k)
    trans_b, lead_b = _layout(product.b, product.k, product.n)
    numbers = {
        name: _constant(module, I32, value)
        for name, value in {
            "m": product.m, "n": product.n, "k": product.k, "lda": lead_a, "ldb": lead_b,
            "ldc": max(1, product.n),
        }.items()
    }  # fmt: skip
    one = _scalar(module, part, parts, 1.0)
    zero = _scalar(module, part, parts, 0.0)
    for index, offset_c in _batch(product):
        at_a = product.a.offset + _dot(product.a.strides, index)
        at_b = product.b.offset + _dot(product.b.strides, index)
        pointers = [
            _at(builder, places[buffer], offset * parts, part)
            for buffer, offset in (
                (product.a.buffer, at_a),
                (product.b.buffer, at_b),
                (product.c, offset_c),
            )
        ]
        a, b, c = pointers
        builder.call(
            function,
            [
                _character(module, trans_b), _character(module, trans_a),
                numbers["n"], numbers["m"], numbers["k"],
                one, b, numbers["ldb"], a, numbers["lda"], zero, c, numbers["ldc"],
            ],
        )  # fmt: skip


def _layout(operand: Operand, rows: int, columns: int) -> tuple[str, int]:
    """How the column-major BLAS sees a row-major matrix: as it is (N) or to be transposed (T)."""
    row, column = operand.strides[-2:]
    if column == 1 and row >= columns:
        return "N", max(1, row)
    if row == 1 and column >= rows:
        return "T", max(1, column)
    # One row or one column: the stride across it means nothing.
    return ("N", max(1, columns)) if column == 1 else ("T", max(1, rows))


def _batch(product: MatrixProduct) -> Any:
    from itertools import product as every

    for number, index in enumerate(every(*map(range, product.batch))):
        yield index, number * product.m * product.n


def _dot(strides: tuple[int, ...], index: tuple[int, ...]) -> int:
    return sum(s * i for s, i in zip(strides, index, strict=False))


def _at(builder: ir.IRBuilder, base: ir.Value, offset: int, part: str) -> ir.Value:
    if not offset:
        return base
    return builder.gep(
        base, [ir.Constant(I64, offset)], inbounds=True, source_etype=llvm_type(part)
    )


def _constant(module: ir.Module, kind: ir.Type, value: int) -> ir.Value:
    return _global(module, f"int_{value}", ir.Constant(kind, value))


def _character(module: ir.Module, letter: str) -> ir.Value:
    return _global(module, f"char_{letter}", ir.Constant(ir.IntType(8), ord(letter)))


def _scalar(module: ir.Module, part: str, parts: int, value: float) -> ir.Value:
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
