"""Loop programs as C99: one function, and the functions of `c_helpers` that it calls.

`c_statements` writes each class of statements, `c_words` the scalar vocabulary, `c_matrices`
products and factorizations. This is the smallest target, and the model for a new one. A function
takes the arrays of a program, flat, and a status, to which it adds the bits of
`loop_ir/errors.py:FAILURES`:

    void f(const double *in0, double *out0, int64_t *status);
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from autojit.codegen.export.text.interface import Interface
from autojit.codegen.export.text.names import Names
from autojit.codegen.export.text.statements import Statements as UsersStatements
from autojit.codegen.loop_ir.effects import effects_of
from autojit.codegen.loop_ir.errors import (
    FAILURES,
    OUT_OF_MEMORY,
    TargetError,
    bits,
    is_check,
    raised,
)
from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.origins import sources_of
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Recall, Repeat, Swap
from autojit.codegen.loop_ir.traversal import buffers_named, memory, statements, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.scheduling.traits import Traits
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type

from .c_helpers import STATUS, c_type, helpers_of
from .c_statements import Statements

#: Names that the generated functions use themselves.
_LOCAL = (
    "status", "arena", "n", "row", "column", "inner", "total", "re", "im", "left", "right", "kept",
    "sizes", "fits",
)  # fmt: skip

#: One thread, which runs loops as written; products are loops.
C = Traits(tasks=False, split_blocks=False, tiles=False, sorts_values=False)

INCLUDES = "".join(
    f"#include <{name}.h>\n" for name in ("math", "stdbool", "stdint", "stdlib", "tgmath")
)


def definitions() -> str:
    """Return definitions of the names of the status bits."""
    return "".join(f"#define {name} {bit}\n" for name, bit in STATUS.items())


def print_c(
    program: LoopProgram, name: str, names: Mapping[Buffer, str] | None = None,
    comments: UsersStatements | None = None,
) -> str:  # fmt: skip
    """Return one function with external linkage; the functions that it calls must precede it."""
    lines = Statements(checks_of(program), names)
    header = f"void {name}({', '.join([*parameters(lines, program), 'int64_t *status'])}) {{"
    if program.temps:
        lines.line(f"char *const arena = malloc({program.arena});")
        lines.line(f"if (!arena) {{ {lines.fail(OUT_OF_MEMORY)} return; }}")
    start = len(lines.lines)
    for step in program.steps:
        _step(lines, step, comments)
    lines.lines[start:start] = _temporaries(lines, program, "\n".join(lines.lines[start:]))
    if program.temps:
        lines.line("free(arena);")
    return "\n".join([header, *lines.lines, "}\n"])


def _temporaries(lines: Statements, program: LoopProgram, text: str) -> list[str]:
    """Return definitions of the temporaries that a text names."""
    found = []
    for buffer, offset in program.temps.items():
        kind, name = c_type(buffer.dtype), lines.buffer(buffer)
        if re.search(rf"\b{name}\b", text):
            found.append(f"  {kind} *{name} = ({kind} *)(arena + {offset});")
    return found


def parameters(lines: Statements, program: LoopProgram) -> list[str]:
    found = [f"const {c_type(b.dtype)} *{lines.buffer(b)}" for b in program.inputs]
    return found + [f"{c_type(b.dtype)} *{lines.buffer(b)}" for b in program.outputs]


def checks_of(program: LoopProgram) -> Mapping[str, int]:
    """Return the bits of the checks in a program."""
    return bits(s.name for s in statements(program) if isinstance(s, Compute))


def _step(lines: Statements, step: Any, comments: UsersStatements | None) -> None:
    found = comments_of(step, comments)
    if found:
        lines.lines.append("")
    for text in found:
        lines.line(text.rstrip("\\"))
    body = step.body if isinstance(step, Kernel) else [step]
    try:
        with lines.block(f"/* {step.name} */" if isinstance(step, Kernel) else ""):
            _declare(lines, body)
            lines.kernel(body)
    except TargetError as error:
        sources = sources_of(step)
        raise TargetError(str(error), error.source or (sources[0] if sources else None)) from None


def comments_of(step: Any, comments: UsersStatements | None, mark: str = "//") -> list[str]:
    """Return the user's statements that a step computes, forward ones first."""
    if comments is None:
        return []
    sources = sorted(sources_of(step), key=lambda s: (s.backward, s.line))
    pairs = ((comments.of(s), s.backward) for s in sources)
    made = (s.comment(backward=back, mark=mark) for s, back in pairs if s is not None)
    return list(dict.fromkeys(made))


