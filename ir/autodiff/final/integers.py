"""Integers of a loop step as affine forms of step numbers, with their bounds.

``range(k + 1, n)`` in a step of ``range(n)`` is a loop over a counter ``c`` from 0 on, below
``max(n - k - 1, 0)``; an index in it is ``c + k + 1``.  Such forms show that this index is greater
than ``k``, and how far a later step's index is from this one.

Legal where each bound of a variable holds in every step considered. A bound is a form of older
variables only, so that :meth:`Bounds.least` terminates. Forms are valid only without wrap-around,
so only eight-byte integers have one, with numbers below ``WIDE``; no loop ever reaches 2**31 steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from autojit.ir.core.affine import Affine, Var, of
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Program, Value, current_builder
from autojit.ir.core.registry import REGISTRY, declared
from autojit.ir.ops.arithmetic import (
    add,
    bitwise_and,
    convert,
    eq,
    floor_divide,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    select,
    sub,
)
from autojit.ir.ops.linear import constant

#: The op that makes a value, if it is known.
Maker = Callable[[Value], Op | None]

#: Comparisons with their negations.
OPPOSITE: dict[Declaration, Declaration] = {lt: ge, ge: lt, le: gt, gt: le, eq: ne, ne: eq}


#: A bound on factors and numbers of forms: multiplied by as many steps, they fit eight bytes.
WIDE = 2**31


class Bounds:
    """Lower and upper bounds of variables, as forms of older variables."""

    def __init__(self) -> None:
        self.lows: dict[Var, list[Affine]] = {}
        self.highs: dict[Var, list[Affine]] = {}
        #: The greater of two forms.
        self.greater: dict[Var, tuple[Affine, Affine]] = {}
        #: Forms that are not 0.
        self.unequal: list[Affine] = []

    def variable(self, lows: Sequence[Affine] = (), highs: Sequence[Affine] = ()) -> Affine:
        """A new variable."""
        var = Var(0)
        self.lows[var], self.highs[var] = list(lows), list(highs)
        return of(var)

    def least(self, form: Affine) -> float:
        """A lower bound of a form; minus infinity if none is known.

        >>> bounds = Bounds()
        >>> row = bounds.variable([Affine(0)])
        >>> column = bounds.variable([row + 1])
        >>> bounds.least(column - row)
        1
        """
        if not form.terms:
            return form.constant
        var, factor = max(form.terms, key=lambda term: _serial(term[0]))
        assert isinstance(var, Var)
        known = (self.lows if factor > 0 else self.highs).get(var, ())
        return max((self.least(form.substitute(var, b)) for b in known), default=-inf)

    def copied(self) -> Bounds:
        """A copy, to which bounds that hold at one place can be added."""
        result = Bounds()
        result.lows = {var: list(forms) for var, forms in self.lows.items()}
        result.highs = {var: list(forms) for var, forms in self.highs.items()}
        result.greater = self.greater
        result.unequal = list(self.unequal)
        return result

    def assume(self, kind: Declaration, a: Affine, b: Affine) -> None:
        """Assume that a comparison of two forms holds."""
        if kind is ne and self.least(a - b) >= 0:
            kind = gt
        elif kind is ne and self.least(b - a) >= 0:
            kind = lt
        elif kind is ne:
            self.unequal.append(a - b)
        if kind in (lt, le, eq):
            self._not_positive(a - b + int(kind is lt))
        if kind in (gt, ge, eq):
            self._not_positive(b - a + int(kind is gt))

    def _not_positive(self, form: Affine) -> None:
        var = max(form.variables(), key=_serial, default=None)
        if var is not None:
            self.at_most(form, var)

    def at_most(self, form: Affine, var: Var) -> None:
        """Note that a form that contains the variable is at most 0."""
        factor = form.coefficient(var)
        rest = form - of(var) * factor
        if all(_serial(v) < var.serial for v in rest.variables()):
            if factor == 1:
                self.highs.setdefault(var, []).append(rest * -1)
            elif factor == -1:
                self.lows.setdefault(var, []).append(rest)


def _serial(atom: Any) -> int:
    return atom.serial if isinstance(atom, Var) else -1


def made_by(ops: Iterable[Op]) -> Maker:
    """The ops that make values."""
    return {v: op for op in ops for v in op.results}.get


nothing_known = made_by(())


class Integers:
    """The forms of integer scalars of one program, in one step of the surrounding loops."""

    def __init__(
        self, bounds: Bounds, maker: Maker, known: Mapping[Value, Affine] | None = None
    ) -> None:
        self.bounds = bounds
        self.maker = maker
        self.known = dict(known or {})

    @staticmethod
    def here() -> Integers:
        """The forms of values of the current builder, in steps of the surrounding loops."""
        builder = current_builder()
        if not isinstance(builder, StepBuilder):
            return Integers(Bounds(), nothing_known)
        if builder.around is None:
            return Integers(Bounds(), builder.maker)
        return Integers(builder.around.bounds, builder.maker, builder.around.known)

    def range(self, value: Value) -> tuple[int, int] | None:
        """The range of an integer; None if unknown."""
        form = self.of(value)
        low, high = self.bounds.least(form), -self.bounds.least(form * -1)
        return (int(low), int(high)) if -inf < low and high < inf else None

    def of(self, value: Value) -> Affine:
        """The form of an integer; a new variable if nothing is known about it."""
        if value not in self.known:
            form = self._made(value)
            if form is None or not all(abs(number) < WIDE for number in form.numbers()):
                form = self.bounds.variable()
            self.known[value] = form
        return self.known[value]

    def _made(self, value: Value) -> Affine | None:
        op = self.maker(value)
        if op is None or not is_integer(value):
            return None
        if op.kind is declared.switch:
            return self._branched(op, op.results.index(value))
        if op.kind is constant:
            return Affine(int(op.params["value"]))
        rule = _RULES.get(op.kind)
        return None if rule is None else rule(self, op)

    def _selected(self, op: Op) -> Affine | None:
        condition, a, b = op.operands
        return self._chosen(self.maker(condition), self.of(a), self.of(b))

    def _branched(self, op: Op, result: int) -> Affine | None:
        test = compared(op, self.maker)
        if test is None:
            return None
        second, first = (
            in_body(op, branch, self).of(branch.outputs[result]) for branch in op.params["branches"]
        )
        return self._chosen(test, first, second)

    def _chosen(self, test: Op | None, first: Affine, second: Affine) -> Affine | None:
        """The form of the first value if a comparison holds, else of the second."""
        if (
            test is None
            or test.kind not in (lt, le, gt, ge, eq)
            or not is_integer(test.operands[0])
        ):
            return None
        x, y = map(self.of, test.operands)
        if test.kind is eq:
            # If x == y, the first form equals the second, so the second is right everywhere.
            gap, apart = second - first, x - y
            return second if gap in (apart, apart * -1, Affine(0)) else None
        if test.kind in (lt, le):
            x, y, first, second, strict = y, x, first, second, test.kind is lt
        else:
            strict = test.kind is gt
        # The first where x > y, or x >= y.
        if self.bounds.least(x - y) >= int(strict):
            return first
        if self.bounds.least(y - x) >= int(not strict):
            return second
        if first == x and second == y:
            return self._greater(x, y)
        return self._smaller(x, y) if first == y and second == x else None

    def _greater(self, a: Affine, b: Affine) -> Affine:
        if self.bounds.least(a - b) >= 0:
            return a
        if self.bounds.least(b - a) >= 0:
            return b
        found = self.bounds.variable([a, b])
        self.bounds.greater[found.terms[0][0]] = (a, b)  # type: ignore[index]
        return found

    def _smaller(self, a: Affine, b: Affine) -> Affine:
        return self.bounds.variable([], [a, b])

    def _divided(self, op: Op) -> Affine | None:
        by = self.of(op.operands[1])
        return self.of(op.operands[0]) if by == Affine(1) else None


_RULES: dict[Any, Callable[[Integers, Op], Affine | None]] = {
    add: lambda self, op: self.of(op.operands[0]) + self.of(op.operands[1]),
    sub: lambda self, op: self.of(op.operands[0]) - self.of(op.operands[1]),
    neg: lambda self, op: self.of(op.operands[0]) * -1,
    mul: lambda self, op: self.of(op.operands[0]).times(self.of(op.operands[1])),
    maximum: lambda self, op: self._greater(*map(self.of, op.operands)),
    minimum: lambda self, op: self._smaller(*map(self.of, op.operands)),
    floor_divide: Integers._divided,
    select: Integers._selected,
}


class StepBuilder(Builder):
    """A builder for a loop step, with known facts about integers among its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.around: Integers | None = None
        self._makers: dict[Value, Op] = {}
        self._seen = 0

    def maker(self, value: Value) -> Op | None:
        """The op that has made a value."""
        for op in self.ops[self._seen :]:
            self._makers.update(dict.fromkeys(op.results, op))
        self._seen = len(self.ops)
        return self._makers.get(value)

    def know(self, around: Integers | None, old: Sequence[Value], inputs: Sequence[Value]) -> None:
        """Give the inputs the forms that ``around`` has for the old ones."""
        if around is not None:
            pairs = zip(old, inputs, strict=True)
            known = {new: around.known[v] for v, new in pairs if v in around.known}
            self.around = Integers(around.bounds, nothing_known, known)


