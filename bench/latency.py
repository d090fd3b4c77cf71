"""Measures the time until the first gradient, and the cost of one call of a compiled function.

Every figure comes from a fresh process that runs `bench.latency_probe`; the peers take turns, and
the median of the repetitions is shown.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import latency_probe, peers
from bench.client import ROOT, process_environment
from bench.peer import Peer
from bench.report import NOTHING, Table, number
from bench.worker import in_words

REPETITIONS = 5
TIMEOUT = 120.0

QUESTIONS = {
    "import": "import beyond NumPy's, ms",
    "first": "import to first gradient, nothing cached, ms",
    "cached": "import to first gradient, cached on disk, ms",
    "call1": "call, one small array, us",
    "call2": "call, two small arrays, us",
    "call20": "call, a tree of 20 arrays, us",
    "again10": "gradient of 50 operations without `jit`, 10 numbers, us",
    "compiled10": "the same under `jit`, 10 numbers, us",
    "again100000": "gradient of 50 operations without `jit`, 100,000 numbers, us",
    "compiled100000": "the same under `jit`, 100,000 numbers, us",
    "passes1000": "tracing and passes, 1,000 operations, ms",
    "differentiated1000": "tracing and passes, gradient of 1,000 operations, ms",
    "passes100000": "tracing and passes, 100,000 operations, ms",
}
Samples = dict[tuple[str, str], list[float]]
Failures = dict[tuple[str, str], str]


def applies(question: str, peer: Peer) -> bool:
    if peer.latency is None:
        return False
    kind = latency_probe.kind_of(question)
    if question == "passes100000":
        return peer.name == "autojit"  # JAX takes a minute to lower it
    if kind in ("call", "again", "compiled", "passes"):
        return getattr(peer.latency, kind) is not None
    return question != "cached" or peer.latency.cached_environment is not None


def in_fresh_process(question: str, peer: Peer, threads: int, cache: str) -> float:
    environment = process_environment(peer, threads, "float64", cache)
    if question == "cached" and peer.latency and peer.latency.cached_environment:
        environment.update(peer.latency.cached_environment(cache))
    done = subprocess.run(
        [peer.python, "-m", "bench.latency_probe", question, peer.name, str(threads)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    if done.returncode:
        raise RuntimeError(in_words((done.stderr.strip().splitlines() or ["no word"])[-1]))
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def measure(
    names: list[str], threads: int, report: Callable[[str], None]
) -> tuple[list[Table], list[str]]:
    chosen = [peer for peer in map(peers.load, names) if peer.latency is not None]
    samples: Samples = {}
    failures: Failures = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for repetition in range(REPETITIONS):
            for question in QUESTIONS:
                for peer in chosen:
                    report(f"{question}, {peer.title}, {repetition + 1} of {REPETITIONS}")
                    _sample(samples, failures, question, peer, threads, Path(folder))
    remarks = dict.fromkeys(f"{name}, {words}" for (_, name), words in failures.items())
    return [_table(samples, chosen)], [_of_numpy(), *remarks]


def _of_numpy() -> str:
    """A remark with the times of the function by NumPy, below which no gradient without `jit` can
    be."""
    few, many = (latency_probe.of_function(numbers) for numbers in (10, 100_000))
    return (
        f"The function of 50 operations itself takes NumPy {number(few)} us on 10 numbers, and "
        f"{number(many)} us on 100,000."
    )


def _sample(
    samples: Samples,
    failures: Failures,
    question: str,
    peer: Peer,
    threads: int,
    folder: Path,
) -> None:
    """Add one figure. "cached" keeps its folder, and runs once before it is measured."""
    key = (question, peer.name)
    if key in failures or not applies(question, peer):
        return
    try:
        if question == "cached":
            cache = folder / f"cached-{peer.name}"
            if not cache.exists():
                cache.mkdir()
                in_fresh_process(question, peer, threads, str(cache))
            seconds = in_fresh_process(question, peer, threads, str(cache))
        else:
            with tempfile.TemporaryDirectory(dir=folder) as empty:
                seconds = in_fresh_process(question, peer, threads, empty)
        samples.setdefault(key, []).append(seconds)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        failures[key] = str(error)


def _table(samples: Samples, chosen: list[Peer]) -> Table:
    def cell(question: str, name: str) -> str:
        found = samples.get((question, name))
        return number(statistics.median(found)) if found else NOTHING

    rows = tuple(
        (
            words,
            *(cell(question, peer.name) for peer in chosen),
            _over(samples, question, "autojit", "jax"),
        )
        for question, words in QUESTIONS.items()
    )
    columns = ("what", *(peer.title for peer in chosen), "ours / JAX")
    return Table("Latency", columns, rows)


def _over(samples: Samples, question: str, above: str, below: str) -> str:
    ours, theirs = samples.get((question, above)), samples.get((question, below))
    if not ours or not theirs:
        return NOTHING
    return number(statistics.median(ours) / statistics.median(theirs))
