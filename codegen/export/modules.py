"""A program as a module of source code for a target."""

from __future__ import annotations

from autojit.codegen.export.text.interface import Interface
from autojit.ir.core.program import Program
from autojit.ir.passes.pipeline import optimize

TARGETS = ("numpy", "numba", "c")


def module(program: Program, interface: Interface, target: str) -> str:
    """Return the text of a module with a function that computes the same as the program.

    Raises TargetError if an op cannot be written for the target.
    """
    if target == "numpy":
        from .arrays.module import numpy_module

        return numpy_module(optimize(program), interface)
    from autojit.codegen.lowering.lower import lower

    from .loops.c_source import C, c_file
    from .loops.numba_source import numba_module

    optimized = optimize(program)
    loops = lower(optimized, C)
    made = {"c": c_file, "numba": numba_module}
    return made[target](optimized, loops, interface)