def compared(switch: Op, maker: Maker) -> Op | None:
    """The comparison that selects one of two branches: the second if it holds."""
    number = maker(switch.operands[0])
    if len(switch.params["branches"]) != 2 or number is None or number.kind is not convert:
        return None
    test = maker(number.operands[0])
    return test if test is not None and test.kind in OPPOSITE else None


# -- steps of loops -----------------------------------------------------------------


class Steps:
    """A loop step and a later one, as forms of the integers in the body."""

    def __init__(self, op: Op, outer: Integers, body: int = 0, later: bool = False) -> None:
        """For a ``scan`` or the first sweep of a ``while``; ``outer`` has the forms of its
        operands.

        With ``later``, this step is followed by another one: ``self.then``.
        """
        self.op, self.bounds = op, outer.bounds
        self.then: Integers | None = None
        scan = op.kind is declared.scan
        program: Program = op.params["body"] if scan else op.params["sweeps"][body]
        shared = op.kind.shared(op)  # type: ignore[attr-defined]
        given = {program.inputs[j]: outer.of(op.operands[k]) for j, k in enumerate(shared)
                 if is_integer(op.operands[k])}  # fmt: skip
        more = self.bounds.variable([Affine(1)]) if later else Affine(0)
        place = self._scanned if scan else self._counted
        now, then = place(program, outer, given, more) if scan or not body else ({}, {})
        maker = made_by(program.ops)
        self.now = Integers(self.bounds, maker, {**given, **now})
        if later:
            self.then = Integers(self.bounds, maker, {**given, **then})

    def _scanned(
        self, program: Program, outer: Integers, given: Any, more: Affine
    ) -> tuple[dict[Value, Affine], dict[Value, Affine]]:
        last = Affine(self.op.params["length"] - 1) - more
        index = program.inputs[self.op.params["constants"]]
        number = self.bounds.variable([Affine(0)], [last])
        if not self.op.params["reverse"]:
            return {index: number}, {index: number + more}
        whole = Affine(self.op.params["length"] - 1)
        return {index: whole - number}, {index: whole - number - more}

    def _counted(
        self, program: Program, outer: Integers, given: Any, more: Affine
    ) -> tuple[dict[Value, Affine], dict[Value, Affine]]:
        n, test = self.op.params["constants"], self.op.params["condition"]
        counters = counters_of(program, n, self.op.params["carries"][0])
        starts = {k: outer.of(self.op.operands[n + k]) for k in counters}
        number = self.bounds.variable([Affine(0)])
        now = {program.inputs[n + k]: starts[k] + number * by for k, by in counters.items()}
        then = {v: form + more * counters[program.inputs.index(v) - n] for v, form in now.items()}
        for place in (now, then) if more.terms else (now,):
            by_input = dict(zip(test.inputs, program.inputs, strict=False))
            known = {v: {**given, **place}[w] for v, w in by_input.items()
                     if w in given or w in place}  # fmt: skip
            self._assume(test, Integers(self.bounds, made_by(test.ops), known), number)
        return now, then

    def _assume(self, test: Program, integers: Integers, number: Affine) -> None:
        """Assume that the condition holds, which bounds the number of the step."""
        var = next(iter(number.variables()))
        pending = [test.outputs[0]]
        while pending:
            op = integers.maker(pending.pop())
            if op is None:
                continue
            if op.kind is bitwise_and:
                pending += op.operands
            elif op.kind in (lt, le, gt, ge) and is_integer(op.operands[0]):
                a, b = map(integers.of, op.operands)
                if op.kind in (gt, ge):
                    a, b = b, a
                a = a + int(op.kind in (lt, gt))
                for bound in self._instead(a, b):
                    self.bounds.at_most(a - bound, var)

    def _instead(self, a: Affine, b: Affine) -> list[Affine]:
        """Upper bounds of ``a`` given ``a <= b``. If ``b`` is the greater of two forms and ``a``
        exceeds one of them, the other one is a bound too."""
        found = [b]
        for atom, factor in b.terms:
            if factor == 1 and isinstance(atom, Var) and atom in self.bounds.greater:
                for kept, other in (pair := self.bounds.greater[atom], pair[::-1]):
                    if self.bounds.least(a - b.substitute(atom, other)) >= 1:
                        found.append(b.substitute(atom, kept))
        return found


