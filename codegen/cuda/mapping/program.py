"""From a loop program to the launches that run it."""

from __future__ import annotations

from collections import Counter

from autojit.codegen.cuda.device_program.failures import failures_of
from autojit.codegen.cuda.device_program.nodes import DeviceKernel, DeviceProgram
from autojit.codegen.cuda.matrices.expansion import OF_ELEMENTS, batch_of, steps_of_elements
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_of, memory

from .cooperation import require_known
from .kernels import KernelMapper
from .machine import Machine
from .products import in_tiles


def device_program(loops: LoopProgram, machine: Machine | None = None) -> DeviceProgram:
    """The device program of a loop program that was lowered with the traits of CUDA."""
    machine = machine or Machine()
    launches: list[DeviceKernel] = []
    every = [step.body if isinstance(step, Kernel) else [step] for step in loops.steps]
    for body in every:
        require_known(body)
    steps = Counter(b for body in every for b in buffers_of(body))
    for number, step in enumerate(loops.steps):
        if isinstance(step, MatrixProduct):
            launches += in_tiles(step, f"product{number}", machine)
        elif isinstance(step, Factorization):
            launches += _matrices(step, f"{step.name}{number}", machine)
        else:
            assert isinstance(step, Kernel)
            private = [b for b in steps if steps[b] == 1 and b in loops.temps]
            launches += KernelMapper(step, machine, private).launch()
    used = (memory(b) for kernel in launches for b in kernel.buffers)
    known = {*loops.inputs, *loops.outputs, *loops.temps}
    more = [b for b in dict.fromkeys(used) if b not in known]
    tapes = [b for b in more if b.kind == "tape"]
    partials = [b for b in more if b.kind != "tape"]
    for position, buffer in enumerate(partials):
        buffer.name = f"p{position}"
    return DeviceProgram(loops, launches, partials, tapes, failures_of(launches))


def _matrices(step: Factorization, name: str, machine: Machine) -> list[DeviceKernel]:
    """Linear algebra on a batch: a block or a thread a matrix, or a thread an element."""
    if step.name not in OF_ELEMENTS:
        return KernelMapper(Kernel(name, [], []), machine).matrices(*batch_of(step))
    launches: list[DeviceKernel] = []
    for number, body in enumerate(steps_of_elements(step)):
        kernel = Kernel(f"{name}_{number}" if number else name, body, [])
        launches += KernelMapper(kernel, machine).launch()
    return launches
