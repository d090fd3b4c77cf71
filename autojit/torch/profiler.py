"""``torch.profiler``: measures the time of each operation, forward and backward.

>>> from autojit import torch
>>> x = torch.ones(3, requires_grad=True)
>>> with torch.profiler.profile() as prof:
...     with torch.profiler.record_function("step"):
...         x.exp().sum().backward()
>>> [e.key for e in prof.key_averages()]
['step', 'aten::exp', 'aten::sum', 'SumBackward0', 'ExpBackward0']
"""

from __future__ import annotations

import enum
import functools
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from autojit.session.files import write_whole
from autojit.session.watching import span, watching


class ProfilerActivity(enum.Enum):
    """The devices on which operations run."""

    CPU = 0
    CUDA = 1


class Event:
    """One run of an operation, in nanoseconds."""

    __slots__ = ("children", "duration", "kind", "name", "shapes", "start", "thread")

    def __init__(self, name: str, kind: str, shapes: Any) -> None:
        self.name: str = name
        self.kind: str = kind
        self.shapes: Any = shapes
        self.thread: int = threading.get_ident()
        self.children: int = 0
        self.duration: int = 0
        self.start: int = time.perf_counter_ns()


#: PyTorch's kinds of events, by the kinds of spans.
_KINDS = {"operation": "cpu_op", "backward": "backward", "annotation": "user_annotation"}


class _Recorder:
    """A watcher that makes events from spans; each thread has its own open events."""

    def __init__(self, shapes: bool) -> None:
        self.events: list[Event] = []
        self.shapes = shapes
        self._open = threading.local()

    def begin(self, span: span) -> None:
        """Open an event."""
        kind = _KINDS.get(span.kind)
        if kind is None:
            return
        shapes = None
        if self.shapes:
            shapes = [list(getattr(a, "shape", ())) for a in span.data or ()]
        name = f"aten::{span.name}" if kind == "cpu_op" else span.name
        event = Event(name, kind, shapes)
        self.events.append(event)
        self._stack().append(event)

    def end(self, span: span) -> None:
        """Close the innermost open event."""
        if span.kind not in _KINDS:
            return
        stack = self._stack()
        event = stack.pop()
        event.start = int(span.begun * 1e9)
        event.duration = int((span.ended - span.begun) * 1e9)
        if stack:
            stack[-1].children += event.duration

    def mark(self, name: str) -> None:
        """Add an event without a duration."""
        self.events.append(Event(name, "user_annotation", None))

    def _stack(self) -> list[Event]:
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        stack: list[Event] = self._open.stack
        return stack


class _Current:
    #: The active profile, or None.
    profile: Any = None


