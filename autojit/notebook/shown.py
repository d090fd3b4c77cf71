"""HTML of programs, and of compiled, transformed and lowered functions, for notebooks."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from autojit.dispatch.compiled import CompiledFunction
from autojit.dispatch.facts import Facts, TraceFacts, facts_of, made, memory
from autojit.drawing.programs.picture import picture
from autojit.ir.core.program import Program
from autojit.ir.tools.units import in_bytes, in_seconds, plural
from autojit.staging.inspection import Lowered
from autojit.staging.shown import Text
from autojit.staging.signatures import signature_text
from autojit.staging.transformed import Transformed

from .html.blocks import (
    PYTHON,
    card,
    code,
    coloured,
    facts,
    folded,
    highlighted,
    table,
    text_of,
)

#: The most operations of a program that is drawn, or lowered for its costs; the most lines of a
#: text.
DRAWN, LOWERED, LINES = 150, 500, 400
#: The most lines of a program that is not folded, and the most signatures listed.
OPEN, ROWS = 25, 12


@singledispatch
def html(x: Any) -> str:
    """The self-contained HTML of an object."""
    raise TypeError(f"{type(x).__name__} has no HTML form")


def program_text(program: Program) -> str:
    """The highlighted text of a program, cut if it is too long."""
    return cut(program.text(sources=True))


def cut(text: str) -> str:
    """A highlighted text, cut if it is too long."""
    lines = text.splitlines()
    more = len(lines) - LINES
    words = f'<div class="aj-faint">… {plural(more, "line")} more</div>' if more > 0 else ""
    return highlighted("\n".join(lines[:LINES])) + words


def drawn(x: Program | Lowered, size: int, **settings: Any) -> str:
    """A folded picture; for a large program, the call that draws it."""
    if size > DRAWN:
        words = 'autojit.drawing.picture(p, format="html")'
        return f'<div class="aj-faint">{plural(size, "operation")}: {code(words)} draws them</div>'
    title = "loops as a picture" if settings.get("stage") == "loops" else "picture"
    return folded(title, f'<div class="aj-scroll">{picture(x, **settings)}</div>')


@html.register
def _program(program: Program) -> str:
    size = len(program.ops)
    types = ", ".join(map(str, program.in_types)), ", ".join(map(str, program.out_types))
    bytes = sum(v.type.nbytes for op in program.ops for v in op.results)
    words = f"{plural(size, 'operation')}, {in_bytes(bytes)} of results"
    rows = [("inputs", code(types[0])), ("results", code(types[1])), ("size", text_of(words))]
    if program.captured:
        rows.append(("from outside", text_of(plural(len(program.captured), "array"))))
    text = folded("program", program_text(program), opened=size <= OPEN)
    return card(f"program {code(program.name)}", facts(rows), text, drawn(program, size))


@html.register
def _text(text: Text) -> str:
    if text.language == "program":
        return card("", cut(text))
    shown = coloured(text, PYTHON) if text.language == "python" else text_of(text)
    return card("", f"<pre>{shown}</pre>")


@html.register
def _lowered(lowered: Lowered) -> str:
    program = lowered.program
    size, rows, texts = len(program.ops), [("device", text_of(lowered.device))], ""
    if size <= LOWERED and lowered.device == "cpu":
        cost = lowered.cost()
        rows += cost_rows(cost)
        for stage in ("optimized", "loops"):
            texts += folded(stage, cut(lowered.text(stage)))
        texts += drawn(lowered, size, stage="loops")
    title = f"lowered {code(program.name)}"
    return card(title, facts(rows), folded("trace", program_text(program)), texts)


def cost_rows(cost: dict[str, int]) -> list[tuple[str, str]]:
    """The costs of a program, as rows of a table of facts."""
    loops = f"{plural(cost['loops'], 'loop')}, {plural(cost['products'], 'matrix product')}"
    work = f"{plural(cost['flops'], 'operation')} on numbers, {in_bytes(cost['bytes'])} in and out"
    return [("loops", text_of(loops)), ("memory", text_of(memory(cost))), ("work", text_of(work))]


@html.register
def _transformed(f: Transformed) -> str:
    doc = (f.__doc__ or "").strip()
    how = "no: each call traces the function again; jit(…) compiles it"
    rows = [("takes", code(signature_text(f))), ("compiled", text_of(how))]
    return card(code(f.written()), facts(rows), folded("documentation", highlighted(doc)))


@html.register
def _compiled(f: CompiledFunction) -> str:
    found = facts_of(f)
    if found.traces and found.traces[-1].cost is None:
        size = len(found.traces[-1].program.ops)
        found = facts_of(f, make=size <= LOWERED)
    title = f'{code(found.written)} <span class="aj-faint">on {text_of(found.device)}</span>'
    rows = [("takes", code(found.signature))]
    if not found.traces:
        rows.append(("traces", text_of("none yet: the first call traces and compiles it")))
        return card(title, facts(rows))
    last = found.traces[-1]
    info = f.cache_info()
    rows.append(("traces", text_of(plural(len(found.traces), "trace"))))
    if last.cause is not None:
        rows.append(("last retrace", f'<span class="aj-warm">{text_of(last.cause)}</span>'))
    if info.branches or info.loops or info.unrolled:
        counts = {"branch": info.branches, "loop": info.loops, "unrolled loop": info.unrolled}
        words = ", ".join(plural(n, name) for name, n in counts.items())
        rows.append(("Python's control flow", text_of(words)))
    rows.append(("last trace", text_of(f"traced in {in_seconds(last.traced_in)}, {made(last)}")))
    rows += cost_rows(last.cost) if last.cost is not None else []
    rows.append(("time of a call", _time_of(f, last)))
    program = folded("program of the last trace", program_text(last.program))
    picture_of = drawn(last.program, len(last.program.ops))
    return card(title, facts(rows), _traces(found), program, picture_of)


def _time_of(f: CompiledFunction, last: TraceFacts) -> str:
    """The time that ``explain`` has measured, or the call that measures it."""
    if last.measured is not None:
        return text_of(f"{in_seconds(last.measured)}, as explain measured it")
    return f'<span class="aj-faint">{code(f"….explain{f.called()[1]}")} measures it</span>'


def _traces(found: Facts) -> str:
    """A table with a row for each signature, the latest last."""
    head = ("arguments", "traced again because", "operations", "trace", "code")
    rows = [_row(trace) for trace in found.traces[-ROWS:]]
    more = len(found.traces) - len(rows)
    title = plural(len(found.traces), "signature") + (f", the last {ROWS}" if more > 0 else "")
    return folded(title, table(head, rows), opened=1 < len(found.traces) <= ROWS)


def _row(trace: TraceFacts) -> tuple[object, ...]:
    return (
        f"{trace.types:.120}", trace.cause or "", len(trace.program.ops),
        in_seconds(trace.traced_in), made(trace),
    )  # fmt: skip
