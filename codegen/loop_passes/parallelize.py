"""Cut the outermost loop of a kernel into tasks for threads, where that pays.

The number of tasks depends on the work alone, and partial results are combined in the order of
tasks, so results do not depend on the number of threads.  Each task has private copies of whatever
tasks would write concurrently: accumulators, buffers that a reduction adds to, rows of scratch
memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from typing import Any

import numpy as np

from autojit.codegen.analysis.dependences import overwrites_in_order
from autojit.codegen.analysis.loop_level import IN_TASKS, NO_TASKS, OWN_MEMORY, steps_pass
from autojit.codegen.analysis.task_border import Border
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Fill,
    Finish,
    Load,
    Loop,
    RunTasks,
    Store,
    Tasks,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of, in_sequence, memory, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Scalar
from autojit.codegen.scheduling.remarks import about_loop
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.machine import LAST, current
from autojit.ir.core.types import dtype_from_name

#: Launches of threads that a kernel takes as long as, at least, to be cut into tasks.  Two threads
#: then save as much as two launches take, as measured on an idle machine.
WORTH_TRYING = 4
#: Launches from which on threads are used; below, both ways are timed as the code runs.  On a busy
#: machine a launch takes a tick of the scheduler, some milliseconds.
WORTH_THREADS = 400
#: Launches that a task takes as long as, at least, where there are more than a few; the number of
#: tasks.
WORK_OF_TASK = 16
FEW_TASKS, MOST_TASKS = 4, 64
#: The part of the last level of the caches that tasks' own copies of buffers may take together.
MOST_PRIVATE = 1 / 4


#: What leaves a number as it is, when it is combined with it.
_NEUTRAL: dict[str, Callable[[str], Any]] = {
    "add": lambda dtype: 0.0 if dtype[0] == "f" else 0,
    "mul": lambda dtype: 1.0 if dtype[0] == "f" else 1,
    "maximum": lambda dtype: _extreme(dtype, -1),
    "minimum": lambda dtype: _extreme(dtype, 1),
    "or": lambda dtype: False,
    "and": lambda dtype: True,
}


def identity(combine: str, dtype: str) -> Any:
    """The neutral element of a way to combine scalars.

    >>> identity("maximum", "f32"), identity("minimum", "i8"), identity("maximum", "bool")
    (-inf, 127, False)
    """
    return _NEUTRAL[combine](dtype)


def _extreme(dtype: str, sign: int) -> Any:
    if dtype == "bool":
        return sign > 0
    if dtype[0] == "f":
        return sign * inf
    info = np.iinfo(dtype_from_name(dtype))
    return int(info.max if sign > 0 else info.min)


def launches(count: float) -> int:
    """The work, in additions, that takes as long as so many launches of threads."""
    machine = current()
    return machine.additions(count * machine.costs.launch)


def task_count(work: int) -> int:
    """How many tasks are cut of so much work; 0 where that is not worth it."""
    if work < launches(WORTH_TRYING):
        return 0
    return min(MOST_TASKS, max(FEW_TASKS, work // max(1, launches(WORK_OF_TASK))))


def is_measured(work: int) -> bool:
    """Whether work is so little that threads may be slower, which is seen as the code runs."""
    return work < launches(WORTH_THREADS)


def _line() -> int:
    """Scalars of eight bytes in a line of the caches; tasks write to lines of their own."""
    return current().line // 8


def most_private() -> int:
    """Scalars that tasks' own copies of buffers may have together."""
    return current().cache(LAST, MOST_PRIVATE) // 8


def parallelize(kernel: Kernel, outside: Collection[Buffer] = ()) -> Kernel:
    """The kernel with its main loop cut into tasks, or as it is.

    ``outside`` is memory that other steps of the program touch.  Legal where the loop's iterations
    may run in any order, and what crosses the border of tasks can (see ``task_border``).
    """
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    if not loops:
        return kernel
    main = max(loops, key=lambda s: work([s]))
    made = _cut(kernel, main, outside)
    if isinstance(made, str):
        about_loop("parallelize", kernel, main, f"not cut into tasks for threads: {made}")
        return kernel
    return made


