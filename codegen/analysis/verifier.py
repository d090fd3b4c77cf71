"""A verifier of loop programs: rules that no pass over loops may break.

It runs after each pass if ``verify_each`` is on, as in the tests, since it takes a tenth of the
time. It knows scopes: a kernel is a function, a task is another one, and a scalar that a body
computes is known only in that body.

- Scalars are computed once in a scope that sees them, before they are used. Accumulators are begun
  before they are added to, and finished in the scope in which they were begun.
- Loops have iterations and bounds of their own; those that tasks share are neither unrolled nor
  nested. A loop of the role ``map`` accumulates nothing, and in ``map`` and ``reduce`` loops no
  iteration surely touches an element that another one writes (``iterations``).
- Memory is written before it is read: locals in their function, temporaries and results in the
  program (``exposed``). Tasks write elements that depend on their number or their share.
- Indices are within their buffers, for all iterations of surrounding loops.
- Kernels and tasks name the buffers that they use.
- Steps of loops with a condition have room on the tapes that they touch (``verify_tapes``).

Some accesses are not decided and assumed to be right: guarded reads, computed places, indices with
quotients, reads of memory of which unknown elements have been written, and whether tasks whose
indices depend on their number or share write the same element after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.codegen.loop_ir.effects import EFFECTS, Access, Effects, changes, indices_of
from autojit.codegen.loop_ir.nodes import Loop, RunTasks
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_named, buffers_of, memory, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.codegen.loop_text.printer import text_of
from autojit.ir.core.affine import Affine, Quotient, Var

from .dependences import is_at_one_place, surely_meet
from .exposed import Reads
from .tapes_verifier import verify_tapes

#: The most tasks: the number of bits of the word in which they are claimed.
_MOST_TASKS = 64
_ROLES = ("map", "reduce", "sequence")


class BrokenLoops(AssertionError):
    """A loop program that is wrong, with its text."""


def verify_kernel(kernel: Kernel, name: str = "") -> None:
    """Raise BrokenLoops if a kernel is wrong by itself, after the pass of that name."""
    _Check(kernel.body, name).kernel(kernel)


def verify(program: LoopProgram) -> None:
    """Raise BrokenLoops if a finished program is wrong."""
    reads = _Unwritten({})
    for step in program.steps:
        body = step.body if isinstance(step, Kernel) else [step]
        check = _Check(body, "")
        if isinstance(step, Kernel):
            check.kernel(step)
        reads.follow(body)
        check.memory(reads, ("temp", "output"))
        reads.written = {b: w for b, w in reads.written.items() if b.kind != "local"}
        reads.exposed.clear()


class _Unwritten(Reads):
    """Keeps, for each buffer read unwritten, a read that is surely wrong if there is one."""

    def is_settled(self, buffer: Buffer) -> bool:
        return buffer in self.exposed and _is_decided(self.exposed[buffer])


class _Check:
    """One function: a kernel, or a task of it."""

    def __init__(self, whole: list[Any], name: str, task: Var | None = None) -> None:
        self.whole = whole
        self.name = name
        self.task = task
        self.known: set[int] = set()
        self.bounds: dict[Var, tuple[int, int]] = {}
        #: The numbers of loops around accumulators that are begun and not finished, by number.
        self.begun: dict[int, int] = {}
        self.around: list[Any] = []
        self.trips: set[Any] = set()

    def fail(self, problem: str, statement: Any) -> None:
        line, text = text_of(self.whole, statement)
        after = f" after {self.name}" if self.name else ""
        raise BrokenLoops(f"{problem}{after}:\n  {line}\n\n{text}")

    def kernel(self, kernel: Kernel) -> None:
        self._names(kernel.body, kernel.buffers)
        self.body(kernel.body)
        verify_tapes(kernel.body, self.fail)
        reads = _Unwritten({})
        reads.follow(kernel.body)
        self.memory(reads, ("local",))

    def _names(self, body: list[Any], buffers: list[Buffer]) -> None:
        missing = set(buffers_of(body)) - set(map(memory, buffers))
        for s in walk(body) if missing else ():
            if not missing.isdisjoint(map(memory, buffers_named(s))):
                self.fail("a buffer that its function does not name", s)

    def memory(self, reads: Reads, kinds: tuple[str, ...]) -> None:
        for buffer, s in reads.exposed.items():
            if buffer.kind in kinds and (buffer not in reads.changed or _is_decided(s)):
                self.fail(f"{buffer} is read before it is written", s)

    # -- statements ---------------------------------------------------------------

    def body(
        self, statements: list[Any], results: Sequence[Scalar] = (), around: Any = None
    ) -> None:
        """Check statements, and the scalars that they compute for the statement around them."""
        made: list[int] = []
        begun: list[Any] = []
        for s in statements:
            e = EFFECTS[type(s)]
            self._uses(s, e)
            self._touches(s, e)
            self._accumulators(s, e, begun)
            self._inside(s)
            if (trips := e.counts(s)) is not None:
                self.trips.add(trips)
            result = e.defines(s)
            if result is not None:
                if result.number in self.known:
                    self.fail(f"s{result.number} is computed twice", s)
                self.known.add(result.number)
                made.append(result.number)
        for s in begun:
            if s.accumulator.number in self.begun:
                self.fail(f"a{s.accumulator.number} is never finished", s)
        for scalar in results:
            self._is_known(scalar, around)
        self.known.difference_update(made)

    def _is_known(self, scalar: Scalar, s: Any) -> None:
        if scalar.number not in self.known:
            self.fail(f"s{scalar.number} is not known here", s)

    def _uses(self, s: Any, e: Effects) -> None:
        for scalar in e.uses(s):
            self._is_known(scalar, s)
        for index in indices_of(s):
            if not index.variables() <= self.bounds.keys():
                self.fail("an index names a variable of no loop around", s)
        if (trips := e.needs_count(s)) is not None and trips not in self.trips:
            self.fail("steps of a loop that did not run", s)

    def _inside(self, s: Any) -> None:
        """Check the statements inside of a statement."""
        if isinstance(s, Loop):
            self._loop(s)
        elif isinstance(s, RunTasks):
            self._tasks(s)
        else:
            e = EFFECTS[type(s)]
            for n, body in enumerate(e.bodies(s)):
                # The first body computes the scalars that the statement needs.
                self._run(s, body, () if n else e.uses_of_bodies(s))

    def _accumulators(self, s: Any, e: Effects, begun: list[Any]) -> None:
        if (accumulator := e.begins(s)) is not None:
            self.begun[accumulator.number] = len(self.around)
            begun.append(s)
        if (accumulator := e.finishes(s)) is not None:
            self._is_begun(accumulator, s)
            if self.begun.pop(accumulator.number) != len(self.around):
                self.fail(f"a{accumulator.number} is finished in another scope", s)
        if (accumulator := e.adds_to(s)) is not None:
            self._is_begun(accumulator, s)
            inside = self.around[self.begun[accumulator.number] :]
            if any(isinstance(x, Loop) and x.role == "map" for x in inside):
                self.fail(f"a{accumulator.number} is added to in a loop that adds nothing up", s)

    def _is_begun(self, accumulator: Accumulator, s: Any) -> None:
        if accumulator.number not in self.begun:
            self.fail(f"a{accumulator.number} is not begun here", s)

    # -- loops --------------------------------------------------------------------

    def _loop(self, s: Loop) -> None:
        problem = self._problem_of(s)
        if problem:
            self.fail(problem, s)
        if s.role != "sequence" and not s.unroll and (buffer := surely_meet(s, adding=False)):
            self.fail(f"iterations touch the same elements of {buffer}", s)
        self._run(s, s.body)

    def _problem_of(self, s: Loop) -> str | None:
        inside_of_share = any(EFFECTS[type(x)].share(x) is not None for x in self.around)
        shared = s.share is not None
        problems = {
            f"no role {s.role!r}": s.role not in _ROLES,
            "a loop without iterations": s.start >= s.stop,
            "a loop with the variable of one around": s.var in self.bounds,
            "a loop that is shared and unrolled": shared and s.unroll,
            "a loop that is shared and run for one iteration": shared and s.only is not None,
            "a loop that is shared and has bounds": shared and not (s.lower is s.upper is None),
            "a shared loop inside of another": shared and inside_of_share,
            "a shared loop outside of its tasks": shared and s.share is not self.task,
            "a shared loop whose steps run in turn": shared and s.role == "sequence",
        }
        return next((words for words, holds in problems.items() if holds), None)

    def _run(self, s: Any, body: list[Any], results: Sequence[Scalar] = ()) -> None:
        variables = EFFECTS[type(s)].variables(s)
        self.bounds.update(variables)
        if variables:
            self.around.append(s)
        self.body(body, results, s)
        if variables:
            self.around.pop()
        for var in variables:
            del self.bounds[var]

    def _tasks(self, s: RunTasks) -> None:
        tasks = s.tasks
        if self.task is not None or self.around:
            self.fail("tasks inside of a loop or of tasks", s)
        if not 0 < tasks.count <= _MOST_TASKS or tasks.var.extent != tasks.count:
            self.fail(f"{tasks.count} tasks", s)
        inner = _Check(self.whole, self.name, tasks.var)
        inner.bounds.update(EFFECTS[RunTasks].variables(s))
        inner._names(tasks.body, tasks.buffers)
        inner.body(tasks.body)
        reads = Reads(inner.bounds)
        reads.follow(tasks.body)
        inner.memory(reads, ("local",))

    # -- memory -------------------------------------------------------------------

    def _touches(self, s: Any, e: Effects) -> None:
        if self.task is not None:
            self._changes_of_task(s, e)
        for access in (*e.reads(s), *e.updates(s), *e.writes(s)):
            if access.guard is None:
                self._within(s, access)
        for access in e.updates(s):
            if access.is_exact and self._is_at_one_place_of_map(access):
                self.fail("a sum in a loop that adds nothing up", s)

    def _is_at_one_place_of_map(self, access: Access) -> bool:
        """Whether iterations of a loop that accumulates nothing touch the same place."""
        loop = self.around[-1] if self.around else None
        if not isinstance(loop, Loop) or loop.role != "map" or loop.stop - loop.start <= 1:
            return False
        return is_at_one_place(access, loop.var)

    def _within(self, s: Any, access: Access) -> None:
        buffer, index = access.buffer, access.index
        if buffer.kind == "tape" or access.size <= 0 or not _is_plain(index):
            return
        low, high = index.range(self.bounds)
        last = 0 if access.is_rest else access.high
        low, high, size = low + access.low, high + last, memory(buffer).size
        if low < 0 or high >= size:
            self.fail(f"{low} to {high} of {buffer}[{size}]", s)

    def _changes_of_task(self, s: Any, e: Effects) -> None:
        """Check that a task changes only its elements: indices depend on its number or share."""
        assert self.task is not None
        shares = [x for x in self.around if EFFECTS[type(x)].share(x) is not None]
        own = {self.task, *(var for x in shares for var in EFFECTS[type(x)].variables(x))}
        # A statement that is shared itself gives each task a part.
        changed = e.scratch(s) if e.share(s) is not None else changes(s)
        for access in changed:
            buffer = memory(access.buffer)
            if buffer.kind != "local" and own.isdisjoint(access.index.variables()):
                self.fail(f"each task writes to {buffer}", s)


def _is_plain(index: Affine) -> bool:
    return not any(isinstance(atom, Quotient) for atom, _ in index.terms)


def _is_decided(s: Any) -> bool:
    """Whether the elements that a statement reads are known."""
    e = EFFECTS[type(s)]
    read = (*e.reads(s), *e.updates(s))
    return all(a.guard is None and a.is_exact and _is_plain(a.index) for a in read)
