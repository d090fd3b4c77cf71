"""Integers as sums of terms, to prove that two of them are equal whatever the values are."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from autojit.ir.core.program import Op, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import Constant, constant
from autojit.protocols.lifting import as_value, tracer
from autojit.tracing.protocol import bounds_of, with_bounds
from autojit.tracing.tracer import Tracer

_INT = np.dtype(np.int64)

#: A constant, and the coefficient of each term; terms are numbered.
Form = tuple[int, frozenset[tuple[int, int]]]


class _Terms:
    """The forms of a builder's integers that have been computed so far."""

    def __init__(self) -> None:
        self.forms: dict[Value, Form] = {}
        self.numbers: dict[Hashable, int] = {}
        self.seen = 0

    def form(self, value: Value) -> Form:
        """The form of a value: a single term, unless the value is known to be a sum."""
        found = self.forms.get(value)
        if found is None:
            found = self.forms[value] = self.term(value)
        return found

    def term(self, key: Hashable) -> Form:
        """The form that consists of one term, identified by a key."""
        number = self.numbers.setdefault(key, len(self.numbers))
        return 0, frozenset({(number, 1)})

    def add(self, op: Op) -> None:
        """Record the form of an op's result."""
        value = op.result
        if op.kind is constant:
            self.forms[value] = int(op.params["value"]), frozenset()
            return
        parts = [self.form(v) for v in op.operands]
        if op.kind is ensure:
            self.forms[value] = parts[0]
        elif op.kind in _LINEAR and value.dtype == _INT:
            self.forms[value] = _LINEAR[op.kind](self, *parts)
        else:
            key = (op.kind, value.dtype, op.kind.key(op.params), *parts)
            self.forms[value] = self.term(key)


_terms: WeakKeyDictionary[Any, _Terms] = WeakKeyDictionary()


def _known() -> _Terms:
    builder = current_builder()
    found = _terms.setdefault(builder, _Terms())
    for op in builder.ops[found.seen :]:
        is_pure = isinstance(op.kind, (Elementwise, Constant)) or op.kind is gather
        if is_pure and _is_scalar(op.results[0].type):
            found.add(op)
    found.seen = len(builder.ops)
    return found


def _is_scalar(type: Type) -> bool:
    return not type.shape and type.dtype.kind in "iub"


def form_of(x: Any) -> Form:
    """A Python integer, traced or not, as a sum of terms.

    Two integers with the same form are equal.  Terms are values, and ops of equal operands, such
    as the same element of the same array.
    """
    if not isinstance(x, Tracer):
        return int(x), frozenset()
    value = as_value(x, _INT)
    return _known().form(value)


def _sum(_: _Terms, a: Form, b: Form, times: int = 1) -> Form:
    terms = dict(a[1])
    for term, count in b[1]:
        terms[term] = terms.get(term, 0) + times * count
    return a[0] + times * b[0], frozenset((t, n) for t, n in terms.items() if n)


def _difference(terms: _Terms, a: Form, b: Form) -> Form:
    return _sum(terms, a, b, times=-1)


def _product(terms: _Terms, a: Form, b: Form) -> Form:
    if a[1] and b[1]:
        return terms.term(("product", frozenset({a, b})))
    known, other = (b, a) if a[1] else (a, b)
    return _sum(terms, (0, frozenset()), other, times=known[0])


_LINEAR: dict[Any, Any] = {
    arithmetic.add: _sum,
    arithmetic.sub: _difference,
    arithmetic.mul: _product,
}


def distance(a: Any, b: Any) -> int | None:
    """b - a if it is the same number for all values; None if that is not known."""
    from_a, to_b = form_of(a), form_of(b)
    apart, terms = _difference(_known(), to_b, from_a)
    return None if terms else apart


def equal(a: Any, b: Any) -> bool:
    """Whether two integers are surely equal."""
    return distance(a, b) == 0


def at_most(a: Any, b: Any) -> bool:
    """Whether a <= b surely holds."""
    if bounds_of(a)[1] <= bounds_of(b)[0]:
        return True
    if not (isinstance(a, Tracer) or isinstance(b, Tracer)):
        return False
    apart = distance(a, b)
    return apart is not None and apart >= 0


def _integer(value: Value, low: int, high: int) -> Any:
    return low if low == high else with_bounds(tracer(value, int), (low, high))


def lesser(a: Any, b: Any) -> Any:
    """The lesser of two integers."""
    if at_most(a, b):
        return a
    if at_most(b, a):
        return b
    (low, high), (least, most) = bounds_of(a), bounds_of(b)
    value = arithmetic.minimum(as_value(a, _INT), as_value(b, _INT))
    return _integer(value, min(low, least), min(high, most))


def greater(a: Any, b: Any) -> Any:
    """The greater of two integers."""
    if at_most(a, b):
        return b
    if at_most(b, a):
        return a
    (low, high), (least, most) = bounds_of(a), bounds_of(b)
    value = arithmetic.maximum(as_value(a, _INT), as_value(b, _INT))
    return _integer(value, max(low, least), max(high, most))


def from_the_end(i: Any, extent: Any) -> Any:
    """An index as a place from the start: the extent is added to a negative index."""
    low, high = bounds_of(i)
    if low >= 0:
        return i
    least, most = bounds_of(extent)
    value = as_int(i)
    later = arithmetic.add(value, as_int(extent))  # may overflow only if value >= 0
    if high < 0:
        return _integer(later, low + least, high + most)
    chosen = arithmetic.select(arithmetic.lt(value, 0), later, value)
    return _integer(chosen, min(low + least, 0), max(high, most - 1))


def as_index(x: Any) -> Any:
    """A user's index as a Python integer, traced or not."""
    if not isinstance(x, Tracer):
        return int(x.__index__())
    return x if x.weak is int else with_bounds(tracer(as_int(x), int), bounds_of(x))


def checked(x: Any, holds: Value, failure: str) -> Any:
    """An integer whose use raises unless a condition holds."""
    value = ensure(as_value(x, _INT), holds, failure=failure)
    return with_bounds(tracer(value, int), bounds_of(x))


def as_int(x: Any) -> Value:
    """An integer as a value of the trace."""
    return as_value(x, _INT)
