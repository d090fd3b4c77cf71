"""The text of the GPU stages: CUDA Python source, and PTX, both without a GPU."""

from __future__ import annotations

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Program
from autojit.ir.passes.pipeline import optimize

from .device_program.calls import LibraryCall
from .driver.cards import is_simulated
from .driver.compiler import Kernel
from .driver.compiler import ptx as compiled
from .driver.extraction import Extraction
from .packaged import kernel_of
from .refusals import lowered, printed
from .source import Source

#: The default compute capability for PTX: Ampere.
CAPABILITY = (8, 0)


def text(program: Program, stage: str, capability: tuple[int, int] = CAPABILITY) -> str:
    """The text of stage ``cuda`` or ``ptx``."""
    source = printed(lowered(optimize(program)))
    return source.text if stage == "cuda" else ptx(source, capability)


def ptx(source: Source, capability: tuple[int, int] = CAPABILITY) -> str:
    """The PTX of all kernels, one after another; equal kernels appear once.

    Raises:
        TargetError: without NVIDIA's compiler, and in the simulator.
    """
    if is_simulated():
        raise TargetError("The CUDA simulator does not compile to PTX: unset NUMBA_ENABLE_CUDASIM.")
    extraction = Extraction(source.text)
    found: dict[str, tuple[Kernel, list[str]]] = {}
    for launch in source.launches:
        if isinstance(launch, LibraryCall):
            continue
        kernel = kernel_of(extraction, launch)
        found.setdefault(kernel.key, (kernel, []))[1].append(launch.name)
    texts = [f"// {', '.join(names)}\n{compiled(k, capability)}" for k, names in found.values()]
    return "\n".join(texts)
