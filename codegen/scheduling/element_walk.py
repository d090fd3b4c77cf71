"""The walk from an element of a value to the scalars that compute it.

It is demand-driven: it starts at one element, follows elementwise ops to the same element of their
operands and movement ops to another element, and stops at values that are stored in buffers.  The
scheduler walks to find reads; lowering walks to emit code.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Bounds, Var
from autojit.ir.core.program import Op, Value
from autojit.ir.ops.checks import Ensure
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather
from autojit.ir.ops.linear import Constant as ConstantOp
from autojit.ir.ops.linear import Iota

Index = tuple[Affine, ...]


class ElementWalk:
    """Base class of walks; subclasses define reading, computing and choosing."""

    def __init__(self, definers: Mapping[Value, Op], stored: Collection[Value]) -> None:
        self.definers = definers
        self.stored = stored
        self.bounds: dict[Var, tuple[int, int]] = {}

    # -- what subclasses define -------------------------------------------

    def read(self, value: Value, index: Index, guard: Any) -> Any:
        """An element of a stored value or an input."""
        raise NotImplementedError

    def constant(self, op: Op) -> Any:
        raise NotImplementedError

    def index_value(self, op: Op, index: Affine) -> Any:
        raise NotImplementedError

    def compute(self, op: Op, operands: list[Any]) -> Any:
        raise NotImplementedError

    def choose(self, op: Op, cases: list[tuple[Any, Any]]) -> Any:
        """The element of the first case whose condition holds; 0 if none does."""
        raise NotImplementedError

    def condition(self, conditions: list[Any], guard: Any) -> Any:
        """A guard that holds if the outer guard and all of the conditions do."""
        raise NotImplementedError

    def unless(self, guard: Any, holds: Any) -> Any:
        """A check that also holds if the guard does not, because then there is no such element."""
        return holds

    def gather(self, op: Op, places: list[Any], index: Index, guard: Any) -> Any:
        """An element of a stored value at computed indices; ``index`` is for the other axes."""
        raise NotImplementedError

    # -- the walk ---------------------------------------------------------

    def walk(self, value: Value, index: Index, guard: Any = None) -> Any:
        """The element of a value at an index, read if it is stored."""
        if guard is not None and self._inside(value, index):
            guard = None
        if value in self.stored or value not in self.definers:
            return self.read(value, index, guard)
        return self.walk_op(self.definers[value], index, guard)

    def walk_op(self, op: Op, index: Index, guard: Any = None) -> Any:
        """The element of an op's result at an index, computed even if it is stored."""
        if isinstance(op.kind, ConstantOp):
            return self.constant(op)
        if isinstance(op.kind, Iota):
            return self.index_value(op, index[op.params["axis"]])
        if isinstance(op.kind, Elementwise):
            operands = [self.walk(v, index, guard) for v in op.operands]
            if guard is not None and isinstance(op.kind, Ensure):
                operands[1] = self.unless(guard, operands[1])
            return self.compute(op, operands)
        if isinstance(op.kind, Gather):
            return self._gather(op, index, guard)
        return self._move(op, index, guard)

    def _inside(self, value: Value, index: Index) -> bool:
        """Whether the element exists for any guard, so that it may be computed unconditionally."""
        for i, extent in zip(index, value.shape, strict=True):
            low, high = i.range(self.bounds)
            if low < 0 or high >= extent:
                return False
        return True

    def _gather(self, op: Op, index: Index, guard: Any) -> Any:
        picked = op.operands[1].type.ndim
        places = [self.walk(v, index[:picked], guard) for v in op.operands[1:]]
        return self.gather(op, places, index[picked:], guard)

    def _move(self, op: Op, index: Index, guard: Any) -> Any:
        types = [v.type for v in op.operands]
        cases = []
        for source in op.kind.sources(index, types, self, **op.params):  # type: ignore[attr-defined]
            verdict = [_decide(c, self.bounds) for c in source.conditions]
            if False in verdict:
                continue
            open_conditions = [
                c for c, known in zip(source.conditions, verdict, strict=True) if known is None
            ]
            inner = self.condition(open_conditions, guard) if open_conditions else guard
            element = self.walk(op.operands[source.operand], source.index, inner)
            if not open_conditions:
                cases.append((None, element))
                break
            cases.append((inner, element))
        return self.choose(op, cases)

    # -- arithmetic for the movement family -------------------------------

    def reshape(self, index: Index, new: tuple[int, ...], old: tuple[int, ...]) -> Index:
        return affine.reshape(index, new, old, self.bounds)

    def quotient(self, index: Affine, divisor: int) -> Affine:
        return affine.divide(index, divisor, self.bounds)[0]


def _decide(condition: Any, bounds: Bounds) -> bool | None:
    """Whether a condition always or never holds."""
    low, high = condition.index.range(bounds)
    if high < condition.low or low >= condition.high:
        return False
    inside = low >= condition.low and high < condition.high
    return True if inside and condition.step == 1 else None
