"""Prints loop programs as readable text; ``loop_text.parse`` reads it (see GRAMMAR.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel, LoopProgram, views
from autojit.codegen.loop_ir.sequences import (
    MANY,
    Branch,
    Keep,
    Recall,
    Release,
    Repeat,
    Steps,
    Swap,
)  # fmt: skip
from autojit.codegen.loop_ir.traversal import buffers_named, statements, walk
from autojit.codegen.loop_ir.values import Buffer, Operand, Scalar
from autojit.codegen.loop_ir.vocabulary import SYMBOLS, dtype_of_value, usual_dtype
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.tools.text import print_static

from .sheets import PRINTED


class Names:
    """The names within one kernel, and remarks on its loops, by their identity."""

    def __init__(
        self,
        body: list[Any],
        buffer: Callable[[Buffer], str] = str,
        remarks: dict[int, str] | None = None,
    ) -> None:
        self.buffer = buffer
        self.remarks = remarks or {}
        #: The line on which each statement begins, by its identity.
        self.at: dict[int, int] = {}
        self.scalars: dict[int, str] = {}
        self.vars: dict[Var, str] = {}
        #: The ends of loops over each variable; accumulators with additions.
        self.ends: dict[Var, int] = {}
        self.added: set[int] = set()
        #: The loops that count their steps, in the order of the text.
        self.counting: list[Any] = []
        for s in walk(body):
            if isinstance(s, Loop):
                self.ends[s.var] = max(s.stop, self.ends.get(s.var, 0))
            elif isinstance(s, Accumulate):
                self.added.add(s.accumulator.number)

    def scalar(self, s: Scalar) -> str:
        return self.scalars.setdefault(s.number, f"s{len(self.scalars)}")

    def result(self, s: Any) -> str:
        """Return the scalar that a statement computes, with its dtype if that is unusual."""
        dtype = s.result.dtype
        return self.scalar(s.result) + ("" if dtype == usual_dtype(s) else f": {dtype}")

    def scalars_of(self, found: Iterable[Scalar]) -> str:
        return ", ".join(map(self.scalar, found))

    def buffers(self, found: Iterable[Buffer]) -> str:
        return ", ".join(map(self.buffer, found))

    def var(self, v: Var) -> str:
        if v not in self.vars:
            n = len(self.vars)
            self.vars[v] = "ijklmnpqr"[n] if n < 9 else f"i{n}"
        return self.vars[v]

    def index(self, index: Affine) -> str:
        return index.text(self.var)

    def places(self, s: Gather | ScatterInto) -> str:
        """Return computed places, each with its range, and the index that is added to them."""
        parts = [
            f"{'' if p.stride == 1 else f'{p.stride}*'}{self.scalar(p.scalar)} of {p.extent}"
            for p in s.places
        ]
        if s.index != Affine(0):
            parts.append(self.index(s.index))
        return " + ".join(parts).replace("+ -", "- ")

    def counted(self, s: Any) -> str:
        """Name the loop whose steps are meant, unless it is the last one that counts them."""
        last = self.counting[-1] if self.counting else None
        if s.trips is last or s.trips not in self.counting:
            return ""
        return f" of loop {self.counting.index(s.trips)}"


# -- statements on one line ---------------------------------------------------


def _compute(s: Compute, n: Names) -> str:
    arguments = n.scalars_of(s.args)  # named before the result
    if s.name == "convert":
        return f"{n.scalar(s.result)} = {s.result.dtype}({arguments})"
    if s.name in SYMBOLS and len(s.args) == 2:
        a, b = map(n.scalar, s.args)
        return f"{n.result(s)} = {a} {SYMBOLS[s.name]} {b}"
    name, mark, message = s.name.partition(": ")  # of a check or a call
    words = f"{message!r}, " if mark else ""
    return f"{n.result(s)} = {name}({words}{arguments})"


def _in_range(s: InRange, n: Names) -> str:
    every = f" step {s.step}" if s.step != 1 else ""
    return f"{n.result(s)} = {n.index(s.index)} in {s.low}..{s.high}{every}"


def _guarded(s: Load | Gather, n: Names) -> str:
    return f" if {n.scalar(s.guard)} else 0" if s.guard is not None else ""


def _load(s: Load | Gather, n: Names) -> str:
    place = n.index(s.index) if isinstance(s, Load) else n.places(s)
    guard = _guarded(s, n)
    return f"{n.result(s)} = {n.buffer(s.buffer)}[{place}]{guard}"


def _scatter(s: ScatterInto, n: Names) -> str:
    return f"{n.buffer(s.buffer)}[{n.places(s)}] {_combine(s.combine)} {n.scalar(s.value)}"


def _accumulate_into(s: AccumulateInto, n: Names) -> str:
    return f"{n.buffer(s.buffer)}[{n.index(s.index)}] {_combine(s.combine)} {n.scalar(s.value)}"


def _begin(s: Begin, n: Names) -> str:
    a = s.accumulator
    dtype = "" if a.dtype == dtype_of_value(a.identity) else f": {a.dtype}"
    how = "" if a.number in n.added else f" by {a.combine}"
    return f"a{a.number}{dtype} = {a.identity!r}{how}"


def _accumulate(s: Accumulate, n: Names) -> str:
    return f"a{s.accumulator.number} {_combine(s.accumulator.combine)} {n.scalar(s.value)}"


def _combine(name: str) -> str:
    return "=" if name == "set" else f"{SYMBOLS[name]}=" if name in SYMBOLS else f"{name}="


def _keep(s: Keep, n: Names) -> str:
    tapes = f"{n.buffers(s.tapes)} " if s.tapes else ""
    return f"keep {tapes}in {n.buffer(s.note)}{n.counted(s)}"


def _recall(s: Recall, n: Names) -> str:
    n.counting.append(s.trips)
    tapes = f"{n.buffers(s.tapes)} " if s.tapes else ""
    return f"recall {tapes}from {n.buffer(s.note)}"


def _operand(o: Operand, n: Names, usual: tuple[int, ...] | None = None) -> str:
    offset = "" if o.offset == Affine(0) else f"[{n.index(o.offset)}:]"
    strides = "" if o.strides == usual else f" by {print_static(o.strides)}"
    return f"{n.buffer(o.buffer)}{offset}{strides}"


def _sizes(s: MatrixProduct | Factorization) -> str:
    return f"{print_static(s.batch)} x " if s.batch else ""


def _product(s: MatrixProduct, n: Names) -> str:
    c = _operand(Operand(s.c, s.c_offset, ()), n, ())
    a = _operand(s.a, n, row_major_strides((*s.batch, s.m, s.k)))
    b = _operand(s.b, n, row_major_strides((*s.batch, s.k, s.n)))
    more = ["blocks" if s.blocked else "tiles" if s.tiled else "BLAS"]
    if s.dtype != s.c.dtype:
        more.insert(0, s.dtype)
    if s.panel is not None:
        more.append(f"panel {_operand(s.panel, n, ())}")
    if s.share is not None:
        more.append(f"share {n.var(s.share)}")
    return f"{c} = {a} @ {b} {{{_sizes(s)}[{s.m},{s.k}] @ [{s.k},{s.n}], {', '.join(more)}}}"


def _factorization(s: Factorization, n: Names) -> str:
    results = ", ".join(_operand(o, n) for o in s.outputs)
    operands = ", ".join(_operand(o, n) for o in s.inputs)
    more = [] if s.dtype == s.inputs[0].buffer.dtype else [s.dtype]
    more += [f"{s.k} right-hand sides"] if s.k else []
    more += [f"gives {' '.join(s.gives)}"] if s.gives else []
    more += [f"{name}={print_static(value)}" for name, value in s.params.items()]
    words = "".join(f", {word}" for word in more)
    return f"{results} = {s.name}({operands}) {{{_sizes(s)}[{s.m},{s.n}]{words}}}"


def _callback(s: Callback, n: Names) -> str:
    results = ", ".join(_operand(o, n, o.strides) for o in s.outputs)
    operands = ", ".join(_operand(o, n, o.strides) for o in s.inputs)
    types = ", ".join(map(str, s.call.in_types))
    return f"{results} = call {s.call}({operands}) {{{types}}}"


#: The functions that write one-line statements.
WRITERS: dict[type, Callable[[Any, Names], str]] = {
    Compute: _compute,
    InRange: _in_range,
    Constant: lambda s, n: f"{n.result(s)} = {s.value!r}",
    IndexValue: lambda s, n: f"{n.scalar(s.result)} = {s.result.dtype}({n.index(s.index)})",
    Load: _load,
    Gather: _load,
    ScatterInto: _scatter,
    Store: lambda s, n: f"{n.buffer(s.buffer)}[{n.index(s.index)}] = {n.scalar(s.value)}",
    AccumulateInto: _accumulate_into,
    Fill: lambda s, n: f"{n.buffer(s.buffer)}[{n.index(s.start)} : +{s.count}] = {s.value!r}",
    Begin: _begin,
    Accumulate: _accumulate,
    Finish: lambda s, n: f"{n.result(s)} = a{s.accumulator.number}",
    MatrixProduct: _product,
    Factorization: _factorization,
    Callback: _callback,
    Release: lambda s, n: f"free {n.buffers(s.tapes)}",
    Keep: _keep,
    Recall: _recall,
    Swap: lambda s, n: f"swap {n.buffers((s.first, s.second))}",
}


Printed = Callable[[Any, Names, str, list[str]], None]


def print_body(body: list[Any], names: Names, indent: str, lines: list[str]) -> None:
    for s in body:
        names.at[id(s)] = len(lines)
        writer = WRITERS.get(type(s))
        if writer is not None:
            lines.append(indent + writer(s, names))
        else:
            BLOCKS[type(s)](s, names, indent, lines)


_ROLES = {"map": "", "reduce": "  # reduces", "sequence": "  # in turn"}


def _print_loop(s: Loop, names: Names, indent: str, lines: list[str]) -> None:
    words = "" if s.share is None else f", share {names.var(s.share)}"
    words += "" if s.only is None else f", only {names.scalar(s.only)}"
    words += "" if s.lower is None else f", from {names.scalar(s.lower)}"
    words += "" if s.upper is None else f", below {names.scalar(s.upper)}"
    remarks = _ROLES.get(s.role, f"  # {s.role}")
    remarks += ("  # unrolled" if s.unroll else "") + ("  # outlined" if s.outlined else "")
    remarks += names.remarks.get(id(s), "")
    last = names.ends.get(s.var, s.stop)
    extent = "" if s.var.extent == last else f" of {s.var.extent}"
    lines.append(f"{indent}for {names.var(s.var)} in {s.start}..{s.stop}{extent}{words}:{remarks}")
    print_body(s.body, names, indent + "  ", lines)


def _print_tasks(s: RunTasks, names: Names, indent: str, lines: list[str]) -> None:
    how = "in threads if that is faster" if s.tasks.measured else "in threads"
    lines.append(f"{indent}for task {names.var(s.tasks.var)} in 0..{s.tasks.count}, {how}:")
    print_body(s.tasks.body, names, indent + "  ", lines)


def _print_repeat(s: Repeat, names: Names, indent: str, lines: list[str]) -> None:
    names.counting.append(s.trips)
    tapes = f", tapes {names.buffers(s.tapes)}" if s.tapes else ""
    lines.append(f"{indent}repeat, steps {names.var(s.step)}{_below(s.step)}{tapes}:")
    print_body(s.condition, names, indent + "  ", lines)
    lines.append(f"{indent}  while {names.scalar(s.test)}:")
    print_body(s.body, names, indent + "    ", lines)


def _below(step: Var) -> str:
    return "" if step.extent == MANY else f" below {step.extent}"


def _print_steps(s: Steps, names: Names, indent: str, lines: list[str]) -> None:
    order = ", the last first" if s.backward else ""
    step = f"{names.var(s.step)}{_below(s.step)}{names.counted(s)}"
    lines.append(f"{indent}for each of the steps {step}{order}:")
    print_body(s.body, names, indent + "  ", lines)


def _print_branch(s: Branch, names: Names, indent: str, lines: list[str]) -> None:
    for k, body in enumerate(s.bodies):
        lines.append(f"{indent}{'if' if not k else 'elif'} {names.scalar(s.index)} is {k}:")
        print_body(body, names, indent + "  ", lines)


BLOCKS: dict[type, Printed] = {
    Loop: _print_loop,
    RunTasks: _print_tasks,
    Repeat: _print_repeat,
    Steps: _print_steps,
    Branch: _print_branch,
    **PRINTED,
}


def print_loops(program: LoopProgram, lanes: dict[int, int] | None = None) -> str:
    """Return the text of a loop program, with the lanes of its loops if they are known."""
    return "\n".join(placed_lines(program, lanes)[0]) + "\n"


def placed_lines(
    program: LoopProgram, lanes: dict[int, int] | None = None
) -> tuple[list[str], dict[int, int]]:
    """Return the same as lines, and the first line of each kernel and statement, by identity."""
    words = {1: "scalar code"}
    remarks = {k: f"  # {words.get(n, f'vectors of {n}')}" for k, n in (lanes or {}).items()}
    names = BufferNames()
    name = program.name if program.name.isidentifier() else repr(program.name)
    lines = [f"loops {name}:"]
    known = len(program.inputs) - program.captured
    for n, buffer in enumerate((*program.inputs, *program.outputs)):
        outside = " from outside" if known <= n < len(program.inputs) else ""
        lines.append(f"  {_declared(buffer, names)}{outside}")
    lines += _memory(program, names)
    at: dict[int, int] = {}
    for step in program.steps:
        body, indent = (step.body, "    ") if isinstance(step, Kernel) else ([step], "  ")
        own = Names(body, names, remarks)
        if isinstance(step, Kernel):
            at[id(step)] = len(lines)
            lines.append(f"  kernel {step.name}:")
            lines += [f"    {_declared(b, names)}" for b in _locals(step)]
        print_body(body, own, indent, lines)
        at |= own.at
    return lines, at


def _declared(buffer: Buffer, names: BufferNames) -> str:
    over = "" if buffer.over is None else f" over {names(buffer.over)}"
    return f"{buffer.kind} {names(buffer)}: {buffer.dtype}[{buffer.size}]{over}"


def _memory(program: LoopProgram, names: BufferNames) -> list[str]:
    """Declare temporaries and tapes: those in the arena, all others, and those taken over."""
    lines = [f"  {_declared(b, names)} at byte {offset}" for b, offset in program.temps.items()]
    known = {*program.inputs, *program.outputs, *program.temps, *program.taken}
    others = [b for s in statements(program) for n in buffers_named(s) for b in _with_over(n)]
    others = [b for b in dict.fromkeys(others) if b not in known and b.kind != "local"]
    lines += [f"  {_declared(b, names)}" for b in others]
    for buffer, target in program.taken.items():
        lines.append(f"  temp {names(buffer)}: {buffer.dtype}[{buffer.size}] in {names(target)}")
    return lines


def _with_over(buffer: Buffer) -> list[Buffer]:
    """Return a buffer, after those whose memory it takes over."""
    return [buffer] if buffer.over is None else [*_with_over(buffer.over), buffer]


def _locals(kernel: Kernel) -> list[Buffer]:
    found = [*kernel.buffers, *(b for s in walk(kernel.body) for b in buffers_named(s))]
    every = dict.fromkeys(b for n in found for b in _with_over(n))
    return [b for b in every if b.kind == "local"]


def text_of(body: list[Any], statement: Any) -> tuple[str, str]:
    """Return the line of a statement, and the text of the body that contains it."""
    names, lines = Names(body), list[str]()
    print_body(body, names, "  ", lines)
    own: list[str] = []
    if type(statement) in EFFECTS:
        print_body([statement], names, "", own)
    return own[0] if own else type(statement).__name__, "\n".join(lines)


def lines_of(body: list[Any], buffer: Callable[[Buffer], str] = str) -> dict[int, str]:
    """Return the line of each statement in a body, at any depth, by identity; a loop's head."""
    names, lines = Names(body, buffer), list[str]()
    print_body(body, names, "", lines)
    return {statement: lines[at].strip() for statement, at in names.at.items()}


views.text = print_loops
