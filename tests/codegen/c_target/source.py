"""Loop programs as C99: the smallest target, and the model of a new one.

    text = PRELUDE + print_c(lower(optimize(program), C), "f")

`statements` writes each class of statements, `words` the scalar vocabulary, `matrices` products and
factorizations. A function takes the arrays of a program, flat, and a status, in which it leaves the
bits of `loop_ir/errors.py:FAILURES`:

    void f(const double *in0, double *out0, int64_t *status);
"""

from __future__ import annotations

from autojit.codegen.loop_ir.errors import OUT_OF_MEMORY, bits
from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Recall, Repeat, Swap
from autojit.codegen.loop_ir.traversal import buffers_named, memory, statements, walk
from autojit.codegen.scheduling.traits import Traits

from .statements import Statements
from .words import PRELUDE, c_type

__all__ = ["PRELUDE", "C", "print_c"]

#: One thread, which runs loops as they are written; products are loops.
C = Traits(tasks=False, split_blocks=False, tiles=False)


def print_c(program: LoopProgram, name: str) -> str:
    """One function with external linkage, to be compiled after the prelude."""
    lines = Statements(bits(s.name for s in statements(program) if isinstance(s, Compute)))
    arguments = [f"const {c_type(b.dtype)} *{lines.buffer(b)}" for b in program.inputs]
    arguments += [f"{c_type(b.dtype)} *{lines.buffer(b)}" for b in program.outputs]
    header = f"void {name}({', '.join([*arguments, 'int64_t *status'])}) {{"
    if program.temps:
        lines.line(f"char *const arena = malloc({program.arena});")
        lines.line(f"if (!arena) {{ {lines.fail(OUT_OF_MEMORY)} return; }}")
    for buffer, offset in program.temps.items():
        kind = c_type(buffer.dtype)
        lines.line(f"{kind} *{lines.buffer(buffer)} = ({kind} *)(arena + {offset});")
    for step in program.steps:
        body = step.body if isinstance(step, Kernel) else [step]
        with lines.block(f"/* {step.name} */" if isinstance(step, Kernel) else ""):
            _declare(lines, body)
            lines.body(body)
    if program.temps:
        lines.line("free(arena);")
    return "\n".join([header, *lines.lines, "}\n"])


def _declare(lines: Statements, body: list[object]) -> None:
    """What lasts as long as a kernel: locals, tapes, and how often loops ran."""
    every = list(walk(body))
    moved = {memory(b) for s in every if isinstance(s, Swap) for b in (s.first, s.second)}
    for buffer in dict.fromkeys(memory(b) for s in every for b in buffers_named(s)):
        kind, name = c_type(buffer.dtype), lines.buffer(buffer)
        if buffer.kind == "tape":
            lines.line(f"{kind} *{name} = NULL;")
        elif buffer.kind == "local":
            memory_name = f"{name}_memory" if buffer in moved else name
            lines.line(f"{kind} {memory_name}[{max(1, buffer.size)}];")
            if buffer in moved:
                lines.line(f"{kind} *{name} = {memory_name};")
    begun = [s for s in every if isinstance(s, (Repeat, Recall))]
    for name in dict.fromkeys(lines.tapes(s.tapes) for s in begun if s.tapes):
        lines.line(f"Tapes *{name} = NULL;")
    for s in begun:
        lines.line(f"int64_t {lines.trips(s.trips)} = 0;")