def _cut(kernel: Kernel, main: Loop, outside: Collection[Buffer]) -> Kernel | str:
    """The kernel with a loop cut into tasks, or why it is not."""
    if in_sequence(kernel.body):
        return "steps run in turn, or there are branches"
    amount = work([main])
    count = task_count(amount)
    if count < 2:
        least = launches(WORTH_TRYING)
        return f"it is the work of {amount:,.0f} additions, and threads pay from {least:,.0f} on"
    tasks = min(count, main.stop - main.start)
    if tasks < 2:
        return "it has one iteration"
    if overwrites_in_order([main]):
        return "it sets elements at computed places, where a later iteration may overwrite others"
    return _Cut(kernel, main, tasks, amount).run(outside)


@steps_pass("Cuts loops into tasks for threads.", needs=[NO_TASKS, OWN_MEMORY], keeps=IN_TASKS)
def parallelize_kernels(steps: list[Any]) -> list[Any]:
    """The steps of a program, kernels with their main loops cut into tasks where that pays."""
    touched = Counter(buffer for s in steps for buffer in _touched(s))
    shared = {buffer for buffer, times in touched.items() if times > 1}
    return [parallelize(s, shared) if isinstance(s, Kernel) else s for s in steps]


def _touched(step: Any) -> list[Buffer]:
    return buffers_of(step.body if isinstance(step, Kernel) else [step])


@dataclass
class _Private:
    """A buffer's copies, one a task."""

    shared: Buffer
    copies: Buffer
    stride: int
    #: How copies are combined; those of scratch are not.
    combine: str | None


