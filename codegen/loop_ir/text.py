"""The readable text of loop programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.ir.core.affine import Affine, Quotient, Var

from .nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Branch,
    Compute,
    Constant,
    Factorization,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Keep,
    Load,
    Loop,
    LoopProgram,
    MatrixProduct,
    Operand,
    Place,
    Recall,
    Release,
    Repeat,
    RunTasks,
    Scalar,
    ScatterInto,
    Steps,
    Store,
    Swap,
)


class _Names:
    """Names of scalars and indices, and what is known of loops in words, by their identity."""

    def __init__(self, remarks: dict[int, str] | None = None) -> None:
        self.remarks = remarks or {}
        self.scalars: dict[int, str] = {}
        self.vars: dict[Var, str] = {}

    def scalar(self, s: Scalar) -> str:
        return self.scalars.setdefault(s.number, f"s{len(self.scalars)}")

    def var(self, v: Var) -> str:
        if v not in self.vars:
            n = len(self.vars)
            self.vars[v] = "ijklmnpqr"[n] if n < 9 else f"i{n}"
        return self.vars[v]

    def index(self, index: Affine) -> str:
        parts = []
        for atom, c in index.terms:
            if isinstance(atom, Var):
                text = self.var(atom)
            else:
                assert isinstance(atom, Quotient)
                sign = "%" if atom.remainder else "//"
                text = f"({self.index(atom.operand)}) {sign} {atom.divisor}"
                text = f"({text})"
            parts.append(text if c == 1 else f"-{text}" if c == -1 else f"{c}*{text}")
        if index.constant or not parts:
            parts.append(str(index.constant))
        return " + ".join(parts).replace("+ -", "- ")


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip


def _compute(s: Compute, n: Callable[[Scalar], str], ix: Callable[[Affine], str]) -> str:
    if s.name == "convert":
        return f"{n(s.result)} = {s.result.dtype}({n(s.args[0])})"
    if s.name in _SYMBOLS and len(s.args) == 2:
        return f"{n(s.result)} = {n(s.args[0])} {_SYMBOLS[s.name]} {n(s.args[1])}"
    return f"{n(s.result)} = {s.name}({', '.join(map(n, s.args))})"


def _in_range(s: InRange, n: Callable[[Scalar], str], ix: Callable[[Affine], str]) -> str:
    every = f" step {s.step}" if s.step > 1 else ""
    return f"{n(s.result)} = {ix(s.index)} in {s.low}..{s.high}{every}"


def _guarded(s: Load | Gather, n: Callable[[Scalar], str]) -> str:
    return f" if {n(s.guard)} else 0" if s.guard is not None else ""


#: How each statement is written, from names of scalars and of indices.
_WRITERS: dict[type, Callable[..., str]] = {
    Compute: _compute,
    InRange: _in_range,
    Constant: lambda s, n, ix: f"{n(s.result)} = {s.value!r}",
    IndexValue: lambda s, n, ix: f"{n(s.result)} = {s.result.dtype}({ix(s.index)})",
    Load: lambda s, n, ix: f"{n(s.result)} = {s.buffer}[{ix(s.index)}]{_guarded(s, n)}",
    Gather: lambda s, n, ix: (
        f"{n(s.result)} = {s.buffer}[{_places(s.index, s.places, n, ix)}]{_guarded(s, n)}"
    ),
    ScatterInto: lambda s, n, ix: (
        f"{s.buffer}[{_places(s.index, s.places, n, ix)}] {_combine(s.combine)} {n(s.value)}"
    ),
    Store: lambda s, n, ix: f"{s.buffer}[{ix(s.index)}] = {n(s.value)}",
    AccumulateInto: lambda s, n, ix: (
        f"{s.buffer}[{ix(s.index)}] {_combine(s.combine)} {n(s.value)}"
    ),
    Fill: lambda s, n, ix: f"{s.buffer}[{ix(s.start)} : +{s.count}] = {s.value!r}",
    Begin: lambda s, n, ix: f"a{s.accumulator.number} = {s.accumulator.identity!r}",
    Accumulate: lambda s, n, ix: (
        f"a{s.accumulator.number} {_combine(s.accumulator.combine)} {n(s.value)}"
    ),
    Finish: lambda s, n, ix: f"{n(s.result)} = a{s.accumulator.number}",
    MatrixProduct: lambda s, n, ix: _product(s, ix),
    Factorization: lambda s, n, ix: _factorization(s, ix),
    Release: lambda s, n, ix: f"free {', '.join(map(str, s.tapes))}",
    Keep: lambda s, n, ix: f"{s.note} = {', '.join(map(str, s.tapes))}",
    Recall: lambda s, n, ix: f"{', '.join(map(str, s.tapes))} = {s.note}",
    Swap: lambda s, n, ix: f"swap {s.first}, {s.second}",
}


def _statement(s: Any, names: _Names) -> str:
    return _WRITERS[type(s)](s, names.scalar, names.index)


def _places(
    index: Affine,
    places: tuple[Place, ...],
    n: Callable[[Scalar], str],
    ix: Callable[[Affine], str],
) -> str:
    parts = [n(p.scalar) if p.stride == 1 else f"{p.stride}*{n(p.scalar)}" for p in places]
    return " + ".join([*parts, ix(index)] if index != Affine(0) else parts)


def _combine(name: str) -> str:
    if name == "set":
        return "="
    return f"{_SYMBOLS[name]}=" if name in _SYMBOLS else f"{name}="


_ROLES = {"map": "", "reduce": "  # reduces", "sequence": "  # in turn"}


def _print_body(body: list[Any], names: _Names, indent: str, lines: list[str]) -> None:
    for s in body:
        if isinstance(s, RunTasks):
            task = names.var(s.tasks.var)
            lines.append(f"{indent}for task {task} in 0..{s.tasks.count}, {_threads(s)}:")
            _print_body(s.tasks.body, names, indent + "  ", lines)
        elif type(s) in _BLOCKS:
            _BLOCKS[type(s)](s, names, indent, lines)
        elif isinstance(s, Loop):
            mark = _ROLES[s.role] + ("  # unrolled" if s.unroll else "  # apart" if s.apart else "")
            mark += names.remarks.get(id(s), "")
            share = f" (share {names.var(s.share)})" if s.share is not None else ""
            share += f" (only {names.scalar(s.only)}, if it is not negative)" if s.only else ""
            lines.append(f"{indent}for {names.var(s.var)} in {s.start}..{s.stop}{share}:{mark}")
            _print_body(s.body, names, indent + "  ", lines)
        else:
            lines.append(indent + _statement(s, names))


def _print_repeat(s: Repeat, names: _Names, indent: str, lines: list[str]) -> None:
    tapes = f", tapes {', '.join(map(str, s.tapes))}" if s.tapes else ""
    lines.append(f"{indent}repeat, steps {names.var(s.step)}{tapes}:")
    _print_body(s.condition, names, indent + "  ", lines)
    lines.append(f"{indent}  while {names.scalar(s.test)}:")
    _print_body(s.body, names, indent + "    ", lines)


def _print_steps(s: Steps, names: _Names, indent: str, lines: list[str]) -> None:
    order = ", the last first" if s.backward else ""
    lines.append(f"{indent}for each of the steps {names.var(s.step)}{order}:")
    _print_body(s.body, names, indent + "  ", lines)


def _print_branch(s: Branch, names: _Names, indent: str, lines: list[str]) -> None:
    for k, body in enumerate(s.bodies):
        lines.append(f"{indent}{'if' if not k else 'elif'} {names.scalar(s.index)} is {k}:")
        _print_body(body, names, indent + "  ", lines)


#: How statements with bodies are written.
_BLOCKS: dict[type, Callable[[Any, _Names, str, list[str]], None]] = {
    Repeat: _print_repeat,
    Steps: _print_steps,
    Branch: _print_branch,
}


def _product(s: MatrixProduct, ix: Callable[[Affine], str]) -> str:
    batch = f"{s.batch} x " if s.batch else ""
    shape = f"{batch}[{s.m},{s.k}] @ [{s.k},{s.n}]"
    c = Operand(s.c, s.c_offset, ())
    way = "blocks" if s.blocked else "tiles" if s.tiled else "BLAS"
    return f"{_operand(c, ix)} = {_operand(s.a, ix)} @ {_operand(s.b, ix)}  # {shape}, {way}"


def _operand(o: Operand, ix: Callable[[Affine], str]) -> str:
    return f"{o.buffer}" if o.offset == Affine(0) else f"{o.buffer}[{ix(o.offset)}:]"


def _factorization(step: Factorization, ix: Callable[[Affine], str]) -> str:
    results = ", ".join(_operand(o, ix) for o in step.outputs)
    operands = ", ".join(_operand(o, ix) for o in step.inputs)
    batch = f"{step.batch} x " if step.batch else ""
    sides = f", {step.k} right-hand sides" if step.k else ""
    return f"{results} = {step.name}({operands})  # {batch}[{step.m},{step.n}]{sides}"


def print_loops(program: LoopProgram, lanes: dict[int, int] | None = None) -> str:
    """The readable text of a loop program, with the lanes of its loops if they are known."""
    remarks = {loop: f"  # {_of(n)}" for loop, n in (lanes or {}).items()}
    lines = [f"loops {program.name}:"]
    for buffer in (*program.inputs, *program.outputs):
        lines.append(f"  {buffer.kind} {buffer}: {buffer.dtype}[{buffer.size}]")
    for buffer, offset in program.temps.items():
        lines.append(f"  temp {buffer}: {buffer.dtype}[{buffer.size}] at byte {offset}")
    for buffer, target in program.taken.items():
        lines.append(f"  temp {buffer}: {buffer.dtype}[{buffer.size}] in {target}")
    for step in program.steps:
        if isinstance(step, MatrixProduct):
            lines.append(f"  {_product(step, _Names().index)}")
        elif isinstance(step, Factorization):
            lines.append(f"  {_factorization(step, _Names().index)}")
        else:
            lines.append(f"  kernel {step.name}:")
            for buffer in step.buffers:
                if buffer.kind == "local":
                    lines.append(f"    local {buffer}: {buffer.dtype}[{buffer.size}]")
            _print_body(step.body, _Names(remarks), "    ", lines)
    return "\n".join(lines) + "\n"


def text_of(body: list[Any], statement: Any) -> tuple[str, str]:
    """The line of a statement, and the text of the body that it is in."""
    names, lines = _Names(), list[str]()
    _print_body(body, names, "  ", lines)
    own: list[str] = []
    if type(statement) in _WRITERS or isinstance(statement, (Loop, RunTasks, *_BLOCKS)):
        _print_body([statement], names, "", own)
    return own[0] if own else type(statement).__name__, "\n".join(lines)


def _of(lanes: int) -> str:
    return f"vectors of {lanes}" if lanes > 1 else "scalar code"


def _threads(step: RunTasks) -> str:
    return "in threads if that is faster" if step.tasks.measured else "in threads"
