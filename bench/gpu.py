"""Workloads on a GPU are compared with the CPU: `python -m bench gpu [WORKLOAD…]`.

Arguments and results stay on the card. The time of a call is the mean of many, until the card has
finished. Results are compared with those of the CPU. PyTorch's and JAX's times on the card are not
measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.special

import autojit
from autojit.codegen.cuda.check.comparison import seconds
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.codegen.loop_ir.errors import TargetError
from bench.derivatives import TRANSFORMED
from bench.derivatives import build as build_derivative
from bench.peer import numpy_arrays
from bench.report import Table, number
from bench.workload import NotWritten, Workload, disagreement

COLUMNS = ("workload", "first call, s", "GPU, ms", "CPU, ms", "CPU / GPU")
#: The most seconds, and the most calls, of a measurement on the CPU.
SHORTLY, CALLS = 0.5, 20


def table(chosen: Sequence[Workload], card: Card, say: Callable[[str], None]) -> Table:
    """A table with a row for each workload; for one that cannot run, the row has the reason."""
    rows = []
    for workload in chosen:
        say(workload.name)
        try:
            rows.append(_row(workload, card))
        except (autojit.errors.AutojitError, TargetError, NotWritten, MemoryError) as failure:
            words = (str(failure).strip() or type(failure).__name__).splitlines()[0]
            rows.append((workload.name, words, *[""] * (len(COLUMNS) - 2)))
    return Table(f"Derivatives on {card.model}", COLUMNS, tuple(rows))


def _row(workload: Workload, card: Card) -> tuple[str, ...]:
    inputs = workload.inputs()
    function = workload.function("autojit", autojit, np, scipy.special)
    derivative, _ = build_derivative(TRANSFORMED, autojit, workload, function)
    on_cpu = partial(autojit.jit(derivative), *inputs)
    want = numpy_arrays(on_cpu())
    start = time.perf_counter()
    on_gpu = partial(
        autojit.jit(derivative, device=card.name),
        *[autojit.device_put(x, card.name) if isinstance(x, np.ndarray) else x for x in inputs],
    )
    got = numpy_arrays(on_gpu())
    first = time.perf_counter() - start
    wrong = disagreement(got, want, workload.dtype)
    if wrong is not None:
        return workload.name, number(first), f"WRONG: {wrong}", "", ""
    on_gpu()  # a program of several launches is a graph from the third call on
    there, here = seconds(on_gpu, card), _seconds(on_cpu)
    times = number(1e3 * there), number(1e3 * here), number(here / there)
    return workload.name, number(first), *times


def _seconds(call: Callable[[], Any]) -> float:
    call()
    begun, count = time.perf_counter(), 0
    while count < CALLS and time.perf_counter() - begun < SHORTLY:
        call()
        count += 1
    return (time.perf_counter() - begun) / count


def first_card() -> Card:
    """The first card; raises SystemExit with one line if there is none."""
    try:
        return card_of()
    except TargetError as failure:
        raise SystemExit(f"no GPU, so nothing is timed: {str(failure).splitlines()[0]}") from None
