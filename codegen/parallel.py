"""Threads: the outermost loop of a kernel is cut into tasks, where that pays.

How many tasks there are depends on the work alone, and what they reduce is
combined in their order, so results do not depend on the number of threads.
What tasks would write to together (accumulators, buffers that a reduction adds
to, rows of scratch) each task has for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Any

from . import affine
from .affine import Affine, Var
from .loops import (
    Accumulate,
    AccumulateInto,
    Accumulator,
    Begin,
    Buffer,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Kernel,
    Load,
    Loop,
    MatrixProduct,
    Operand,
    RunTasks,
    Scalar,
    ScatterInto,
    Store,
    Tasks,
)
from .walk import buffers_of, in_sequence, used, walk

#: A kernel with less work (in additions) than this stays on one thread.
WORTH_TRYING = 250_000
#: From here on threads are used; below, both ways are timed as the code runs.
WORTH_THREADS = 25_000_000
#: The work of one task, at least, where there are more than a few; and the number of tasks.
WORK_OF_TASK = 1_000_000
FEW_TASKS, MOST_TASKS = 4, 64
#: Scalars that tasks' own copies of buffers may take together.
MOST_PRIVATE = 1 << 19
#: So many multiplications of a matrix product take about as long as an addition of a loop.
AT_A_TIME = 4

_COSTS = {"div": 4, "sqrt": 4, "add": 1, "sub": 1, "mul": 1, "neg": 1, "select": 1, "convert": 1}
_PURE = (Compute, Constant, IndexValue, InRange, Load, Gather)
_WRITES = (Store, AccumulateInto, Fill, ScatterInto)


def work(body: list[Any]) -> int:
    """A rough number of additions that statements amount to."""
    total = 0
    for s in body:
        if isinstance(s, Loop):
            total += _work_of_loop(s)
        elif isinstance(s, Compute):
            total += _COSTS.get(s.name, 1 if s.result.dtype == "bool" else 10)
        elif isinstance(s, MatrixProduct):
            total += multiplications(s) // AT_A_TIME
        else:
            total += 1
    return total


def _work_of_loop(loop: Loop) -> int:
    """What is the same in each iteration is computed once."""
    once = each = 0
    changing: set[Scalar] = set()
    for s in loop.body:
        is_same = isinstance(s, _PURE) and changing.isdisjoint(used(s))
        if is_same and loop.var not in getattr(s, "index", Affine(0)).variables():
            once += work([s])
            continue
        each += work([s])
        if (result := getattr(s, "result", None)) is not None:
            changing.add(result)
    return once + (each if loop.only is not None else (loop.stop - loop.start) * each)


def multiplications(product: MatrixProduct) -> int:
    """How many a matrix product takes."""
    return prod(product.batch) * product.m * product.n * product.k


def parallelize(kernel: Kernel) -> Kernel:
    """The kernel with its main loop cut into tasks, or as it is."""
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    if not loops or in_sequence(kernel.body):
        return kernel
    main = max(loops, key=lambda s: work([s]))
    amount = work([main])
    tasks = min(MOST_TASKS, max(FEW_TASKS, amount // WORK_OF_TASK), main.stop - main.start)
    if amount < WORTH_TRYING or tasks < 2 or _in_order([main]):
        return kernel
    return _Cut(kernel, main, tasks, amount).run()


def _in_order(body: list[Any]) -> bool:
    """Whether a later iteration may overwrite what an earlier one has written."""
    return any(isinstance(s, ScatterInto) and s.combine == "set" for s in walk(body))


@dataclass
class _Private:
    """A buffer's copies, one a task."""

    shared: Buffer
    copies: Buffer
    stride: int
    fill: Fill | None


