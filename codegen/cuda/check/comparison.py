"""Comparison of results, and measurement of the times of calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import uploaded
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.ir.core.program import Program

from .programs import arguments


def poison(card: Card, sizes: Sequence[int]) -> None:
    """Fill the memory of the next results of these sizes with NaN of every width."""
    # The pool returns memory first that was given back last.
    held = [uploaded(np.full(max(1, n), 0xFF, np.uint8), card) for n in sizes for _ in range(2)]
    held.clear()


def difference(got: Any, want: Any) -> float:
    """The largest difference relative to the largest element; infinite for other shapes or NaN."""
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.abs(np.where(a == b, 0.0, a.astype(complex) - b)))
    return float(apart.max(initial=0.0) / max(1.0, np.abs(np.nan_to_num(b)).max(initial=0.0)))


def seconds(call: Callable[[], Any], card: Card) -> float:
    """The mean seconds of a call among many, until the card has finished."""
    repeats = 1 if card.is_host else 20
    card.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    card.synchronize()
    return (time.perf_counter() - start) / repeats


def timed(program: Program, card: Card) -> float:
    """The mean seconds of a call with arguments on the card."""
    executable = compile_for_cuda(program, card.ordinal)
    there = [uploaded(np.asarray(a), card) for a in arguments(program)]
    for _ in range(3):  # the third call uses a graph, if there is one
        executable.call(there)
    return seconds(lambda: executable.call(there), card)
