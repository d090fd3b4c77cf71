"""A pair of functions that are timed in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: The seconds of a batch of calls: the clock's resolution and one interruption then do not matter.
BATCH_SECONDS = 0.02
#: The seconds of calls before the measurement: frequent code is compiled in the background.
WARM_UP_SECONDS = 1.0


class Pair(NamedTuple):
    """Two calls, ``ours`` and ``theirs``, whose results agree within ``tolerance``, if given.

    ``target`` is the largest ratio of our time to the peer's that we aim for.
    """

    what: str
    ours: Callable[[], Any]
    peer: str
    theirs: Callable[[], Any]
    tolerance: float | None = 1e-8
    target: float | None = None


class Timed(NamedTuple):
    what: str
    peer: str
    ours: float
    theirs: float
    target: float | None
    wrong: str = ""


def timed(pair: Pair, rounds: int) -> Timed:
    """Time both calls in turns; return medians over rounds, after a warm-up of a second each."""
    got, want = pair.ours(), pair.theirs()
    wrong = "" if pair.tolerance is None else difference(got, want, pair.tolerance)
    both = (pair.ours, pair.theirs)
    for f in both:
        end = time.perf_counter() + WARM_UP_SECONDS
        while time.perf_counter() < end:
            f()
    counts = [max(1, round(BATCH_SECONDS / max(_batch(f, 1), 1e-9))) for f in both]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for f, count, found in zip(both, counts, times, strict=True):
            found.append(_batch(f, count))
    ours, theirs = map(statistics.median, times)
    return Timed(pair.what, pair.peer, ours, theirs, pair.target, wrong)


def _batch(f: Callable[[], Any], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        f()
    return (time.perf_counter() - begin) / count


def difference(got: Any, want: Any, tolerance: float) -> str:
    """Describe the difference of results relative to the largest number; empty if they agree.

    >>> difference([1.0, 2.0], [1.0, 2.0], 1e-9), difference([1.0, 2.5], [1.0, 2.0], 1e-9)
    ('', 'off by 0.25')
    """
    parts = [np.asarray(x) for x in (got, want)]
    if parts[0].shape != parts[1].shape:
        return f"shapes {parts[0].shape} and {parts[1].shape}"
    off = np.max(np.abs(parts[0] - parts[1]), initial=0.0)
    share = float(off / max(float(np.max(np.abs(parts[1]), initial=0.0)), 1e-300))
    return "" if share <= tolerance else f"off by {share:.2g}"