def is_integer(value: Value) -> bool:
    return not value.type.shape and value.type.dtype == np.int64


def counters_of(program: Program, n: int, m: int) -> dict[int, int]:
    """The carries that grow by a constant in each step, with the constant."""
    makers = {v: op for op in program.ops for v in op.results}
    found = {}
    for k, (old, new) in enumerate(zip(program.inputs[n:], program.outputs[:m], strict=False)):
        op = makers.get(new)
        if not is_integer(old) or op is None or op.kind not in (add, sub):
            continue
        a, b = op.operands if op.operands[0] is old else op.operands[::-1]
        by = makers.get(b)
        if a is old and by is not None and by.kind is constant and (
            op.kind is add or op.operands[0] is old
        ):  # fmt: skip
            found[k] = int(by.params["value"]) * (1 if op.kind is add else -1)
    return found


def in_body(op: Op, body: Program, outer: Integers) -> Integers:
    """The forms in a body of an op; ``outer`` has the forms of its operands."""
    if op.kind is declared.scan:
        return Steps(op, outer).now
    if op.kind is REGISTRY["while"] and body in op.params["sweeps"]:
        return Steps(op, outer, op.params["sweeps"].index(body)).now
    known = {}
    if op.kind is declared.switch:
        pairs = zip(body.inputs, op.operands[1:], strict=True)
        known = {v: outer.of(w) for v, w in pairs if is_integer(v)}
    return Integers(outer.bounds, made_by(body.ops), known)
