"""The timeline of a profile, in the trace event format of Chrome, which Perfetto reads.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Events are complete events (``"ph": "X"``) with times in microseconds. They nest to the nanosecond,
as Perfetto drops an event that ends after its parent.  Threads are numbered from 1, as Perfetto
accepts only numbers of 32 bits.  Parts of compiled code appear inside their run, in the order in
which they ran. A part that runs in a loop is one event, as long as all its runs together, and
``args`` contains their number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from autojit.codegen.driver.timed import StepTime
from autojit.ir.pass_manager.records import Record
from autojit.ir.pass_manager.records import Run as PassRun
from autojit.session.watching import Run

from .lines import part_times
from .recorder import Event, Recorder, Sums


def timeline_text(recorder: Recorder) -> str:
    """The timeline as JSON text."""
    return json.dumps(timeline(recorder), separators=(",", ":"))


def timeline(recorder: Recorder) -> dict[str, Any]:
    """The events of all threads; times count from the beginning of the profile."""
    process = os.getpid()
    made: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "autojit"}}
    ]
    numbers: dict[int, int] = {}
    for thread in recorder.threads:
        if thread.ident in numbers:  # a new thread with the id of an ended one
            continue
        number = numbers[thread.ident] = len(numbers) + 1
        made.append({"ph": "M", "name": "thread_name", "pid": process, "tid": number,
                     "args": {"name": thread.thread.name}})  # fmt: skip
    writer = _Writer(process, recorder.begun, numbers)
    for event in recorder.events:
        made += writer.event(event)
    made[1:] = sorted(made[1:], key=lambda e: (e.get("ts", -1.0), -e.get("dur", 0.0)))
    result: dict[str, Any] = {"traceEvents": made, "displayTimeUnit": "ms"}
    if recorder.dropped:
        result["otherData"] = {"later spans that are not shown": recorder.dropped}
    return result


class _Writer:
    def __init__(self, process: int, begun: float, threads: dict[int, int]) -> None:
        self.process, self.begun, self.threads = process, begun, threads
        #: program -> part -> its lines.
        self.places: dict[int, dict[tuple[int, ...], list[str]]] = {}

    def event(self, event: Event) -> Iterator[dict[str, Any]]:
        """The events of a span, and of its contents."""
        name = event.name if event.kind in _BY_NAME else f"{event.kind} {event.name}"
        yield self._complete(event.thread, name, event.kind, event.begun, event.ended)
        if isinstance(event.data, Run):
            yield from self._parts(event, event.data)
        elif isinstance(event.data, Record):
            for run in event.data.runs:
                yield from self._passes(event.thread, run)

    def _parts(self, event: Event, data: Run) -> Iterator[dict[str, Any]]:
        run = data.run
        times = data.code.times(run.counts, run.ticks)
        now = event.begun
        inside = now
        for t in times:
            if len(t.number) == 1:
                start, inside = now, now
                now = min(event.ended, now + t.seconds)
                end = now
            else:
                start = inside
                inside = end = min(now, inside + t.seconds)
            words = {"count": t.count, "kind": t.kind, "lines": self._lines(data, t)}
            yield self._complete(event.thread, t.name, "part", start, end, words)

    def _lines(self, data: Run, t: StepTime) -> list[str]:
        found = self.places.get(id(data.program))
        if found is None:
            run = data.run
            sums = Sums(data.program, data.code, run.counts * 0 + 1, run.ticks, 1, 0.0)
            parts = [p for part in part_times(sums) for p in (part, *part.inside)]
            found = {p.time.number: [s.described for s in p.sources] for p in parts}
            self.places[id(data.program)] = found
        return found.get(t.number, [])

    def _passes(self, thread: int, run: PassRun) -> Iterator[dict[str, Any]]:
        kind = "pass" if run.level else "phase"
        yield self._complete(thread, run.name, kind, run.begun, run.ended)
        for inner in run.runs:
            yield from self._passes(thread, inner)

    def _complete(
        self, thread: int, name: str, kind: str, begun: float, ended: float, args: Any = None
    ) -> dict[str, Any]:
        first, last = (round(1e9 * (moment - self.begun)) for moment in (begun, ended))
        made = {
            "ph": "X", "cat": kind, "name": name, "pid": self.process, "tid": self.threads[thread],
            "ts": first / 1000, "dur": (last - first) / 1000,
        }  # fmt: skip
        return made if args is None else {**made, "args": args}


#: Kinds of spans whose names are shown without the kind.
_BY_NAME = frozenset({"operation", "backward", "annotation", "watching"})
