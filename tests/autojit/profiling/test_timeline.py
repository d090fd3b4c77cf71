"""The timeline keeps the rules of the Trace Event Format, as Perfetto reads it.

Perfetto takes times as whole nanoseconds and numbers of threads of 32 bits, and leaves out spans of
a thread that reach over the end of another one.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit

#: The kinds of events there are here, each with the fields that it must have.
FIELDS = {"X": {"name", "cat", "ts", "dur"}, "M": {"name", "args"}}
METADATA = {"process_name", "thread_name"}


def faults(trace: dict[str, Any]) -> list[str]:
    """Return descriptions of the violations of the rules."""
    events = trace["traceEvents"]
    found = [words for event in events for words in _faults_of(event)]
    if found:
        return found
    named: dict[int, list[str]] = defaultdict(list)
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["name"] == "thread_name":
            named[event["tid"]].append(event["args"]["name"])
        elif event["ph"] == "X":
            begun = round(event["ts"] * 1000)
            spans[event["tid"]].append((begun, begun + round(event["dur"] * 1000)))
    found += [f"thread {tid} has names {names}" for tid, names in named.items() if len(names) > 1]
    found += [f"thread {tid} has no name" for tid in spans.keys() - named.keys()]
    for tid, times in spans.items():
        if [begun for begun, _ in times] != sorted(begun for begun, _ in times):
            found.append(f"times of thread {tid} do not grow")
        found += [f"thread {tid}: {each} overlaps" for each in _overlapping(times)]
    return found


def _faults_of(event: dict[str, Any]) -> list[str]:
    """Return what is wrong with a single event."""
    kind = event.get("ph", "")
    if not {"pid", "tid", *FIELDS.get(kind, {"known kind"})} <= event.keys():
        return [f"fields of {event}"]
    rules = {
        "name": isinstance(event["name"], str) and event["name"],
        "numbers": all(isinstance(event[k], int) and 0 <= event[k] < 2**32 for k in ("pid", "tid")),
        "args": isinstance(event.get("args", {}), dict),
    }
    if kind == "M":
        rules["metadata"] = event["name"] in METADATA and event["args"].get("name")
    else:
        rules["times"] = all(
            isinstance(event[k], (int, float)) and event[k] >= 0 for k in ("ts", "dur")
        )
    return [f"{rule} of {event}" for rule, holds in rules.items() if not holds]


def _overlapping(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Find spans that begin inside another span and end after it."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for begun, ended in spans:
        while opened and opened[-1] <= begun:
            opened.pop()
        if opened and ended > opened[-1]:
            found.append((begun, ended))
            continue
        opened.append(ended)
    return found


def loss(w: Any, x: Any) -> Any:
    return np.mean(np.tanh(x @ w) ** 2)


def steps(x: Any) -> Any:
    def step(h: Any, _: Any) -> Any:
        return np.tanh(h * 0.9 + x) / np.sum(h), None

    return autojit.scan(step, x, length=50)[0].sum()


def test_it_keeps_the_rules(tmp_path: Path) -> None:
    w, x = np.ones(30), np.ones((200, 30))

    def work() -> None:
        f, g = jit(grad(loss)), jit(grad(steps))
        for _ in range(30):
            f(w, x)
            g(np.ones(400))
        with autojit.disable_jit():
            loss(w, x)
        grad(loss)(w, x)

    with autojit.profile() as p:
        threads = [threading.Thread(target=work, name=f"worker {k}") for k in range(2)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
    file = tmp_path / "t.json"
    p.trace(file)
    trace = json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert faults(trace) == []
    events = trace["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"MainThread", "worker 0", "worker 1"} <= names
    kinds = {e["cat"] for e in events if e["ph"] == "X"}
    assert {"call", "tracing", "compiling", "run", "part", "phase", "pass"} <= kinds
    # The parts of a sequential loop are nested in the part of that loop.
    parts = [e for e in events if e.get("cat") == "part"]
    assert any("." in e["name"] and e["args"]["count"] == 50 for e in parts)
    assert any(line.startswith("backward of ") for e in parts for line in e["args"]["lines"])


GOOD = {"ph": "X", "name": "a", "cat": "c", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0}
THREAD = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}}


@pytest.mark.parametrize(
    ("events", "count"),
    [
        ([THREAD, GOOD, {**GOOD, "ts": 2.0, "dur": 1.0}], 0),
        ([THREAD, GOOD, {**GOOD, "ts": 2.0, "dur": 1.001}], 1),
        ([GOOD], 1),
        ([THREAD, {**GOOD, "tid": 2**40}], 1),
        ([THREAD, {**GOOD, "dur": -1.0}], 1),
        ([THREAD, {**GOOD, "name": ""}], 1),
        ([THREAD, GOOD, {**GOOD, "ts": 0.0, "dur": 0.5}], 1),
        ([THREAD, {**GOOD, "ph": "Q"}], 1),
        ([THREAD, THREAD, GOOD], 1),
    ],
)
def test_the_rules_are_looked_after(events: list[dict[str, Any]], count: int) -> None:
    assert len(faults({"traceEvents": events, "displayTimeUnit": "ms"})) == count
