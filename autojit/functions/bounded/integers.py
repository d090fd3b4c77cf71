"""Python's integers as sums of terms: whether two of them are equal, whatever the values are."""

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
from autojit.ir.ops.linear import Constant, constant
from autojit.protocols.lifting import as_value, tracer
from autojit.tracing.protocol import bounds_of, with_bounds
from autojit.tracing.tracer import Tracer

_INT = np.dtype(np.int64)

#: A constant, and how often each term is added; terms are numbered.
Form = tuple[int, frozenset[tuple[int, int]]]


class _Terms:
    """The forms of the integers of a builder, as far as they have been asked for."""

    def __init__(self) -> None:
        self.forms: dict[Value, Form] = {}
        self.numbers: dict[Hashable, int] = {}
        self.seen = 0

    def form(self, value: Value) -> Form:
        """A value as a sum of terms: one term, unless it was found to be a sum."""
        found = self.forms.get(value)
        if found is None:
            found = self.forms[value] = self.term(value)
        return found

    def term(self, key: Hashable) -> Form:
        """What one thing is as a sum."""
        number = self.numbers.setdefault(key, len(self.numbers))
        return 0, frozenset({(number, 1)})

    def add(self, op: Op) -> None:
        """Find the form of what an op makes."""
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
        if isinstance(op.kind, (Elementwise, Constant)) and _is_scalar(op.results[0].type):
            found.add(op)
    found.seen = len(builder.ops)
    return found


def _is_scalar(type: Type) -> bool:
    return not type.shape and type.dtype.kind in "iub"


def form_of(x: Any) -> Form:
    """A Python integer, traced or not, as a sum of terms.

    Two integers with one form are equal.  Terms are values, and ops of equal operands.
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
    """b - a where that is a number, whatever the values are; None if it is not known."""
    from_a, to_b = form_of(a), form_of(b)
    apart, terms = _difference(_known(), to_b, from_a)
    return None if terms else apart


def equal(a: Any, b: Any) -> bool:
    """Whether two integers are surely equal."""
    return distance(a, b) == 0


def at_most(a: Any, b: Any) -> bool:
    """Whether a <= b is sure."""
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
    """An index with the extent added where it is negative, as NumPy counts."""
    low, high = bounds_of(i)
    if low >= 0:
        return i
    least, most = bounds_of(extent)
    value = as_int(i)
    later = arithmetic.add(value, as_int(extent))  # wraps around only where it is not used
    if high < 0:
        return _integer(later, low + least, high + most)
    chosen = arithmetic.select(arithmetic.lt(value, 0), later, value)
    return _integer(chosen, min(low + least, 0), max(high, most - 1))


def as_index(x: Any) -> Any:
    """What a user indexes with as a Python integer, traced or not."""
    if not isinstance(x, Tracer):
        return int(x.__index__())
    return x if x.weak is int else with_bounds(tracer(as_int(x), int), bounds_of(x))


def checked(x: Any, holds: Value, failure: str) -> Any:
    """An integer that may be used only where a condition holds; otherwise the code raises."""
    value = ensure(as_value(x, _INT), holds, failure=failure)
    return with_bounds(tracer(value, int), bounds_of(x))


def as_int(x: Any) -> Value:
    """An integer as a value of the trace."""
    return as_value(x, _INT)
