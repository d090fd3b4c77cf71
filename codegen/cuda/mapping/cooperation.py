"""Statements are rewritten so that the threads of a team run them together.

    for i in 0..8:        # in turn      for i in 0..8:
      for j in 0..100:              ->     share j from lane, below 100, by 32:
        t[j] = …                             t[j] = …
      s = t[3]                             barrier
      y[i] = s                             s = t[3]
                                           when lane in 0..1:
                                             y[i] = s

Every thread computes the scalars.  Loops are shared if their iterations are independent or only add
to accumulators.  The first thread runs all other statements that write memory.  A barrier is put
wherever two threads may have touched the same memory since the last barrier, one of them writing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Barrier, Combine, Fail, Let, Share, When
from autojit.codegen.cuda.device_program.numbers import constant_scalar
from autojit.codegen.cuda.mapping.nests.structure import (
    Nest,
    Whole,
    combines_into,
    is_pure,
    live,
    nests,
)
from autojit.codegen.cuda.mapping.nests.vectors import in_vectors
from autojit.codegen.cuda.matrices.expansion import expanded
from autojit.codegen.loop_ir.effects import EFFECTS, accesses, changed_buffers, indices_of
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Begin, Fill, Finish, Loop, Store
from autojit.codegen.loop_ir.sequences import Branch, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import memory, walk, with_indices
from autojit.codegen.loop_ir.values import Accumulator, Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .teams import Team


def iterations(nest: Nest, first: Affine, step: int, body: list[Any]) -> Share:
    """The iterations of a nest as one shared loop, from the thread's first one on."""
    if len(nest.loops) == 1:
        (loop,) = nest.loops
        return Share(loop.var, first + loop.start, loop.stop, step, body)
    n = Var(nest.count)
    body = [with_indices(s, Whole(nest, n)) for s in body]
    used = {v for s in walk(body) for index in indices_of(s) for v in index.variables()}
    lets = [let for let in positions(nest, affine.of(n)) if let.var in used]
    return Share(n, first, nest.count, step, [*lets, *body])


def positions(nest: Nest, number: Affine) -> list[Let]:
    """Definitions of a nest's loop variables by the number of the iteration."""
    lets, below = [], nest.count
    for loop in nest.loops:
        extent = loop.stop - loop.start
        below //= extent
        bounds = {v: (0, v.extent - 1) for v in number.variables()}
        here = affine.divide(number, below, bounds)[0]
        here = affine.divide(here, extent, bounds)[1] if loop is not nest.loops[0] else here
        lets.append(Let(loop.var, here + loop.start if extent > 1 else Affine(loop.start)))
    return lets


@dataclass
class _Since:
    """Memory touched since the last barrier."""

    read: set[Buffer] = field(default_factory=set)
    written: set[Buffer] = field(default_factory=set)

    def copy(self) -> _Since:
        return _Since(set(self.read), set(self.written))

    def add(self, other: _Since) -> None:
        self.read |= other.read
        self.written |= other.written

    def meets(self, other: _Since) -> bool:
        """Whether one has written memory that the other touches."""
        return bool(self.written & (other.read | other.written) or self.read & other.written)


