"""Derivatives of loops read elements at the end of the loop that no later step changes.

A step of Cholesky's or Gauss's algorithm reads elements that are final by then.  The derivative
needs them once more.  To store them takes memory for each step; to compute them again takes the
loop again.  They are still there: in the array that the loop ends with.

    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]                # A[k, k], and the quotient: final
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]  # A[i, k] and A[k, j]: final

Loops are looked at from the innermost outwards: what is final in an inner loop is read from the
array as that loop leaves it, which is a version of the array in a step of the outer loop.  A value
that a step stores and nothing replaces later is read so too.

Legal where no op that follows in the step and no later step writes where the element is, by the
forms of the places (:mod:`.integers`), and where everything that a step does to the array is known.
The loop has run when its derivative reads.  Nothing changes in the results: the elements are the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import Scatter

from .integers import Integers, Steps
from .places import NotKnown, Place, Version, apart, read, versions_of, written

#: More pairs of a read and a write in a step of one array are not compared.
PAIRS = 10_000


@dataclass
class Finals:
    """What a step may read from arrays in the end, by the numbers of the carries."""

    #: The arrays that ops read, and of which carry they are versions.
    reads: dict[tuple[Op, Value], int] = field(default_factory=dict)
    #: Values, and the ops that store them.
    stored: dict[Value, tuple[Op, int]] = field(default_factory=dict)
    #: The ops that change carries.
    changes: set[Op] = field(default_factory=set)

    @property
    def carries(self) -> list[int]:
        """The carries that are read in the end."""
        return sorted({*self.reads.values(), *(k for _, k in self.stored.values())})


def finals_of(op: Op, body: Program, carries: Mapping[int, tuple[Value, Value]], outer: Integers
              ) -> Finals:  # fmt: skip
    """What a step of a loop, one that has run before, may read from its carries in the end.

    ``carries`` has the arrays at the beginning and the end of a step, by their numbers; ``outer``
    knows the integers among the loop's operands.
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
        #: A step by itself, and a step with a later one.
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
                if op is not following and self._stays(done, self._reads(op, version)):
                    self.found.reads[op, version] = self.carry
        for done, each in enumerate(self.chain, 1):
            value = each.op.operands[1] if isinstance(each.op.kind, Scatter) else None
            if value is None or value not in makers or value in self.found.stored:
                continue
            places = each.op.operands[2:]
            if all(not v.type.shape for v in places) and self._stays(done, self._writes(each)):
                self.found.stored[value] = (each.op, self.carry)

    def _reads(self, op: Op, version: Value) -> Callable[[Integers], Iterable[Place]]:
        return lambda integers: read(op, version, integers)

    def _writes(self, each: Version) -> Callable[[Integers], Iterable[Place]]:
        return lambda integers: written(each, integers)

    def _stays(self, done: int, places: Callable[[Integers], Iterable[Place]]) -> bool:
        """Whether nothing replaces what is read after so many changes of a step."""
        try:
            here, before = list(places(self.alone)), list(places(self.step))
        except NotKnown:
            return False
        rest = [p for each in self.rest[done:] for p in each]
        self.left -= len(here) * len(rest) + len(before) * len(self.all)
        return self.left >= 0 and all(
            apart(self.alone.bounds, p, q)
            for mine, others in ((here, rest), (before, self.all))
            for p in mine
            for q in others
        )


def read_in_the_end(
    ops: Sequence[Op], values: Sequence[Value], finals: Finals, ends: Mapping[int, Value],
    may_repeat: Callable[[Op], bool],
) -> tuple[list[Op], list[Value]]:  # fmt: skip
    """Ops that follow those of a step, and compute these values of it from arrays in the end.

    ``ends`` has the arrays by the numbers of the carries.  Ops that depend on what is read there
    are repeated; what others compute is taken as it is.
    """
    builder = Builder()
    env: dict[Value, Value] = {}
    with building(builder):
        for value, (op, k) in finals.stored.items():
            with builder.at(op.source):
                env[value] = gather(ends[k], *op.operands[2:], axes=op.params["axes"])
        for op in ops:
            operands = [
                ends[finals.reads[op, v]] if (op, v) in finals.reads else env.get(v, v)
                for v in op.operands
            ]
            new = any(a is not b for a, b in zip(operands, op.operands, strict=True))
            if new and op not in finals.changes and may_repeat(op):
                results = builder.repeat(op, operands)
                for old, made in zip(op.results, results, strict=True):
                    env.setdefault(old, made)
    return builder.ops, [env.get(v, v) for v in values]
