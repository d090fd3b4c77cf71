"""All threads of a kernel are run at once.

A scalar is an array over the threads, and a statement is run for all threads that reach it: in a
loop, those that are still in it; in a branch, those that take it.  This is one of the orders in
which a device may run threads; the check for races ensures that the others have the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.failures import (
    NEGATIVE_POWER,
    TAPE_IS_FULL,
    failure_words,
)
from autojit.codegen.cuda.device_program.nodes import (
    Atomic,
    Barrier,
    Combine,
    DeviceKernel,
    Digit,
    Fail,
    Failed,
    Let,
    Meeting,
    Share,
    Together,
    When,
)
from autojit.codegen.cuda.device_program.text import line_of
from autojit.codegen.loop_ir.errors import is_check
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Branch, Keep, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import memory as root_of
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer
from autojit.codegen.loop_text.memory import Memory, OutOfMemory
from autojit.ir.core.types import dtype_from_name

from .coalescing import Coalescing
from .races import RaceError
from .threads import Lanes, LaunchError, Threads, set_for
from .words import converted, digit, evaluate


def run_blocks(
    kernel: DeviceKernel, blocks: np.ndarray, memory: Memory, shadows: dict[int, Any],
    status: np.ndarray, places: dict[str, int], counter: Coalescing | None = None,
) -> None:  # fmt: skip
    """Run some of a kernel's blocks."""
    launch = _Launch(kernel, blocks, memory, shadows, status, places, counter)
    try:
        launch.body(kernel.body, np.arange(len(blocks) * kernel.threads))
    except (RaceError, LaunchError, OutOfMemory) as error:
        line = line_of(kernel, launch.current)
        raise type(error)(f"kernel {kernel.name}: {line}: {error}") from None


