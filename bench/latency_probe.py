"""Measures one figure in a fresh process: `python -m bench.latency_probe QUESTION PEER THREADS`."""

from __future__ import annotations

import time

STARTED = time.perf_counter()  # before the import of NumPy by the modules below

import json  # noqa: E402
import random  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from functools import partial  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from bench import peers  # noqa: E402
from bench.peer import Bound, Make, Peer  # noqa: E402
from bench.worker import restrict  # noqa: E402
from bench.workloads import rosenbrock  # noqa: E402

BATCH = 2_000
BATCHES = 15
FEW = 10  # calls in a batch, and batches, if a call takes milliseconds


def import_time(peer: Peer) -> float:
    """The milliseconds of the import, without NumPy's, which is loaded already."""
    start = time.perf_counter()
    peer.load()
    return (time.perf_counter() - start) * 1e3


def first_gradient(peer: Peer) -> float:
    """The milliseconds from the start to Rosenbrock's gradient at n=10, with NumPy's import."""
    assert peer.latency is not None
    peer.load()
    peer.latency.gradient(rosenbrock.primal, np.linspace(-1.0, 1.0, 10))
    return (time.perf_counter() - STARTED) * 1e3


def call(peer: Peer, count: int) -> float:
    """The microseconds of one call with ``count`` small arrays."""
    assert peer.latency is not None
    assert peer.latency.call is not None
    peer.load()
    bound = peer.latency.call(count)
    bound()
    return statistics.median(_batch_seconds(bound) for _ in range(BATCHES)) * 1e6


def _batch_seconds(bound: Bound, batch: int = BATCH) -> float:
    start = time.perf_counter()
    for _ in range(batch):
        bound()
    return (time.perf_counter() - start) / batch


def operations(count: int) -> Make:
    """A function of ``count`` elementwise operations without repetition."""
    draw = random.Random(count)
    plan = [(draw.randrange(5), draw.randrange(1, 6), draw.random()) for _ in range(count)]

    def make(np: Any, special: Any) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            last = [x] * 6
            for kind, ago, number in plan:
                a, b = last[-1], last[-ago]
                if kind == 0:
                    value = np.tanh(a)
                elif kind == 1:
                    value = np.sin(b)
                elif kind == 2:
                    value = a * number
                else:
                    value = a + b if kind == 3 else a - b * number
                last = [*last[1:], value]
            return np.sum(np.tanh(last[-1]))

        return function

    return make


def of_gradient(peer: Peer, kind: str, numbers: int) -> float:
    """The microseconds of a gradient of 50 operations on ``numbers`` numbers."""
    peer.load()
    bound = getattr(peer.latency, kind)(operations(50), np.linspace(0.1, 0.9, numbers))
    bound()
    bound()
    return statistics.median(_batch_seconds(bound, FEW) for _ in range(FEW)) * 1e6


def of_function(numbers: int) -> float:
    """The microseconds of that function by NumPy."""
    bound = partial(operations(50)(np, None), np.linspace(0.1, 0.9, numbers))
    return statistics.median(_batch_seconds(bound, FEW) for _ in range(FEW)) * 1e6


def passes(peer: Peer, count: int, differentiated: bool) -> float:
    """The milliseconds to make the program to be compiled, after a first one."""
    assert peer.latency is not None
    assert peer.latency.passes is not None
    peer.load()
    x = np.linspace(0.1, 0.9, 10)
    peer.latency.passes(operations(100), x, differentiated)()
    return _batch_seconds(peer.latency.passes(operations(count), x, differentiated), 1) * 1e3


def kind_of(question: str) -> str:
    """The name of the field of `Latency` that a question needs."""
    kind = question.rstrip("0123456789")
    return "passes" if kind == "differentiated" else kind


def answer(question: str, peer: Peer) -> float:
    if question == "import":
        return import_time(peer)
    if question in ("first", "cached"):
        return first_gradient(peer)
    kind, count = kind_of(question), int(question.lstrip("abcdefghijklmnopqrstuvwxyz"))
    if kind == "call":
        return call(peer, count)
    if kind == "passes":
        return passes(peer, count, question.startswith("differentiated"))
    return of_gradient(peer, kind, count)


def main() -> None:
    question, name, threads = sys.argv[1:]
    restrict(int(threads))
    print(json.dumps(answer(question, peers.load(name))))


if __name__ == "__main__":
    main()
