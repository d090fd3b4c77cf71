"""Compares dependences with brute force: runs small loops element by element and compares
orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any, NamedTuple

import pytest

from autojit.codegen.analysis.dependences import (
    dependences,
    is_any_order,
    may_split,
    may_swap,
    reads_own_writes,
    surely_meet,
    written,
)
from autojit.codegen.analysis.overlap import Unknown, solutions
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Fill,
    Gather,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Swap
from autojit.codegen.loop_ir.values import Buffer, Operand, Place
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from tests.codegen.loop_builder import at, buffer, copied, loop, scalar

X, Y = buffer("x", 99), buffer("y", 99)
#: Shares the memory of y.
OVER = Buffer("over", "f64", 99, "temp", over=Y)
SEEDS = range(1500)
#: At least this share of the legal transformations of plain loops is recognised as legal.
SHARE = 0.6


class Event(NamedTuple):
    """The elements that a statement may touch for given values of the variables."""

    name: tuple[Any, ...]
    memory: str
    elements: frozenset[int]
    reads: bool
    changes: bool
    combine: str


def run(body: list[Any], values: Mapping[Var, int], names: Mapping[Var, str]) -> Iterator[Event]:
    """Yield the events of statements in their order. Computed places may be anywhere; guards may
    hold."""
    for s in body:
        if isinstance(s, Loop):
            for value in range(s.start, s.stop):
                yield from run(s.body, {**values, s.var: value}, names)
            continue
        first = (s.start if isinstance(s, Fill) else s.index).value(values)
        places = [[p.stride * n for n in range(p.extent)] for p in getattr(s, "places", ())]
        spread = range(s.count) if isinstance(s, Fill) else map(sum, product(*places))
        name = id(s), *sorted((names[v], n) for v, n in values.items() if v in names)
        yield Event(
            name,
            "y" if s.buffer is OVER else s.buffer.name,
            frozenset(first + n for n in spread),
            isinstance(s, (Load, Gather, AccumulateInto, ScatterInto)),
            not isinstance(s, (Load, Gather)),
            getattr(s, "combine", ""),
        )


def conflicts(a: Event, b: Event) -> bool:
    """Whether the order of two events matters."""
    if a.memory != b.memory or not (a.changes or b.changes) or a.elements.isdisjoint(b.elements):
        return False
    return not a.combine or a.combine == "set" or a.combine != b.combine


def keeps_order(before: list[Event], after: list[Event]) -> bool:
    """Whether conflicting events have the same order in both lists."""
    place = {e.name: k for k, e in enumerate(after)}
    assert len(place) == len(before) == len(after)
    return all(
        place[a.name] < place[b.name]
        for k, a in enumerate(before)
        for b in before[k + 1 :]
        if conflicts(a, b)
    )


class Draw:
    """Random loops; ``plain`` ones have linear indices of single elements."""

    def __init__(self, seed: int, *, plain: bool = False) -> None:
        self.random = Random(seed)
        self.plain = plain
        #: A variable of an outer loop, and the variables of the random loops.
        self.outside = Var(3)

    def index(self, variables: list[Var]) -> Affine:
        r = self.random
        total = Affine(r.randrange(6))
        for v in [*variables, self.outside]:
            total = total + affine.of(v) * r.choice([0, 0, 1, 1, 2, 3, 6])
        if self.plain or r.random() < 0.6:
            return total
        parts = affine.divide(total, r.choice([2, 3, 4]), {})
        return parts[0] * r.choice([1, 4]) + parts[1] * r.choice([0, 1]) + r.randrange(3)

    def statement(self, variables: list[Var]) -> Any:
        r = self.random
        b, index, x = r.choice([X, Y, OVER]), self.index(variables), scalar()
        combine = r.choice(["add", "add", "maximum"])
        kinds = [
            lambda: Load(x, b, index, None),
            lambda: Store(b, index, x),
            lambda: AccumulateInto(b, index, combine, x),
            lambda: Load(x, b, index, scalar()),
            lambda: Gather(x, b, index, self.places(), None),
            lambda: ScatterInto(b, index, self.places(), r.choice(["add", "set"]), x),
            lambda: Fill(b, index, r.randrange(1, 4), 0.0),
        ]
        return r.choice(kinds[:3] if self.plain else kinds)()

    def places(self) -> tuple[Place, ...]:
        r = self.random
        return tuple(
            Place(scalar("i64"), r.choice([1, 2, -1]), r.randrange(1, 4))
            for _ in range(r.randrange(1, 3))
        )

    def loop(self, variables: list[Var], depth: int, most: int = 2) -> Loop:
        r = self.random
        start = r.randrange(2)
        var = Var(start + r.randrange(1, 5))
        inside = [*variables, var]
        body = [self.statement(inside) for _ in range(r.randrange(1, most + 1))]
        if depth:
            body.insert(r.randrange(len(body) + 1), self.loop(inside, depth - 1, 1))
        return Loop(var, start, var.extent, body, "sequence")

    def values(self) -> Iterator[dict[Var, int]]:
        return ({self.outside: n} for n in range(self.outside.extent))


def names_of(*loops: Loop) -> dict[Var, str]:
    """Names for variables, by their nesting depth."""
    found = {}
    for s in loops:
        depth, inner = 0, [s]
        while inner:
            found[inner[0].var] = f"v{depth}"
            inner = [x for x in inner[0].body if isinstance(x, Loop)]
            depth += 1
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(0, len(SEEDS), 500))
def test_every_dependence_of_iterations_is_found(seed: int) -> None:
    for number in SEEDS[seed : seed + 500]:
        draw = Draw(number)
        drawn = draw.loop([], number % 3)
        names = names_of(drawn)
        found = [
            (id(d.source.statement), id(d.sink.statement), d.kind, d.least, d.most)
            for d in dependences(drawn)
        ]
        for values in draw.values():
            for source, sink, distance in _pairs(drawn, values, names):
                wanted = id_of(source), id_of(sink), _kind(source, sink)
                assert any(
                    f[:3] == wanted and f[3] <= distance <= f[4] for f in found
                ), (number, source, sink, distance)  # fmt: skip


def id_of(event: Event) -> int:
    return int(event.name[0])


def _pairs(
    drawn: Loop, values: dict[Var, int], names: dict[Var, str]
) -> Iterator[tuple[Event, Event, int]]:
    """Events of different iterations that touch the same element, the earlier one first."""
    each = [
        list(run(drawn.body, {**values, drawn.var: n}, names))
        for n in range(drawn.start, drawn.stop)
    ]
    for k, one in enumerate(each):
        for distance, other in enumerate(each[k + 1 :], 1):
            for a, b in product(one, other):
                touch = a.memory == b.memory and not a.elements.isdisjoint(b.elements)
                if touch and (a.changes or b.changes):
                    yield a, b, distance


def _kind(source: Event, sink: Event) -> str:
    if not source.changes:
        return "anti"
    if source.combine == sink.combine and source.combine not in ("", "set"):
        return "reduction"
    return "flow" if sink.reads else "output"


def test_iterations_in_any_order_have_no_dependences() -> None:
    told = true = 0
    for number in SEEDS:
        draw = Draw(number, plain=number % 2 == 0)
        drawn = draw.loop([], number % 3)
        pairs = [p for v in draw.values() for p in _pairs(drawn, v, names_of(drawn))]
        orders = [is_any_order(drawn), is_any_order(drawn, adding=True)]
        real = [not pairs, not any(conflicts(a, b) for a, b, _ in pairs)]
        assert orders[0] <= real[0], number
        assert orders[1] <= real[1], number
        if (meeting := surely_meet(drawn)) is not None:
            assert pairs, (number, meeting)
        if number % 2 == 0:
            told, true = told + sum(orders), true + sum(real)
    assert told >= SHARE * true > 0


def test_loops_that_are_split_keep_the_order() -> None:
    told = true = 0
    for number in SEEDS:
        draw = Draw(number, plain=number % 2 == 0)
        drawn = draw.loop([], number % 2, 4)
        if number % 3:  # split at one place; else separate arbitrary statements
            cut = draw.random.randrange(len(drawn.body) + 1)
            parts = drawn.body[:cut], drawn.body[cut:]
        else:
            side = [draw.random.random() < 0.5 for _ in drawn.body]
            parts = tuple([s for s, k in zip(drawn.body, side, strict=True) if k is not of]
                          for of in (True, False))  # fmt: skip
        names = names_of(drawn)
        split = [replace(drawn, body=part) for part in parts]
        right = all(
            keeps_order(list(run([drawn], v, names)), list(run(split, v, names)))
            for v in draw.values()
        )
        may = may_split(drawn, *parts)
        assert may <= right, number
        if number % 2 == 0:
            told, true = told + may, true + right
    assert told >= SHARE * true > 0


def test_statements_that_change_places_keep_the_order() -> None:
    told = true = 0
    for number in SEEDS:
        draw = Draw(number, plain=number % 2 == 0)
        first, second = draw.loop([], 0, 1), draw.loop([], number % 3 // 2, 1)
        names = {**names_of(first), **names_of(second)}
        right = all(
            keeps_order(list(run([first, second], v, names)), list(run([second, first], v, names)))
            for v in draw.values()
        )
        may = may_swap([first], [second])
        assert may <= right, number
        if number % 2 == 0:
            told, true = told + may, true + right
    assert told >= SHARE * true > 0


def test_solutions_hold_all_that_there_are() -> None:
    for number in range(600):
        r = Random(number)
        unknowns = [
            Unknown(r.choice([-16, -4, -2, -1, 0, 1, 2, 3, 4, 8, 16]), low, low + r.randrange(4))
            for low in (r.randrange(-3, 2) for _ in range(r.randrange(1, 4)))
        ]
        unknowns[0] = unknowns[0]._replace(is_wanted=True)
        low = r.randrange(-20, 20)
        window = low, low + r.choice([0, 0, 1, 3])
        real = [
            values[0]
            for values in product(*(range(u.low, u.high + 1) for u in unknowns))
            if window[0]
            <= sum(u.factor * n for u, n in zip(unknowns, values, strict=True))
            <= window[1]
        ]
        found = solutions(unknowns, window)
        if real:
            assert found is not None
            assert found[0] <= min(real) <= max(real) <= found[1]
        elif len([u for u in unknowns if u.factor]) == 1:
            assert found is None


ROW, COLUMN, LAST = Var(4), Var(8), Var(8)


@pytest.mark.parametrize(
    ("index", "free"),
    [
        (at((64, ROW), (8, COLUMN), LAST), True),
        (at((64, COLUMN), (8, ROW), LAST), True),
        (at((8, COLUMN), LAST, (64, ROW)), True),
        (at((4, COLUMN), ROW), True),
        (at((3, COLUMN), ROW), False),
        (at((8, COLUMN), LAST), False),
        (affine.divide(at((2, ROW), LAST), 8, {})[0], False),
    ],
)
def test_rows_and_columns_of_blocks_are_told_apart(index: Affine, free: bool) -> None:
    nest = loop(ROW, [loop(COLUMN, [loop(LAST, [Store(Y, index, scalar())])])])
    assert is_any_order(nest) is free


def test_distances_are_known() -> None:
    body = copied(Y, at(ROW), OVER, at(ROW, 2))
    (found,) = dependences(loop(ROW, body))
    assert (found.kind, found.distance, found.source.statement) == ("flow", 2, body[1])
    body = copied(Y, at(ROW, 1), Y, at(ROW))
    assert [(d.kind, d.distance) for d in dependences(loop(ROW, body))] == [("anti", 1)]
    body = copied(Y, at(ROW), Y, at(ROW))
    assert [(d.kind, d.distance) for d in dependences(loop(ROW, body))] == [("anti", 0)]
    sums = loop(ROW, [AccumulateInto(Y, at(0), "add", scalar())], "reduce")
    assert {d.kind for d in dependences(sums)} == {"reduction"}
    assert is_any_order(sums, adding=True)
    assert not is_any_order(sums)
    kept = loop(ROW, [ScatterInto(Y, at(0), (), "set", scalar())], "reduce")
    assert not is_any_order(kept, adding=True)


def test_buffers_that_change_places_are_one() -> None:
    apart = [Store(X, at(ROW), scalar()), Load(scalar(), Y, at(ROW, 1), None)]
    assert is_any_order(loop(ROW, apart))
    assert not is_any_order(loop(ROW, [*apart, Swap(X, Y)]))
    assert not may_swap(apart[:1], [apart[1], Swap(X, Y)])


def test_matrices_may_be_anywhere_in_their_buffers() -> None:
    operands = [Operand(b, Affine(0), (2, 1)) for b in (X, buffer("l", 4))]
    solved = Factorization("cholesky", "f64", (), 2, 2, 0, {}, (operands[0],), (operands[1],))
    assert not may_swap([solved], [Store(X, at(3), scalar())])
    assert may_swap([solved], [Store(Y, at(3), scalar())])


def test_what_may_run_again_reads_nothing_of_its_own() -> None:
    assert not reads_own_writes(copied(X, at(0), Y, at(0)))
    assert reads_own_writes(copied(Y, at(1), OVER, at(0)))
    assert reads_own_writes([AccumulateInto(Y, at(0), "add", scalar())])
    assert written([loop(ROW, copied(X, at(0), OVER, at(0)))]) == {Y}
