"""The arrays and numbers that a traced function gets."""

from __future__ import annotations

from autojit.ir.core.program import Value
from autojit.tracing.context import Trace
from autojit.tracing.tracer import Tracer


class Input(Tracer):
    """An array or a number that a traced function gets. It notes whether anything depends on its
    being a scalar or an array without axes."""

    __slots__ = ()

    @property
    def is_scalar(self) -> bool:
        if not self.shape and self.weak is None:
            self.owner.tells_scalars[0] = True
        return self.is_number

    def stand_in(self, value: Value, trace: Trace) -> Tracer:
        made = Input(value, trace, self.weak)
        made.boxed, made.ordered, made.kept = self.boxed, self.ordered, self.kept
        return made


class Argument(Input):
    """An array that belongs to the caller of the traced function: it is never changed."""

    __slots__ = ("number",)

    def __init__(self, value: Value, trace: Trace, weak: type | None, number: int) -> None:
        super().__init__(value, trace, weak)
        self.number = number

    @property
    def argument_path(self) -> str | None:
        assert self.owner.paths is not None
        return self.owner.paths()[self.number]

    def stand_in(self, value: Value, trace: Trace) -> Tracer:
        made = Argument(value, trace, self.weak, self.number)
        made.boxed, made.ordered, made.kept = self.boxed, self.ordered, self.kept
        return made


# Errors of Python and of libraries name the class of an argument.
for _kind in (Input, Argument):
    _kind.__name__ = _kind.__qualname__ = Tracer.__name__
