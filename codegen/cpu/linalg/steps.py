"""Steps of linear algebra in kernels: which code each has, and which library functions it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from autojit.codegen.loop_ir.nodes import Buffer, Factorization, LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.ir.core.affine import Affine

from . import lapack, sorting
from .decompositions import LARGE
from .matrices import MatrixEmitter
from .small_matrices import SMALL, is_small


def needed(program: LoopProgram) -> set[str]:
    """The library functions that a program's linear algebra calls."""
    found: set[str] = set()
    for step in statements(program):
        if not isinstance(step, Factorization) or is_small(step):
            continue
        if step.name == "argsort":
            found.update(sorting.function_names(step))
        else:
            found.update(lapack.function_names(step))
    return found


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
    function = emitter.emit((SMALL if is_small(step) else LARGE)[step.name])
    arguments = [address(o.buffer, o.offset) for o in emitter.places]
    builder.call(function, [*arguments, status, table])
