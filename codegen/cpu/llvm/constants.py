"""Constants of a module: text and integers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from llvmlite import ir

I64 = ir.IntType(64)


def constant_text(module: ir.Module, text: str) -> ir.Value:
    """Return the address of a constant C string."""
    data = bytearray(text.encode() + b"\0")
    symbol = f"text_{sha256(data).hexdigest()}"
    found = module.globals.get(symbol)
    if found is None:
        kind = ir.ArrayType(ir.IntType(8), len(data))
        found = ir.GlobalVariable(module, kind, symbol)
        found.initializer = ir.Constant(kind, data)
        found.global_constant = True
        found.linkage = "internal"
    return found


def constant_array(module: ir.Module, numbers: Sequence[int]) -> ir.Value:
    """Return the address of constant 64-bit integers."""
    symbol = "shape_" + "_".join(map(str, numbers))
    found = module.globals.get(symbol)
    if found is None:
        kind = ir.ArrayType(I64, len(numbers))
        found = ir.GlobalVariable(module, kind, symbol)
        found.initializer = ir.Constant(kind, list(numbers))
        found.global_constant = True
        found.linkage = "internal"
    return found
