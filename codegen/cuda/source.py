"""A loop program as numba.cuda Python source: device functions, kernels, and their launches."""

from __future__ import annotations

from dataclasses import dataclass

from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.values import Buffer

from . import products
from .kernels import STATUS, KernelWriter, Launch
from .structure import Machine
from .words import Words


@dataclass(frozen=True)
class Source:
    """``text`` is a module whose ``run(*buffers)`` launches everything.

    The buffers are those of the program (inputs, outputs, temporaries), then ``partials``
    and, where something ``can_fail``, the status.
    """

    text: str
    launches: list[Launch]
    buffers: list[Buffer]
    partials: list[Buffer]
    can_fail: bool


def print_source(program: LoopProgram, machine: Machine | None = None) -> Source:
    """The source of a program lowered with the traits of CUDA."""
    machine = machine or Machine()
    words = Words()
    launches: list[Launch] = []
    partials: list[Buffer] = []
    for number, step in enumerate(program.steps):
        if isinstance(step, MatrixProduct):
            launches += products.write(step, f"product{number}", machine)
        else:
            assert isinstance(step, Kernel)  # the traits of CUDA have no factorizations
            writer = KernelWriter(step, machine, words, len(partials))
            launches += writer.write()
            partials += writer.partials
    buffers = [*program.inputs, *program.outputs, *program.temps]
    can_fail = any(STATUS in launch.buffers for launch in launches)
    arguments = [*buffers, *partials, *([STATUS] if can_fail else [])]
    texts = [*words.helpers.texts.values(), *(launch.text for launch in launches)]
    texts.append(_run(launches, arguments))
    sections = [
        f'"""{program.name}: kernels by autojit."""\n\n{_imports(texts, machine)}',
        _sizes(texts, machine),
        *texts,
    ]
    text = "\n\n".join(s for s in sections if s)
    return Source(text, launches, buffers, partials, can_fail)


def _imports(texts: list[str], machine: Machine) -> str:
    """The imports that are used; a line imports what it ends in."""
    lines = machine.imports.splitlines(keepends=True)
    names = [(line, f"{line.split()[-1]}." if line.strip() else "") for line in lines]
    return "".join(line for line, name in names if any(name in text for text in texts)).lstrip()


def _sizes(texts: list[str], machine: Machine) -> str:
    sizes = {"THREADS": machine.threads, "TILE": machine.tile}
    used = {name: value for name, value in sizes.items() if any(name in text for text in texts)}
    return "".join(f"{name} = {value}\n" for name, value in used.items())


def _run(launches: list[Launch], buffers: list[Buffer]) -> str:
    lines = [f"def run({', '.join(map(str, buffers))}):"]
    for launch in launches:
        arguments = ", ".join(map(str, launch.buffers))
        lines.append(f"    {launch.name}[{launch.blocks}, {launch.block}]({arguments})")
    if not launches:
        lines.append("    pass")
    return "\n".join(lines) + "\n"
