"""Finds factors of a derivative that may be infinite: results of divisions by values that may be 0.

For such a factor, 0 times infinity counts as 0; otherwise it is NaN, as in NumPy. Divisors that
vanish only by underflow are recognised by their signs, because the rules that simplify softmax and
similar functions look for products without a condition.

Legal where a finite factor is reported too, because finite products, and their derivatives, are
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Value
from autojit.ir.ops.arithmetic import (
    absolute,
    add,
    convert,
    div,
    eq,
    integer_power,
    magnitude,
    maximum,
    mul,
    power,
)
from autojit.ir.ops.elementary import cosh, exp, exp2, sigmoid, sqrt
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import constant
from autojit.ir.ops.move import broadcast, flip, reshape, slice_, transpose
from autojit.ir.ops.reduce import max_, min_, sum_

#: How many operations back a factor, or the sign of a divisor, is followed.
_DEEP = 8


class Sign(IntEnum):
    """What is known of the sign of all elements."""

    UNKNOWN = 0
    NOT_NEGATIVE = 1
    POSITIVE = 2


def _positive(op: Op, signs: Sequence[Sign]) -> Sign:
    return Sign.POSITIVE


def _same(op: Op, signs: Sequence[Sign]) -> Sign:
    return signs[0]


def _of_constant(op: Op, signs: Sequence[Sign]) -> Sign:
    number = op.params["value"]
    return Sign.POSITIVE if number > 0 else Sign.UNKNOWN if number < 0 else Sign.NOT_NEGATIVE


def _of_sum(op: Op, signs: Sequence[Sign]) -> Sign:
    return max(signs) if all(signs) else Sign.UNKNOWN


def _of_product(op: Op, signs: Sequence[Sign]) -> Sign:
    if op.kind is mul and op.operands[0] is op.operands[1]:
        return _of_square(op, signs)
    return min(signs)


def _of_square(op: Op, signs: Sequence[Sign]) -> Sign:
    return max(Sign.NOT_NEGATIVE, signs[0])


def _of_power(op: Op, signs: Sequence[Sign]) -> Sign:
    return signs[0] if op.params["exponent"] % 2 else _of_square(op, signs)


def _converted(op: Op, signs: Sequence[Sign]) -> Sign:
    return Sign.NOT_NEGATIVE if op.operands[0].dtype.kind == "b" else signs[0]


#: The sign of a result, given those of the operands.
_SIGNS: dict[Declaration, Callable[[Op, Sequence[Sign]], Sign]] = {
    **dict.fromkeys((exp, exp2, cosh, sigmoid), _positive),
    **dict.fromkeys((broadcast, flip, reshape, slice_, transpose), _same),
    **dict.fromkeys((sqrt, power, max_, min_, sum_), _same),
    **dict.fromkeys((absolute, magnitude), _of_square),
    **dict.fromkeys((mul, div), _of_product),
    constant: _of_constant,
    convert: _converted,
    add: _of_sum,
    integer_power: _of_power,
    maximum: lambda op, signs: max(signs),
}


class Poles:
    """The factors of a program that is being written."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._made: dict[Value, Op] = {}
        self._seen = 0

    def of(self, op: Op, is_linear: Sequence[bool]) -> bool:
        """Whether an elementwise op multiplies its linear operands by a factor that may be
        infinite in some elements."""
        if op.kind.has_poles(op):
            divisor = _divisor(op)
            return not is_linear[divisor] and self._may_vanish(op.operands[divisor])
        fixed = [v for v, linear in zip(op.operands, is_linear, strict=True) if not linear]
        return any(self._is_infinite(v, _DEEP) for v in fixed)

    def _op(self, value: Value) -> Op | None:
        ops = self._builder.ops
        for op in ops[self._seen :]:
            self._made.update((v, op) for v in op.results)
        self._seen = len(ops)
        return self._made.get(value)

    def _may_vanish(self, value: Value) -> bool:
        """Whether some elements of a divisor may be 0, and others not."""
        made = self._op(value)
        if made is None:
            return True
        differs = bool(made.operands) and made.operands[0].type.shape == value.shape
        return differs and self._sign(value, _DEEP) < Sign.POSITIVE

    def _is_infinite(self, value: Value, deep: int) -> bool:
        made = self._op(value)
        if made is None or not deep or not isinstance(made.kind, Elementwise):
            return False
        if made.kind.has_poles(made):
            return self._may_vanish(made.operands[_divisor(made)])
        return any(self._is_infinite(v, deep - 1) for v in made.operands)

    def _sign(self, value: Value, deep: int) -> Sign:
        made = self._op(value)
        rule = _SIGNS.get(made.kind) if made is not None and deep else None
        if made is None or rule is None or value.dtype.kind == "c":
            return Sign.UNKNOWN
        if made.kind is sum_ and self._is_count_of_extremes(made):
            return Sign.POSITIVE
        return rule(made, [self._sign(v, deep - 1) for v in made.operands])

    def _is_count_of_extremes(self, op: Op) -> bool:
        """Whether it counts the elements equal to the greatest or the least, so at least one."""
        hit = self._op(op.operands[0])
        equal = self._op(hit.operands[0]) if hit is not None and hit.kind is convert else None
        if equal is None or equal.kind is not eq:
            return False
        x, extreme = equal.operands
        spread = self._op(extreme)
        while spread is not None and spread.kind in (broadcast, reshape):
            spread = self._op(spread.operands[0])
        return spread is not None and spread.kind in (max_, min_) and spread.operands[0] is x


def _divisor(op: Op) -> int:
    """The operand that an op with poles divides by."""
    return 1 if op.kind is div else 0
