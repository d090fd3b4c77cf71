"""Physical limits, measured in the same run: copy bandwidth, BLAS rate, matrix products, latency.

`python -m bench.limits THREADS WORKLOAD…` prints one line of JSON. It runs in a separate process,
because its thread pools would otherwise run beside those of the peers.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bench.client import ROOT, base_environment
from bench.worker import restrict
from bench.workload import Workload

LARGE_COPY = 256 << 20
CHAIN = 100_000  # operations, each of which waits for the previous one
PEAK_SIDE = 1024  # a product large enough for the library's full rate
TRIES = 7


@dataclass(frozen=True)
class Bound:
    """A time that no implementation can beat, and the name of the limit that sets it."""

    what: str
    seconds: float


@dataclass(frozen=True)
class Machine:
    """Rates measured in this run: bytes read and written per second, flops per second by dtype.

    `step` is the number of seconds from one operation to the next that needs its result.
    """

    copy_one_thread: float
    copy_all_threads: float
    gemm: dict[str, float]
    step: float


def median_seconds(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def copy_seconds(total_bytes: int, threads: int) -> float:
    """The seconds to move bytes, half of them read and half written; `copyto` releases the GIL."""
    source = np.ones(max(threads, total_bytes // 16))
    target = np.zeros_like(source)
    pairs = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    if threads == 1:
        return median_seconds(lambda: np.copyto(target, source))
    with ThreadPoolExecutor(threads) as pool:
        return median_seconds(lambda: list(pool.map(lambda pair: np.copyto(*pair), pairs)))


def gemm_seconds(shapes: tuple[tuple[int, int, int], ...], dtype: str) -> float:
    """The seconds of all products, one after the other, by NumPy's BLAS into existing arrays."""
    operands = [
        (np.ones((m, k), dtype), np.ones((k, n), dtype), np.empty((m, n), dtype))
        for m, k, n in shapes
    ]

    repeats = max(1, 200 // len(shapes)) if max(max(shape) for shape in shapes) < 1024 else 1

    def products() -> None:
        for _ in range(repeats):
            for left, right, out in operands:
                np.matmul(left, right, out=out)

    return median_seconds(products) / repeats


def step_seconds() -> float:
    """The seconds from a multiplication to the next that needs its result.

    NumPy reorders sums, but not products.
    """
    factors = np.ones(CHAIN)
    return median_seconds(lambda: np.multiply.reduce(factors)) / CHAIN


def measure_machine(threads: int) -> Machine:
    side = PEAK_SIDE
    rates = {
        dtype: 2 * side**3 / gemm_seconds(((side, side, side),), dtype)
        for dtype in ("float64", "float32")
    }
    one = LARGE_COPY / copy_seconds(LARGE_COPY, 1)
    every = one if threads == 1 else LARGE_COPY / copy_seconds(LARGE_COPY, threads)
    return Machine(one, every, rates, step_seconds())


def bounds(workload: Workload, machine: Machine, threads: int) -> tuple[Bound, ...]:
    """The workload's limits, the binding one first.

    The copy is as large as the workload's own traffic, so that both use the same caches.
    """
    limit, found = workload.limit, []
    if limit.bytes_moved >= 1 << 20:
        fastest = min(copy_seconds(limit.bytes_moved, n) for n in {1, threads})
        found.append(Bound("memory", fastest))
    if limit.flops:
        found.append(Bound("arithmetic", limit.flops / machine.gemm[workload.dtype]))
    if limit.chain:
        found.append(Bound("waiting", limit.chain * machine.step))
    if limit.gemms:
        found.append(Bound("BLAS", gemm_seconds(limit.gemms, workload.dtype)))
    return tuple(sorted(found, key=lambda bound: -bound.seconds))


def measured_apart(
    threads: int, workloads: list[Workload]
) -> tuple[Machine, dict[str, tuple[Bound, ...]]]:
    """Run this module in a process limited like the peers'."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.limits", str(threads), *(w.name for w in workloads)],
        env=base_environment(threads),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    found = {
        name: tuple(Bound(**bound) for bound in listed) for name, listed in answer["bounds"].items()
    }
    return Machine(**answer["machine"]), found


def main() -> None:
    from bench.workloads import select

    threads = int(sys.argv[1])
    restrict(threads)
    machine = measure_machine(threads)
    found = {
        workload.name: [asdict(bound) for bound in bounds(workload, machine, threads)]
        for workload in select(sys.argv[2:])
    }
    print(json.dumps({"machine": asdict(machine), "bounds": found}))


if __name__ == "__main__":
    main()
