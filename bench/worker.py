"""A peer's process builds one workload's gradient, then times it on request.

`python -m bench.worker PEER WORKLOAD THREADS DESCRIPTOR` answers pickled requests over the socket
with that descriptor. Standard output is left to the library.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy

BATCH_SECONDS = 0.02  # much longer than the clock's resolution and the scheduler's slices
WARM_UP_SECONDS = 0.2


def restrict(threads: int) -> None:
    """Restrict the process to that many processors, a limit that every thread pool respects."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def peak_megabytes() -> float:
    """The largest resident size of the process.

    If there is /proc, `getrusage` is not used: there a new process inherits its parent's maximum.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if "VmHWM" in line) / 1024
    except (OSError, StopIteration):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def seconds_per_call(call: Callable[[], Any], repeats: int) -> float:
    """The mean over a batch of calls, after one call that wakes threads and fills the caches."""
    call()
    gc.disable()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    elapsed = time.perf_counter() - start
    gc.enable()
    return elapsed / repeats


def batch_size(call: Callable[[], Any]) -> int:
    """Warm up, then return the number of calls that last BATCH_SECONDS."""
    deadline = time.perf_counter() + WARM_UP_SECONDS
    fastest = float("inf")
    while time.perf_counter() < deadline or fastest == float("inf"):
        fastest = min(fastest, seconds_per_call(call, 1))
    return max(1, round(BATCH_SECONDS / max(fastest, 1e-9)))


class Absent(Exception):
    """The library cannot be imported."""


class Worker:
    """One peer and one workload; each public method answers the request with its name."""

    def __init__(self, peer: str, workload: str, threads: int) -> None:
        self.names = (peer, workload)
        self.threads = threads
        self.repeats: dict[str, int] = {}

    def prepare(self) -> dict[str, float]:
        """Import, build and call once. None of these times is part of the run time."""
        from bench import peers, workloads

        peer = peers.load(self.names[0])
        workload = workloads.select([self.names[1]])[0]
        start = time.perf_counter()
        try:
            peer.load()
        except ImportError as error:
            raise Absent(in_words(error)) from error
        imported = time.perf_counter()
        if peer.load_special is not None:
            peer.load_special()
        inputs = workload.inputs()
        if peer.latency is not None:
            # Starting a compiler is a separate figure (see ``latency``).
            peer.latency.gradient(_trivial, numpy.linspace(0.1, 0.9, 7))
        made = time.perf_counter()
        self.compiled = peer.build(workload, inputs, self.threads)
        self.compiled.gradient()
        first_call = time.perf_counter() - made
        self.calls = {"gradient": self.compiled.gradient}
        self.repeats["gradient"] = batch_size(self.compiled.gradient)
        return {
            "import_s": imported - start,
            "first_call_s": first_call,
            "peak_mb": peak_megabytes(),
        }

    def prepare_primal(self) -> bool:
        """Compile the primal after the gradient, so that neither benefits from the other."""
        primal = self.compiled.primal
        if primal is None:
            return False
        self.calls["primal"] = primal
        self.repeats["primal"] = batch_size(primal)
        return True

    def result(self) -> Any:
        return self.compiled.arrays(self.compiled.gradient())

    def measure(self, what: str) -> float:
        return seconds_per_call(self.calls[what], self.repeats[what])


def serve(worker: Worker, connection: Connection) -> None:
    """Answer `(method, arguments)` with `("done", value)` or `(kind of failure, words)`."""
    from bench.workload import NotWritten

    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send(("done", getattr(worker, method)(*arguments)))
        except Absent as error:
            connection.send(("absent", in_words(error)))
        except NotWritten as error:
            connection.send(("not written", in_words(error)))
        except Exception as error:  # an error of a library is reported, not fatal
            connection.send(("failed", f"{type(error).__name__}: {in_words(error)}"))


def _trivial(np: Any, special: Any) -> Callable[..., Any]:
    """A program that differs from all workloads."""

    def trivial(x):
        return np.sum(x * x / (1.0 + x))

    return trivial


def in_words(error: Exception | str) -> str:
    """The first line of the message, without the folders of this machine."""
    first = (str(error).strip().splitlines() or [""])[0]
    return re.sub(r"(?<![\w.])/(?:[^\s/:)]+/)+", "", first)[:300]


def main() -> None:
    peer, workload, threads, descriptor = sys.argv[1:]
    restrict(int(threads))
    serve(Worker(peer, workload, int(threads)), Connection(int(descriptor)))


if __name__ == "__main__":
    main()
