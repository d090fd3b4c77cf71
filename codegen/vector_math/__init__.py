"""Elementary functions as branch-free LLVM IR that the loop vectorizer turns into packed code.

    from llvmlite import ir
    from autojit.codegen import vector_math

    exp = vector_math.function(module, "exp", 64)   # define double @aj.exp.f64(double)
    builder.call(exp, [x])

A formula is written once, on `Value`s (`scalar`), for both widths, from a range reduction and a
minimax polynomial (`coefficients`). It has no branch and calls nothing, so a loop over it becomes
packed instructions of whatever width the processor has. `ACCURACY.md` lists the measured errors and
times.

sin, cos and tan of large arguments are long formulas. Programs call these functions (`called`), and
pay for large arguments only if there are any.
"""

from __future__ import annotations

from llvmlite import ir

from .scalar import FORMATS, Value
from .table import CALLED, NAMES, TABLE

__all__ = ["CALLED", "NAMES", "function"]


def function(module: ir.Module, name: str, bits: int, *, fused: bool = False) -> ir.Function:
    """The scalar function `name` on floats of `bits` bits, defined in `module` on first use.

    `fused` says that the processor has an instruction for a product and a sum, rounded once:
    results are the same, and faster. The function has internal linkage, touches no memory, and is
    inlined. Raises KeyError for a name that is not in `NAMES` or a width other than 32 and 64.
    """
    entry, format = TABLE[name], FORMATS[bits]._replace(fused=fused)
    symbol = f"aj.{name}.f{bits}"
    existing = module.globals.get(symbol)
    if isinstance(existing, ir.Function):
        return existing
    signature = ir.FunctionType(format.float_type, [format.float_type] * entry.arity)
    defined = ir.Function(module, signature, symbol)
    defined.linkage = "internal"
    for attribute in ("alwaysinline", "nounwind", "readnone"):
        defined.attributes.add(attribute)
    builder = ir.IRBuilder(defined.append_basic_block("entry"))
    operands = [Value(builder, format, argument) for argument in defined.args]
    builder.ret(entry.formula(*operands).value)
    return defined
