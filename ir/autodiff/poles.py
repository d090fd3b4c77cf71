"""Which factors of a derivative may be infinite: those that are divided by, or made by divisions.

Legal where it says yes too often: a factor that is asked about is then applied only where the
cotangent is other than 0, and 0 times a finite factor is 0 anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Builder, Op, Value
from autojit.ir.ops.elementwise import Elementwise

#: How many operations a factor is followed back.
_DEEP = 6


class Poles:
    """The factors of a program that is being written."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._made: dict[Value, Op] = {}
        self._seen = 0

    def of(self, op: Op, is_linear: Sequence[bool]) -> bool:
        """Whether an elementwise op multiplies its linear operands by a factor that may be
        infinite in some elements."""
        fixed = [v for v, linear in zip(op.operands, is_linear, strict=True) if not linear]
        if op.kind.has_poles(op):
            return any(map(self._differs, fixed))
        return any(self._is_infinite(v, _DEEP) for v in fixed)

    def _op(self, value: Value) -> Op | None:
        ops = self._builder.ops
        for op in ops[self._seen :]:
            self._made.update((v, op) for v in op.results)
        self._seen = len(ops)
        return self._made.get(value)

    def _differs(self, value: Value) -> bool:
        """Whether its elements may be other ones than one number's."""
        made = self._op(value)
        return made is None or (bool(made.operands) and made.operands[0].type.shape == value.shape)

    def _is_infinite(self, value: Value, deep: int) -> bool:
        made = self._op(value)
        if made is None or not deep or not isinstance(made.kind, Elementwise):
            return False
        if made.kind.has_poles(made):
            return any(map(self._differs, made.operands))
        return any(self._is_infinite(v, deep - 1) for v in made.operands)
