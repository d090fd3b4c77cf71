"""Integers of loops: their ranges, and their forms in the variables of the loops around them.

Scalars and *cells* have facts. A cell is a local buffer of one integer, such as the counter of a
loop of unknown length. Facts follow the order of the statements: a store replaces the fact of its
cell, and a loop forgets the cells that it changes, both before its first iteration and after its
last one. A comparison of integers is 0 or 1 if the ranges or forms decide it; then `select` is one
of its operands, as in Python's rule for negative indices:

    s3 = i - j              # 1 or more, where j is below i
    s4 = s3 < 0             # 0
    s5 = s3 + n
    s6 = select(s4, s5, s3) # s3

Legal where bounds hold whenever the body of a loop runs: :meth:`Nest.least` uses the end of each
loop as the form that it is in outer variables, so it knows triangles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from autojit.codegen.loop_ir.effects import changed_buffers
from autojit.codegen.loop_ir.nodes import Compute, Constant, Fill, IndexValue, Load, Store
from autojit.codegen.loop_ir.traversal import defined, memory, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine, Bounds, Var

#: Integers beyond this are not followed, so that no sum of two of them wraps around.
WIDE = 1 << 60


@dataclass(frozen=True, slots=True)
class Fact:
    """The least and greatest value of an integer, and its form in loop variables if known."""

    low: int
    high: int
    form: Affine | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """A loop of a nest: its range, and the form of the first iteration that is not run."""

    var: Var
    start: int
    stop: int
    end: Affine | None = None


class Nest:
    """The loops around a statement, the outermost first."""

    def __init__(self, levels: tuple[Level, ...] = ()) -> None:
        self.levels = levels
        self.bounds: Bounds = {x.var: (x.start, x.stop - 1) for x in levels}

    def inside(self, level: Level) -> Nest:
        return Nest((*self.levels, level))

    def least(self, form: Affine) -> int:
        """A lower bound of a form in the iterations that are run.

        >>> i, j = Var(8), Var(8)
        >>> triangle = Nest((Level(i, 0, 8), Level(j, 0, 8, of(i))))  # j below i
        >>> triangle.least(of(i) - of(j)), triangle.least(of(j) - of(i))
        (1, -7)
        """
        return self._least(form, len(self.levels))

    def _least(self, form: Affine, depth: int) -> int:
        if not depth or not form.terms:
            return form.range(self.bounds)[0]
        level = self.levels[depth - 1]
        stride = form.stride(level.var)
        if stride is None:
            return form.range(self.bounds)[0]
        if not stride:
            return self._least(form, depth - 1)
        ends = [Affine(level.start if stride > 0 else level.stop - 1)]
        if stride < 0 and level.end is not None:
            ends.append(level.end - 1)
        rest = form.without(level.var)
        return max(self._least(rest + end * stride, depth - 1) for end in ends)

    def fact(self, form: Affine) -> Fact | None:
        """The fact about a form; None if it may be too large."""
        return _fact(self.least(form), -self.least(form * -1), form)


def _fact(low: int, high: int, form: Affine | None = None) -> Fact | None:
    return Fact(low, high, form) if low > -WIDE and high < WIDE else None


def is_cell(buffer: Buffer) -> bool:
    """Whether a buffer is a single local number."""
    return buffer.kind == "local" and buffer.size == 1


class Facts:
    """What is known of integers at a place among the statements."""

    def __init__(self, nest: Nest | None = None) -> None:
        self.nest = nest or Nest()
        self.scalars: dict[int, Fact] = {}
        self.cells: dict[Buffer, Fact] = {}

    def of(self, x: Scalar) -> Fact | None:
        return self.scalars.get(x.number)

    def see(self, s: Any) -> None:
        """Follow a statement without bodies."""
        if isinstance(s, Store) and is_cell(s.buffer):
            self._keep(s.buffer, self.of(s.value))
        elif isinstance(s, Fill) and is_cell(s.buffer):
            self._keep(s.buffer, self._number(s.value) if s.buffer.dtype == "i64" else None)
        else:
            self.forget([s])
        result = defined(s)
        if result is None:
            return
        found = self._made(s)
        if found is not None:
            self.scalars[result.number] = found
        else:  # a loop that was split has its scalars twice
            self.scalars.pop(result.number, None)

    def forget(self, body: Iterable[Any]) -> None:
        """Forget the cells that statements change, those inside of them included."""
        for s in walk(list(body)):
            for buffer in changed_buffers(s):
                self.cells.pop(memory(buffer), None)

    def forget_variable(self, var: Var, value: int | None) -> None:
        """Leave a loop, whose variable had one value, or is not known outside."""
        for cell, fact in list(self.cells.items()):
            if fact.form is not None and var in fact.form.variables():
                form = None if value is None else fact.form.substitute(var, Affine(value))
                self.cells[cell] = Fact(fact.low, fact.high, form)

    def _keep(self, cell: Buffer, fact: Fact | None) -> None:
        self.cells.pop(memory(cell), None)
        if fact is not None:
            self.cells[memory(cell)] = fact

    def _number(self, value: Any) -> Fact | None:
        return _fact(int(value), int(value), Affine(int(value)))

    def _made(self, s: Any) -> Fact | None:
        if isinstance(s, Load):
            return None if s.guard is not None else self.cells.get(memory(s.buffer))
        if isinstance(s, Compute):
            return self._computed(s)
        if not isinstance(s, (Constant, IndexValue)) or s.result.dtype != "i64":
            return None
        return self.nest.fact(s.index) if isinstance(s, IndexValue) else self._number(s.value)

    def _computed(self, s: Compute) -> Fact | None:
        rule = _RULES.get(s.name)
        integers = s.args[1:] if s.name == "select" else s.args
        if rule is None or not all(x.dtype == "i64" for x in integers):
            return None
        given = [self.of(x) for x in s.args]
        if s.name == "select" and given[0] is None:
            given[0] = _UNDECIDED
        facts = [x for x in given if x is not None]
        return rule(self.nest, *facts) if len(facts) == len(given) else None


def _added(nest: Nest, a: Fact, b: Fact, sign: int = 1) -> Fact | None:
    if a.form is not None and b.form is not None:
        return nest.fact(a.form + b.form * sign)
    ends = (b.low, b.high) if sign > 0 else (-b.high, -b.low)
    return _fact(a.low + ends[0], a.high + ends[1])


def _subtracted(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    return _added(nest, a, b, -1)


def _multiplied(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    product = None if a.form is None or b.form is None else a.form.times(b.form)
    if product is not None:
        return nest.fact(product)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _fact(min(ends), max(ends))


def _largest(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    if a.form is not None and b.form is not None:
        for one, other in ((a, b), (b, a)):
            if nest.least(one.form - other.form) >= 0:  # type: ignore[operator]
                return one
    return _fact(max(a.low, b.low), max(a.high, b.high))


def _smallest(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    if a.form is not None and b.form is not None:
        for one, other in ((a, b), (b, a)):
            if nest.least(one.form - other.form) >= 0:  # type: ignore[operator]
                return other
    return _fact(min(a.low, b.low), min(a.high, b.high))


def _negative(nest: Nest, a: Fact) -> Fact | None:
    return nest.fact(a.form * -1) if a.form is not None else _fact(-a.high, -a.low)


def _is_less(nest: Nest, a: Fact, b: Fact, more: int = 1) -> Fact | None:
    """Whether b is at least ``more`` beyond a, in all iterations or in none."""
    low, high = b.low - a.high, b.high - a.low
    if a.form is not None and b.form is not None:
        low = max(low, nest.least(b.form - a.form))
        high = min(high, -nest.least(a.form - b.form))
    return _fact(int(low >= more), int(high >= more)) if (low >= more) == (high >= more) else None


def _is_at_most(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    return _is_less(nest, a, b, 0)


def _is_greater(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    return _is_less(nest, b, a)


def _is_at_least(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    return _is_less(nest, b, a, 0)


def _selected(nest: Nest, condition: Fact, a: Fact, b: Fact) -> Fact | None:
    if condition.low == condition.high:
        return a if condition.low else b
    form = a.form if a.form == b.form else None
    return _fact(min(a.low, b.low), max(a.high, b.high), form)


def _remainder(nest: Nest, a: Fact, b: Fact) -> Fact | None:
    """The remainder of Python's division by a positive number."""
    if b.low <= 0:
        return None
    is_whole = a.low >= 0 and _is_less(nest, a, b) == Fact(1, 1, None)
    return a if is_whole else _fact(0, b.high - 1)


#: A comparison that is not known.
_UNDECIDED = Fact(0, 1)
_RULES: dict[str, Callable[..., Fact | None]] = {
    "add": _added,
    "sub": _subtracted,
    "mul": _multiplied,
    "maximum": _largest,
    "minimum": _smallest,
    "neg": _negative,
    "remainder": _remainder,
    "lt": _is_less,
    "le": _is_at_most,
    "gt": _is_greater,
    "ge": _is_at_least,
    "select": _selected,
}
