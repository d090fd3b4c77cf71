"""Derivatives of loops read elements that no later step changes from the loop's final array.

A step of Cholesky's or Gauss's algorithm reads elements that are final by then, and the derivative
needs them again. Storing them takes memory for each step, and recomputing them takes the loop
again. But they are still in the array that the loop ends with.

    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]                # A[k, k], and the quotient: final
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]  # A[i, k] and A[k, j]: final

Loops are analysed from the innermost outwards: elements that are final in an inner loop are read
from the array that the loop returns, which is a version of the array in a step of the outer loop. A
value that a step stores, and that nothing replaces later, is read in the same way.

Legal where no following op in the step, and no later step, writes to the element's index, according
to the forms of indices (:mod:`.integers`), and where all accesses of a step to the array are known.
The loop has run when its derivative reads.  Nothing changes in the results: the elements are the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.core.registry import declared
from autojit.ir.ops.bodies import read_inputs
from autojit.ir.ops.index import Gather, gather
from autojit.ir.ops.update import Scatter

from .integers import OPPOSITE, Bounds, Integers, Steps, compared
from .places import NotKnown, Place, Version, apart, read, versions_of, written

#: A comparison, and the integers that it compares.
Comparison = tuple[Declaration, Value, Value]

#: The most pairs of a read and a write of one array in a step that are compared.
PAIRS = 10_000


@dataclass
class Finals:
    """The values that a step may read from final arrays, by the numbers of the carries."""

    #: The arrays that ops read, with the carry that each is a version of.
    reads: dict[tuple[Op, Value], int] = field(default_factory=dict)
    #: Rows that ops read in part, with the gathers that read them from carries.
    rows: dict[tuple[Op, Value], tuple[Op, int]] = field(default_factory=dict)
    #: Values, with the ops that store them.
    stored: dict[Value, tuple[Op, int]] = field(default_factory=dict)
    #: The ops that change carries.
    changes: set[Op] = field(default_factory=set)

    @property
    def carries(self) -> list[int]:
        """The carries whose final arrays are read."""
        picked = (*self.stored.values(), *self.rows.values())
        return sorted({*self.reads.values(), *(k for _, k in picked)})


def finals_of(op: Op, body: Program, carries: Mapping[int, tuple[Value, Value]], outer: Integers
              ) -> Finals:  # fmt: skip
    """The values that a step of a finished loop may read from the final carries.

    ``carries`` maps numbers to the arrays at the beginning and the end of a step; ``outer`` has the
    forms of integers among the loop's operands.
    """
    found = Finals()
    chains = {k: versions_of(body.ops, *pair) for k, pair in carries.items() if pair[0].shape}
    chains = {k: chain for k, chain in chains.items() if chain}
    if not chains:
        return found
    readers = _readers(body)
    for k, chain in chains.items():
        _Search(op, outer, chain or [], k, found).run(carries[k][0], readers, body)
    return found


def _readers(body: Program) -> dict[Value, list[Op]]:
    readers: dict[Value, list[Op]] = {}
    for op in body.ops:
        for v in dict.fromkeys(op.operands):
            readers.setdefault(v, []).append(op)
    return readers


class _Search:
    """The reads of one array that a step carries."""

    def __init__(self, op: Op, outer: Integers, chain: Sequence[Version], carry: int,
                 found: Finals) -> None:  # fmt: skip
        self.chain, self.carry, self.found = chain, carry, found
        #: A single step, and a step with a later one.
        self.alone = Steps(op, outer).now
        pair = Steps(op, outer, later=True)
        self.step, self.later = pair.now, pair.then
        self.left = PAIRS

    def run(self, first: Value, readers: Mapping[Value, Sequence[Op]], body: Program) -> None:
        try:
            self.rest = [list(written(each, self.alone)) for each in self.chain]
            assert self.later is not None
            self.all = [p for each in self.chain for p in written(each, self.later)]
        except NotKnown:
            return
        self.found.changes |= {each.op for each in self.chain}
        makers = {v: op for op in body.ops for v in op.results}
        for done, version in enumerate([first, *(each.after for each in self.chain)]):
            following = self.chain[done].op if done < len(self.chain) else None
            for op in readers.get(version, ()):
                if op is not following:
                    self._look_at(op, version, done, _asked_where(op, readers, body, makers))
                    if (op, version) not in self.found.reads:
                        self._look_at_parts(op, version, done, readers)
        for done, each in enumerate(self.chain, 1):
            if isinstance(each.op.kind, Scatter) and each.op.operands[1] in makers:
                self._look_at_stored(each, done)

    def _look_at(
        self, op: Op, version: Value, done: int, where: Sequence[Comparison] | None
    ) -> None:
        places = self._reads(op, version)
        if self._stays(done, places) or self._stays(done, places, where):
            self.found.reads[op, version] = self.carry

    def _look_at_parts(
        self, op: Op, version: Value, done: int, readers: Mapping[Value, Sequence[Op]]
    ) -> None:
        if isinstance(op.kind, Gather) and op.result.shape:
            for user in readers.get(op.result, ()):
                if self._stays(done, self._reads(op, version, user)):
                    self.found.rows[user, op.result] = (op, self.carry)

    def _look_at_stored(self, each: Version, done: int) -> None:
        value, *places = each.op.operands[1:]
        single = all(not v.type.shape for v in places)
        if single and value not in self.found.stored and self._stays(done, self._writes(each)):
            self.found.stored[value] = (each.op, self.carry)

    def _reads(
        self, op: Op, version: Value, user: Op | None = None
    ) -> Callable[[Integers], Iterable[Place]]:
        return lambda integers: read(op, version, integers, user)

    def _writes(self, each: Version) -> Callable[[Integers], Iterable[Place]]:
        return lambda integers: written(each, integers)

    def _stays(
        self, done: int, places: Callable[[Integers], Iterable[Place]],
        where: Sequence[Comparison] | None = (),
    ) -> bool:  # fmt: skip
        """Whether nothing replaces an element read after so many changes of a step, ``where`` these
        comparisons hold."""
        if where is None:
            return False
        try:
            here, before = list(places(self.alone)), list(places(self.step))
        except NotKnown:
            return False
        rest = [p for each in self.rest[done:] for p in each]
        self.left -= len(here) * len(rest) + len(before) * len(self.all)
        return self.left >= 0 and all(
            apart(bounds, p, q)
            for integers, mine, others in (
                (self.alone, here, rest), (self.step, before, self.all)
            )
            for bounds in [_assuming(integers, where)]
            for p in mine
            for q in others
        )  # fmt: skip


def _assuming(integers: Integers, where: Sequence[Comparison]) -> Bounds:
    if not where:
        return integers.bounds
    bounds = integers.bounds.copied()
    for kind, a, b in where:
        bounds.assume(kind, integers.of(a), integers.of(b))
    return bounds


def _asked_where(
    op: Op, readers: Mapping[Value, Sequence[Op]], body: Program, makers: Mapping[Value, Op]
) -> list[Comparison] | None:
    """A comparison that holds whenever a branch uses an element that is read before it; None if
    there is none, or if something else uses the element."""
    if not isinstance(op.kind, Gather) or op.result in body.outputs:
        return None
    found = {_chosen_where(user, op.result, makers) for user in readers.get(op.result, ())}
    (only,) = found if len(found) == 1 else (None,)
    return None if only is None else [only]


def _chosen_where(user: Op, value: Value, makers: Mapping[Value, Op]) -> Comparison | None:
    """The comparison that selects the only branch that uses a value."""
    if user.kind is not declared.switch or user.operands.count(value) != 1:
        return None
    k = user.operands.index(value)
    branches = user.params["branches"]
    ask = [j for j, branch in enumerate(branches) if k and read_inputs(branch)[k - 1]]
    test = compared(user, makers.get)
    if test is None or len(ask) != 1:
        return None
    a, b = test.operands
    if a.type.shape or a.type.dtype.kind != "i":
        return None
    return (test.kind if ask[0] else OPPOSITE[test.kind], a, b)


def read_in_the_end(
    ops: Sequence[Op], values: Sequence[Value], finals: Finals, ends: Mapping[int, Value],
    may_repeat: Callable[[Op], bool],
) -> tuple[list[Op], list[Value]]:  # fmt: skip
    """Ops to append to a step, which compute its values from final arrays.

    ``ends`` has the final arrays by the numbers of the carries. Ops that depend on elements read
    there are repeated; the values of other ops are reused.
    """
    builder = Builder()
    env: dict[Value, Value] = {}
    with building(builder):
        for value, (op, k) in finals.stored.items():
            with builder.at(op.source):
                env[value] = gather(ends[k], *op.operands[2:], axes=op.params["axes"])
        rows: dict[Op, Value] = {}
        for pick, k in finals.rows.values():
            if pick not in rows:
                with builder.at(pick.source):
                    rows[pick] = gather(ends[k], *pick.operands[1:], axes=pick.params["axes"])
        for op in ops:
            operands = [
                ends[finals.reads[op, v]] if (op, v) in finals.reads
                else rows[finals.rows[op, v][0]] if (op, v) in finals.rows
                else env.get(v, v)
                for v in op.operands
            ]  # fmt: skip
            new = any(a is not b for a, b in zip(operands, op.operands, strict=True))
            if new and op not in finals.changes and may_repeat(op):
                results = builder.repeat(op, operands)
                for old, made in zip(op.results, results, strict=True):
                    env.setdefault(old, made)
    return builder.ops, [env.get(v, v) for v in values]
