"""Explains the code of a function for a GPU: its kernel launches one by one, with reasons.

Nothing is run, so no GPU is needed.  Bytes are counted statically; registers are reported by
``ptxas`` if it and numba-cuda are installed.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.device_program.nodes import DeviceKernel, DeviceProgram
from autojit.codegen.cuda.device_program.traffic import traffic
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.cuda.stages import CAPABILITY, ptx
from autojit.codegen.driver.executable import signature
from autojit.codegen.loop_ir.cost import footprint
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.origins import sources_of
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.program import Program
from autojit.ir.core.types import dtype_from_name
from autojit.ir.core.values import Source
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.units import in_bytes, plural
from autojit.notebook.html import blocks

from .facts import Line
from .lines import line_of


@dataclasses.dataclass(frozen=True)
class Assembled:
    """The report of ``ptxas`` about a kernel: registers per thread, and spilled bytes."""

    registers: int
    spilled: int


@dataclasses.dataclass(frozen=True)
class Launch:
    """A kernel and its launch, or a library routine.  Sizes are in bytes."""

    name: str
    #: None for a library routine, which decides by itself.
    blocks: int | None
    threads: int | None
    #: The work of each thread, and the reason; for a routine, what it computes.
    mapping: str
    lines: list[Line]
    read: int
    written: int
    shared: int
    assembled: Assembled | None


@dataclasses.dataclass
class GpuExplanation:
    """The result of ``jit(f, device="cuda").explain(*args)``: print it, or call ``text()``,
    ``html()``, ``json()``."""

    name: str
    signature: str
    device: str
    launches: list[Launch]
    #: The bytes of temporaries on the device.
    temporaries: int
    #: Why the registers are unknown; empty if they are known.
    without_registers: str

    def text(self, width: int | None = None) -> str:
        """The text, in lines of at most ``width`` characters."""
        wide = min(100, max(60, width or shutil.get_terminal_size().columns))
        lines = _wrapped(f"{self.name}: {self.signature}", wide, "")
        lines += _wrapped(self._summary(), wide, "")
        for number, launch in enumerate(self.launches):
            lines += ["", f"{number}  {launch.name}"]
            for title, words in _rows(launch):
                lines += _wrapped(f"{title:<10}{words}", wide, "   ", " " * 13)
        if self.without_registers:
            lines += ["", *_wrapped(self.without_registers, wide, "")]
        return "\n".join(lines)

    def html(self) -> str:
        """A self-contained HTML fragment."""
        title, *content = self._parts()
        return blocks.card(title, *content)

    def page(self) -> str:
        """A complete HTML page."""
        title, *content = self._parts()
        return blocks.article(f"explain {self.name}", f"<h1>{title}</h1>", *content)

    def json(self) -> str:
        """All facts, as JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def as_dict(self) -> dict[str, Any]:
        """All facts as objects."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<explanation of {self.name} on {self.device}: {len(self.launches)} launches>"

    def _repr_html_(self) -> str:
        return self.html()

    def _summary(self) -> str:
        moved = sum(launch.read + launch.written for launch in self.launches)
        return (
            f"{plural(len(self.launches), 'kernel')} on {self.device}, {in_bytes(moved)} moved, "
            f"{in_bytes(self.temporaries)} of temporaries"
        )

    def _parts(self) -> Iterator[str]:
        yield blocks.code(f"{self.name}: {self.signature}")
        yield f"<p>{blocks.text_of(self._summary())}</p>"
        for number, launch in enumerate(self.launches):
            rows = [(title, blocks.text_of(words)) for title, words in _rows(launch)]
            yield blocks.folded(
                f"{number}  {launch.name}", blocks.facts(rows), opened=True, framed=True
            )
        if self.without_registers:
            yield f"<p>{blocks.text_of(self.without_registers)}</p>"


def _rows(launch: Launch) -> Iterator[tuple[str, str]]:
    for line in launch.lines:
        yield "line", f"{line.file}:{line.number}  {line.text}{_way(line)}"
    if launch.blocks is None:
        yield "library", launch.mapping
    else:
        yield "launch", f"{launch.blocks} blocks of {launch.threads} threads"
        yield "mapping", launch.mapping
    moved = f"{in_bytes(launch.read)} read, {in_bytes(launch.written)} written"
    yield "memory", moved + (f", {in_bytes(launch.shared)} shared" if launch.shared else "")
    if launch.assembled is not None:
        spilled = launch.assembled.spilled
        words = f", {in_bytes(spilled)} spilled" if spilled else ""
        yield "registers", f"{launch.assembled.registers} a thread{words}"


def _way(line: Line) -> str:
    return " (backward)" if line.backward else ""


def _wrapped(words: str, width: int, first: str, later: str = "  ") -> list[str]:
    return textwrap.wrap(words, width, initial_indent=first, subsequent_indent=later)


# -- construction ---------------------------------------------------------------------------


def explain_on_gpu(program: Program, device: str) -> GpuExplanation:
    """The explanation of a program for a GPU."""
    made = device_program(lower(optimize(program), CUDA))
    known, why = _registers(made)
    given = len(program.inputs) - len(program.captured)
    return GpuExplanation(
        name=program.name,
        signature=signature(Program(program.inputs[:given], (), program.outputs)),
        device=device,
        launches=[_launch(made, kernel, known.get(kernel.name)) for kernel in made.launches],
        temporaries=footprint([*made.loops.temps, *made.partials]),
        without_registers=why,
    )


def _launch(
    made: DeviceProgram, kernel: DeviceKernel | LibraryCall, known: Assembled | None
) -> Launch:
    if isinstance(kernel, LibraryCall):
        return _called(kernel)
    moved = traffic(kernel)
    return Launch(
        name=kernel.name,
        blocks=kernel.grid,
        threads=kernel.threads,
        mapping=kernel.doc,
        lines=list(dict.fromkeys(line_of(source) for source in _sources(made, kernel))),
        read=moved.read,
        written=moved.written,
        shared=footprint(kernel.shared),
        assembled=known,
    )


def _called(call: LibraryCall) -> Launch:
    def size(access: str) -> int:
        return sum(
            call.count * p.size * dtype_from_name(p.buffer.dtype).itemsize
            for p in call.parts
            if access in p.access
        )

    return Launch(
        name=call.name,
        blocks=None,
        threads=None,
        mapping=call.doc,
        lines=list(dict.fromkeys(line_of(source) for source in sources_of(call))),
        read=size("r"),
        written=size("w"),
        shared=0,
        assembled=None,
    )


def _sources(made: DeviceProgram, kernel: DeviceKernel) -> list[Source]:
    """The user's lines of a kernel; for matrix products, only their step knows them."""
    found = [s.source for s in walk(kernel.body) if getattr(s, "source", None) is not None]
    number = re.fullmatch(r"\D+(\d+).*", kernel.name)
    if found or number is None or int(number[1]) >= len(made.loops.steps):
        return list(dict.fromkeys(found))
    return list(sources_of(made.loops.steps[int(number[1])]))