class Cooperation:
    """Rewrites the bodies of one kernel for a team."""

    def __init__(self, team: Team, block: int, warp: int) -> None:
        self.team = team
        #: Whether combining includes a barrier of the whole block.
        self.combining_waits = team.width == block and block > warp
        self.since = _Since()
        #: The shared loops that touch a local buffer; None stands for statements outside of them.
        self._users: dict[Buffer, set[Any]] = defaultdict(set)

    def shared_locals(self) -> list[Buffer]:
        """The local buffers that more than one thread may touch."""
        return [b for b, users in self._users.items() if len(users) > 1 or None in users]

    def wrote(self, body: list[Any]) -> None:
        """Note that threads of the team have run these statements already."""
        self.since.add(touched(body))

    def body(self, statements: list[Any]) -> list[Any]:
        """The statements that each thread of the team runs."""
        if self.team.width == 1:
            return [_alone(s) for s in statements]
        made: list[Any] = []
        for s in statements:
            self._statement(s, made)
        return made

    def _statement(self, s: Any, made: list[Any]) -> None:
        handler = _HANDLERS.get(type(s))
        if handler is not None:
            handler(self, s, made)
        elif isinstance(s, Begin) or is_pure(s):
            self._wait_for(touched([s]), made)
            made.append(s)
        else:
            self._first(s, made)

    def _first(self, s: Any, made: list[Any]) -> None:
        """Add a statement that only the first thread runs."""
        self._wait_for(touched([s]), made)
        made.append(When(self.team.lane, 0, 1, [s]))

    def _wait_for(self, touched: _Since, made: list[Any], user: Any = None) -> None:
        """Add a barrier if others may have touched this memory; then note the memory."""
        self._note_users(touched, user)
        if self.since.meets(touched):
            self._barrier(made)
        self.since.add(touched)

    def _note_users(self, touched: _Since, user: Any) -> None:
        for buffer in touched.read | touched.written:
            if buffer.kind == "local":
                self._users[buffer].add(user)

    def _barrier(self, made: list[Any]) -> None:
        made.append(Barrier(self.team.width))
        self.since = _Since()

    # -- statements -----------------------------------------------------------------------

    def _loop(self, s: Loop, made: list[Any]) -> None:
        if s.role == "sequence":
            self._begin_loop(s.body, made)
            made.append(replace(s, body=self._again(s.body), only=None, lower=None, upper=None))
        elif s.role == "reduce" and combines_into(s.body):
            self._first(_alone(s), made)
        else:
            self._wait_for(touched(s.body), made, id(s))
            for nest in nests(s):
                inner = [*live(nest.between, nest.body), *map(_alone, nest.body)]
                made += self.shared(nest, inner)

    def shared(self, nest: Nest, body: list[Any]) -> list[Share]:
        """The threads' shares of the iterations of a nest, several neighbours at once if each
        thread has some."""
        lane, width = self.team.lane, self.team.width
        every = in_vectors(nest, body, 2 * width - 1)
        return [iterations(each, lane, width, each.body) for each in every]

    def _begin_loop(self, body: list[Any], made: list[Any]) -> None:
        """Add the barrier that the first step of a loop needs before the loop, not in each step."""
        if self.since.meets(touched(body)):
            self._barrier(made)

    def _again(self, body: list[Any]) -> list[Any]:
        """The body of a sequential loop, with a barrier at its end if the next step needs one."""
        before = self.since.copy()
        made = self.body(body)
        if self.since.meets(touched(body)):
            self._barrier(made)
        self.since.add(before)  # the loop may run no step
        return made

    def _finish(self, s: Finish, made: list[Any]) -> None:
        self.combined(s.accumulator, made)
        made.append(s)

    def combined(self, a: Accumulator, made: list[Any]) -> None:
        """Add statements after which each thread has the result of all accumulators."""
        made.append(Combine(a, self.team.width, self.team.stride))
        if self.combining_waits:
            self.since = _Since()

    def _fill(self, s: Fill, made: list[Any]) -> None:
        self._wait_for(touched([s]), made)
        n = Var(s.count)
        value = constant_scalar(s.value, s.buffer.dtype)
        store = Store(s.buffer, s.start + affine.of(n), value.result)
        if s.count:
            made += [value, Share(n, self.team.lane, s.count, self.team.width, [store])]

    def _branch(self, s: Branch, made: list[Any]) -> None:
        before, after, bodies = self.since.copy(), _Since(), []
        for body in s.bodies:
            self.since = before.copy()
            bodies.append(self.body(body))
            after.add(self.since)
        self.since = after
        made.append(Branch(s.index, bodies))

    def _repeat(self, s: Repeat, made: list[Any]) -> None:
        self._begin_loop([*s.condition, *s.body], made)
        before = self.since.copy()
        condition = self.body(s.condition)
        body = self.body(s.body)
        if self.since.meets(touched([*s.condition, *s.body])):
            self._barrier(body)
        self.since.add(before)
        self.since.add(touched(s.condition))
        made.append(replace(s, condition=condition, body=body))

    def _steps(self, s: Steps, made: list[Any]) -> None:
        self._begin_loop(s.body, made)
        made.append(replace(s, body=self._again(s.body)))

    def _swap(self, s: Swap, made: list[Any]) -> None:
        self._note_users(touched([s]), None)
        if self.since.read or self.since.written:  # under names that now change
            self._barrier(made)
        made.append(s)

    def _everyone(self, s: Any, made: list[Any]) -> None:
        """Add a statement that every thread runs for itself."""
        self._wait_for(touched([s]), made)
        made.append(s)

    def _let(self, s: Let, made: list[Any]) -> None:
        made.append(s)

    def _expanded(self, s: MatrixProduct | Factorization, made: list[Any]) -> None:
        for statement in expanded(s):
            self._statement(statement, made)


_HANDLERS: dict[type, Callable[[Cooperation, Any, list[Any]], None]] = {
    Loop: Cooperation._loop,
    Finish: Cooperation._finish,
    Fill: Cooperation._fill,
    Branch: Cooperation._branch,
    Repeat: Cooperation._repeat,
    Steps: Cooperation._steps,
    Swap: Cooperation._swap,
    Let: Cooperation._let,
    Recall: Cooperation._everyone,
    Release: Cooperation._everyone,
    Fail: Cooperation._everyone,
    When: Cooperation._everyone,
    MatrixProduct: Cooperation._expanded,
    Factorization: Cooperation._expanded,
}


def _alone(s: Any) -> Any:
    """A statement for one thread: matrix products become loops, and loops run their full range."""
    if isinstance(s, Loop):
        body = [x for inner in s.body for x in _expanded(inner)]
        return replace(s, body=body, only=None, lower=None, upper=None)
    if isinstance(s, Branch):
        return Branch(s.index, [alone(body) for body in s.bodies])
    if isinstance(s, Repeat):
        return replace(s, condition=alone(s.condition), body=alone(s.body))
    if isinstance(s, Steps):
        return replace(s, body=alone(s.body))
    return s


def _expanded(s: Any) -> list[Any]:
    if isinstance(s, (MatrixProduct, Factorization)):
        return [_alone(x) for x in expanded(s)]
    return [_alone(s)]


def alone(body: list[Any]) -> list[Any]:
    """Statements in the form for one thread."""
    return [x for s in body for x in _expanded(s)]


def require_known(body: list[Any]) -> None:
    """Raise TargetError for an object that is no statement of the loop IR."""
    for s in walk(body):
        if type(s) not in EFFECTS:
            raise TargetError(
                f"{type(s).__name__} statements cannot be compiled for CUDA: {s!r:.80}"
            )


def touched(body: list[Any]) -> _Since:
    """The memory that statements touch, at any depth."""
    found = _Since()
    for s in walk(body):
        found.written |= {memory(b) for b in changed_buffers(s)}
        found.read |= {memory(a.buffer) for a in accesses(s)}
    return found
