"""The order in which the ops of a body are written, and the choice of statements."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from autojit.codegen.export.text.expressions import Expression
from autojit.codegen.export.text.statements import Statement, is_backward
from autojit.ir.core.program import Op, Value
from autojit.ir.core.values import Source
from autojit.ir.ops.elementwise import Convert, Elementwise
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Broadcast, Reshape, Slice, Transpose
from autojit.ir.regions.switch import Switch

#: Ops that are views; they are written where they are read.
_VIEWS = (Broadcast, Reshape, Slice, Transpose)

Lookup = Callable[[Source | None], Statement | None]
Group = Any


def group_of(statement_of: Lookup, source: Source | None) -> Group:
    """Return a key that ops of the same user statement share, separate for the backward pass."""
    statement = statement_of(source)
    if statement is None:
        return source and (source.file, source.line, is_backward(source))
    return statement, is_backward(source)


class Plan:
    """The ops of one body: their order, how often they are read, and the user's names for them."""

    def __init__(
        self, ops: Sequence[Op], outputs: Sequence[Value], statement_of: Lookup | None = None
    ) -> None:
        self._statement_of = statement_of or (lambda source: None)
        self._ops, self._outputs = ops, outputs
        self._groups = [group_of(self._statement_of, op.source) for op in ops]
        self._group = dict(zip(map(id, ops), self._groups, strict=True))
        #: How often a value is written; reads of its views count as reads of it.
        self._uses: Counter[Value] = Counter()
        self._readers: dict[Value, list[Op]] = defaultdict(list)
        self._count()
        self._names = self._named()

    @property
    def order(self) -> list[Op]:
        """The ops, with those of one statement next to each other if operands allow it."""
        made = {v: op for op in self._ops for v in op.results}
        waiting = {id(op): len({v for v in op.operands if v in made}) for op in self._ops}
        heaps: dict[Group, list[int]] = defaultdict(list)
        every: list[int] = []

        def ready(k: int) -> None:
            heapq.heappush(heaps[self._groups[k]], k)
            heapq.heappush(every, k)

        place = {id(op): k for k, op in enumerate(self._ops)}
        for k, op in enumerate(self._ops):
            if not waiting[id(op)]:
                ready(k)
        done: set[int] = set()
        found: list[Op] = []
        group: Group = None
        while len(found) < len(self._ops):
            heap = heaps[group] if heaps[group] else every
            k = heapq.heappop(heap)
            if k in done:
                continue
            done.add(k)
            op, group = self._ops[k], self._groups[k]
            found.append(op)
            for reader in {id(r): r for v in op.results for r in self._readers[v]}.values():
                waiting[id(reader)] -= len({v for v in reader.operands if v in op.results})
                if not waiting[id(reader)]:
                    ready(place[id(reader)])
        return found

    def _count(self) -> None:
        for op in self._ops:
            for v in dict.fromkeys(op.operands):
                self._readers[v].append(op)
        self._uses.update(self._outputs)
        for op in reversed(self._ops):
            for v in op.operands:
                self._uses[v] += max(1, self._uses[op.results[0]]) if is_view(op) else 1

    def uses(self, value: Value) -> int:
        return self._uses[value]

    def readers(self, value: Value) -> list[Op]:
        return self._readers[value]

    # -- statements -----------------------------------------------------------------

    def is_statement(self, op: Op, made: Expression) -> bool:
        """Whether an op is assigned to a name when it is reached."""
        (value,) = op.results
        if id(op) in self._names:
            return True
        if is_view(op) or isinstance(op.kind, Constant):
            return False
        if made.is_name or self._decides(op):
            return False
        return self._uses[value] > 1 or not self._stays(op)

    def _decides(self, op: Op) -> bool:
        """Whether an op converts a bool to the index of a branch."""
        readers = self._readers[op.result]
        return is_truth(op) and all(
            isinstance(r.kind, Switch) and op.result not in r.operands[1:] for r in readers
        )

    def _stays(self, op: Op) -> bool:
        """Whether all readers of an op belong to its statement."""
        group = self._group[id(op)]
        readers = self._final_readers(op.result)
        return all(
            isinstance(r.kind, Elementwise) or not r.programs for r in readers
        ) and all(self._group[id(r)] in (group, None) for r in readers)  # fmt: skip

    def _final_readers(self, value: Value) -> list[Op]:
        """Return the ops that read a value, directly or through views."""
        found: list[Op] = []
        for op in self._readers[value]:
            found += self._final_readers(op.result) if is_view(op) else [op]
        return found

    # -- the user's names -----------------------------------------------------------

    def targets(self, op: Op) -> tuple[str, ...]:
        """Return the names that the user's statement of an op with several results sets."""
        statement = None if is_backward(op.source) else self._statement_of(op.source)
        return () if statement is None else statement.targets

    def user_name(self, op: Op) -> str:
        return self._names.get(id(op), "")

    def _named(self) -> dict[int, str]:
        """Find the ops that compute the targets of the user's statements."""
        by_group: dict[Group, list[Op]] = defaultdict(list)
        for op, group in zip(self._ops, self._groups, strict=True):
            if not is_backward(op.source) and len(op.results) == 1:
                by_group[group].append(op)
        found: dict[int, str] = {}
        for members in by_group.values():
            statement = self._statement_of(members[0].source)
            if statement is None or not statement.targets:
                continue
            leaving = [op for op in members if self._leaves(op, statement)]
            names = statement.targets
            if len(names) == 1:
                found.update({id(op): names[0] for op in leaving[-1:]})
            elif len(names) == len(leaving):
                found.update({id(op): n for op, n in zip(leaving, names, strict=True)})
        return found

    def _leaves(self, op: Op, statement: Statement) -> bool:
        """Whether other statements read a value, including those of the backward pass."""
        if isinstance(op.kind, Constant):
            return False
        readers = self._readers[op.result]
        return op.result in self._outputs or any(
            r.source is not None and self._statement_of(r.source) != statement for r in readers
        )


def is_truth(op: Op) -> bool:
    """Whether an op converts a bool to a number."""
    return isinstance(op.kind, Convert) and op.operands[0].dtype.kind == "b" and not op.result.shape


def is_view(op: Op) -> bool:
    return isinstance(op.kind, _VIEWS)