def _registers(made: DeviceProgram) -> tuple[dict[str, Assembled], str]:
    """The report of ``ptxas`` about each kernel, by its name; or why there is none."""
    if shutil.which("ptxas") is None:
        return {}, "Registers are not known: ptxas, of the CUDA toolkit, is not on PATH."
    try:
        text = ptx(print_device_source(made, Machine()))
    except (TargetError, ImportError) as error:
        return {}, f"Registers are not known: {str(error).splitlines()[0]}"
    parts = re.split(r"^// (\w+(?:, \w+)*)\n", text, flags=re.MULTILINE)[1:]
    found: dict[str, Assembled] = {}
    with tempfile.TemporaryDirectory() as folder:
        for names, each in zip(parts[::2], parts[1::2], strict=True):
            assembled = _assembled(each, Path(folder))
            if assembled is not None:
                found.update(dict.fromkeys(names.split(", "), assembled))
    missing = [kernel.name for kernel in made.launches if kernel.name not in found]
    return found, f"ptxas did not assemble {', '.join(missing)}." if missing else ""


def _assembled(text: str, folder: Path) -> Assembled | None:
    said = _said(text, folder)
    # A toolkit older than NVVM: no instruction is of the newer version.
    newest = re.search(r"Unsupported \.version .*current version is '([\d.]+)'", said)
    if newest:
        said = _said(re.sub(r"\.version [\d.]+", f".version {newest[1]}", text), folder)
    registers = re.search(r"Used (\d+) reg", said)
    spilled = re.findall(r"(\d+) bytes spill (?:stores|loads)", said)
    return Assembled(int(registers[1]), sum(map(int, spilled))) if registers else None


def _said(text: str, folder: Path) -> str:
    file = folder / "kernel.ptx"
    file.write_text(text, encoding="utf-8")
    architecture = f"-arch=sm_{CAPABILITY[0]}{CAPABILITY[1]}"
    command = ["ptxas", "-v", architecture, str(file), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
