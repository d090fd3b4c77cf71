"""The times of the parts of compiled code: loop nests and library calls.

Besides a program's plain code there is a second form with a clock between its parts
(``cpu/entry_point/timed_core.py``), with its own key on disk. Reading the clock costs about ten
nanoseconds (:func:`costs` measures it: 8 to 25 ns on x86), which is subtracted. Parts that take
less than :data:`SHORT` per run are not distinguishable from this cost, and are marked.

The time of tasks on several threads is the time of the thread that waits for them.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .executable import Executable, canonical

if TYPE_CHECKING:
    from autojit.codegen.analysis.measured import Part
    from autojit.codegen.cpu.abi.abi import Convention
    from autojit.codegen.cpu.entry_point.core import Core
    from autojit.codegen.loop_ir.program import LoopProgram
    from autojit.ir.core.program import Program

#: Nanoseconds per run that cannot be distinguished from the clock's own time.
SHORT = 50
#: How often an empty measurement is repeated to find its cost, and the fewest seconds between two
#: readings of both clocks.
_TIMES, _SPAN = 20_000, 0.01


@dataclass(frozen=True, slots=True)
class StepTime:
    """The number of runs of a part of a program, and their total seconds."""

    name: str
    #: ``loops``, ``product``, ``callback``, or the library's function: ``cholesky``.
    kind: str
    count: int
    seconds: float
    #: Its place: the number of its step, then its number among the step's parts.
    number: tuple[int, ...]

    @property
    def is_short(self) -> bool:
        """Whether one run is too short for its time to be meaningful."""
        return self.seconds * 1e9 < SHORT * max(self.count, 1)


class Costs(NamedTuple):
    """The seconds that measuring costs: for consecutive steps, and for a part inside a loop, the
    share that is counted in the part and the whole."""

    step: float
    within: float
    around: float


class TimedRun(NamedTuple):
    """The results of a call, and the start and end of its code (``time.perf_counter``)."""

    results: list[Any]
    begun: float
    ended: float
    #: The number of runs of each part, and the clock's ticks.
    counts: np.ndarray
    ticks: np.ndarray


class TimedExecutable(Executable):
    """A program compiled so that its parts measure their times."""

    def __init__(self, plain: Executable) -> None:
        super().__init__(plain.source, plain._cache, plain._version)
        self.plain = plain
        self._parts: list[Part] | None = None
        #: Builtins that no call is using, each with its own memory for times.
        self._idle: list[tuple[Callable[..., Any], np.ndarray]] = []

    @property
    def optimized(self) -> Program:
        return self.plain.optimized

    @property
    def loops(self) -> LoopProgram:
        return self.plain.loops

    @property
    def parts(self) -> list[Part]:
        """The timed parts, in order."""
        if self._parts is None:
            from autojit.codegen.analysis.measured import parts_of

            self._parts = parts_of(self.loops)
        return self._parts

    def run(self, arrays: Sequence[Any]) -> TimedRun:
        """Return the outputs for arrays of the input types, in any memory layout, with times.

        Calls on several threads, and calls from a callback, do not see each other's times.
        """
        exact = [canonical(a, t.dtype) for a, t in zip(arrays, self.in_types, strict=True)]
        native, times = self._taken()
        times[:] = 0
        begun = time.perf_counter()
        results = native(*exact)
        ended = time.perf_counter()
        if results is None:
            raise TypeError(f"compiled for {self.in_types}, called with {exact}")
        counts, ticks = times.reshape(-1, 2).T.copy()
        self._idle.append((native, times))
        return TimedRun(list(results), begun, ended, counts, ticks)

    def times(self, counts: np.ndarray, ticks: np.ndarray) -> list[StepTime]:
        """Return the times of parts that ran, from sums over runs, without the clock's own time."""
        cost, rate = costs(), seconds_per_tick()
        net = ticks * rate
        for k, part in enumerate(self.parts):
            net[k] -= counts[k] * (cost.step if len(part.number) == 1 else cost.within)
            if len(part.number) > 1:
                net[self._place[part.number[:1]]] -= counts[k] * cost.around
        return [
            StepTime(part.name, part.kind, int(count), max(0.0, float(seconds)), part.number)
            for part, count, seconds in zip(self.parts, counts, net, strict=True)
            if count
        ]

    @property
    def _place(self) -> dict[tuple[int, ...], int]:
        return {part.number: k for k, part in enumerate(self.parts)}

    def _taken(self) -> tuple[Callable[..., Any], np.ndarray]:
        """Take a builtin that no other call uses; the first one is compiled or loaded."""
        try:
            return self._idle.pop()
        except IndexError:
            pass
        times = np.zeros(2 * max(1, len(self.parts)), np.int64)
        return self._caller(self._general(), (None,) * len(self.in_types), (), times), times

    def _key(self, convention: Convention) -> dict[str, Any] | None:
        key = super()._key(convention)
        return None if key is None else {**key, "timed": True}

    def _writer(self) -> type[Core]:
        from autojit.codegen.cpu.entry_point.timed_core import TimedCore

        return TimedCore


