"""Cut the outermost loop of a kernel into tasks for threads, where that pays.

The number of tasks depends on the work alone, and partial results are combined in the order of
tasks, so results do not depend on the number of threads.  Each task has private copies of whatever
tasks would write concurrently: accumulators, buffers that a reduction adds to, rows of scratch
memory.

Legal where the iterations of the loop may run in any order, and what crosses the border of tasks
can (see ``task_border``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from autojit.codegen.analysis.dependences import overwrites_in_order
from autojit.codegen.analysis.loop_level import IN_TASKS, NO_TASKS, OWN_MEMORY, steps_pass
from autojit.codegen.analysis.task_border import Border
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Begin,
    Load,
    Loop,
    RunTasks,
    Store,
    Tasks,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of, in_sequence, redirected, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.codegen.loop_passes.tasks.copies import Copies, Partials
from autojit.codegen.loop_passes.tasks.task_cost import (
    is_measured,
    least_work,
    most_private,
    task_count,
)
from autojit.codegen.scheduling.remarks import about_loop
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var


def parallelize(kernel: Kernel, outside: Collection[Buffer] = ()) -> Kernel:
    """The kernel with its main loop cut into tasks, or unchanged.

    ``outside`` is memory that other steps of the program touch.
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
    """The kernel with a loop cut into tasks, or the reason why not."""
    if in_sequence(kernel.body):
        return "steps run in turn, or there are branches"
    amount = work([main])
    count = task_count(amount)
    if count < 2:
        least = least_work()
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
        private = [Copies.of(buffer, self.tasks, how) for buffer, how in border.copied.items()]
        accumulators = self._accumulators()
        stores, loads = self._handed(border.handed)
        body, after = [*loads, *border.again, *map(Begin, accumulators)], []
        for p in private:
            if p.combine is not None:
                body.append(p.begun(self.here))
                after.append(p.combined(self.numbers))
        copies = {p.shared: (p.copies, self.here * p.stride) for p in private}
        renamed = redirected(self.main.body, copies)
        body.append(replace(self.main, body=renamed, share=self.task, unroll=False))
        if accumulators:
            partial = Partials(accumulators, self.tasks)
            body += partial.stored(self.here, self.numbers)
            after.append(partial.combined(self.numbers))
        task_buffers = buffers_of(body)
        measured = is_measured(self.amount)
        step = RunTasks(Tasks(self.task, self.tasks, body, task_buffers, measured))
        new_body = [*self.before, *stores, step, *after, *self.after]
        buffers = dict.fromkeys([*buffers_of(new_body), *task_buffers])
        values, origins = next(self.numbers), self.kernel.origins
        return Kernel(self.kernel.name, new_body, list(buffers), values, origins)

    # -- what is shared ---------------------------------------------------------

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
