"""Measures a workload: starts all peers, compares their gradients, and times them in turn."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench import peers
from bench.client import Client, PeerFailure, process_environment
from bench.limits import Bound
from bench.workload import Arrays, Workload, disagreement

# OpenBLAS's threads spin for some 105 ms after a product (measured); without a pause, the next peer
# would share the processors with them.
SETTLE_SECONDS = 0.13
MEASURE_TIMEOUT = 120.0

Report = Callable[[str], None]


@dataclass
class PeerResult:
    """The results of one peer for one workload. Times are in seconds, with one entry per round."""

    gradient: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    import_s: float = 0.0
    first_call_s: float = 0.0
    peak_mb: float = 0.0
    wrong: str | None = None
    failure: str | None = None

    @property
    def counts(self) -> bool:
        return bool(self.gradient) and self.wrong is None and self.failure is None

    @property
    def seconds(self) -> float:
        return statistics.median(self.gradient)

    @property
    def gradient_over_primal(self) -> float | None:
        if not self.counts or not self.primal:
            return None
        return self.seconds / statistics.median(self.primal)


@dataclass
class WorkloadResult:
    workload: Workload
    peers: dict[str, PeerResult]
    bounds: tuple[Bound, ...] = ()

    def ratio(self, numerator: str, denominator: str) -> Ratio | None:
        """The ratio of the two peers' times, or None if one does not count."""
        above, below = self.peers.get(numerator), self.peers.get(denominator)
        if above is None or below is None or not (above.counts and below.counts):
            return None
        return Ratio.of(above.gradient, below.gradient)


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians, and the quartiles of the rounds' ratios."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, above: list[float], below: list[float]) -> Ratio:
        rounds = [a / b for a, b in zip(above, below, strict=True)]
        median = statistics.median(above) / statistics.median(below)
        if len(rounds) < 2:
            return cls(median, rounds[0], rounds[0])
        low, _, high = statistics.quantiles(rounds, n=4, method="inclusive")
        return cls(median, low, high)


def measure(
    workload: Workload, names: list[str], rounds: int, threads: int, timeout: float, report: Report
) -> WorkloadResult:
    """Start all peers, one after the other, then interleave their rounds: A B C, A B C, …"""
    results = {name: PeerResult() for name in names}
    reference = workload.reference(workload.inputs())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        running: dict[str, Client] = {}
        for name in names:
            report(f"{workload.name}: starting {name}")
            client = _start(name, workload, threads, folder)
            stack.callback(client.close)
            try:
                _prepare(client, results[name], timeout)
                _compare(client, results[name], reference, workload.dtype)
                running[name] = client
            except PeerFailure as failure:
                results[name].failure = str(failure)
        primals = _prepare_primals(running, results, timeout)
        _run_rounds(workload.name, running, primals, results, rounds, report)
    return WorkloadResult(workload, results)


def _start(name: str, workload: Workload, threads: int, folder: Path) -> Client:
    cache = folder / name
    cache.mkdir()
    peer = peers.load(name)
    environment = process_environment(peer, threads, workload.dtype, str(cache))
    log = folder / f"{name}.log"
    return Client(name, workload.name, threads, environment, log, peer.python)


def _prepare(client: Client, result: PeerResult, timeout: float) -> None:
    figures = client.ask("prepare", timeout=timeout)
    result.import_s = figures["import_s"]
    result.first_call_s = figures["first_call_s"]
    result.peak_mb = figures["peak_mb"]


def _compare(client: Client, result: PeerResult, reference: Arrays, dtype: str) -> None:
    result.wrong = disagreement(client.ask("result", timeout=MEASURE_TIMEOUT), reference, dtype)


def _prepare_primals(
    running: dict[str, Client], results: dict[str, PeerResult], timeout: float
) -> set[str]:
    """Prepare the primals; return the peers that have one. A failure here removes the peer."""
    ready = set()
    for name, client in list(running.items()):
        try:
            if client.ask("prepare_primal", timeout=timeout):
                ready.add(name)
        except PeerFailure as failure:
            results[name].failure = f"primal {failure}"
            del running[name]
    return ready


def _run_rounds(
    title: str,
    running: dict[str, Client],
    primals: set[str],
    results: dict[str, PeerResult],
    rounds: int,
    report: Report,
) -> None:
    for count in range(rounds):
        report(f"{title}: round {count + 1} of {rounds}")
        for name, client in list(running.items()):
            result = results[name]
            try:
                time.sleep(SETTLE_SECONDS)
                seconds = client.ask("measure", "gradient", timeout=MEASURE_TIMEOUT)
                result.gradient.append(seconds)
                if name in primals:
                    result.primal.append(client.ask("measure", "primal", timeout=MEASURE_TIMEOUT))
            except PeerFailure as failure:
                result.failure = str(failure)
                del running[name]