class _Cut:
    def __init__(self, kernel: Kernel, main: Loop, tasks: int, amount: int) -> None:
        self.kernel = kernel
        self.main = main
        self.tasks = tasks
        self.amount = amount
        self.numbers: Iterator[int] = count(kernel.values)
        at = next(i for i, s in enumerate(kernel.body) if s is main)
        self.before, self.after = kernel.body[:at], kernel.body[at + 1 :]

    def run(self) -> Kernel:
        shared = self._written_together()
        size = sum(b.size for b in shared)
        if size:
            self.tasks = min(self.tasks, MOST_PRIVATE // size, self.amount // (8 * size))
        if self.tasks < 2:
            return self.kernel
        self.task = Var(self.tasks)
        self.here = affine.of(self.task)
        private = [self._private(b) for b in shared]
        accumulators = self._accumulators()
        body, after = [*self._setup(), *map(Begin, accumulators)], []
        for p in private:
            if p.fill is not None:
                body.append(replace(p.fill, buffer=p.copies, start=self.here * p.stride))
                after.append(self._combine_buffer(p))
        loop = replace(self.main, body=self._renamed(self.main.body, private), share=self.task)
        body.append(loop)
        if accumulators:
            partial = self._partials(accumulators, body)
            after.append(self._combine_accumulators(accumulators, partial))
        task_buffers = buffers_of(body)
        measured = self.amount < WORTH_THREADS
        step = RunTasks(Tasks(self.task, self.tasks, body, task_buffers, measured))
        new_body = [*self.before, step, *after, *self.after]
        buffers = dict.fromkeys([*buffers_of(new_body), *task_buffers])
        return Kernel(self.kernel.name, new_body, list(buffers), next(self.numbers))

    # -- what is shared ---------------------------------------------------------

    def _written_together(self) -> list[Buffer]:
        """Buffers of the arena or the results that several iterations write to."""
        found: dict[Buffer, None] = {}
        for s in walk(self.main.body):
            if isinstance(s, MatrixProduct):
                results = [Operand(s.c, s.c_offset, ()), s.panel]
                for o in (o for o in results if o is not None):
                    if self.main.var not in o.offset.variables():
                        found[o.buffer] = None
            if isinstance(s, _WRITES) and s.buffer.kind != "local":
                index = s.start if isinstance(s, Fill) else s.index
                if self.main.var not in index.variables() or isinstance(s, ScatterInto):
                    found[s.buffer] = None
        return list(found)

    def _private(self, buffer: Buffer) -> _Private:
        fills = [s for s in self.before if isinstance(s, Fill) and s.buffer is buffer]
        if not fills and self._is_added_to(buffer):  # what is in it stays, the tasks start from 0
            fills = [Fill(buffer, Affine(0), buffer.size, 0)]
        stride = -(-buffer.size // 16) * 16  # whole cache lines
        name = f"{buffer.name}_of_task"
        copies = Buffer(name, buffer.dtype, stride * self.tasks, "temp")
        return _Private(buffer, copies, stride, fills[-1] if fills else None)

    def _is_added_to(self, buffer: Buffer) -> bool:
        body = walk(self.main.body)
        return any(isinstance(s, ScatterInto) and s.buffer is buffer for s in body)

    def _accumulators(self) -> list[Accumulator]:
        begun = {s.accumulator.number for s in self.before if isinstance(s, Begin)}
        found: dict[int, Accumulator] = {}
        for s in walk(self.main.body):
            if isinstance(s, Accumulate) and s.accumulator.number in begun:
                found[s.accumulator.number] = s.accumulator
        return list(found.values())

    def _setup(self) -> list[Any]:
        """The scalars from before the loop that its body needs, computed in the task again."""
        needed = {a.number for s in walk(self.main.body) for a in used(s)}
        kept: list[Any] = []
        for s in reversed(self.before):
            if isinstance(s, _PURE) and s.result.number in needed:
                kept.append(s)
                needed |= {a.number for a in used(s)}
        return kept[::-1]

    def _renamed(self, body: list[Any], private: list[_Private]) -> list[Any]:
        copies = {p.shared: p for p in private}
        result = []
        for s in body:
            if isinstance(s, Loop):
                s = replace(s, body=self._renamed(s.body, private))
            elif isinstance(s, MatrixProduct):
                s = self._renamed_product(s, copies)
            elif (p := copies.get(getattr(s, "buffer", None))) is not None:  # type: ignore[arg-type]
                where = "start" if isinstance(s, Fill) else "index"
                index = getattr(s, where) + self.here * p.stride
                s = replace(s, buffer=p.copies, **{where: index})
            result.append(s)
        return result

    def _renamed_product(self, s: MatrixProduct, copies: dict[Buffer, _Private]) -> MatrixProduct:
        def moved(o: Operand) -> Operand:
            p = copies.get(o.buffer)
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
            buffer = Buffer(f"partial{a.number}", a.dtype, 8 * self.tasks, "temp")
            value = Scalar(next(self.numbers), a.dtype, 0, None)
            body += [Finish(value, a), Store(buffer, self.here * 8, value)]
            buffers.append(buffer)
        return buffers

    def _combine_accumulators(self, accumulators: list[Accumulator], partial: list[Buffer]) -> Loop:
        task, body = Var(self.tasks), []
        for a, buffer in zip(accumulators, partial, strict=True):
            value = Scalar(next(self.numbers), a.dtype, 1, None)
            index = affine.of(task) * 8
            body += [Load(value, buffer, index, None), Accumulate(a, value)]
        return Loop(task, 0, self.tasks, body, "reduce")

    def _combine_buffer(self, p: _Private) -> Loop:
        task, place = Var(self.tasks), Var(p.shared.size)
        combine = next(
            getattr(s, "combine", "add")
            for s in walk(self.main.body)
            if isinstance(s, (AccumulateInto, ScatterInto)) and s.buffer is p.shared
        )
        value = Scalar(next(self.numbers), p.shared.dtype, 2, None)
        index = affine.of(task) * p.stride + affine.of(place)
        inner = [
            Load(value, p.copies, index, None),
            AccumulateInto(p.shared, affine.of(place), combine, value),
        ]
        loop = Loop(place, 0, p.shared.size, inner, "map")
        return Loop(task, 0, self.tasks, [loop], "reduce")
