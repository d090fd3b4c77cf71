"""``autojit dump --passes``, ``--print-after``, ``autojit opt``: single passes, and their work."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from autojit import jit
from autojit.cli.common.failures import Failure, running
from autojit.cli.common.terminal import console
from autojit.cli.running.run import is_loops, program_in, read_text
from autojit.cli.running.run_loops import loops_in
from autojit.codegen.analysis.loop_level import LOOPS
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_passes.pipeline import SHAPE
from autojit.codegen.lowering.lower import lower
from autojit.ir.autodiff.preparing import PREPARE
from autojit.ir.pass_manager.passes import Level, Pass, verify_each
from autojit.ir.pass_manager.records import Record, Run, recording
from autojit.ir.passes.pipeline import OPTIMIZE
from autojit.ir.tools.program_passes import SSA
from autojit.session import transform_cache
from autojit.spelling import closest
from autojit.staging.execute import target_errors

from .as_json import program_object

#: Pipelines that ``opt`` runs by name, besides single passes.
PIPELINES = {"optimize": OPTIMIZE, "prepare": PREPARE}


# -- records -------------------------------------------------------------------------


def recorded(f: Callable[..., Any], args: Sequence[Any], print_after: Sequence[str] = ()) -> Record:
    """The record of compiling a function from its trace to loops."""
    transform_cache.clear()  # cached results would skip passes
    with recording(print_after) as record, running(getattr(f, "__name__", "the function")):
        executable = Executable(jit(f).lower(*args).program)
        with target_errors():
            lower(executable.optimized)
    return record


class _Row(NamedTuple):
    """A row of the table."""

    name: str
    first: str
    second: str
    milliseconds: str


def table(record: Record) -> str:
    """The passes that ran, in order, as lines that fit on a terminal of 60 columns."""
    rows = [
        _Row("  pass", "ops, loops", "statements", "ms"),
        *(row for run in record.runs for row in _rows(run, 0, inner=False)),
    ]
    widths = [max(len(row[k]) for row in rows) for k in (1, 2, 3)]
    room = min(max(len(row.name) for row in rows), console().width - sum(widths) - 6)
    lines = []
    for row in rows:
        numbers = "  ".join(text.rjust(w) for text, w in zip(row[1:], widths, strict=True))
        if len(row.name) > room:  # the numbers go below the name
            lines.append(row.name)
            row = row._replace(name="")
        lines.append(f"{row.name:<{room}}  {numbers}")
    passes = [run for run in record.walk() if run.level]
    changed = sum(run.changed for run in passes)
    lines.append("")
    lines += textwrap.wrap(
        f"* changed the program: {changed} of {len(passes)} runs of passes. Nested passes, and "
        "passes over the bodies of loops, are shown only if they changed something. Recording "
        f"took {record.overhead * 1e3:.2f} ms, which is not counted.",
        min(console().width, 80),
    )
    return "\n".join(line.rstrip() for line in lines)


def _rows(run: Run, depth: int, *, inner: bool) -> Iterator[_Row]:
    """A run and the runs inside it; inside passes, only runs that changed something."""
    if inner and not any(r.changed for r in run.walk()):
        return
    before, after = list(run.before.items()), run.after
    sizes = [_size(n, after[word]) for word, n in before] + ["", ""]
    name = run.name if depth == 0 or not inner else f"{run.name} ({run.unit})"
    mark = "* " if run.changed else "  "
    yield _Row(mark + "  " * depth + name, sizes[0], sizes[1], f"{run.seconds * 1e3:.2f}")
    for below in run.runs:
        yield from _rows(below, depth + 1, inner=inner or bool(run.level))


def _size(before: int, after: int) -> str:
    return str(before) if before == after else f"{before} -> {after}"


def as_json(record: Record) -> str:
    """The whole record as JSON: runs in order, each with the runs inside it."""
    return json.dumps(
        {"passes": [_object(run) for run in record.runs], "record_seconds": record.overhead},
        indent=2,
    )


def _object(run: Run) -> dict[str, Any]:
    made: dict[str, Any] = {"name": run.name, "seconds": run.seconds}
    if run.level:
        made.update(level=run.level, program=run.unit, changed=run.changed)
        made.update(before=run.before, after=run.after)
    if run.runs:
        made["passes"] = [_object(inner) for inner in run.runs]
    return made


def printed_after(f: Callable[..., Any], args: Sequence[Any], name: str) -> str:
    """The program after each run of a pass that changed it."""
    find(name)
    record = recorded(f, args, [name])
    parts = [
        f"==== after {name}, program {p.run.unit} ({number} of {len(record.printed)}) ====\n\n"
        f"{p.text.rstrip()}\n"
        for number, p in enumerate(record.printed, 1)
    ]
    if parts:
        return "\n".join(parts)
    times = sum(run.name == name for run in record.walk())
    ran = f"ran {'once' if times == 1 else f'{times} times'} and changed nothing"
    return f"# The pass {name} {ran if times else 'did not run'}.\n"


# -- passes by name ------------------------------------------------------------------


def find(name: str) -> Pass[Any]:
    """The pass with a name."""
    known: dict[str, Pass[Any]] = {**SSA.passes, **LOOPS.passes}
    if name not in known:
        raise Failure(
            f"there is no pass {name!r}.{closest(name, known)} autojit opt --list lists them"
        )
    return known[name]


def listed(format: str = "text") -> str:
    """All passes, each with its description and requirements."""
    if format == "json":
        places = [SSA.passes[name] for name in sorted(SSA.passes)]
        rows = [("programs", run) for run in places] + [("loops", p.run) for p in SHAPE.places]
        return json.dumps(
            [
                {"name": run.name, "level": level, "does": run.does, "needs": sorted(run.needs)}
                for level, run in rows
            ],
            indent=2,
        )
    width = console().width
    lines = ["Pipelines:", ""]
    lines += _entry("optimize", "Runs all passes that precede lowering.", width)
    lines += _entry("prepare", "Runs all passes that precede linearization.", width)
    lines += ["", "Passes over programs:", ""]
    for name in sorted(SSA.passes):
        lines += _entry(name, _described(SSA.passes[name]), width)
    lines += ["", "Passes over loops, in order (see dump --print-after):", ""]
    for place in SHAPE.places:
        lines += _entry(place.run.name, _described(place.run), width)
    return "\n".join(lines)


def _described(run: Pass[Any]) -> str:
    needs = f" Needs: {', '.join(sorted(run.needs))}." if run.needs else ""
    return run.does + needs


def _entry(name: str, words: str, width: int) -> list[str]:
    first, *others = textwrap.wrap(words, max(20, width - 26))
    return [f"  {name:<23} {first}", *(" " * 26 + line for line in others)]


# -- opt -----------------------------------------------------------------------------


def opt(file: str, names: Sequence[str], format: str = "text") -> str:
    """The text of a file's program after passes, each of which is verified."""
    for name in names:
        if name not in PIPELINES:
            find(name)
    level, unit = _read(file)
    if format == "json" and level is not SSA:
        raise Failure(
            "--format json supports only programs, but the file holds loops. Use --format text"
        )
    runs = [_runnable(name, level) for name in names]
    with verify_each(), running(f"program {level.title(unit)}"):
        for run in runs:
            unit = run(unit)
    if format == "json":
        return json.dumps(program_object(unit), indent=2)
    return level.text(unit)


def _runnable(name: str, level: Level[Any]) -> Callable[[Any], Any]:
    """The pass or pipeline with a name; a failure if it does not run on the file's program."""
    known: dict[str, Callable[[Any], Any]] = dict(level.passes)
    if level is SSA:
        known.update(PIPELINES)
    if name in known:
        return known[name]
    if level is SSA:
        raise Failure(
            f"{name} is a pass over loops, and the file holds a program. To see what it does: "
            f"autojit dump TARGET ARG --print-after {name}"
        )
    raise Failure(f"{name} is a pass over programs, and the file holds loops")


def _read(file: str) -> tuple[Level[Any], Any]:
    """The level of the program in a file, by its first word, and the program."""
    text = read_text(file)
    if is_loops(text):
        return LOOPS, loops_in(text, file)
    return SSA, program_in(text, file)
