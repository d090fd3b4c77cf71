"""Measures the time of long traces, and its growth.

Each program is made at three sizes, each twice the one before, in a fresh process. Measured are the
seconds of processor time to trace its gradient and to run the passes over it, and those to compile
the result.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

from bench import tracing_programs
from bench.client import ROOT, base_environment
from bench.report import NOTHING, Table, number
from bench.worker import in_words

TIMEOUT = 300.0

#: The words shown for a program, and its largest size.
PROGRAMS = {
    "closed_over": ("a loop over a closed-over array, steps", 8_000),
    "zipped_lists": ("a loop over two lists of floats, steps", 8_000),
    "as_argument": ("a loop over an array that is an argument, steps", 8_000),
    "pairs": ("a double loop over pairs of so many points", 80),
    "edges": ("a loop over the edges of a graph", 3_200),
    "delay_list": ("a list of what was computed, read 18 steps later", 1_200),
    "list_of_floats": ("a list of floats as argument", 8_000),
    "neurons": ("a network of floats in lists, neurons a layer", 100),
    "irregular": ("a chain of unlike operations", 100_000),
    "irregular_numbers": ("a chain of unlike operations on a number", 100_000),
    "lattice": ("an American put by lists of numbers, steps", 100),
    "two_arrays_in_place": ("two arrays written in place, steps", 919),
    "rows_and_columns": ("rows and columns of 9 x 9 elements in place, steps", 1_000),
    "mixture": ("the likelihood of a mixture, data", 1_000),
    "binomial_tree": ("a binomial tree, steps", 400),
    "cholesky": ("Cholesky decomposition, rows", 100),
    "lu": ("LU decomposition, rows", 60),
    "ludcmp": ("LU decomposition and solution, rows", 60),
    "seidel_2d": ("Seidel's stencil, 7 times, rows", 50),
    "trmm": ("a triangular matrix times another, rows", 65),
}


def sizes(largest: int) -> tuple[int, int, int]:
    return largest // 4, largest // 2, largest


def seconds(name: str, n: int) -> tuple[float, float]:
    """The processor time to trace a gradient and run the passes, and that of the rest of the first
    call."""
    import autojit
    from autojit.errors import UnrolledLoopWarning
    from autojit.staging.execute import executable

    warnings.simplefilter("ignore", UnrolledLoopWarning)
    autojit.jit(autojit.grad(lambda x: np.sum(np.tanh(x))))(np.ones(3))  # imports
    function, arguments = getattr(tracing_programs, name)(n)
    derived = autojit.jit(autojit.grad(function))
    start = time.process_time()
    assert executable(derived.lower(*arguments).program).optimized
    middle = time.process_time()
    derived(*arguments)
    return middle - start, time.process_time() - middle


def in_fresh_process(name: str, n: int, threads: int) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.tracing", name, str(n)],
        env={**base_environment(threads), "AUTOJIT_CACHE_DIR": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    if done.returncode:
        raise RuntimeError(in_words((done.stderr.strip().splitlines() or ["no word"])[-1]))
    tracing, compiling = json.loads(done.stdout.strip().splitlines()[-1])
    return tracing, compiling


def growth(counts: tuple[int, ...], measured: list[float]) -> float:
    """The exponent of the growth of times between the first and the last size.

    >>> growth((1, 2, 4), [0.5, 1.0, 2.0])
    1.0
    """
    return math.log(measured[-1] / measured[0]) / math.log(counts[-1] / counts[0])


def measure(threads: int, report: Callable[[str], None]) -> tuple[list[Table], list[str]]:
    rows, remarks = [], []
    for name, (words, largest) in PROGRAMS.items():
        found: list[tuple[float, float]] = []
        for n in sizes(largest):
            report(f"{words}, {n}")
            try:
                found.append(in_fresh_process(name, n, threads))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                remarks.append(f"{words}, {n}: {error}")
                break
        rows.append(row(words, sizes(largest), found))
    columns = ("what", "sizes", "trace and passes, s", "growth", "compile, s", "growth")
    return [Table("Long traces", columns, tuple(rows))], remarks


def row(
    words: str, counts: tuple[int, int, int], found: list[tuple[float, float]]
) -> tuple[str, ...]:
    cells = [words, ", ".join(f"{n:,}" for n in counts)]
    for measured in ([f[0] for f in found], [f[1] for f in found]):
        cells.append(", ".join(map(number, measured)) or NOTHING)
        whole = len(measured) == len(counts) and min(measured) > 0
        cells.append(f"{growth(counts, measured):.1f}" if whole else NOTHING)
    return tuple(cells)


if __name__ == "__main__":
    print(json.dumps(seconds(sys.argv[1], int(sys.argv[2]))))
