"""Runs generators for some time, shrinks failures, and reports the outcomes."""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.generators import GENERATORS, make
from tests.fuzz.shrink import shrink
from tests.fuzz.worker import Worker


@dataclass
class Options:
    seed: int = 0
    minutes: float = 1.0
    #: The number of cases per generator, whatever the time; None if time decides.
    cases: int | None = None
    only: Sequence[str] = ()
    jobs: int = 1
    log: Path | None = None
    #: Seconds to shrink one failure, and seconds that one case may take.
    shrinking: float = 90.0
    limit: float = 120.0
    #: The number of the first case.
    start: int = 0


@dataclass
class Report:
    """The numbers of cases by generator and outcome, and the failures."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    skips: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def text(self) -> str:
        lines = [f"{sum(self.counts.values())} cases in {self.seconds:.0f} s"]
        for name in sorted({name for name, _ in self.counts}):
            parts = [f"{self.counts[name, s]} {s}" for s in ("ok", "refused", "skipped", "failed")]
            lines.append(f"  {name}: {', '.join(parts)}; {self.compared[name]} numbers compared")
        lines += self._table("refused", Counter(self.refusals))
        lines += self._table(
            "skipped", Counter({f"{n}: {w}": k for (n, w), k in self.skips.items()})
        )
        groups: dict[str, list[dict[str, Any]]] = {}
        for failure in self.failures:
            groups.setdefault(failure["kind"], []).append(failure)
        for kind, found in sorted(groups.items(), key=lambda g: -len(g[1])):
            shortest = min(found, key=lambda f: len(f["text"]))
            names = Counter(f["generator"] for f in found)
            lines += ["", f"{len(found)} failed: {kind} ({dict(names)}). The shortest:", ""]
            lines += [f"    {line}" for line in shortest["text"].splitlines()]
            lines += ["", *(f"    {line}" for line in shortest["words"].splitlines()[:12])]
        return "\n".join(lines)

    def _table(self, title: str, counts: Counter[str]) -> list[str]:
        if not counts:
            return []
        return [f"{title}:", *(f"  {n} x {words}" for words, n in counts.most_common(12))]


class Session:
    """A run with given options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.report = Report()
        self._names = list(options.only) or list(GENERATORS)
        self._next = options.start * len(self._names)
        self._lock = threading.Lock()
        self._stopped = False
        self._until = time.monotonic() + 60 * options.minutes

    def run(self) -> Report:
        begun = time.monotonic()
        threads = [threading.Thread(target=self._work) for _ in range(self.options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.report.seconds = time.monotonic() - begun
        return self.report

    def stop(self) -> None:
        """Stop after the cases being checked; the report covers the cases until then."""
        self._stopped = True

    def _work(self) -> None:
        worker = Worker(self.options.limit)
        try:
            while (task := self._task()) is not None:
                name, number = task
                try:
                    case = make(name, self.options.seed, number)
                except Exception:
                    self._unmade(name, number, traceback.format_exc(limit=-6))
                    continue
                self._note(number, case, worker.check(case), worker)
        finally:
            worker.stop()

    def _unmade(self, name: str, number: int, words: str) -> None:
        """A generator that raises is also a failure."""
        with self._lock:
            self.report.counts[name, "failed"] += 1
            self.report.failures.append({
                "generator": name, "kind": "the generator raises", "words": words,
                "text": f"--only {name} --seed {self.options.seed} --show {number}",
            })  # fmt: skip

    def _task(self) -> tuple[str, int] | None:
        with self._lock:
            number, position = divmod(self._next, len(self._names))
            self._next += 1
        if self.options.cases is not None:
            done = number - self.options.start >= self.options.cases
        else:
            done = time.monotonic() > self._until
        return None if done or self._stopped else (self._names[position], number)

    def _note(self, number: int, case: Case, found: dict[str, Any], worker: Worker) -> None:
        name = case.generator
        with self._lock:
            self.report.counts[name, found["status"]] += 1
            self.report.compared[name] += found["compared"]
            for skip in found["skips"]:
                self.report.skips[name, skip[:90]] += 1
            if found["status"] == "refused":
                self.report.refusals[found["words"].splitlines()[0][:110]] += 1
        if found["status"] == "failed":
            self._failed(number, case, found, worker)

    def _failed(self, number: int, case: Case, found: dict[str, Any], worker: Worker) -> None:
        def fails(candidate: Case) -> bool:
            outcome = worker.check(candidate)
            return outcome["status"] == "failed" and outcome["kind"] == found["kind"]

        # Shrink for a shorter time if many cases failed in this way.
        alike = sum(f["kind"] == found["kind"] for f in self.report.failures)
        small = shrink(case, fails, self.options.shrinking / (1 + alike // 3))
        last = worker.check(small)
        words = last["words"] if last["status"] == "failed" else found["words"]
        failure = {
            "generator": case.generator, "seed": self.options.seed, "number": number,
            "kind": found["kind"], "words": words, "text": small.text(),
            "shrunk": json.loads(small.to_json()), "case": json.loads(case.to_json()),
        }  # fmt: skip
        with self._lock:
            self.report.failures.append(failure)
            if self.options.log:
                with self.options.log.open("a") as log:
                    log.write(json.dumps(failure) + "\n")
