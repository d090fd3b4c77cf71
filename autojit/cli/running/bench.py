"""``autojit bench``: times plain NumPy, the compiled function, and the compiled gradient."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from autojit import grad, jit
from autojit.cli.common.failures import FAULT, Failure, running
from autojit.cli.common.machine import give_json
from autojit.cli.common.terminal import console, state_line
from autojit.errors import IntegerGradientError, NonScalarGradientError
from autojit.session.progress import stage
from autojit.staging import pytrees


class Timing(NamedTuple):
    """Seconds of the first call, and of a later call (the median of the rounds)."""

    first: float
    call: float


class _Row(NamedTuple):
    """A way to run the function, with its time, or the reason why there is none."""

    name: str
    timing: Timing | None
    words: str


def bench(
    f: Callable[..., Any],
    target: str,
    args: Sequence[Any],
    argnums: int | tuple[int, ...],
    seconds: float,
    format: str = "text",
) -> None:
    """Print a row for each way to run the function."""
    rows = []
    with running(target), stage("timing", target, lambda: 0):
        for row in _rows(f, target, args, argnums, seconds):
            rows.append(row)
            if format == "text":
                state = "ok" if row.timing else "absent"
                state_line(console(), state, row.name, row.words, 14)
    if format == "json":
        give_json({"target": target, "rows": [_object(row) for row in rows]})


def _rows(
    f: Callable[..., Any],
    target: str,
    args: Sequence[Any],
    argnums: int | tuple[int, ...],
    seconds: float,
) -> Iterator[_Row]:
    plain = time_call(f, args, seconds)
    yield _Row("NumPy", plain, _words(plain))
    compiled = jit(f)
    fast = time_call(compiled, args, seconds)
    check_same(f(*args), compiled(*args), target)
    yield _Row("jit(f)", fast, _words(fast, plain))
    try:
        slope = time_call(jit(grad(f, argnums=argnums)), args, seconds)
    except (NonScalarGradientError, IntegerGradientError) as error:
        yield _Row("jit(grad(f))", None, str(error).splitlines()[0])
    else:
        yield _Row("jit(grad(f))", slope, _words(slope, plain))


def _object(row: _Row) -> dict[str, Any]:
    if row.timing is None:
        return {"name": row.name, "absent": row.words}
    times = {"first_seconds": row.timing.first, "call_seconds": row.timing.call}
    return {"name": row.name, **times}


def time_call(f: Callable[..., Any], args: Sequence[Any], seconds: float) -> Timing:
    """Time the first call, then rounds of calls until the time is over."""
    start = perf_counter()
    f(*args)
    first = perf_counter() - start
    start = perf_counter()
    f(*args)
    repeats = max(1, int(seconds / 20 / max(perf_counter() - start, 1e-9)))
    rounds: list[float] = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(rounds) < 3:
        start = perf_counter()
        for _ in range(repeats):
            f(*args)
        rounds.append((perf_counter() - start) / repeats)
    return Timing(first, statistics.median(rounds))


def check_same(expected: Any, got: Any, target: str) -> None:
    """Raise unless the compiled result equals NumPy's up to rounding."""
    for a, b in zip(pytrees.flatten(expected)[0], pytrees.flatten(got)[0], strict=True):
        a, b = np.asarray(a), np.asarray(b)
        loose = 1e-3 if a.dtype.itemsize < 8 and a.dtype.kind == "f" else 1e-8
        scale = np.max(np.abs(np.where(np.isfinite(a), a, 0)), initial=0.0)
        if not np.allclose(a, b, rtol=loose, atol=loose * scale, equal_nan=True):
            raise Failure(f"{target}: the compiled result differs from NumPy's", FAULT)


def _words(timing: Timing, beside: Timing | None = None) -> str:
    words = f"{show_time(timing.call)} a call, {show_time(timing.first)} the first time"
    if beside is None:
        return words
    return f"{words}; NumPy's f takes {beside.call / timing.call:.3g} times as long"


def show_time(seconds: float) -> str:
    """A time with three digits and a unit.

    >>> show_time(0.00123456)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