class record_function:
    """A context, or a decorator, whose time is recorded as an event with a name."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._spans: list[span] = []

    def __enter__(self) -> record_function:
        self._spans.append(span("annotation", self.name).__enter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._spans.pop().__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped


class profile:
    """A context in which the time of every operation on tensors is measured, in all threads.

    Args:
        activities: accepted for compatibility; operations run on the CPU.
        record_shapes: whether events include the shapes of the operands.
        on_trace_ready: called with the profile at the end.
        profile_memory, with_flops, schedule: not covered; an error if given.
        with_stack, with_modules: accepted, without effect.
    """

    def __init__(self, *, activities: Any = None, schedule: Any = None, on_trace_ready: Any = None,
                 record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, **_: Any) -> None:  # fmt: skip
        for name, given in (("profile_memory", profile_memory), ("with_flops", with_flops),
                            ("schedule", schedule)):  # fmt: skip
            if given:
                raise NotImplementedError(f"torch.profiler.profile: {name} is not covered")
        self._ready = on_trace_ready
        self._recorder = _Recorder(record_shapes)
        self._steps = 0

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start measuring."""
        if _Current.profile is not None:
            raise RuntimeError("Profiler is already enabled")
        _Current.profile = self
        self._watching = watching(self._recorder)
        self._watching.__enter__()

    def stop(self) -> None:
        """Stop measuring, and call ``on_trace_ready``."""
        self._watching.__exit__(None, None, None)
        _Current.profile = None
        if self._ready is not None:
            self._ready(self)

    def step(self) -> None:
        """Mark the end of a training step."""
        self._steps += 1
        self._recorder.mark(f"ProfilerStep#{self._steps}")

    def events(self) -> list[Event]:
        """All events, in the order in which they began."""
        return self._recorder.events

    def key_averages(self, group_by_input_shape: bool = False,
                     group_by_stack_n: int = 0) -> Averages:  # fmt: skip
        """The averages of the events of each name."""
        found: dict[Any, Average] = {}
        for e in self._recorder.events:
            key = (e.name, str(e.shapes)) if group_by_input_shape else e.name
            found.setdefault(key, Average(e)).add(e)
        return Averages(found.values())

    def export_chrome_trace(self, path: Any) -> None:
        """Write a file that ``chrome://tracing`` and Perfetto show."""
        pid = os.getpid()
        events = [
            {
                "ph": "X", "cat": e.kind, "name": e.name, "pid": pid, "tid": e.thread,
                "ts": e.start / 1000, "dur": e.duration / 1000,
                "args": {} if e.shapes is None else {"Input Dims": e.shapes},
            }
            for e in self._recorder.events
        ]  # fmt: skip
        write_whole(path, json.dumps({"traceEvents": events}))


class Average:
    """The time of all events of one name, in microseconds."""

    def __init__(self, event: Event) -> None:
        self.key: str = event.name
        self.kind: str = event.kind
        self.input_shapes: Any = event.shapes
        self.count: int = 0
        self.cpu_time_total: float = 0.0
        self.self_cpu_time_total: float = 0.0

    def add(self, event: Event) -> None:
        """Add an event."""
        self.count += 1
        self.cpu_time_total += event.duration / 1000
        self.self_cpu_time_total += (event.duration - event.children) / 1000

    @property
    def cpu_time(self) -> float:
        """The mean time of an event."""
        return self.cpu_time_total / self.count


_SORTS = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count")
_HEADS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg",
          "# of Calls")  # fmt: skip


class Averages(list[Average]):
    """A table of averages."""

    @property
    def self_cpu_time_total(self) -> float:
        """The total time, in microseconds."""
        return sum(a.self_cpu_time_total for a in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100,
              max_name_column_width: int = 55, **_: Any) -> str:  # fmt: skip
        """The averages as text.

        Args:
            sort_by: ``"cpu_time_total"``, ``"self_cpu_time_total"``, ``"cpu_time"``, ``"count"``;
                None for the order of the first events.
            row_limit: the most rows; -1 for all.
            max_name_column_width: the most characters of a name; longer ones are truncated.
        """
        if sort_by is not None and sort_by not in _SORTS:
            words = ", ".join(map(repr, _SORTS))
            raise ValueError(f"table: sort_by={sort_by!r} is not one of {words}")
        rows = sorted(self, key=lambda a: -getattr(a, sort_by)) if sort_by else list(self)
        whole = self.self_cpu_time_total or 1.0
        cells = [_HEADS]
        for a in rows if row_limit < 0 else rows[:row_limit]:
            name = a.key if len(a.key) <= max_name_column_width else (
                a.key[: max_name_column_width - 3] + "..."
            )  # fmt: skip
            cells.append((
                name, f"{100 * a.self_cpu_time_total / whole:.2f}%", _time(a.self_cpu_time_total),
                f"{100 * a.cpu_time_total / whole:.2f}%", _time(a.cpu_time_total),
                _time(a.cpu_time), str(a.count),
            ))  # fmt: skip
        widths = [max(len(row[k]) for row in cells) for k in range(len(_HEADS))]
        line = "  ".join("-" * w for w in widths)
        made = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
        end = f"Self CPU time total: {_time(self.self_cpu_time_total)}"
        return "\n".join([line, made[0], line, *made[1:], line, end, ""])

    def __str__(self) -> str:
        return self.table()


def _time(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"
