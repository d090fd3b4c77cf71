"""The text of each stage of a compilation, and the costs of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autojit.codegen.analysis.amounts import of_step
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import loop_count, product_of, statements
from autojit.codegen.loop_text.printer import print_loops
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Program

if TYPE_CHECKING:
    from .executable import Executable


def text(program: Program, stage: str) -> str:
    """Return the text of a stage after the trace."""
    if stage in ("cuda", "ptx"):
        from autojit.codegen.cuda import stages as cuda

        result: str = cuda.text(program, stage)
        return result
    from .executable import Executable

    executable = Executable(program)
    if stage == "optimized":
        return executable.optimized.text(sources=True)
    if stage == "loops":
        loops = lower(executable.optimized)
        loops.captured = len(executable.optimized.captured)
        return str(loops)
    if stage == "vectors":
        from autojit.codegen.cpu.llvm.vectors import lanes

        return print_loops(executable.loops, lanes(executable.loops, executable.llvm()))
    return executable.llvm() if stage == "llvm" else executable.assembly()


def cost(program: Program) -> dict[str, int]:
    """Count float operations, bytes of inputs, outputs and temporaries, loops and products."""
    from .executable import Executable

    return cost_of(Executable(program))


def cost_of(executable: Executable) -> dict[str, int]:
    """Return the costs of an executable; make its loops if needed."""
    program, optimized, loops = executable.source, executable.optimized, executable.loops
    flops = sum(of_step(step).flops for step in loops.steps)
    products = sum(isinstance(s, MatrixProduct) for s in statements(loops))
    kernels = sum(isinstance(s, Kernel) and product_of(s) is None for s in loops.steps)
    moved = sum(b.size * itemsize(b.dtype) for b in (*loops.inputs, *loops.outputs))
    return {
        "ops": len(program.ops),
        "optimized_ops": len(optimized.ops),
        "loops": loop_count(loops),
        "products": products,
        "kernels": kernels,
        "flops": flops,
        "bytes": moved,
        "temporaries": loops.arena,
    }
