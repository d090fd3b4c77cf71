"""`python -m bench beside [GROUP…]`: programs beside the library that their author would use else.

Groups are `scipy`, `loops`, `networks` and `halves`; each runs in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import machine
from bench.client import ROOT, base_environment
from bench.report import NOTHING, Table, number

from .pairs import Timed, timed

#: For each group, the module of its pairs, its title, and the packages whose versions matter.
GROUPS = {
    "scipy": ("scipy_pairs", "SciPy's functions", ["numpy", "scipy"]),
    "loops": ("loop_pairs", "Loops with slices", ["numpy", "numba"]),
    "networks": ("network_pairs", "Define-by-run", ["numpy", "torch"]),
    "halves": ("half_pairs", "Half precision", ["numpy", "jax", "ml_dtypes"]),
}
RESULTS = Path(__file__).parents[1] / "RESULTS.md"
COLUMNS = ("program", "ours, ms", "beside", "its ms", "ours / its", "at most")


def options_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench beside", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"some of: {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="regenerate this part of RESULTS.md")
    parser.add_argument("--output", type=Path, default=RESULTS, help="another file to write")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    unknown = [name for name in options.groups if name not in GROUPS]
    if unknown:
        parser.error(f"there is no group {unknown[0]!r}; there are {', '.join(GROUPS)}")
    options.groups = options.groups or list(GROUPS)
    return options


def measured_apart(group: str, rounds: int) -> list[Timed]:
    """The measurements of a group in a fresh process with one thread."""
    command = [sys.executable, "-m", "bench", "beside", group, "--rounds", str(rounds)]
    done = subprocess.run(
        [*command, "--in-process"],
        env=base_environment(1),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Timed(*fields) for fields in json.loads(done.stdout.splitlines()[-1])]


def row(found: Timed) -> tuple[str, ...]:
    """A row of the table.

    >>> row(Timed("f", "SciPy", 0.001, 0.002, 1.0))
    ('f', '1.00', 'SciPy', '2.00', '0.500', '1.00')
    """
    ratio = found.wrong or number(found.ours / found.theirs)
    limit = NOTHING if found.target is None else number(found.target)
    return (
        found.what, number(found.ours * 1e3), found.peer, number(found.theirs * 1e3), ratio, limit,
    )  # fmt: skip


def main(argv: list[str], publish: Any) -> None:
    options = options_of(argv)
    if options.in_process:
        pairs = import_module(f"bench.beside.{GROUPS[options.groups[0]][0]}").pairs()
        print(json.dumps([timed(pair, options.rounds) for pair in pairs]))
        return
    load = machine.load()
    for group in options.groups:
        _, title, packages = GROUPS[group]
        with Console(stderr=True).status(title):
            rows = tuple(map(row, measured_apart(group, options.rounds)))
        lines = [
            f"{machine.today()}, {machine.description()}; threads: 1. Load before: {load}.",
            ", ".join(f"{name} {version(name)}" for name in packages) + ".",
            f"Medians of {options.rounds} rounds in turns, after a second of warm-up.",
        ]
        publish(options, f"Beside: {title}", lines, [Table(title, COLUMNS, rows)])
