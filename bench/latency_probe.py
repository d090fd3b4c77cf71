"""One figure of a fresh process: `python -m bench.latency_probe QUESTION PEER THREADS`."""

from __future__ import annotations

import time

STARTED = time.perf_counter()  # before NumPy, which the modules below import

import json  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from bench import peers  # noqa: E402
from bench.peer import Peer  # noqa: E402
from bench.worker import restrict  # noqa: E402
from bench.workloads import rosenbrock  # noqa: E402

BATCH = 2_000
BATCHES = 15


def import_time(peer: Peer) -> float:
    """Milliseconds beyond NumPy's own import, which is over by now."""
    start = time.perf_counter()
    peer.load()
    return (time.perf_counter() - start) * 1e3


def first_gradient(peer: Peer) -> float:
    """Milliseconds from the start, NumPy's import included, to Rosenbrock's gradient at n=10."""
    assert peer.latency is not None
    peer.load()
    peer.latency.gradient(rosenbrock.primal, np.linspace(-1.0, 1.0, 10))
    return (time.perf_counter() - STARTED) * 1e3


def call(peer: Peer, count: int) -> float:
    """Microseconds of one call with that many small arrays."""
    assert peer.latency is not None
    assert peer.latency.call is not None
    peer.load()
    bound = peer.latency.call(count)
    bound()
    return statistics.median(_batch_seconds(bound) for _ in range(BATCHES)) * 1e6


def _batch_seconds(bound: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for _ in range(BATCH):
        bound()
    return (time.perf_counter() - start) / BATCH


def answer(question: str, peer: Peer) -> float:
    if question == "import":
        return import_time(peer)
    if question in ("first", "cached"):
        return first_gradient(peer)
    return call(peer, int(question.removeprefix("call")))


def main() -> None:
    question, name, threads = sys.argv[1:]
    restrict(int(threads))
    print(json.dumps(answer(question, peers.load(name))))


if __name__ == "__main__":
    main()