class _Cut:
    def __init__(self, kernel: Kernel, main: Loop, tasks: int, amount: int) -> None:
        self.kernel = kernel
        self.main = main
        self.tasks = tasks
        self.amount = amount
        self.numbers: Iterator[int] = count(kernel.values)
        at = next(i for i, s in enumerate(kernel.body) if s is main)
        self.before, self.after = kernel.body[:at], kernel.body[at + 1 :]

    def run(self, outside: Collection[Buffer]) -> Kernel | str:
        border = Border.of(self.before, self.main, self.after, outside)
        if isinstance(border, str):
            return border
        size = sum(b.size for b in border.copied)
        if size:
            self.tasks = min(self.tasks, most_private() // size, self.amount // (8 * size))
        if self.tasks < 2:
            return f"each task would need a copy of {size} numbers, as they all add to them"
        self.task = Var(self.tasks)
        self.here = affine.of(self.task)
        for buffer in border.shared:
            buffer.kind = "temp"  # it lies in the arena
        private = [self._private(*pair) for pair in border.copied.items()]
        accumulators = self._accumulators()
        stores, loads = self._handed(border.handed)
        body, after = [*loads, *border.again, *map(Begin, accumulators)], []
        for p in private:
            if p.combine is not None:
                neutral = identity(p.combine, p.copies.dtype)
                body.append(Fill(p.copies, self.here * p.stride, p.shared.size, neutral))
                after.append(self._combine_buffer(p))
        renamed = self._renamed(self.main.body, private)
        body.append(replace(self.main, body=renamed, share=self.task, unroll=False))
        if accumulators:
            partial = self._partials(accumulators, body)
            after.append(self._combine_accumulators(accumulators, partial))
        task_buffers = buffers_of(body)
        measured = is_measured(self.amount)
        step = RunTasks(Tasks(self.task, self.tasks, body, task_buffers, measured))
        new_body = [*self.before, *stores, step, *after, *self.after]
        buffers = dict.fromkeys([*buffers_of(new_body), *task_buffers])
        values, origins = next(self.numbers), self.kernel.origins
        return Kernel(self.kernel.name, new_body, list(buffers), values, origins)

    # -- what is shared ---------------------------------------------------------

    def _private(self, buffer: Buffer, combine: str | None) -> _Private:
        apart = 2 * _line()  # processors load lines in pairs
        stride = -(-buffer.size // apart) * apart
        name = f"{buffer.name}_of_task"
        copies = Buffer(name, buffer.dtype, stride * self.tasks, "temp")
        return _Private(buffer, copies, stride, combine)

    def _handed(self, scalars: list[Scalar]) -> tuple[list[Any], list[Any]]:
        """Scalars stored before the tasks, and loaded in each: a buffer for each dtype."""
        stores: list[Any] = []
        loads: list[Any] = []
        for dtype in dict.fromkeys(s.dtype for s in scalars):
            group = [s for s in scalars if s.dtype == dtype]
            buffer = Buffer(f"{self.kernel.name}_{dtype}_of_tasks", dtype, len(group), "temp")
            stores += [Store(buffer, Affine(i), s) for i, s in enumerate(group)]
            loads += [Load(s, buffer, Affine(i), None) for i, s in enumerate(group)]
        return stores, loads

    def _accumulators(self) -> list[Accumulator]:
        begun = {s.accumulator.number for s in self.before if isinstance(s, Begin)}
        found: dict[int, Accumulator] = {}
        for s in walk(self.main.body):
            if isinstance(s, Accumulate) and s.accumulator.number in begun:
                found[s.accumulator.number] = s.accumulator
        return list(found.values())

    def _renamed(self, body: list[Any], private: list[_Private]) -> list[Any]:
        copies = {p.shared: p for p in private}
        result = []
        for s in body:
            if isinstance(s, Loop):
                s = replace(s, body=self._renamed(s.body, private))
            elif isinstance(s, MatrixProduct):
                s = self._renamed_product(s, copies)
            elif hasattr(s, "buffer") and (p := copies.get(memory(s.buffer))) is not None:
                where = "start" if isinstance(s, Fill) else "index"
                index = getattr(s, where) + self.here * p.stride
                s = replace(s, buffer=p.copies, **{where: index})
            result.append(s)
        return result

    def _renamed_product(self, s: MatrixProduct, copies: dict[Buffer, _Private]) -> MatrixProduct:
        def moved(o: Operand) -> Operand:
            p = copies.get(memory(o.buffer))
            return (
                o
                if p is None
                else replace(o, buffer=p.copies, offset=o.offset + self.here * p.stride)
            )

        c = moved(Operand(s.c, s.c_offset, ()))
        panel = None if s.panel is None else moved(s.panel)
        return replace(s, a=moved(s.a), b=moved(s.b), c=c.buffer, c_offset=c.offset, panel=panel)

    # -- combining --------------------------------------------------------------

    def _partials(self, accumulators: list[Accumulator], body: list[Any]) -> list[Buffer]:
        """Each task's accumulated values, stored by the task."""
        buffers = []
        for a in accumulators:
            buffer = Buffer(f"partial{a.number}", a.dtype, _line() * self.tasks, "temp")
            value = Scalar(next(self.numbers), a.dtype, 0, None)
            body += [Finish(value, a), Store(buffer, self.here * _line(), value)]
            buffers.append(buffer)
        return buffers

    def _combine_accumulators(self, accumulators: list[Accumulator], partial: list[Buffer]) -> Loop:
        task, body = Var(self.tasks), []
        for a, buffer in zip(accumulators, partial, strict=True):
            value = Scalar(next(self.numbers), a.dtype, 1, None)
            index = affine.of(task) * _line()
            body += [Load(value, buffer, index, None), Accumulate(a, value)]
        return Loop(task, 0, self.tasks, body, "reduce")

    def _combine_buffer(self, p: _Private) -> Loop:
        task, place = Var(self.tasks), Var(p.shared.size)
        assert p.combine is not None
        value = Scalar(next(self.numbers), p.shared.dtype, 2, None)
        index = affine.of(task) * p.stride + affine.of(place)
        inner = [
            Load(value, p.copies, index, None),
            AccumulateInto(p.shared, affine.of(place), p.combine, value),
        ]
        loop = Loop(place, 0, p.shared.size, inner, "map")
        return Loop(task, 0, self.tasks, [loop], "reduce")