def _declare(lines: Statements, body: list[object]) -> None:
    """Declare the variables of a kernel: locals, tapes, and the trip counts of loops."""
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
    needed = {n for s in every if (n := effects_of(s).needs_count(s))}
    for s in begun:
        if s.trips in needed:
            lines.line(f"int64_t {lines.trips(s.trips)} = 0;")


# -- a file ----------------------------------------------------------------------------


def c_file(program: Program, loops: LoopProgram, interface: Interface) -> str:
    """Return a file with the function of a program and everything that it calls."""
    names, shown = buffer_names(program, loops, interface)
    function = print_c(loops, interface.name, names, UsersStatements())
    helpers = helpers_of(function)
    every = [function, *helpers]
    used = [n for n in STATUS if any(n in text for text in every)]
    failures = [f for f in _failures(loops) if _names_bit(f[0], every)]
    parts = [_header(program, interface, shown, failures), INCLUDES]
    if used:
        parts.append("".join(f"#define {n} {STATUS[n]}\n" for n in used))
    return "\n".join([*parts, *(f"{h}\n" for h in helpers), _marked(function)])


def _marked(function: str) -> str:
    """Mark the status as unused in a function that never fails."""
    head, brace, rest = function.partition(" {\n")
    return function if "status" in rest else f"{head}{brace}  (void)status;\n{rest}"


def buffer_names(
    program: Program, loops: LoopProgram, interface: Interface, taken: Sequence[str] = ()
) -> tuple[dict[Buffer, str], list[str]]:
    """Return the names of inputs and outputs, and a description of each."""
    reserved = {interface.name, *_LOCAL, *taken}
    names = Names([*reserved, *interface.parameters])
    inputs = [*interface.inputs, *interface.captured]
    found: dict[Buffer, str] = {}
    shown = []
    pairs = zip((*loops.inputs, *loops.outputs), (*inputs, *interface.outputs),
                (*program.in_types, *program.out_types), strict=True)  # fmt: skip
    for buffer, wanted, type in pairs:
        own = wanted in interface.parameters and wanted not in reserved
        found[buffer] = wanted if own else names.fresh(wanted)
        role = "" if buffer.kind == "input" else ", written"
        shown.append(f"{found[buffer]}: {_described(type)}{role}")
    return found, shown


def _described(type: Type) -> str:
    words = "one number" if not type.shape else f"{'x'.join(map(str, type.shape))}, row by row"
    return words + (" (real and imaginary parts in turn)" if type.dtype.kind == "c" else "")


def _names_bit(bit: int, texts: Sequence[str]) -> bool:
    name = next((n for n, b in STATUS.items() if b == bit), "")
    return any(f"status |= {word};" in t for t in texts for word in (bit, f"INT64_C({bit})", name))


def _header(
    program: Program, interface: Interface, shown: Sequence[str],
    failures: Sequence[tuple[int, str, str]],
) -> str:  # fmt: skip
    own = len(program.inputs) - len(program.captured)
    lines = [interface.title, "", *(f"  {text}" for text in shown)]
    if program.captured:
        lines += ["", f"Arrays that the function closed over: {', '.join(shown_names(shown, own))}"]
    lines += ["", "The arrays must not overlap. Set *status to 0 before the call."]
    if failures:
        lines.append("Afterwards it is 0 where all went well, else the sum of")
        lines += [f"  {bit}: {kind}: {words}" for bit, kind, words in failures]
    lines += ["", "Compile: gcc -O2 -std=c99 -c FILE.c, and link with -lm"]
    text = "\n".join(f" * {line}".rstrip() for line in lines).replace("*/", "* /")
    return f"/*\n{text}\n */"


def shown_names(shown: Sequence[str], own: int) -> list[str]:
    return [text.partition(":")[0] for text in shown[own:] if not text.endswith("written")]


def _failures(loops: LoopProgram) -> list[tuple[int, str, str]]:
    """Return the bits of the status, and their meanings."""
    found = [(bit, *FAILURES[bit]) for bit in STATUS.values()]
    own = [s.name for s in statements(loops) if isinstance(s, Compute) and is_check(s.name)]
    known = checks_of(loops)
    return found + [(known[name], *raised(name)) for name in dict.fromkeys(own)]
