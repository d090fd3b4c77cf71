"""Ranges of a program's integers, also in bodies of loops.

Legal where each range holds for every element in every step. Sums that may overflow int64 have no
range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.registry import REGISTRY, declared
from autojit.ir.ops.arithmetic import (
    add,
    floor_divide,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    select,
    sub,
)
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.linear import constant
from autojit.ir.rewriting.rewrite import Rewriter, rewrite

from .final.integers import Bounds, Integers, in_body, nothing_known

#: The least and the greatest value of an integer, or None if unknown.
Range = tuple[int, int] | None
#: The op that computes a value, or None.
Maker = Callable[[Value], Op | None]
#: ``rule(op, rewriter, range_of)`` for ops with bodies.
RangeRule = Callable[[Op, Rewriter, "Known"], Sequence[Value] | None]

_RULES: dict[Any, Callable[..., tuple[int, int]]] = {
    add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    maximum: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    minimum: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    # By a divisor of at least 1.
    floor_divide: lambda a, b: (min(a[0] // b[0], a[0] // b[1]), max(a[1] // b[0], a[1] // b[1])),
}


def range_of(value: Value, maker: Maker, known: dict[Value, Range]) -> Range:
    """The range of a value; ``known`` has the ranges of inputs, and caches the ranges found."""
    if value not in known:
        known[value] = None
        known[value] = _made(maker(value), maker, known)
    return known[value]


def _made(op: Op | None, maker: Maker, known: dict[Value, Range]) -> Range:
    if op is None or len(op.results) > 1 or op.result.dtype.kind != "i":
        return None
    if op.kind is constant:
        return op.params["value"], op.params["value"]
    if op.kind is select:
        a, b = (range_of(v, maker, known) for v in op.operands[1:])
        return None if a is None or b is None else _selected(op, maker)(a, b)
    if op.kind not in _RULES:
        return None
    ranges = [range_of(v, maker, known) for v in op.operands]
    if any(r is None for r in ranges):
        return None
    if op.kind is floor_divide and (ranges[1] or (0,))[0] < 1:
        return None
    low, high = _RULES[op.kind](*ranges)
    half: int = 1 << (8 * op.result.dtype.itemsize - 1)
    return (low, high) if -half <= low and high < half else None


def _selected(op: Op, maker: Maker) -> Callable[..., tuple[int, int]]:
    """The rule for a selection: for a maximum, a minimum, or any other choice."""
    condition, *cases = op.operands
    made = maker(condition)
    if made is not None and made.kind in (gt, ge, lt, le):
        upwards = made.kind in (gt, ge)
        if list(made.operands) == cases:
            return _RULES[maximum if upwards else minimum]
        if list(made.operands) == cases[::-1]:
            return _RULES[minimum if upwards else maximum]
    return lambda a, b: (min(a[0], b[0]), max(a[1], b[1]))


class Known:
    """The ranges of integers, and how they are related."""

    def __init__(self, maker: Maker, ranges: dict[Value, Range], integers: Integers) -> None:
        self._maker, self._ranges, self.integers = maker, ranges, integers

    def __call__(self, value: Value) -> Range:
        found = range_of(value, self._maker, self._ranges)
        return self.integers.range(value) if found is None else found


def rewrite_with_ranges(
    program: Program, rule: RangeRule, known: dict[Value, Range] | None = None,
    around: Integers | None = None,
) -> Program:  # fmt: skip
    """The program after a walk over its ops with bodies, from the innermost outwards.

    ``known`` has ranges of inputs; ``around`` has their relations.
    """
    if not program.has(BodyOp):
        return program
    ranges = dict(known or {})
    around = around or Integers(Bounds(), nothing_known)

    def improve(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if not isinstance(op.kind, BodyOp):
            return None
        integers = Integers(around.bounds, at.maker, around.known)
        of = Known(at.maker, ranges, integers)

        def body(value: Any) -> Any:
            if isinstance(value, Program):
                inside = in_body(op, value, integers)
                return rewrite_with_ranges(value, rule, inputs_of(op, value, of), inside)
            if isinstance(value, tuple):
                made = tuple(map(body, value))
                return value if all(a is b for a, b in zip(made, value, strict=True)) else made
            return value

        params = {name: body(value) for name, value in op.params.items()}
        if any(params[name] is not op.params[name] for name in params):
            return at.emit(op.kind, op.operands, params)
        return rule(op, at, of)

    return rewrite(program, [improve])


def inputs_of(op: Op, body: Program, of: Callable[[Value], Range]) -> dict[Value, Range]:
    """The ranges of the inputs of one of an op's bodies."""
    kind = op.kind
    assert isinstance(kind, BodyOp)
    if kind not in (declared.scan, REGISTRY["while"], declared.switch):
        return {}
    found = {body.inputs[j]: of(op.operands[k]) for j, k in enumerate(kind.shared(op))}
    if kind is declared.scan and op.params["length"]:
        found[body.inputs[op.params["constants"]]] = (0, op.params["length"] - 1)
    return found
