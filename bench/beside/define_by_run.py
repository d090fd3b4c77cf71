"""Figures for typical define-by-run programs, each measured in a separate process.

`python -m bench torch` prints them beside PyTorch, an engine of closures, and our targets.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from bench.client import ROOT, compile_bytecode, with_bytecode
from bench.report import NOTHING, Table, number

#: A row: the name of the figure, our value, the peer, the peer's value, and the target (at most);
#: the last two may be None.
Row = tuple[str, float, str, float | None, float | None]
ROUNDS, PASSES, STEPS, LONG = 7, 100, 10_000, 100_000
COLUMNS = ("figure", "ours", "beside", "its", "ours / its", "at most", "holds")


def in_turns(*calls: Callable[[], Any], rounds: int = ROUNDS, inner: int = 1) -> list[float]:
    """The median seconds of each call; the calls take turns."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            start = perf_counter()
            for _ in range(inner):
                call()
            taken.append((perf_counter() - start) / inner)
    return [statistics.median(taken) for taken in times]


def most_memory() -> float:
    """The peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def numbers() -> list[Row]:
    """A network of single numbers, 10-100-100-1, forward and backward."""
    from .network_pairs import of_numbers

    (pair,) = of_numbers()
    ours, theirs = in_turns(pair.ours, pair.theirs, rounds=3, inner=3)
    return [
        (f"numbers 10-100-100-1, {PASSES} passes, s", ours * PASSES, "", None, 2.345),
        ("the same, ms a pass", ours * 1e3, "closures", theirs * 1e3, theirs * 1e2),
    ]


def compiled_numbers() -> list[Row]:
    """A network of the same size, computed neuron by neuron, under `jit`."""
    from autojit import jit, value_and_grad
    from bench.workloads.micrograd import wide_inputs, wide_primal

    step, given = jit(value_and_grad(wide_primal(np, None))), wide_inputs()
    begun = perf_counter()
    step(*given)
    first = perf_counter() - begun
    (taken,) = in_turns(lambda: step(*given), inner=1000)
    return [
        ("the same under `jit`, ms a pass", taken * 1e3, "", None, 0.0125),
        ("the same under `jit`, first call, s", first, "", None, 0.5),
    ]


def lists() -> list[Row]:
    """The gradient of a network whose parameters are lists of Python's numbers."""
    from autojit import grad, jit
    from bench.tracing_programs import neurons

    function, arguments = neurons(100)
    step = jit(grad(function))
    begun = perf_counter()
    step(*arguments)
    return [("lists of 11,301 numbers, first gradient, s", perf_counter() - begun, "", None, 10.0)]


def classifier() -> list[Row]:
    """A step of the classifier of the profiling example."""
    import torch as pytorch

    from .network_pairs import steps

    pytorch.set_num_threads(1)
    rows: list[Row] = []
    for pair in steps(pytorch):
        ours, theirs = in_turns(pair.ours, pair.theirs, inner=50)
        most = None if pair.target is None else pair.target * theirs * 1e3
        rows.append((f"{pair.what}, ms", ours * 1e3, "PyTorch, eager", theirs * 1e3, most))
    return rows


def chain() -> list[Row]:
    """The time and memory of a long chain of eager operations."""
    from autojit import torch

    def run() -> None:
        x = start = torch.ones(3, requires_grad=True, dtype=torch.float64)
        for _ in range(LONG // 2):
            x = x * 0.999 + 0.001
        x.sum().backward()
        assert start.grad is not None

    before = most_memory()
    run()
    size = most_memory() - before
    (taken,) = in_turns(run, rounds=3)
    return [
        (f"a chain of {LONG:,} operations, s", taken, "", None, 1.0),
        ("the same, MB", size, "", None, 300.0),
    ]


def training() -> list[Row]:
    """The memory that remains in use after many steps of training."""
    from autojit import torch

    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(4, 8)

    def steps(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        gc.collect()

    # Frequent operations have been compiled by then; for that LLVM is loaded, which takes 45 MB.
    steps(STEPS)
    before = most_memory()
    steps(STEPS)
    grown = most_memory() - before
    return [(f"memory after {STEPS:,} steps, MB more", grown, "", None, 1.0)]


def checkpoints() -> list[Row]:
    """The peak memory of a deep network, with and without checkpoints."""
    from autojit import torch
    from autojit.torch.utils.checkpoint import checkpoint

    def peak(run: Callable[..., Any]) -> float:
        y = torch.ones(100_000, requires_grad=True)
        tracemalloc.start()
        for _ in range(16):
            y = run(lambda y: y.sin().exp().tanh().cos(), y)
        y.sum().backward()
        most = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        return most

    kept, again = peak(lambda f, y: f(y)), peak(lambda f, y: checkpoint(f, y, use_reentrant=False))
    return [("64 operations with `checkpoint`, MB", again, "without", kept, kept / 2)]


FIGURES: dict[str, Callable[[], list[Row]]] = {
    f.__name__: f
    for f in (numbers, compiled_numbers, lists, classifier, chain, training, checkpoints)
}


def measured_apart(name: str) -> list[Row]:
    """The rows of a figure, in a fresh process with bytecode and no compiled programs."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "bench.beside.define_by_run", name],
            cwd=ROOT,
            env={**with_bytecode(os.environ), "AUTOJIT_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    if done.returncode:
        raise RuntimeError(f"{name}:\n{done.stderr}")
    return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]


def table(names: Sequence[str] = (), say: Callable[[str], None] = lambda text: None) -> Table:
    """A table of the named figures, or of all."""
    rows = []
    compile_bytecode()
    for name in names or FIGURES:
        say(name)
        for figure, ours, beside, its, most in measured_apart(name):
            rows.append(
                (
                    figure,
                    number(ours),
                    beside or NOTHING,
                    NOTHING if its is None else number(its),
                    NOTHING if its is None else number(ours / its),
                    NOTHING if most is None else number(most),
                    NOTHING if most is None else "yes" if ours <= most else "no",
                )
            )
    return Table("Figures of define-by-run", COLUMNS, tuple(rows))


if __name__ == "__main__":
    print(json.dumps(FIGURES[sys.argv[1]]()))
