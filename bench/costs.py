"""Measures the figures of the cost model on this machine: ``python -m bench.costs``.

Each loop is a few lines of Numba, so that its machine code is predictable.  Its time is the least
processor time of several runs.  A cycle is a sixth of a step of Marsaglia's xorshift, whose six
operations wait for each other and take a cycle each on all processors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from time import perf_counter, process_time
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from autojit import jit
from autojit.codegen.loop_ir.machine import current
from autojit.ir.core.machine import Costs

RUNS = 15


def least(run: Callable[[], Any], clock: Callable[[], float] = process_time) -> float:
    """The seconds of the fastest of several runs; each must be long enough for the clock."""
    run()
    times = []
    for _ in range(RUNS):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


@numba.njit
def xorshift(n: int) -> int:
    x = np.uint64(88172645463325252)
    for _ in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


@numba.njit(fastmath={"contract"})
def fused_chain(n: int, x: float, a: float, b: float) -> float:
    for _ in range(n):
        x = x * a + b
    return x


@numba.njit(fastmath={"contract"})
def scalar_chains(n: int, x: float, a: float, b: float) -> float:
    p, q, r, s, t, u, v, w = x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7
    for _ in range(n):
        p = p * a + b
        q = q / a if q > 1e300 else q * a + b
        r = r * a + b
        s = s / a if s > 1e300 else s * a + b
        t = t * a + b
        u = u / a if u > 1e300 else u * a + b
        v = v * a + b
        w = w / a if w > 1e300 else w * a + b
    return p + q + r + s + t + u + v + w


@numba.njit
def additions(n: int, x: np.ndarray, y: np.ndarray) -> None:
    for _ in range(n):
        for i in range(len(x)):
            a = x[i]
            b, c = a + 1.5, a - 2.5
            d, e = b - c * 0.5, c + b * 0.25
            y[i] = (b + d) * (c - e) + (d * e - a) + (a - b) * 0.125


@numba.njit(fastmath={"reassoc", "nsz"})
def reading(n: int, x: np.ndarray) -> float:
    total = 0.0
    for _ in range(n):
        for i in range(len(x)):
            total += x[i]
    return total


@numba.njit(parallel=True)
def launched(x: np.ndarray) -> None:
    for i in numba.prange(len(x)):
        x[i] = i


@numba.njit(error_model="numpy")
def divisions(n: int, x: np.ndarray, y: np.ndarray) -> None:
    for _ in range(n):
        for i in range(len(x)):
            a = x[i]
            y[i] = 1.5 / a + 2.5 / (a + 1.0) + 3.5 / (a + 2.0) + a / (a + 3.0)


@numba.njit
def jumps(n: int, bits: np.ndarray) -> float:
    total = 1.0
    for _ in range(n):
        for bit in bits:
            left = bit
            while left:
                total += 1.0
                left -= 1
    return total


def four_functions(x: np.ndarray) -> Any:
    return np.exp(x) + np.exp(x * 0.5) + np.exp(x * 0.25) + np.exp(x * 0.125)


def rates(cycle: float) -> Iterator[tuple[str, float]]:
    """Measure arithmetic; yield the names and values of the figures."""
    n = 2_000_000
    yield "latency", least(lambda: fused_chain(n, 1.0, 0.999, 0.1)) / n / cycle
    yield "scalar_rate", 8 * n / (least(lambda: scalar_chains(n, 1.0, 0.999, 0.1)) / cycle)
    x, y = np.linspace(1, 2, 1024), np.empty(1024)
    lanes = current().vector_bytes // 8
    took = least(lambda: additions(4000, x, y)) / cycle
    one = took / (4000 * 1024 * 13)
    yield "vector_rate", 1 / (one * lanes)
    took = least(lambda: divisions(1000, x, y)) / cycle
    yield "division", (took / (1000 * 1024 * one) - 6) / 4
    bits = np.random.default_rng(0).integers(0, 2, 1 << 16)
    wrong, right = (least(lambda b=b: jumps(20, b)) / cycle for b in (bits, np.sort(bits)))
    yield "misprediction", 2 * (wrong - right) / (20 * len(bits))
    functions, nothing = jit(four_functions), jit(lambda x: x * 2.5)
    took, without = (least(lambda f=f: [f(x) for _ in range(2000)]) / cycle
                     for f in (functions, nothing))  # fmt: skip
    yield "function", ((took - without) / (2000 * 1024 * one) - 6) / 4
    a, product = np.ones((128, 128)), jit(lambda x: x @ x)
    took = least(lambda: [product(a) for _ in range(50)]) / cycle
    yield "product", one * 50 * 128**3 / took


def bandwidths(cycle: float) -> Iterator[tuple[str, float]]:
    """Measure the bytes per cycle that a sum reads from each level of memory."""
    machine = current()
    sizes = {
        "second_level": machine.caches[1] // 2,
        "last_level": machine.caches[2] // 2,
        "memory": 16 * machine.caches[2],
    }
    for name, size in sizes.items():
        x = np.ones(size // 8)
        repeats = max(1, (1 << 27) // size)
        yield name, repeats * size / (least(lambda x=x, r=repeats: reading(r, x)) / cycle)


def main() -> None:
    n = 3_000_000
    cycle = least(lambda: xorshift(n)) / n / 6
    x = np.zeros(numba.get_num_threads())
    launch = least(lambda: [launched(x) for _ in range(200)], perf_counter) / 200 / cycle
    measured = {**dict(rates(cycle)), **dict(bandwidths(cycle)), "launch": launch}
    table = Table(title=f"{current().description()}; a cycle takes {cycle * 1e9:.3f} ns")
    for column in ("figure", "unit", "model", "here"):
        table.add_column(column)
    for f in fields(Costs):
        here = measured.get(f.name, math.nan)
        table.add_row(f.name, f.metadata["unit"], f"{f.default:g}", f"{here:.3g}")
    Console().print(table)


if __name__ == "__main__":
    main()
