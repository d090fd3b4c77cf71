"""Samplers of ops with bodies: bodies are generated like programs, and close over outer values.

``bodies(sampler)`` makes the table, given the sampler of the ops in a body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import Declaration, full
from autojit.ir.core.program import Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic
from autojit.ir.ops.bodies import BOOL, INDEX, BodyOp
from autojit.ir.regions.custom import CustomJVP
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.switch import Switch
from autojit.ir.regions.while_ import While
from tests.ir.grower import MAX_SIZE, Grower

#: The most levels of nested bodies.
DEEPEST = 2
MOST_OPS = 4
WITH_BODIES = (BodyOp, CustomJVP)

FindSampler = Callable[[Declaration], Any]


class Inner(Grower):
    """A body that is being generated. Its new values are constants, or outer values that it closes
    over."""

    def __init__(self, outer: Grower, inputs: Sequence[Value]) -> None:
        super().__init__(outer.draw, outer.dtypes, outer.min_extent, outer.kinds)
        self.outer = outer
        self.depth = outer.depth + 1
        self.values = list(inputs)
        self.bound: list[Value] = []  # inputs of the body, bound to …
        self.captured: list[Value] = []  # … values around it
        if self.depth == DEEPEST:
            self.kinds = [kind for kind in self.kinds if not isinstance(kind, WITH_BODIES)]

    def fresh(self, type: Type) -> Value:
        if self.integer(0, 2):
            value = self.close_over(type)
        else:
            value = full(self.element(type.dtype), type)
        self.values.append(value)
        return value

    def close_over(self, type: Type) -> Value:
        with building(self.outer.builder):
            self.captured.append(self.outer.like(type))
        self.bound.append(Value(type))
        return self.bound[-1]

    def grow(self, find: FindSampler) -> None:
        """Draw some ops."""
        bodies = [kind for kind in self.kinds if isinstance(kind, WITH_BODIES)]
        for _ in range(self.integer(0, MOST_OPS) if self.kinds else 0):
            kind = self.pick(self.kinds if not bodies or self.integer(0, 5) else bodies)
            self.keep(find(kind)(self, kind))

    def outputs(self, types: Sequence[Type]) -> list[Value]:
        return [self.like(t) for t in types]


def _type(grow: Grower, ndim: int = 2) -> Type:
    """The type of a carry, a row or a result: that of a known value, or a random one."""
    known = [v.type for v in grow.values if v.type.ndim <= ndim]
    if known and grow.integer(0, 2):
        return grow.pick(known[-6:])
    return Type(grow.pick(grow.dtypes), grow.shape(ndim))


def _types(grow: Grower, most: int) -> list[Type]:
    return [_type(grow) for _ in range(grow.integer(0, most))]


def _scan(grow: Grower, kind: Scan, find: FindSampler) -> Value | None:
    length = grow.draw(grow.extents)
    types, rows = _types(grow, 2), _types(grow, 2)
    carries = [Value(t) for t in types]
    slices, index = [Value(t) for t in rows], Value(INDEX)
    inner = Inner(grow, [*carries, *slices, index])
    inner.index = index
    with building(inner.builder):
        inner.grow(find)
        outputs = inner.outputs(types)
        ys = [inner.pick(inner.values[-6:]) for _ in range(inner.integer(0, 2))]
        ys = [y for y in ys if y.type.size * length <= MAX_SIZE]
        if not outputs and not ys:
            ys = [index]
    body = inner.builder.finish(
        [*inner.bound, index, *carries, *slices], [*outputs, *ys], name="body"
    )
    operands = [
        *inner.captured,
        *(grow.like(t) for t in types),
        *(grow.like(t.with_shape((length, *t.shape))) for t in rows),
    ]
    return _emit(grow, kind, operands, {
        "body": body, "carries": len(types), "constants": len(inner.captured),
        "length": length, "reverse": grow.flag(),
    })  # fmt: skip


def _while(grow: Grower, kind: While, find: FindSampler) -> Value | None:
    """The loop counts to a small number, and may stop earlier."""
    types = _types(grow, 2)
    at = grow.integer(0, len(types))
    types.insert(at, INDEX)
    test = Inner(grow, ins := [Value(t) for t in types])
    with building(test.builder):
        most = full(grow.integer(0, 3), INDEX)
        if grow.flag():  # a different bound for each element of a batch
            most = arithmetic.minimum(test.close_over(INDEX), most)
        held = arithmetic.lt(ins[at], most)
        if arithmetic.lt in test.kinds:
            test.grow(find)
            held = arithmetic.bitwise_and(held, test.like(BOOL))
    step = Inner(grow, carries := [Value(t) for t in types])
    step.index = carries[at]
    with building(step.builder):
        step.grow(find)
        outputs = step.outputs(types)
        outputs[at] = carries[at] + 1
    captured = [*test.captured, *step.captured]
    condition = test.builder.finish([*_bound(0, test, step), *ins], [held], name="condition")
    body = step.builder.finish([*_bound(1, test, step), *carries], outputs, name="body")
    first = [grow.like(t) for t in types]
    first[at] = full(0, INDEX)
    return _emit(grow, kind, [*captured, *first], {
        "condition": condition, "sweeps": (body,), "carries": (len(types),),
        "backward": (False,), "constants": len(captured),
    })  # fmt: skip


def _bound(own: int, *bodies: Inner) -> list[Value]:
    """The inputs of one body for the values that all bodies close over."""
    return [
        v if k == own else Value(v.type) for k, body in enumerate(bodies) for v in body.bound
    ]  # fmt: skip


def _switch(grow: Grower, kind: Switch, find: FindSampler) -> Value | None:
    types = [v.type for v in grow.values if grow.flag()][-2:]
    results = [_type(grow) for _ in range(grow.integer(1, 2))]
    branches = []
    for _ in range(grow.integer(1, 3)):
        operands = [Value(t) for t in types]
        inner = Inner(grow, operands)
        with building(inner.builder):
            inner.grow(find)
            branches.append((inner, operands, inner.outputs(results)))
    bodies = [inner for inner, _, _ in branches]
    programs = tuple(
        inner.builder.finish([*_bound(k, *bodies), *operands], outputs, name=f"branch{k}")
        for k, (inner, operands, outputs) in enumerate(branches)
    )
    index = full(grow.integer(-1, 3), INDEX) if grow.flag() else grow.like(INDEX)
    values = [v for inner in bodies for v in inner.captured] + [grow.like(t) for t in types]
    return _emit(grow, kind, [index, *values], {"branches": programs})


def _emit(grow: Grower, kind: Declaration, operands: list[Value], params: dict[str, Any]) -> Value:
    results = grow.builder.emit(kind, operands, params)
    grow.keep(*results)
    return grow.pick(results)


def bodies(find: FindSampler) -> dict[type[Declaration], Any]:
    """Samplers of ops with bodies, given the sampler of the other ops."""
    table: dict[type[Declaration], Any] = {
        Scan: _scan, While: _while, Switch: _switch,
    }  # fmt: skip
    return {
        family: lambda grow, kind, draw=draw: draw(grow, kind, find)
        for family, draw in table.items()
    }


#: The type of indices.
PLACE = Type(np.dtype(np.int64), ())


def loop_index(grow: Grower, extent: int) -> Value:
    """An index along an axis that depends on the index of the surrounding loop."""
    assert grow.index is not None
    return arithmetic.remainder(grow.index, full(extent, PLACE))
