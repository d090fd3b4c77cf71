"""A verifier of loop programs: what a pass over loops may not break.

It runs after each pass where ``ACTIVE`` is set, as the tests have it, and knows scopes: a kernel is
a function, a task is another one, and what a body computes is known in that body only.

- Scalars are computed once in a scope that sees them, before they are used.  Accumulators are begun
  before they are added to, and finished where they were begun.
- Loops have iterations and bounds of their own; those that tasks share are neither unrolled nor
  inside of each other.  A loop of the role ``map`` adds nothing up, and of ``map`` and ``reduce``
  no iteration surely touches an element that another one writes (``iterations``).
- Memory is written before it is read: locals in their function, temporaries and results in the
  program (``exposed``).  Tasks write elements that depend on their number or their share.
- Indices are within their buffers, for all iterations of the loops around.
- Kernels and tasks name the buffers that they use.

Not decided, and taken to be right: guarded reads, computed places, indices with quotients, reads of
memory of which something unknown has been written, and whether tasks whose indices depend on their
number or share write the same element after all.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Branch,
    Buffer,
    Factorization,
    Fill,
    Finish,
    Gather,
    Kernel,
    Load,
    Loop,
    LoopProgram,
    MatrixProduct,
    Operand,
    Recall,
    Repeat,
    RunTasks,
    Scalar,
    ScatterInto,
    Steps,
    Store,
)
from autojit.codegen.loop_ir.text import text_of
from autojit.codegen.loop_ir.traversal import buffers_named, buffers_of, memory, used, walk
from autojit.ir.core.affine import Affine, Quotient, Var

from .exposed import Reads
from .iterations import meet

#: Whether loops are verified after each pass: for tests, since it takes a tenth of the time.
ACTIVE = False
#: The most tasks: bits of the word by which they are claimed.
_MOST_TASKS = 64
_ROLES = ("map", "reduce", "sequence")
_WRITES = (AccumulateInto, Fill, ScatterInto, Store)

S = TypeVar("S")


class BrokenLoops(AssertionError):
    """A loop program that is wrong, with its text."""


def checked(name: str, run: Callable[[S], S], step: S) -> S:
    """What a pass makes of a kernel; verified, if it is something new."""
    if not ACTIVE or not isinstance(step, Kernel):
        return run(step)
    before = [s for s in walk(step.body) if isinstance(s, Loop)]
    made = run(step)
    if isinstance(made, Kernel):
        after = [s for s in walk(made.body) if isinstance(s, Loop)]
        if made is not step or list(map(id, before)) != list(map(id, after)):
            verify_kernel(made, name)
    return made


def verify_kernel(kernel: Kernel, name: str = "") -> None:
    """Raise BrokenLoops if a kernel is wrong in itself, after the pass of that name."""
    _Check(kernel.body, name).kernel(kernel)


def verify(program: LoopProgram) -> None:
    """Raise BrokenLoops if a finished program is wrong."""
    reads = Reads({})
    for step in program.steps:
        body = step.body if isinstance(step, Kernel) else [step]
        check = _Check(body, "")
        if isinstance(step, Kernel):
            check.kernel(step)
        reads.follow(body)
        check.memory(reads, ("temp", "output"))
        reads.written = {b: w for b, w in reads.written.items() if b.kind != "local"}
        reads.exposed.clear()


class _Check:
    """One function: a kernel, or a task of it."""

    def __init__(self, whole: list[Any], name: str, task: Var | None = None) -> None:
        self.whole = whole
        self.name = name
        self.task = task
        self.known: set[int] = set()
        self.bounds: dict[Var, tuple[int, int]] = {}
        #: Accumulators that are begun and not finished: how many loops are around, by number.
        self.begun: dict[int, int] = {}
        self.around: list[Loop] = []
        self.trips: set[Any] = set()

    def fail(self, problem: str, statement: Any) -> None:
        line, text = text_of(self.whole, statement)
        after = f" after {self.name}" if self.name else ""
        raise BrokenLoops(f"{problem}{after}:\n  {line}\n\n{text}")

    def kernel(self, kernel: Kernel) -> None:
        self._names(kernel.body, kernel.buffers)
        self.body(kernel.body)
        reads = Reads({})
        reads.follow(kernel.body)
        self.memory(reads, ("local",))

    def _names(self, body: list[Any], buffers: list[Buffer]) -> None:
        missing = set(buffers_of(body)) - set(map(memory, buffers))
        for s in walk(body) if missing else ():
            if not missing.isdisjoint(map(memory, buffers_named(s))):
                self.fail("a buffer that its function does not name", s)

    def memory(self, reads: Reads, kinds: tuple[str, ...]) -> None:
        for buffer, s in reads.exposed.items():
            if buffer.kind in kinds and (buffer not in reads.written or _is_decided(s)):
                self.fail(f"{buffer} is read before it is written", s)

    # -- statements ---------------------------------------------------------------

    def body(self, statements: list[Any]) -> None:
        made: list[int] = []
        begun: list[Any] = []
        for s in statements:
            if not isinstance(s, Repeat):
                self._uses(s)
            self._touches(s)
            self._inside(s, begun)
            result = getattr(s, "result", None)
            if isinstance(result, Scalar):
                if result.number in self.known:
                    self.fail(f"s{result.number} is computed twice", s)
                self.known.add(result.number)
                made.append(result.number)
        for s in begun:
            if s.accumulator.number in self.begun:
                self.fail(f"a{s.accumulator.number} is never finished", s)
        self.known.difference_update(made)

    def _uses(self, s: Any) -> None:
        for scalar in used(s):
            if scalar.number not in self.known:
                self.fail(f"s{scalar.number} is not known here", s)
        for index in _indices(s):
            if not index.variables() <= self.bounds.keys():
                self.fail("an index names a variable of no loop around", s)

    def _inside(self, s: Any, begun: list[Any]) -> None:
        """What depends on the kind of a statement."""
        if isinstance(s, Loop):
            self._loop(s)
        elif isinstance(s, RunTasks):
            self._tasks(s)
        elif isinstance(s, Repeat):
            self._repeat(s)
        elif isinstance(s, Steps):
            self._steps(s)
        elif isinstance(s, Branch):
            for body in s.bodies:
                self.body(body)
        elif isinstance(s, Recall):
            self.trips.add(s.trips)
        elif isinstance(s, (Begin, Accumulate, Finish)):
            self._accumulator(s, begun)

    def _accumulator(self, s: Begin | Accumulate | Finish, begun: list[Any]) -> None:
        number = s.accumulator.number
        if isinstance(s, Begin):
            self.begun[number] = len(self.around)
            begun.append(s)
        elif number not in self.begun:
            self.fail(f"a{number} is not begun here", s)
        elif isinstance(s, Finish):
            if self.begun.pop(number) != len(self.around):
                self.fail(f"a{number} is finished in another scope", s)
        elif any(loop.role == "map" for loop in self.around[self.begun[number] :]):
            self.fail(f"a{number} is added to in a loop that adds nothing up", s)

    # -- loops --------------------------------------------------------------------

    def _loop(self, s: Loop) -> None:
        problem = self._problem_of(s)
        if problem:
            self.fail(problem, s)
        if s.role != "sequence" and not s.unroll and (buffer := meet(s, adding=False)):
            self.fail(f"iterations touch the same elements of {buffer}", s)
        self._run(s, s.var, (s.start, s.stop - 1), s.body)

    def _problem_of(self, s: Loop) -> str | None:
        inside_of_share = any(loop.share is not None for loop in self.around)
        shared = s.share is not None
        problems = {
            f"no role {s.role!r}": s.role not in _ROLES,
            "a loop without iterations": s.start >= s.stop,
            "a loop with the variable of one around": s.var in self.bounds,
            "a loop that is shared and unrolled": shared and s.unroll,
            "a loop that is shared and run for one iteration": shared and s.only is not None,
            "a shared loop inside of another": shared and inside_of_share,
            "a shared loop outside of its tasks": shared and s.share is not self.task,
            "a shared loop whose steps run in turn": shared and s.role == "sequence",
        }
        return next((words for words, holds in problems.items() if holds), None)

    def _run(self, s: Any, var: Var, bounds: tuple[int, int], body: list[Any]) -> None:
        self.bounds[var] = bounds
        self.around.append(s if isinstance(s, Loop) else Loop(var, 0, 1, [], "sequence"))
        self.body(body)
        self.around.pop()
        del self.bounds[var]

    def _repeat(self, s: Repeat) -> None:
        many = (0, s.step.extent - 1)
        # The test is computed by the condition's last statements.
        self._run(s, s.step, many, [*s.condition, _Test(s.test)])
        self._run(s, s.step, many, s.body)
        self.trips.add(s.trips)

    def _steps(self, s: Steps) -> None:
        if s.trips not in self.trips:
            self.fail("steps of a loop that did not run", s)
        self._run(s, s.step, (0, s.step.extent - 1), s.body)

    def _tasks(self, s: RunTasks) -> None:
        tasks = s.tasks
        if self.task is not None or self.around:
            self.fail("tasks inside of a loop or of tasks", s)
        if not 0 < tasks.count <= _MOST_TASKS or tasks.var.extent != tasks.count:
            self.fail(f"{tasks.count} tasks", s)
        inner = _Check(self.whole, self.name, tasks.var)
        inner.bounds[tasks.var] = (0, tasks.count - 1)
        inner._names(tasks.body, tasks.buffers)
        inner.body(tasks.body)
        reads = Reads(inner.bounds)
        reads.follow(tasks.body)
        inner.memory(reads, ("local",))

    # -- memory -------------------------------------------------------------------

    def _touches(self, s: Any) -> None:
        if self.task is not None:
            self._writes_of_task(s)
        if isinstance(s, (Load, Store, AccumulateInto)):
            if getattr(s, "guard", None) is None:
                self._within(s, s.buffer, s.index, 0, 0)
        elif isinstance(s, Fill):
            self._within(s, s.buffer, s.start, 0, s.count - 1)
        elif isinstance(s, (Gather, ScatterInto)) and getattr(s, "guard", None) is None:
            ends = [p.stride * (p.extent - 1) for p in s.places]
            self._spread(s, s.buffer, s.index, ends)
        elif isinstance(s, MatrixProduct):
            self._operand(s, s.a, (*s.batch, s.m, s.k))
            self._operand(s, s.b, (*s.batch, s.k, s.n))
            count = prod(s.batch) * s.m * s.n
            self._within(s, s.c, s.c_offset * s.parts, 0, count * s.parts - 1)
        if isinstance(s, AccumulateInto) and self.around:
            loop = self.around[-1]
            is_map = loop.role == "map" and loop.stop - loop.start > 1
            if is_map and loop.var not in s.index.variables():
                self.fail("a sum in a loop that adds nothing up", s)

    def _operand(self, s: MatrixProduct, o: Operand, shape: tuple[int, ...]) -> None:
        ends = [(n - 1) * step * s.parts for n, step in zip(shape, o.strides, strict=True)]
        if 0 not in shape:
            self._spread(s, o.buffer, o.offset * s.parts, ends)

    def _spread(self, s: Any, buffer: Buffer, index: Affine, ends: list[int]) -> None:
        low, high = sum(min(0, e) for e in ends), sum(max(0, e) for e in ends)
        self._within(s, buffer, index, low, high)

    def _within(self, s: Any, buffer: Buffer, index: Affine, low: int, high: int) -> None:
        if buffer.kind == "tape" or high < low or not _is_plain(index):
            return
        first, last = index.range(self.bounds)
        if first + low < 0 or last + high >= memory(buffer).size:
            self.fail(f"{first + low} to {last + high} of {buffer}[{memory(buffer).size}]", s)

    def _writes_of_task(self, s: Any) -> None:
        """Tasks write elements of their own: their indices depend on the task, or on its share."""
        assert self.task is not None
        own = {self.task} | {loop.var for loop in self.around if loop.share is not None}
        for buffer, index in _written(s):
            if buffer.kind != "local" and own.isdisjoint(index.variables()):
                self.fail(f"each task writes to {buffer}", s)


class _Test:
    """Stands for the use of a scalar."""

    def __init__(self, test: Scalar) -> None:
        self.test = test


def _written(s: Any) -> list[tuple[Buffer, Affine]]:
    if isinstance(s, _WRITES):
        return [(memory(s.buffer), s.start if isinstance(s, Fill) else s.index)]
    if isinstance(s, MatrixProduct):
        found = [] if s.share is not None else [(memory(s.c), s.c_offset)]
        if s.panel is not None:
            found.append((memory(s.panel.buffer), s.panel.offset))
        return found
    return [(memory(o.buffer), o.offset) for o in s.outputs] if isinstance(s, Factorization) else []


def _indices(s: Any) -> list[Affine]:
    if isinstance(s, MatrixProduct):
        return [s.a.offset, s.b.offset, s.c_offset]
    if isinstance(s, Factorization):
        return [o.offset for o in (*s.inputs, *s.outputs)]
    found = (getattr(s, name, None) for name in ("index", "start"))
    return [index for index in found if isinstance(index, Affine)]


def _is_plain(index: Affine) -> bool:
    return not any(isinstance(atom, Quotient) for atom, _ in index.terms)


def _is_decided(s: Any) -> bool:
    """Whether it is known what a statement reads."""
    is_free = getattr(s, "guard", None) is None and not isinstance(s, (Gather, ScatterInto))
    return is_free and all(map(_is_plain, _indices(s)))
