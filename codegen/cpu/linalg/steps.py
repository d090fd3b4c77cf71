"""Steps of linear algebra in kernels: the code of each, and the library functions it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from autojit.codegen.loop_ir.matrices import Factorization, parts_of
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine

from . import gufuncs, lapack, sorting
from .decompositions import LARGE
from .matrices import MatrixEmitter
from .small_matrices import SMALL, is_small


def needed(program: LoopProgram) -> set[str]:
    """Return the library functions that a program's linear algebra calls."""
    steps = (s for s in statements(program) if isinstance(s, Factorization))
    return {name for step in steps for name in functions_of(step)}


def functions_of(step: Factorization) -> list[str]:
    """Return the library functions that a step calls; none if its code is our own."""
    if is_small(step):
        return []
    if gufuncs.has(step):
        return gufuncs.function_names(step)
    if step.name in ("argsort", "sort", "order_statistics"):
        return sorted(sorting.function_names(step))
    return lapack.function_names(step)


def call(
    module: ir.Module,
    builder: ir.IRBuilder,
    step: Factorization,
    symbol: str,
    functions: Sequence[str],
    address: Callable[[Buffer, Affine], ir.Value],
    status: ir.Value,
    table: ir.Value,
) -> None:
    """Write the function of a step, and call it."""
    emitter = MatrixEmitter(module, step, symbol, functions)
    table_of = SMALL if is_small(step) else gufuncs.LOOPS if gufuncs.has(step) else LARGE
    function = emitter.emit(table_of[step.name])
    arguments = [
        address(o.buffer, o.offset * parts_of(dtype))
        for o, dtype in zip(emitter.places, step.elements, strict=True)
    ]
    builder.call(function, [*arguments, status, table])