class _Launch(Threads):
    """Runs the statements of a kernel."""

    def body(self, statements: list[Any], at: Lanes) -> None:
        if not len(at):
            return
        for s in statements:
            self.current = s
            _HANDLERS[type(s)](self, s, at)

    # -- scalars ----------------------------------------------------------------

    def compute(self, s: Compute, at: Lanes) -> None:
        args = [self.of(a, at) for a in s.args]
        if is_check(s.name):
            self.fail(s.name, ~args[0], at)
            self.define(s.result, args[1], at)
            return
        if s.name == "pow" and args[0].dtype.kind == "i":
            self.fail(NEGATIVE_POWER, args[1] < 0, at)
            args[0] = np.where(args[1] < 0, 0, args[0])
        self.define(s.result, evaluate(s.name, args, s.result.dtype), at)

    def digit(self, s: Digit, at: Lanes) -> None:
        self.define(s.result, digit(self.of(s.value, at), self.of(s.shift, at)), at)

    def fails(self, s: Fail, at: Lanes) -> None:
        self.fail(s.words, self.of(s.condition, at), at)

    def has_failed(self, s: Failed, at: Lanes) -> None:
        self.teams(self.kernel.threads, 1, at)
        words = (failure_words(x) for x in walk(self.kernel.body))
        self.define(s.result, self.have_failed({w for w in words if w}, at), at)
        self.block_epoch[at] += 1

    def constant(self, s: Constant, at: Lanes) -> None:
        self.define(s.result, s.value, at)

    def index_value(self, s: IndexValue, at: Lanes) -> None:
        kind = dtype_from_name(s.result.dtype)
        self.define(s.result, converted(self.index(s.index, at), kind), at)

    def in_range(self, s: InRange, at: Lanes) -> None:
        index = self.index(s.index, at)
        found = (index >= s.low) & (index < s.high) & ((index - s.low) % s.step == 0)
        self.define(s.result, found, at)

    # -- memory -----------------------------------------------------------------

    def load(self, s: Load | Gather, at: Lanes) -> None:
        if s.guard is None:
            self.define(s.result, self.read(s, self.address(s, at), at), at)
            return
        holds = self.of(s.guard, at)
        self.define(s.result, 0, at)
        at = at[holds]
        self.define(s.result, self.read(s, self.address(s, at), at), at)

    def store(self, s: Any, at: Lanes) -> None:
        """Run a Store, or a statement that combines a value with an element."""
        array, cells = self.cells(s.buffer, self.address(s, at), at)
        value = self.of(s.value, at)
        combine = getattr(s, "combine", "set")
        if combine != "set":
            self.check("read", s.buffer, array, cells, at)
            value = evaluate(combine, [array[cells], value], s.buffer.dtype)
        self.check("write", s.buffer, array, cells, at)
        array[cells] = value

    def atomic(self, s: Atomic, at: Lanes) -> None:
        array, cells = self.cells(s.buffer, self.address(s, at), at)
        self.check("add", s.buffer, array, cells, at)
        combine = {"add": np.add, "maximum": np.maximum}[s.combine]
        combine.at(array, cells, self.of(s.value, at))

    def fill(self, s: Fill, at: Lanes) -> None:
        start = self.index(s.start, at)
        for offset in range(s.count):
            array, cells = self.cells(s.buffer, start + offset, at)
            self.check("write", s.buffer, array, cells, at)
            array[cells] = s.value

    def swap(self, s: Swap, at: Lanes) -> None:
        if self.swapping is None:
            self.swapping = at
        if not np.array_equal(at, self.swapping):
            raise LaunchError("buffers change places for some threads only")
        first, second = root_of(s.first), root_of(s.second)
        for arrays in (self.private, self.shared, self.arrays):
            if first in arrays and second in arrays:
                arrays[first], arrays[second] = arrays[second], arrays[first]
                return
        raise LaunchError(f"{first} and {second} are not memory of one kind")

    # -- accumulators -----------------------------------------------------------

    def begin(self, s: Begin, at: Lanes) -> None:
        a = s.accumulator
        set_for(self.accumulators, a.number, a.identity, at, self.count, a.dtype)

    def add(self, a: Accumulator, value: np.ndarray, at: Lanes) -> None:
        array = self.accumulators[a.number]
        array[at] = evaluate(a.combine, [array[at], value], a.dtype)

    def accumulate(self, s: Accumulate, at: Lanes) -> None:
        self.add(
            s.accumulator, self.of(s.value, at).astype(dtype_from_name(s.accumulator.dtype)), at
        )

    def finish(self, s: Finish, at: Lanes) -> None:
        self.define(s.result, self.accumulators[s.accumulator.number][at], at)

    def combine(self, s: Combine, at: Lanes) -> None:
        teams = self.teams(s.width, s.stride, at)
        a = s.accumulator
        values = self.accumulators[a.number]
        rows = values[teams]
        while rows.shape[1] > 1:
            half = rows.shape[1] // 2
            rows = evaluate(a.combine, [rows[:, :half], rows[:, half:]], a.dtype)
        values[teams] = rows
        if s.stride > 1 or s.width > self.kernel.warp:
            self.block_epoch[at] += 1  # through shared memory, with a barrier

    def barrier(self, s: Barrier, at: Lanes) -> None:
        self.teams(s.width, 1, at)
        if s.width == self.kernel.threads:
            self.block_epoch[at] += 1
        else:
            self.team_epoch[at] += 1

    def meeting(self, s: Meeting, at: Lanes) -> None:
        """Order everything before with everything after, for all threads of the launch."""
        if len(at) != self.kernel.lanes:
            raise LaunchError("some threads of the launch do not come here, and the others wait")
        arrived = self.arrays[root_of(s.arrived)]
        if arrived[0] % self.kernel.grid or not 0 <= arrived[0] < 1 << 62:
            raise LaunchError(f"{arrived[0]} blocks have arrived before the first one")
        arrived[0] += self.kernel.grid
        self.shadows.clear()

    # -- loops --------------------------------------------------------------------

    def share(self, s: Share, at: Lanes) -> None:
        self.set_var(s.var, self.index(s.first, at), at)
        at = at[self.vars[s.var][at] < s.stop]
        while len(at):
            self.body(s.body, at)
            self.vars[s.var][at] += s.step
            at = at[self.vars[s.var][at] < s.stop]

    def together(self, s: Together, at: Lanes) -> None:
        """Run one access of each thread; its elements are counted as one access."""
        first, count = self.index(s.body[0].index, at), len(s.body)
        if (first % count).any():
            raise LaunchError(f"{count} neighbours do not begin at a multiple of that")
        for number, each in enumerate(s.body):
            if (
                each.buffer is not s.body[0].buffer
                or (self.index(each.index, at) != first + number).any()
            ):
                raise LaunchError("what is done at once are no neighbours")
        with nullcontext() if self.counter is None else self.counter.as_one():
            self.body(s.body, at)

    def let(self, s: Let, at: Lanes) -> None:
        self.set_var(s.var, self.index(s.value, at), at)

    def when(self, s: When, at: Lanes) -> None:
        index = self.index(s.index, at)
        self.body(s.body, at[(index >= s.low) & (index < s.high)])

    def loop(self, s: Loop, at: Lanes) -> None:
        for number in range(s.start, s.stop):
            self.set_var(s.var, number, at)
            self.body(s.body, at)

    def branch(self, s: Branch, at: Lanes) -> None:
        index = np.clip(self.of(s.index, at).astype(np.int64), 0, len(s.bodies) - 1)
        for number, body in enumerate(s.bodies):
            self.body(body, at[index == number])

    def repeat(self, s: Repeat, at: Lanes) -> None:
        step, everyone = 0, at
        words = {w for x in walk([*s.condition, *s.body]) if (w := failure_words(x))}
        words = set() if any(isinstance(x, Failed) for x in s.body) else words
        counts = np.zeros(self.count, int)
        while len(at):
            self.set_var(s.step, step, at)
            self.body(s.condition, at)
            at = at[self.of(s.test, at)]
            if len(at) and any(self.is_full(tape, step) for tape in s.tapes):
                self.fail(TAPE_IS_FULL, at >= 0, at)
                break
            at = at[~self.have_failed(words, at)]
            self.body(s.body, at)
            counts[at] += 1
            step += 1
        found = self.trips.setdefault(s.trips, np.zeros(self.count, int))
        found[everyone] = counts[everyone]

    def is_full(self, tape: Buffer, step: int) -> bool:
        """Whether a tape has no room for this step."""
        root = root_of(tape)
        return len(self.arrays[root]) < (step + 1) * root.size

    def steps(self, s: Steps, at: Lanes) -> None:
        trips = self.trips[s.trips]
        for number in range(int(trips[at].max(initial=0))):
            here = at[trips[at] > number]
            self.set_var(s.step, trips[here] - 1 - number if s.backward else number, here)
            self.body(s.body, here)

    def keep(self, s: Keep, at: Lanes) -> None:
        array, cells = self.cells(s.note, np.zeros(len(at), int), at)
        self.check("write", s.note, array, cells, at)
        array[cells] = self.trips[s.trips][at]

    def recall(self, s: Recall, at: Lanes) -> None:
        array, cells = self.cells(s.note, np.zeros(len(at), int), at)
        self.check("read", s.note, array, cells, at)
        self.trips.setdefault(s.trips, np.zeros(self.count, int))[at] = array[cells]

    def nothing(self, s: Any, at: Lanes) -> None:
        """Do nothing: the program owns the memory of tapes."""


_HANDLERS: dict[type, Callable[[_Launch, Any, Lanes], None]] = {
    Compute: _Launch.compute,
    Constant: _Launch.constant,
    Digit: _Launch.digit,
    Fail: _Launch.fails,
    Failed: _Launch.has_failed,
    IndexValue: _Launch.index_value,
    InRange: _Launch.in_range,
    Load: _Launch.load,
    Gather: _Launch.load,
    ScatterInto: _Launch.store,
    Store: _Launch.store,
    AccumulateInto: _Launch.store,
    Atomic: _Launch.atomic,
    Fill: _Launch.fill,
    Begin: _Launch.begin,
    Accumulate: _Launch.accumulate,
    Finish: _Launch.finish,
    Combine: _Launch.combine,
    Barrier: _Launch.barrier,
    Meeting: _Launch.meeting,
    Share: _Launch.share,
    Together: _Launch.together,
    Let: _Launch.let,
    When: _Launch.when,
    Loop: _Launch.loop,
    Branch: _Launch.branch,
    Repeat: _Launch.repeat,
    Steps: _Launch.steps,
    Swap: _Launch.swap,
    Release: _Launch.nothing,
    Keep: _Launch.keep,
    Recall: _Launch.recall,
}