def timed_form(plain: Executable) -> TimedExecutable | None:
    """Return the code of a program that measures times, ready to run; None without a clock."""
    from autojit.codegen.cpu.abi.clock import has_clock

    if not has_clock():
        return None
    if plain.timed is None:
        plain.timed = TimedExecutable(plain)
    timed: TimedExecutable = plain.timed
    if not timed._idle:
        timed._idle.append(timed._taken())
        start_clock()
    return timed


def timed_steps(executable: Executable, arrays: Sequence[Any]) -> list[StepTime]:
    """Return the times of the parts of one call.

    >>> from autojit.staging.execute import executable
    >>> code = executable(autojit.trace(lambda x: np.exp(x).sum())(np.ones(1000)))
    >>> [(step.name, step.kind, step.count) for step in timed_steps(code, [np.ones(1000)])]
    [('k0', 'loops', 1)]
    """
    timed = TimedExecutable(executable)
    run = timed.run(arrays)
    return timed.times(run.counts, run.ticks)


# -- the clock -------------------------------------------------------------------------


class _Clock:
    """Access to the clock of compiled code from Python."""

    def __init__(self) -> None:
        from autojit.codegen.cpu.abi import abi
        from autojit.codegen.cpu.entry_point import timed_core

        self.times = np.zeros(2 * len(timed_core.CostPart), np.int64)
        numbers = [*abi.fixed_table(), 0, 0, 0, 0, self.times.ctypes.data]
        self.table = (ctypes.c_int64 * len(numbers))(*numbers)
        address, self._owner = _function(timed_core.clock_module)
        self._now = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
        self.first = self.look()

    def look(self) -> tuple[int, int]:
        """Return ticks and nanoseconds of ``time.perf_counter`` at one moment: the fastest of
        several readings."""
        looks = []
        for _ in range(10):
            before = time.perf_counter_ns()
            ticks = self._now(self.table)
            after = time.perf_counter_ns()
            looks.append((after - before, ticks, (before + after) // 2))
        _, ticks, nanoseconds = min(looks)
        return ticks, nanoseconds


@cache
def _clock() -> _Clock:
    return _Clock()


def start_clock() -> None:
    """Read the clock, so that its rate is known later."""
    _clock()


def seconds_per_tick() -> float:
    """Return the seconds per tick of compiled code's clock."""
    (ticks, nanoseconds), clock = _clock().first, _clock()
    rest = _SPAN - (time.perf_counter_ns() - nanoseconds) / 1e9
    if rest > 0:
        time.sleep(rest)
    now = clock.look()
    return (now[1] - nanoseconds) / (now[0] - ticks) / 1e9


@cache
def costs() -> Costs:
    """Return the cost of measuring a time on this machine, the least of several rounds."""
    from autojit.codegen.cpu.entry_point import timed_core

    clock = _clock()
    address, _owner = _function(timed_core.cost_module)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)
    rounds = []
    for _ in range(5):
        clock.times[:] = 0
        run(clock.table, _TIMES)
        rounds.append(clock.times.reshape(-1, 2)[:, 1].copy())
    least = np.min(rounds, axis=0) * seconds_per_tick() / _TIMES
    return Costs(*(float(least[part]) for part in timed_core.CostPart))


def _function(write: Callable[[str], Any]) -> tuple[int, Any]:
    """Compile a function now. Return its address, and an object that owns its code."""
    from autojit.codegen.cpu.host.engine import Compiled, serial
    from autojit.codegen.cpu.llvm import library
    from autojit.codegen.cpu.llvm.counted import text

    symbol = f"autojit_clock_{serial()}"
    module = write(symbol)
    compiled = Compiled([text(module)], library.used(module))
    return compiled.address(symbol), compiled
