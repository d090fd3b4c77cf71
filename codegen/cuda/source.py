"""A loop program is printed as numba.cuda Python source: device functions, kernels, launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.values import Buffer

from .device_program.calls import LibraryCall
from .device_program.failures import TAPE_IS_FULL
from .device_program.nodes import DeviceKernel, DeviceProgram
from .mapping.machine import Machine
from .mapping.program import device_program
from .printing.kernels import STATUS, function_text, key_of
from .printing.words import Words


@dataclass
class Launch:
    """One kernel function, its arguments, and the number and shape of the blocks that run it.

    ``text`` is the text of the function, or empty if an earlier launch has it. ``shared`` is the
    number of bytes of shared memory in its statements, without that of the combining functions.
    """

    name: str
    buffers: list[Buffer]
    blocks: int
    block: str
    text: str
    kernel: DeviceKernel
    shared: int = 0

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.kernel.threads


@dataclass(frozen=True)
class Source:
    """``text`` is a module whose ``run(*buffers)`` launches everything.

    The buffers are those of the program (inputs, outputs, temporaries), then ``partials``, then
    ``tapes`` (each with its size per step; the caller decides the number of steps).  If something
    can fail, the last buffer is ``status``, with an ``i32`` for each of ``failures``: the first
    that is not zero is raised (``device_program/failures.py:error_for``).  If it is
    ``TAPE_IS_FULL``, the caller must repeat the call with longer tapes.
    """

    text: str
    launches: list[Launch | LibraryCall]
    buffers: list[Buffer]
    partials: list[Buffer]
    tapes: list[Buffer]
    status: Buffer | None
    failures: list[str]
    program: DeviceProgram

    @property
    def place_of_full_tapes(self) -> int:
        """The index in ``status`` of the flag for a full tape."""
        return self.failures.index(TAPE_IS_FULL)


def print_source(program: LoopProgram, machine: Machine | None = None) -> Source:
    """Print a program that was lowered with the traits of CUDA."""
    machine = machine or Machine()
    return print_device_source(device_program(program, machine), machine)


def print_device_source(device: DeviceProgram, machine: Machine) -> Source:
    """Print a device program; kernels that differ only in names become one function."""
    words = Words()
    program = device.loops
    places = {failure: place for place, failure in enumerate(device.failures)}
    status = Buffer(STATUS, "i32", len(places), "temp")
    known: dict[str, Launch] = {}
    launches: list[Launch | LibraryCall] = []
    for kernel in device.launches:
        if isinstance(kernel, LibraryCall):
            launches.append(kernel)
            continue
        key = key_of(kernel, words, places)
        same = known.get(key)
        if same is None:
            names = BufferNames()
            text, can_fail = function_text(kernel, kernel.name, words, places, names)
            arguments = [*kernel.buffers, *([status] if can_fail else [])]
            known[key] = launch = _launch(kernel, kernel.name, arguments, text)
        else:
            more = same.buffers[len(same.kernel.buffers) :]
            launch = _launch(kernel, same.name, [*kernel.buffers, *more], "")
        launches.append(launch)
    buffers = [*program.inputs, *program.outputs, *program.temps]
    used = [status] if any(status in launch.buffers for launch in launches) else []
    arguments = [*buffers, *device.partials, *device.tapes, *used]
    texts = [*words.helpers.texts.values(), *_texts(launches)]
    texts.append(_run(launches, arguments))
    sections = [f'"""{program.name}: kernels by autojit."""\n\n{_imports(texts, machine)}', *texts]
    text = "\n\n".join(s for s in sections if s)
    noted = status if used else None
    return Source(
        text, launches, buffers, device.partials, device.tapes, noted, device.failures, device
    )


def _texts(launches: Sequence[Launch | LibraryCall]) -> list[str]:
    """The texts of the functions, each once."""
    kernels = (launch for launch in launches if isinstance(launch, Launch))
    return [launch.text for launch in kernels if launch.text]


def _launch(kernel: DeviceKernel, name: str, arguments: list[Buffer], text: str) -> Launch:
    shared = sum(b.size * itemsize(b.dtype) for b in kernel.shared)
    return Launch(name, arguments, kernel.grid, str(kernel.threads), text, kernel, shared)


def _imports(texts: list[str], machine: Machine) -> str:
    """The import lines that are used; the last word of each line is the imported name."""
    lines = machine.imports.splitlines(keepends=True)
    names = [(line, f"{line.split()[-1]}." if line.strip() else "") for line in lines]
    return (
        "".join(line for line, name in names if any(name in text for text in texts)).strip() + "\n"
    )


def _run(launches: Sequence[Launch | LibraryCall], buffers: list[Buffer]) -> str:
    lines = [f"def run({', '.join(map(str, buffers))}):"]
    for launch in launches:
        arguments = ", ".join(map(str, launch.buffers))
        if isinstance(launch, LibraryCall):
            lines.append(f"    libraries[{launch.name!r}]({arguments})  # {launch.doc}")
            continue
        lines.append(f"    {launch.name}[{launch.blocks}, {launch.block}]({arguments})")
    if not launches:
        lines.append("    pass")
    return "\n".join(lines) + "\n"
