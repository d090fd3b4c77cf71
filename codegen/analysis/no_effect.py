"""Whether statements have no effect if conditions do not hold.

Slices with traced bounds are whole arrays with masks, so elements outside of them are computed
without effect: a sum adds its neutral element, and a store rewrites the old value. This module
evaluates statements as far as their values follow from the conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer, Place, Scalar
from autojit.codegen.loop_text.words import evaluate
from autojit.ir.core.affine import Affine, Bounds
from autojit.ir.core.types import dtype_from_name
from autojit.ir.ops.checks import failure_of

_ANY = (-(2**63), 2**63 - 1)
#: The bounds (low, high) of x if ``x < c`` etc. holds, for an integer c.
_BOUNDING: dict[str, Callable[[int], tuple[int, int]]] = {
    "lt": lambda c: (_ANY[0], c - 1),
    "le": lambda c: (_ANY[0], c),
    "gt": lambda c: (c + 1, _ANY[1]),
    "ge": lambda c: (c, _ANY[1]),
}


#: A buffer's memory, an index, and the scalar numbers and strides of computed places.
_Where = tuple[Buffer, Affine, tuple[tuple[int, int], ...]]


def _where(s: Load | Gather | Store | ScatterInto) -> _Where:
    places = s.places if isinstance(s, (Gather, ScatterInto)) else ()
    return memory(s.buffer), s.index, tuple((p.scalar.number, p.stride) for p in places)


def has_no_effect(
    body: list[Any], wrong: Collection[int], before: Mapping[int, Any], bounds: Bounds
) -> bool:
    """Whether a body changes nothing if conditions are false, and fails either as it does if they
    are true, or not at all.

    ``wrong`` are the numbers of the conditions; ``before`` the statements that compute scalars
    outside, by number; ``bounds`` the ranges of all variables. Adding zero to a sum counts as no
    effect, although it turns -0 into 0.
    """
    return _Walk(wrong, before, bounds).follow(body)


class _Walk:
    def __init__(self, wrong: Collection[int], before: Mapping[int, Any], bounds: Bounds) -> None:
        self.wrong = wrong
        self.bounds = bounds
        #: The statement that computes each scalar, and known values.
        self.made = dict(before)
        self.known: dict[int, Any] = {}
        for s in before.values():
            if isinstance(s, Constant):
                self._constant(s)
        #: Scalars of the body.
        self.inside: set[int] = set()
        #: The place from which a scalar was read.
        self.place: dict[int, _Where] = {}
        #: For sums that begin inside: whether they are still neutral.
        self.neutral: dict[int, bool] = {}

    def follow(self, body: list[Any]) -> bool:
        return all(self._step(s) for s in body)

    def _step(self, s: Any) -> bool:
        result = getattr(s, "result", None)
        if isinstance(result, Scalar):
            self.known.pop(result.number, None)  # a task recomputes scalars from outside
            self.place.pop(result.number, None)
            self.made[result.number] = s
            self.inside.add(result.number)
        step = _STEPS.get(type(s))
        return step is not None and step(self, s)

    def _constant(self, s: Constant) -> bool:
        self._know(s.result, s.value)
        return True

    def _know(self, x: Scalar, value: Any) -> None:
        self.known[x.number] = np.asarray(value).astype(dtype_from_name(x.dtype))[()]

    def _pure(self, s: Any) -> bool:
        return True

    def _load(self, s: Load) -> bool:
        if s.guard is None:
            self.place[s.result.number] = _where(s)
        elif self._is(s.guard, False):
            self._know(s.result, 0)
        return True

    def _gather(self, s: Gather) -> bool:
        if s.guard is None:
            self.place[s.result.number] = _where(s)
        elif self._is(s.guard, False):
            return True
        return all(map(self._fits, s.places))

    def _compute(self, s: Compute) -> bool:
        number, args = s.result.number, [a.number for a in s.args]
        if number in self.wrong:
            self.known[number] = np.False_
        elif failure_of(s.name) is not None:
            if not self._is(s.args[0], True):
                return False
            self._same(number, args[1])
        elif s.name == "select" and args[0] in self.known:
            self._same(number, args[1] if self.known[args[0]] else args[2])
        elif s.name in ("add", "sub") and self._is(s.args[1], 0):
            self._same(number, args[0])
        elif s.name == "add" and self._is(s.args[0], 0):
            self._same(number, args[1])
        elif s.name in ("and", "or") and s.result.dtype == "bool":
            self._logical(s)
        elif all(a in self.known for a in args):
            self.known[number] = evaluate(s.name, [self.known[a] for a in args], s.result.dtype)
        else:
            return s.name != "pow" or s.result.dtype[0] == "f"  # integers may fail
        return True

    def _logical(self, s: Compute) -> None:
        decides = s.name == "or"
        values = [self.known.get(a.number) for a in s.args]
        if any(v is not None and bool(v) is decides for v in values):
            self.known[s.result.number] = np.bool_(decides)
        elif None not in values:
            self.known[s.result.number] = np.bool_(not decides)

    def _same(self, number: int, other: int) -> None:
        """Record that a scalar equals another one."""
        for facts in (self.known, self.place, self.made):
            if other in facts:
                facts[number] = facts[other]

    def _begin(self, s: Begin) -> bool:
        self.neutral[s.accumulator.number] = True
        return True

    def _accumulate(self, s: Accumulate) -> bool:
        value, number = self.known.get(s.value.number), s.accumulator.number
        if value is not None and value == s.accumulator.identity:
            return True
        if number not in self.neutral:
            return False
        self.neutral[number] = False
        return True

    def _finish(self, s: Finish) -> bool:
        if self.neutral.pop(s.accumulator.number, False):
            self._know(s.result, s.accumulator.identity)
        return True

    def _store(self, s: Store) -> bool:
        return self.place.get(s.value.number) == _where(s)

    def _scatter(self, s: ScatterInto) -> bool:
        nothing = s.combine == "add" and self._is(s.value, 0)
        there = s.combine == "set" and self.place.get(s.value.number) == _where(s)
        return (nothing or there) and all(map(self._fits, s.places))

    def _accumulate_into(self, s: AccumulateInto) -> bool:
        return s.combine == "add" and self._is(s.value, 0)

    def _loop(self, s: Loop) -> bool:
        return s.share is None and not s.is_partial and self.follow(s.body)

    def _is(self, x: Scalar, value: Any) -> bool:
        known = self.known.get(x.number)
        return known is not None and bool(known == value)

    # -- places -------------------------------------------------------------------

    def _fits(self, place: Place) -> bool:
        if place.scalar.number not in self.inside:
            return True
        low, high = self._range(place.scalar.number)
        return low >= 0 and high < place.extent

    def _range(self, number: int) -> tuple[int, int]:
        """Return bounds that an integer surely satisfies."""
        if number in self.known:
            return int(self.known[number]), int(self.known[number])
        s = self.made.get(number)
        if isinstance(s, IndexValue):
            return s.index.range(self.bounds)
        if not isinstance(s, Compute) or s.name != "select":
            return _ANY
        condition, x, y = (a.number for a in s.args)
        low, high = self._range(x)
        for name, value in self._terms(condition, x):
            least, most = _BOUNDING[name](value)
            low, high = max(low, least), min(high, most)
        other = self._range(y)
        return min(low, other[0]), max(high, other[1])

    def _terms(self, condition: int, x: int) -> Iterator[tuple[str, int]]:
        """Yield comparisons of an integer with known ones that hold if a condition does."""
        s = self.made.get(condition)
        if not isinstance(s, Compute):
            return
        if s.name == "and":
            for a in s.args:
                yield from self._terms(a.number, x)
        elif s.name in _BOUNDING and s.args[0].number == x and s.args[1].number in self.known:
            yield s.name, int(self.known[s.args[1].number])


_STEPS: dict[type, Callable[[_Walk, Any], bool]] = {
    Constant: _Walk._constant, IndexValue: _Walk._pure, InRange: _Walk._pure, Load: _Walk._load,
    Gather: _Walk._gather, Compute: _Walk._compute, Begin: _Walk._begin,
    Accumulate: _Walk._accumulate, Finish: _Walk._finish, Store: _Walk._store,
    AccumulateInto: _Walk._accumulate_into, ScatterInto: _Walk._scatter, Loop: _Walk._loop,
}  # fmt: skip
