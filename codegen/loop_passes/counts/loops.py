"""What a loop that counts to a bound becomes: the number of its steps, a counted loop, the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from autojit.codegen.loop_ir.nodes import Compute, Constant, IndexValue, Load, Loop, Store
from autojit.codegen.loop_ir.traversal import memory, with_bodies
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine, Var, of

from .counters import Counter, form_in


def counted(
    counter: Counter, numbers: Iterator[int]
) -> tuple[list[Any], Loop, list[Any], Affine | None]:
    """The statements before the counted loop, the loop, those after it, and the form of its end."""
    return _Counted(counter, numbers).write()


class _Counted:
    def __init__(self, counter: Counter, numbers: Iterator[int]) -> None:
        self.counter = counter
        self.numbers = numbers
        self.first = self._integer()

    def _integer(self) -> Scalar:
        return Scalar(next(self.numbers), "i64", 0, None, self.counter.bound.source)

    def write(self) -> tuple[list[Any], Loop, list[Any], Affine | None]:
        c, steps = self.counter, self.counter.steps
        ahead: list[Any] = [Load(self.first, c.cell, Affine(0), None)]
        upper = self._number_of_steps(ahead)
        var = Var(steps.high)
        body = [x for s in c.loop.body for x in self._without_counter(s, of(var))]
        is_whole = steps.low == steps.high
        loop = Loop(var, 0, steps.high, body, "sequence", upper=None if is_whole else upper)
        return ahead, loop, self._end(upper), None if is_whole else steps.form

    def _number_of_steps(self, ahead: list[Any]) -> Scalar:
        """Write the number of steps, which may be negative."""
        c, steps = self.counter, self._integer()
        if c.steps.form is not None:
            ahead.append(IndexValue(steps, c.steps.form))
            return steps
        renamed = dict[int, Scalar]()
        for s in c.loop.condition:
            if s.result is not c.loop.test:
                renamed[s.result.number] = self._integer()
                ahead.append(_renamed(s, renamed))
        bound, difference = renamed.get(c.bound.number, c.bound), self._integer()
        pair = (bound, self.first) if c.step > 0 else (self.first, bound)
        ahead.append(Compute(difference, "sub", pair))
        if not c.more:
            return difference
        one = self._integer()
        ahead += [Constant(one, 1), Compute(steps, "add", (difference, one))]
        return steps

    def _without_counter(self, s: Any, index: Affine) -> list[Any]:
        """A statement that knows the counter from the number of the step."""
        c = self.counter
        if isinstance(s, Store) and memory(s.buffer) is c.cell:
            return []
        if isinstance(s, Load) and memory(s.buffer) is c.cell:
            form = form_in(c, index)
            if form is not None:
                return [IndexValue(s.result, form)]
            step = self._integer()
            return [
                IndexValue(step, index * c.step), Compute(s.result, "add", (self.first, step)),
            ]  # fmt: skip
        return [
            with_bodies(s, lambda body: [x for s in body for x in self._without_counter(s, index)])
        ]

    def _end(self, steps: Scalar) -> list[Any]:
        """Set the counter as the loop leaves it."""
        c, made = self.counter, list[Any]()
        if c.steps.low < 0:
            none, steps_made = self._integer(), self._integer()
            made += [Constant(none, 0), Compute(steps_made, "maximum", (steps, none))]
            steps = steps_made
        end = self._integer()
        made.append(Compute(end, "add" if c.step > 0 else "sub", (self.first, steps)))
        return [*made, Store(c.cell, Affine(0), end)]


def _renamed(s: Any, renamed: dict[int, Scalar]) -> Any:
    """A statement of the condition, with scalars of its own."""
    changes: dict[str, Any] = {"result": renamed[s.result.number]}
    if isinstance(s, Compute):
        changes["args"] = tuple(renamed.get(x.number, x) for x in s.args)
    return replace(s, **changes)
