"""The functions of ``statistics`` on traced numbers."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import any_traced, as_float, float_of
from autojit.capture.values.table import When, answers

from .ordering import sorted_, stacked


def _statistic(original: Any, least: int, compute: Callable[..., Any]) -> None:
    """Answer a function of the numbers in an iterable; Python handles known and too few numbers."""

    def answer(data: Any, *more: Any) -> Any:
        items = list(data)
        if not any_traced((*items, *more)):
            return original(items, *more)
        if len(items) < least:
            return original([0.0] * len(items))  # Python's error
        if any(np.ndim(x) or np.iscomplexobj(x) for x in items):
            refuse(f"statistics.{original.__name__}() of traced arrays", "Use NumPy's functions.")
        return compute(items, *more)

    answers(original, when=When.ALWAYS)(answer)


def _mean(items: list[Any]) -> Any:
    return float_of(np.mean(stacked(items)[0]))


def _spread(lost: int, finish: Callable[[Any], Any]) -> Callable[..., Any]:
    def compute(items: list[Any], center: Any = None) -> Any:
        row, _ = stacked(items)
        moved = row - (np.mean(row) if center is None else as_float(center))
        return float_of(finish(np.sum(moved * moved) / (len(items) - lost)))

    return compute


def _middle(low: int, high: int) -> Callable[..., Any]:
    """The median. If the count is even: the mean of two elements, which are ``low`` and ``high``
    places (0 or 1) above the lower one of the two in the middle."""

    def compute(items: list[Any]) -> Any:
        ordered, n = sorted_(None, items), len(items)
        at = (n - 1) // 2
        if n % 2 or low == high:
            return ordered[at if n % 2 else at + low]
        return (ordered[at] + ordered[at + 1]) / 2

    return compute


_statistic(statistics.mean, 1, _mean)
_statistic(statistics.fmean, 1, _mean)
_statistic(statistics.median, 1, _middle(0, 1))
_statistic(statistics.median_low, 1, _middle(0, 0))
_statistic(statistics.median_high, 1, _middle(1, 1))
_statistic(statistics.variance, 2, _spread(1, lambda v: v))
_statistic(statistics.pvariance, 1, _spread(0, lambda v: v))
_statistic(statistics.stdev, 2, _spread(1, np.sqrt))
_statistic(statistics.pstdev, 1, _spread(0, np.sqrt))
