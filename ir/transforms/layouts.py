"""Programs for arrays with another memory order of axes.

Before, for an array whose columns are contiguous (order ``(1, 0)``: its transpose is in C order)::

    %1: f64[4,3] = sin %0
    %2: f64[3] = sum %1 {axes=(0,)}

After, with the transpose as the input::

    %1: f64[3,4] = sin %0
    %2: f64[3] = sum %1 {axes=(1,)}

Elementwise operations take the order of the first operand with another order, as in NumPy; slices,
reductions and products take that of their operands. The results keep the order that this gives. All
other operations read a transpose.

Legal where each element stays the same function of the same elements: elementwise operations do not
know where an element is, and reductions and products combine their elements in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.contract import dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.move import Slice, Transpose, broadcast, slice_, transpose
from autojit.ir.ops.reduce import Reduce

#: ``order[k]`` is the axis of an array that is axis k of its memory.
Order = tuple[int, ...]
Orders = tuple[Order | None, ...]


class LaidOut(NamedTuple):
    """A program of arrays transposed by an order each, and the orders of its results."""

    program: Program
    results: Orders


def laid_out(program: Program, orders: Orders) -> LaidOut:
    """The program for its first inputs in these orders."""
    builder = Builder()
    with building(builder):
        layout = _Layout(program, orders)
        for op in program.ops:
            layout.add(builder, op)
        results = [layout.result(v) for v in program.outputs]
    inputs = [layout.inputs[v] for v in program.inputs]
    made = Program(
        inputs, builder.ops, [v for v, _ in results], name=program.name, captured=program.captured
    )
    made.devices = program.devices
    return LaidOut(made, tuple([order for _, order in results]))


def inverse(order: Order) -> Order:
    """
    >>> inverse((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def permuted(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    return tuple([shape[a] for a in order])


class _Layout:
    """The forms in which each value of a program exists: original, transposed, or both."""

    def __init__(self, program: Program, orders: Orders) -> None:
        self.plain: dict[Value, Value] = {}
        self.ordered: dict[Value, tuple[Value, Order]] = {}
        self.broadcasts: dict[Value, Op] = {}
        self.inputs: dict[Value, Value] = {}
        for i, v in enumerate(program.inputs):
            order = orders[i] if i < len(orders) else None
            if order is None:
                self.inputs[v] = self.plain[v] = Value(v.type)
            else:
                self.inputs[v] = Value(Type(v.type.dtype, permuted(v.shape, order)))
                self.ordered[v] = self.inputs[v], order

    def add(self, builder: Builder, op: Op) -> None:
        """Append an op."""
        with builder.at(op.source):
            if op.kind is broadcast:
                self.broadcasts[op.result] = op
            if any(v in self.ordered for v in op.operands) and self._follows(op):
                return
            made = builder.repeat(op, [self.in_place(v) for v in op.operands])
            self.plain.update(zip(op.results, made, strict=True))

    def _follows(self, op: Op) -> bool:
        """Append an op in the order of an operand, if it can take it; return whether it can."""
        if isinstance(op.kind, Elementwise):
            return self._elementwise(op)
        if op.kind is dot:
            return self._product(op)
        rules: dict[type, Callable[[Op, Value, Order], None]] = {
            Transpose: self._transpose, Slice: self._slice, Reduce: self._reduce,
        }  # fmt: skip
        for kind, rule in rules.items():
            if isinstance(op.kind, kind):
                rule(op, *self.ordered[op.operands[0]])
                return True
        return False

    def _elementwise(self, op: Op) -> bool:
        if any(v.shape != op.result.shape for v in op.operands):
            return False
        order = next(self.ordered[v][1] for v in op.operands if v in self.ordered)
        operands = [self.in_order(v, order) for v in op.operands]
        self._set(op.result, op.kind(*operands, **op.params), order)
        return True

    def _product(self, op: Op) -> bool:
        operands, pairs = [], zip(op.params["contract"], op.params["batch"], strict=True)
        contract, batch = [], []
        for v, (summed, along) in zip(op.operands, pairs, strict=True):
            laid, order = self.ordered.get(v, (None, tuple(range(v.type.ndim))))
            free = [a for a in order if a not in (*summed, *along)]
            if free != sorted(free):
                return False
            operands.append(self.in_place(v) if laid is None else laid)
            contract.append(tuple([order.index(a) for a in summed]))
            batch.append(tuple([order.index(a) for a in along]))
        self.plain[op.result] = dot(*operands, contract=tuple(contract), batch=tuple(batch))
        return True

    def _transpose(self, op: Op, laid: Value, order: Order) -> None:
        self._set(op.result, laid, permuted(inverse(op.params["axes"]), order))

    def _slice(self, op: Op, laid: Value, order: Order) -> None:
        ranges = {name: permuted(op.params[name], order) for name in ("start", "stop", "stride")}
        self._set(op.result, slice_(laid, **ranges), order)

    def _reduce(self, op: Op, laid: Value, order: Order) -> None:
        axes = op.params["axes"]
        inner = tuple([k for k, a in enumerate(order) if a in axes])
        left = tuple([a for a in order if a not in axes])
        self._set(op.result, op.kind(laid, axes=inner), inverse(inverse(left)))

    def _set(self, v: Value, laid: Value, order: Order) -> None:
        if list(order) == sorted(order):
            self.plain[v] = laid
        else:
            self.ordered[v] = laid, order

    def in_place(self, v: Value) -> Value:
        """A value with its original axes."""
        if v not in self.plain:
            laid, order = self.ordered[v]
            self.plain[v] = transpose(laid, axes=inverse(order))
        return self.plain[v]

    def in_order(self, v: Value, order: Order) -> Value:
        """A value with its axes in an order."""
        laid, known = self.ordered.get(v, (None, None))
        if laid is not None and known == order:
            return laid
        if v in self.broadcasts:
            return self._broadcast(self.broadcasts[v], order)
        return transpose(self.in_place(v), axes=order)

    def _broadcast(self, op: Op, order: Order) -> Value:
        (x,), dims = op.operands, op.params["dims"]
        places = [order.index(d) for d in dims]
        inner = tuple(sorted(range(len(dims)), key=places.__getitem__))
        is_plain = inner == tuple(range(len(inner)))
        moved = self.in_place(x) if is_plain else self.in_order(x, inner)
        return broadcast(moved, dims=tuple(sorted(places)), shape=permuted(op.result.shape, order))

    def result(self, v: Value) -> tuple[Value, Order | None]:
        """The returned form of a value, and the order of its axes."""
        return self.ordered[v] if v in self.ordered else (self.plain[v], None)
