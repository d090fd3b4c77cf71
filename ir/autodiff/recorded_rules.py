"""Recordings of derivative rules: of a thousand products, only one runs the rule.

A rule of a declaration with ``rules_by_type`` depends only on the types of its values, on which
values are identical, and on the parameters. Together with the set of linear values, which sorts the
emitted ops, these are the form of an op. The first op of a form runs the rule, and the emitted ops
are recorded with numbered values. For the others the recorded ops are emitted again: no rule runs,
and no type is inferred.

Legal where the declaration sets ``rules_by_type``. An op that reads a value not passed to the rule,
or has another source position than the given one, is not recorded. The program is the same as
without recordings, op for op and position for position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from autojit.ir.core.declaration import Declaration, MaybeValue
from autojit.ir.core.program import DerivedSource, Op, Source, Value, derivative_of
from autojit.ir.core.types import Type

#: The number of operations of a program from which rules are recorded.
LEAST = 64


class _Step(NamedTuple):
    """An op of a recording, its operands by number, and the list that it belongs to."""

    kind: Declaration
    operands: tuple[int, ...]
    params: dict[str, Any]
    types: tuple[Type, ...]
    kept_in: int


class _Recording(NamedTuple):
    steps: tuple[_Step, ...]
    #: The numbers of the values that the rule returns; None for a zero.
    made: tuple[int | None, ...]
    #: The form has their ids, so they live as long as it does.
    types: tuple[Type | None, ...]


#: What a rule returns.
Made = Sequence[MaybeValue]

_type = attrgetter("type")


class RecordedRules:
    """The recordings of one transformation of one program."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Recording | None] = {}

    def run(
        self,
        op: Op,
        values: Sequence[MaybeValue],
        place: Source | None,
        lists: tuple[list[Op], ...],
        rule: Callable[..., Made],
        *arguments: Any,
        linear: Collection[Value] = (),
    ) -> Made:
        """Run ``rule(*arguments)``, which adds ops to the lists, or add what it added for an op
        like this.

        ``values`` are all that the rule is handed, and ``place`` is the source of what it emits.
        Which of the lists an op belongs to follows from which values are ``linear``.
        """
        kind, params = op.kind, op.params
        if not kind.rules_by_type:
            return rule(*arguments)
        numbers: dict[MaybeValue, int] = {}
        number = numbers.setdefault
        form = (
            kind,
            kind.key(params) if params else (),
            *[id(v.type) for v in op.operands],
            *[number(v, len(numbers)) for v in values],
            *[v and (id(v.type), v in linear) for v in numbers],
        )
        known = self._known.get(form)
        if known is not None:
            return _repeated(known, [*numbers], place, lists)
        before = [len(ops) for ops in lists]
        made = rule(*arguments)
        if form not in self._known:
            new = [ops[start:] for ops, start in zip(lists, before, strict=True)]
            self._known[form] = _recorded(op, new, made, numbers, place)
        return made


def _recorded(
    op: Op,
    new: Sequence[Sequence[Op]],
    made: Made,
    numbers: dict[MaybeValue, int],
    place: Source | None,
) -> _Recording | None:
    """The recording; None if an op reads a value not passed to the rule, or has another
    position."""
    types = tuple([None if v is None else v.type for v in (*op.operands, *numbers)])
    steps = []
    for kept_in, ops in enumerate(new):
        for step in ops:
            if step.source is not place or any(v not in numbers for v in step.operands):
                return None
            operands = tuple([numbers[v] for v in step.operands])
            results = tuple(map(_type, step.results))
            steps.append(_Step(step.kind, operands, step.params, results, kept_in))
            for v in step.results:
                numbers[v] = len(numbers)
    if any(v is not None and v not in numbers for v in made):
        return None
    returned = tuple([None if v is None else numbers[v] for v in made])
    return _Recording(tuple(steps), returned, types)


def _repeated(
    recording: _Recording,
    values: list[Any],
    place: Source | None,
    lists: tuple[list[Op], ...],
) -> Made:
    for kind, operands, params, types, kept_in in recording.steps:
        results = tuple([Value(type) for type in types])
        given = tuple([values[k] for k in operands])
        lists[kept_in].append(Op(kind, given, params, results, place))
        values += results
    return [None if k is None else values[k] for k in recording.made]


class Places:
    """The source positions of derivatives, each created once for all ops of one kind and
    position."""

    def __init__(self) -> None:
        #: Includes the objects with these ids, so that the ids are not reused.
        self._made: dict[Hashable, tuple[Any, Source | None]] = {}

    def _once(self, key: Hashable, kept: Any, make: Callable[[], Source | None]) -> Source | None:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = kept, make()
        return found[1]

    def of_derivative(self, op: Op) -> Source | None:
        """Where an op's tangents are computed."""
        source = op.source
        if source is None:
            return None
        return self._once((id(source), op.kind), source, lambda: derivative_of(source, op))

    def reversed(self, op: Op) -> Source | None:
        """Where the cotangents of an op's results are carried back."""
        source = op.source
        if source is None:
            return None
        key = id(source), op.kind, True
        return self._once(key, source, lambda: derivative_of(source.reversed(), op))

    def cotangent(self, source: Source, value: Source) -> Source | None:
        """Where the cotangent of a value from elsewhere is computed."""
        key = id(source), id(value)
        return self._once(key, (source, value), lambda: DerivedSource.cotangent(source, value))
