"""`python -m bench programs [NAME…]`: what each program takes, and how that compares."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from bench import machine
from bench.client import ROOT, base_environment
from bench.programs import select
from bench.report import NOTHING, number
from bench.worker import in_words

Figures = dict[str, Any]

#: The figures by which two runs are compared, and their columns. For the first call this is the
#: processor time: it is made only once, so taking the least cannot exclude a busy machine.
COMPARED = {"primal_s": "jit", "gradient_s": "gradient", "first_call_processor_s": "first call"}
SLOWER = 1.1
#: The limits beyond which a program is reported as a finding.
MOST_OVER_PRIMAL, MOST_TO_BUILD = 4.0, 2.0


def options_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench programs", description=__doc__)
    parser.add_argument("names", nargs="*", help="some of the programs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the figures")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with saved figures")
    parser.add_argument(
        "--autojit", type=Path, default=ROOT, metavar="FOLDER", help="import autojit from there"
    )
    parser.add_argument(
        "--beside", type=Path, metavar="FOLDER", help="compare with the autojit there, in turn"
    )
    parser.add_argument("--check", action="store_true", help="check gradients by differences")
    parser.add_argument("--size", choices=("full", "tiny"), default="full")
    parser.add_argument("--rounds", type=int, default=1, help="processes for each program")
    parser.add_argument("--threads", type=int, default=machine.processors())
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for one process")
    options = parser.parse_args(argv)
    for folder in filter(None, (options.autojit, options.beside)):
        if not (folder / "autojit" / "__init__.py").exists():
            parser.error(f"{folder} has no autojit/__init__.py: name the root of a checkout")
    if options.against and options.beside:
        parser.error("--against and --beside are two ways to compare: choose one")
    return options


# -- measuring ---------------------------------------------------------------------------


def in_process(name: str, folder: Path, options: argparse.Namespace) -> Figures:
    """The figures of one program in a fresh process, or the reason for a failure."""
    check = "check" if options.check else "-"
    arguments = [name, options.size, str(options.threads), str(folder.resolve()), check]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bench.programs.worker", *arguments],
            env={**base_environment(options.threads), "AUTOJIT_CACHE_DIR": ""},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=options.timeout,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {options.timeout:.0f} s"}
    if done.returncode:
        return {"failed": in_words((done.stderr.strip().splitlines() or ["no word"])[-1])}
    answer: Figures = json.loads(done.stdout.splitlines()[-1])
    return answer


def best(rounds: list[Figures]) -> Figures:
    """The least of each figure; a round that failed or was wrong is returned itself.

    >>> best([{"gradient_s": 2.0}, {"gradient_s": 1.0}])
    {'gradient_s': 1.0}
    """
    for found in rounds:
        if "failed" in found or found.get("wrong"):
            return found
    return {
        key: min(found[key] for found in rounds) if isinstance(value, float) else value
        for key, value in rounds[0].items()
    }


def measure(
    options: argparse.Namespace, report: Callable[[str], None]
) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """Measure every program here, and with ``--beside`` also in the other checkout, in turn."""
    folders = [options.autojit, *([options.beside] if options.beside else [])]
    results: list[dict[str, Figures]] = [{}, {}]
    for program in select(options.names):
        rounds: list[list[Figures]] = [[] for _ in folders]
        for count in range(options.rounds):
            for found, folder in zip(rounds, folders, strict=True):
                report(f"{program.name}, round {count + 1} of {options.rounds}")
                found.append(in_process(program.name, folder, options))
        for result, found in zip(results, rounds, strict=False):
            result[program.name] = best(found)
    return results[0], results[1]


# -- saying it ---------------------------------------------------------------------------


def counts(figures: Figures) -> bool:
    return "failed" not in figures and not figures.get("wrong")


def row(name: str, figures: Figures) -> tuple[str, ...]:
    if not counts(figures):
        return (name, "WRONG" if figures.get("wrong") else "failed", *[NOTHING] * 5)
    numpy, primal, gradient = (figures[k] for k in ("numpy_s", "primal_s", "gradient_s"))
    return (
        name,
        *(number(1e3 * seconds) for seconds in (numpy, primal, gradient)),
        number(gradient / primal),
        number(numpy / primal),
        number(figures["first_call_s"]),
    )


def ratios(now: Figures, before: Figures) -> dict[str, float]:
    """The ratio of this run to the other, for each compared figure; empty if one does not count."""
    if not (counts(now) and counts(before)):
        return {}
    return {key: now[key] / before[key] for key in COMPARED}


def slower(found: dict[str, float]) -> str:
    return ", ".join(COMPARED[key] for key, value in found.items() if value > SLOWER)


def means(compared: dict[str, dict[str, float]]) -> str:
    """The geometric means over the programs that both runs have, in words."""
    counted = [found for found in compared.values() if found]
    if not counted:
        return "No program counts in both runs."
    words = []
    for key, title in COMPARED.items():
        mean = math.exp(sum(math.log(found[key]) for found in counted) / len(counted))
        words.append(f"{title} {number(mean)}")
    return (
        f"This run over the other, geometric mean of {len(counted)} programs: {', '.join(words)}."
    )


def findings(name: str, figures: Figures) -> list[str]:
    """The properties of a program that a user would complain about."""
    if not counts(figures):
        return [f"{name}: {figures.get('wrong') or figures['failed']}"]
    found = [f"{name}: warns: {words}" for words in figures["warnings"]]
    share = figures["gradient_s"] / figures["primal_s"]
    if share > MOST_OVER_PRIMAL:
        found.append(f"{name}: the gradient takes {number(share)} times the function's time")
    if figures["primal_s"] > figures["numpy_s"]:
        share = figures["primal_s"] / figures["numpy_s"]
        found.append(f"{name}: compiled it takes {number(share)} times NumPy's time")
    if figures["first_call_s"] > MOST_TO_BUILD:
        found.append(f"{name}: its first call takes {number(figures['first_call_s'])} s")
    return found


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> RichTable:
    rich = RichTable()
    for position, column in enumerate(columns):
        rich.add_column(column, justify="right" if position else "left")
    for cells in rows:
        rich.add_row(*cells)
    return rich


def show(console: Console, now: dict[str, Figures]) -> None:
    columns = (
        "program", "NumPy, ms", "jit, ms", "gradient, ms", "gradient / jit", "NumPy / jit",
        "first call, s",
    )  # fmt: skip
    console.print(table(columns, [row(name, figures) for name, figures in now.items()]))
    for name, figures in now.items():
        for words in findings(name, figures):
            console.print(words, markup=False, highlight=False)


def show_comparison(console: Console, now: dict[str, Figures], before: dict[str, Figures]) -> None:
    """Print ratios for the programs that both runs have, and reasons why one does not count."""
    shared = [name for name in now if name in before]
    compared = {name: ratios(now[name], before[name]) for name in shared}
    rows = [
        (name, *(number(found.get(key)) for key in COMPARED), slower(found))
        for name, found in compared.items()
    ]
    columns = ("this run / the other", *COMPARED.values(), "more than 10 % slower")
    console.print(table(columns, rows))
    console.print(means(compared), markup=False, highlight=False)
    for name in shared:
        if not counts(before[name]):
            words = findings(name, before[name])[0]
            console.print(f"the other run, {words}", markup=False, highlight=False)


def main(argv: list[str]) -> None:
    options = options_of(argv)
    before = json.loads(options.against.read_text("utf-8")) if options.against else {}
    console = Console()
    if not console.is_terminal:
        console.width = 160
    load = machine.load()
    with Console(stderr=True).status("programs") as status:
        now, beside = measure(options, status.update)
    print(f"{machine.today()}, {machine.description()}; threads: {options.threads}; load: {load}.")
    show(console, now)
    before = before or beside
    if before:
        show_comparison(console, now, before)
    if options.json:
        options.json.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    if not all(counts(figures) for figures in now.values()):
        raise SystemExit(1)
