"""What each pass is for: `python -m bench passes [PASS…]` leaves one out and times what changes.

The gradients of all workloads and programs of this folder are lowered with a record of the passes.
Where a pass changed a gradient, that gradient is compiled with the pass and without it, and both
are timed in turns. A pass that changes few of them is named with each, so that whoever reads this
can tell a mechanism that is needed seldom from one that serves a benchmark.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from autojit import grad, jit
from autojit.codegen.loop_passes.pipeline import SHAPE
from autojit.ir.pass_manager.pipelines import Pipeline
from autojit.ir.pass_manager.records import recording
from autojit.ir.passes.pipeline import OPTIMIZE
from autojit.session import transform_cache
from autojit.staging.execute import clear
from bench import machine, workloads
from bench.derivatives import TRANSFORMED, build
from bench.programs import all_programs
from bench.programs.worker import fastest
from bench.report import Table, number
from bench.worker import restrict

PIPELINES: tuple[Pipeline[Any], ...] = (OPTIMIZE, SHAPE)
RESULTS = Path(__file__).parent / "RESULTS.md"
#: Code cannot be made without these.
NEEDED = {"inline_calls", "arena"}
#: The most gradients that are timed for a pass.
FEW = 6
#: The most changed gradients of a pass that are listed by name.
NAMED = 3


class Gradient(NamedTuple):
    """A derivative to be compiled, with its arguments."""

    name: str
    make: Callable[[], Callable[..., Any]]
    arguments: tuple[Any, ...]


class Gain(NamedTuple):
    """The value of a pass to a gradient: its times without the pass over those with it."""

    name: str
    run: float
    first_call: float


def gradients() -> Iterator[Gradient]:
    """Yield the gradients of the workloads, then of the programs that no pass was tuned for."""
    import scipy.special

    import autojit

    for w in workloads.select([]):
        function = w.function("autojit", autojit, np, scipy.special)
        yield Gradient(w.name, partial(_derivative, w, function), w.inputs())
    for p in all_programs().values():
        function, arguments = p.at(p.full, autojit)
        yield Gradient(f"programs/{p.name}", partial(grad, function), arguments)


def _derivative(workload: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    import autojit

    return build(TRANSFORMED, autojit, workload, function)[0]


@contextmanager
def without(name: str) -> Iterator[None]:
    """Run the pipelines without a pass inside of the block, with empty caches."""
    before = [pipeline.places for pipeline in PIPELINES]
    for pipeline in PIPELINES:
        pipeline.places = tuple(p for p in pipeline.places if p.run.name != name)
    _forget()
    try:
        yield
    finally:
        for pipeline, places in zip(PIPELINES, before, strict=True):
            pipeline.places = places
        _forget()


def _forget() -> None:
    transform_cache.clear()
    clear()


def names() -> list[str]:
    every = (place.run.name for pipeline in PIPELINES for place in pipeline.places)
    return [name for name in every if name not in NEEDED]


def changed(gradient: Gradient) -> set[str]:
    """The passes of the pipelines that change the gradient."""
    _forget()
    with recording() as record:
        lowered = jit(gradient.make()).lower(*gradient.arguments)
        lowered.text("loops")
    return {run.name for run in record.walk() if run.changed} & set(names())


def gain(gradient: Gradient, name: str) -> Gain:
    """Time the gradient with and without the pass, in turns."""

    def compiled() -> tuple[Callable[[], Any], float]:
        call = partial(jit(gradient.make()), *gradient.arguments)
        start = process_time()
        call()
        return call, process_time() - start

    _forget()
    here, first = compiled()
    with without(name):
        there, first_there = compiled()
    with_pass, left_out = fastest(here, there)
    return Gain(gradient.name, left_out / with_pass, first_there / first)


def measure(chosen: list[str], console: Console) -> Table:
    known = {g.name: g for g in gradients()}
    by_pass: dict[str, list[str]] = {name: [] for name in names()}
    for g in track(known.values(), "which passes change which gradients", console=console):
        for name in changed(g):
            by_pass[name].append(g.name)
    rows = []
    for name in track(chosen or names(), "gradients without each pass", console=console):
        found = by_pass[name]
        gains = [gain(known[each], name) for each in found[:FEW]]
        which = ", ".join(found) if len(found) <= NAMED else ""
        run, first = ([getattr(g, field) for g in gains] for field in ("run", "first_call"))
        rows.append((name, str(len(found)), _range(run), _range(first), which))
    title = f"Time of gradients without a pass over time with it; {len(known)} gradients"
    return Table(title, ("pass", "changes", "run", "first call", "which"), tuple(rows))


def _range(ratios: list[float]) -> str:
    low, high = min(ratios, default=None), max(ratios, default=None)
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def main(argv: list[str], publish: Any) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench passes", description=__doc__)
    parser.add_argument("passes", nargs="*", help=f"some of: {', '.join(names())}")
    parser.add_argument("--write", action="store_true", help="regenerate this part of RESULTS.md")
    parser.add_argument("--output", type=Path, default=RESULTS, help="another file to write")
    options = parser.parse_args(argv)
    for name in options.passes:
        if name not in names():
            parser.error(f"there is no pass {name!r} in {' or '.join(p.name for p in PIPELINES)}")
    load = machine.load()
    restrict(1)
    os.environ["AUTOJIT_CACHE_DIR"] = ""  # each first call compiles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = measure(options.passes, Console(stderr=True))
    lines = [f"{machine.today()}, {machine.description()}; threads: 1. Load before: {load}."]
    publish(options, "What passes are for", lines, [table])
