"""The readable text of device programs is that of loop programs, with statements about threads."""

from __future__ import annotations

from typing import Any

from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_text.printer import BLOCKS, WRITERS, Names, print_body

from .calls import LibraryCall
from .nodes import (
    Atomic,
    Barrier,
    Combine,
    DeviceKernel,
    DeviceProgram,
    Digit,
    Fail,
    Failed,
    Let,
    Meeting,
    Share,
    Together,
    When,
)


def _combine(s: Combine, n: Names) -> str:
    apart = "" if s.stride == 1 else f", {s.stride} apart"
    return f"a{s.accumulator.number} = {s.accumulator.combine} of {s.width} threads{apart}"


def _atomic(s: Atomic, n: Names) -> str:
    sign = "+=" if s.combine == "add" else f"{s.combine}="
    return f"atomic {n.buffer(s.buffer)}[{n.places(s)}] {sign} {n.scalar(s.value)}"


def _share(s: Share, names: Names, indent: str, lines: list[str]) -> None:
    first = names.index(s.first)
    lines.append(f"{indent}share {names.var(s.var)} from {first}, below {s.stop}, by {s.step}:")
    print_body(s.body, names, indent + "  ", lines)


def _together(s: Together, names: Names, indent: str, lines: list[str]) -> None:
    lines.append(f"{indent}together:")
    print_body(s.body, names, indent + "  ", lines)


def _when(s: When, names: Names, indent: str, lines: list[str]) -> None:
    lines.append(f"{indent}when {names.index(s.index)} in {s.low}..{s.high}:")
    print_body(s.body, names, indent + "  ", lines)


WRITERS.update({
    Barrier: lambda s, n: f"barrier of {s.width} threads",
    Meeting: lambda s, n: f"all blocks meet, {n.buffer(s.arrived)}",
    Combine: _combine,
    Fail: lambda s, n: f"fail if {n.scalar(s.condition)}: {s.words}",
    Digit: lambda s, n: (
        f"{n.scalar(s.result)} = digit of {n.scalar(s.value)} from bit {n.scalar(s.shift)}"
    ),
    Failed: lambda s, n: f"{n.scalar(s.result)} = this block has failed",
    Let: lambda s, n: f"{n.var(s.var)} = {n.index(s.value)}",
    Atomic: _atomic,
})  # fmt: skip
BLOCKS.update({Share: _share, Together: _together, When: _when})


def print_device_program(program: DeviceProgram) -> str:
    """The readable text of a device program: each launch with its kernel."""
    names = BufferNames()
    lines = [f"device program {program.loops.name}:"]
    for launch in program.launches:
        if isinstance(launch, LibraryCall):
            lines += _call(launch, names)
        else:
            lines += _kernel(launch, names)
    return "\n".join(lines) + "\n"


def _call(call: LibraryCall, names: BufferNames) -> list[str]:
    """The lines of a call, with the ranges of scalars that it reads (``r``) and writes (``w``)."""
    again = f", {call.count} times" if call.count > 1 else ""
    lines = [f"  call {call.name}{again}: {call.routine}"]
    for p in call.parts:
        step = f", next {p.step} on" if call.count > 1 else ""
        lines.append(f"    {p.access} {names(p.buffer)}[{p.offset}..{p.offset + p.size}]{step}")
    return lines


def _kernel(kernel: DeviceKernel, names: BufferNames) -> list[str]:
    given = ", ".join(map(names, kernel.buffers))
    lines = [f"  kernel {kernel.name}({given}), {kernel.grid} x {kernel.threads} threads:"]
    lines += [f"    shared {_declared(b, names)}" for b in kernel.shared]
    lines += [f"    local {_declared(b, names)}" for b in kernel.locals]
    print_body(kernel.body, _named(kernel, names), "    ", lines)
    return lines


def _declared(buffer: Buffer, names: BufferNames) -> str:
    return f"{names(buffer)}: {buffer.dtype}[{buffer.size}]"


def _named(kernel: DeviceKernel, buffers: BufferNames) -> Names:
    names = Names(kernel.body, buffers)
    names.vars = {kernel.block: "block", kernel.thread: "thread"}
    return names


def line_of(kernel: DeviceKernel, statement: Any) -> str:
    """The line of one statement of a kernel."""
    names = _named(kernel, BufferNames())
    print_body(kernel.body, names, "", [])
    lines: list[str] = []
    print_body([statement], names, "", lines)
    return lines[0]
