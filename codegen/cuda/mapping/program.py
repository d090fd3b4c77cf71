"""From a loop program to the launches that run it."""

from __future__ import annotations

from autojit.codegen.cuda.device_program.nodes import DeviceKernel, DeviceProgram
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer

from .failures import failures_of
from .kernels import KernelMapper
from .machine import Machine
from .products import in_tiles


def device_program(loops: LoopProgram, machine: Machine | None = None) -> DeviceProgram:
    """The device program of a loop program that was lowered with the traits of CUDA."""
    machine = machine or Machine()
    launches: list[DeviceKernel] = []
    partials: list[Buffer] = []
    for number, step in enumerate(loops.steps):
        if isinstance(step, MatrixProduct):
            launches += in_tiles(step, f"product{number}", machine)
        else:
            assert isinstance(step, Kernel)
            mapper = KernelMapper(step, machine, len(partials))
            launches += mapper.launch()
            partials += mapper.partials
    used = (memory(b) for kernel in launches for b in kernel.buffers)
    tapes = list(dict.fromkeys(b for b in used if b.kind == "tape"))
    return DeviceProgram(loops, launches, partials, tapes, failures_of(launches))
