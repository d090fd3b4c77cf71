"""``autojit diff``: compares two programs line by line, up to the names of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autojit import jit
from autojit.cli.common.failures import MISUSE, Failure, running
from autojit.cli.common.machine import give_json
from autojit.cli.common.terminal import console, fold, put, say
from autojit.cli.running.run import is_loops, program_in, read_text
from autojit.cli.running.run_loops import loops_in
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes.pipeline import optimize
from autojit.spelling import closest
from autojit.staging.execute import target_errors

from .listings import Row, as_lines, compared

STAGES = ("trace", "optimized", "loops")
#: Equal lines farther than this from a difference are omitted.
CONTEXT = 3
#: The width from which a terminal shows two listings side by side.
WIDE = 120

Unit = Any
#: Turns a target into a function and its arguments.
Called = Callable[[str], tuple[Callable[..., Any], list[Any]]]


def is_file(name: str) -> bool:
    """Whether a name refers to a file with a program rather than a TARGET."""
    return name == "-" or ":" not in name or Path(name).is_file()


def units(a: str, b: str, stage: str | None, called: Called) -> tuple[Unit, Unit]:
    """The two programs, or loop programs, at a stage; files are unchanged unless one is given."""
    if stage is not None and stage not in STAGES:
        raise Failure(
            f"--stage: there is no stage {stage!r}.{closest(stage, STAGES)} "
            f"Stages: {', '.join(STAGES)}"
        )
    try:
        first, second = (_unit(name, stage, called) for name in (a, b))
    except Failure as failure:
        raise Failure(str(failure), MISUSE) from None
    kinds = [type(unit).__name__ for unit in (first, second)]
    if kinds[0] != kinds[1]:
        raise Failure(f"only one of {a} and {b} holds loops. Compare them with --stage loops")
    return first, second


def _unit(name: str, stage: str | None, called: Called) -> Unit:
    if is_file(name):
        text = read_text(name)
        if is_loops(text):
            return loops_in(text, name)
        return _at(program_in(text, name), stage or "trace", name)
    f, values = called(name)
    with running(name):
        program = jit(f).lower(*values).program
    return _at(program, stage or "optimized", name)


def _at(program: Unit, stage: str, name: str) -> Unit:
    with running(name), target_errors():
        if stage == "trace":
            return program
        optimized = optimize(program)
        return optimized if stage == "optimized" else lower(optimized)


def show(a: str, b: str, first: Unit, second: Unit, format: str = "text") -> bool:
    """Print the differences; return whether the programs are equal up to the names of values."""
    from rich.text import Text

    rows = compared(as_lines(first), as_lines(second))
    differing = [row for row in rows if row.mark != " "]
    if format == "json":
        found = [{"mark": row.mark, "left": row.left, "right": row.right} for row in rows]
        give_json({"equal": not differing, "rows": found})
        return not differing
    to = console()
    if not differing:
        say(f"{a} and {b} are the same program, up to the names of values.")
        return True
    wide = to.is_terminal and to.width >= WIDE
    lines = [("---", a, ""), ("+++", b, "")]
    for mark, text in _beside(rows, to.width) if wide else _below(rows):
        lines.append((mark, text, mark))
    # Folded lines are indented below their mark.
    styles = {"-": "red", "+": "green", "!": "yellow"}
    for lead, text, mark in lines:
        shown = f"{lead} {text}".rstrip()
        shown = fold(shown, to.width) if to.is_terminal else shown
        to.print(Text(shown, styles.get(mark, "")), soft_wrap=True)
    put(f"\n{_summary(differing)}")
    return False


def _near(rows: Sequence[Row]) -> list[Row | None]:
    """The rows that differ and those around them; None stands for omitted rows."""
    wanted = {
        near for k, row in enumerate(rows) if row.mark != " "
        for near in range(k - CONTEXT, k + CONTEXT + 1)
    }  # fmt: skip
    found: list[Row | None] = []
    for k, row in enumerate(rows):
        alone = (k == 0 or k - 1 in wanted) and (k + 1 == len(rows) or k + 1 in wanted)
        if k in wanted or alone:
            found.append(row)
        elif not found or found[-1] is not None:
            found.append(None)
    return found


def _below(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """One listing, in which - marks removed lines and + marks added lines."""
    found = []
    for row in _near(rows):
        if row is None:
            found.append((" ", "..."))
        elif row.mark == "!":
            found += [("-", str(row.left)), ("+", str(row.right))]
        else:
            found.append((row.mark, str(row.left if row.left is not None else row.right)))
    return found


def _beside(rows: Sequence[Row], width: int) -> list[tuple[str, str]]:
    """Two listings, with removed lines beside the lines added in their place."""
    room = (width - 5) // 2
    found: list[tuple[str, str]] = []
    pending: list[Row] = []

    def add(mark: str, left: str, right: str) -> None:
        cut = left if len(left) <= room else f"{left[: room - 3]}..."
        other = right if len(right) <= room else f"{right[: room - 3]}..."
        found.append((mark, f"{cut:<{room}} | {other}"))

    def flush() -> None:
        out = [r.left or "" for r in pending if r.mark == "-"]
        new = [r.right or "" for r in pending if r.mark == "+"]
        for k in range(max(len(out), len(new))):
            pair = out[k] if k < len(out) else "", new[k] if k < len(new) else ""
            add("!" if all(pair) else "-" if pair[0] else "+", *pair)
        pending.clear()

    for row in _near(rows):
        if row is not None and row.mark in "-+":
            pending.append(row)
            continue
        flush()
        if row is None:
            found.append((" ", "..."))
        else:
            add(row.mark, row.left or "", row.right or "")
    flush()
    return found


def _summary(rows: Sequence[Row]) -> str:
    counts = [(sum(r.mark == mark for r in rows), words) for mark, words in
              (("!", "with other operands"), ("-", "removed"), ("+", "added"))]  # fmt: skip
    return "Lines: " + ", ".join(f"{n} {words}" for n, words in counts if n) + "."
