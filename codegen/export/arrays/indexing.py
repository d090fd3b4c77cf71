"""Writes reads and stores at computed indices in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

from autojit.codegen.export.text.expressions import ATOM, Expression, call
from autojit.ir.autodiff.scalar_ranges import range_of
from autojit.ir.core.program import Op, Value
from autojit.ir.linalg.order import argsort
from autojit.ir.ops.arithmetic import add, mul
from autojit.ir.ops.linear import constant, iota
from autojit.ir.ops.move import Move
from autojit.ir.ops.update import AddAt, window

from .movement import range_text
from .writer import Writer, filled


def gather(w: Writer, op: Op) -> Expression:
    x, *indices = op.operands
    axes = op.params["axes"]
    places = _places(w, indices, [x.shape[a] for a in axes])
    return Expression(f"{_leading(w.text(x, ATOM), axes)}[{places}]")


def _leading(text: str, axes: Sequence[int]) -> str:
    """Return a view with some axes moved to the front, in order."""
    count = len(axes)
    if tuple(axes) == tuple(range(count)):
        return text
    if count == 1:
        return f"np.moveaxis({text}, {axes[0]}, 0)"
    return f"np.moveaxis({text}, {tuple(axes)}, {tuple(range(count))})"


def _places(w: Writer, indices: Sequence[Value], extents: Sequence[int]) -> str:
    """Return index arrays, checked if NumPy would count negative ones from the end."""
    parts = []
    for index, extent in zip(indices, extents, strict=True):
        text = w.text(index, 0)
        if is_within(w, index, extent):
            parts.append(text)
        else:
            parts.append(call(w.need("_within"), text, str(extent)).text)
    return ", ".join(parts)


def is_within(w: Writer, index: Value, extent: int) -> bool:
    """Whether NumPy treats an index as the op does: it is within the axis, or counts from its end
    as the user's index does."""
    if w.is_natural(index, extent):
        return True
    found = _range(w, index)
    return found is not None and found[0] >= 0 and found[1] < extent


def _range(w: Writer, value: Value) -> tuple[int, int] | None:
    """Return the smallest and the largest value of an index, if they are easy to see."""
    op = w.maker(value)
    if op is None:
        return w.ranges.get(value)
    if op.kind is constant:
        return op.params["value"], op.params["value"]
    if op.kind is iota or op.kind is argsort:
        axis = op.params.get("axis", -1)
        return 0, op.result.shape[axis] - 1
    if isinstance(op.kind, Move):
        return _range(w, op.operands[0])
    if op.kind in (add, mul):
        first, second = (_range(w, v) for v in op.operands)
        if first is None or second is None:
            return None
        f = _sum if op.kind is add else _product
        ends = [f(a, b) for a in first for b in second]
        return min(ends), max(ends)
    return range_of(value, w.maker, dict(w.ranges))


def _sum(a: int, b: int) -> int:
    return a + b


def _product(a: int, b: int) -> int:
    return a * b


def scatter_add(w: Writer, op: Op) -> None:
    updates, *indices = op.operands
    axes, shape = op.params["axes"], op.params["shape"]
    places = _places(w, indices, [shape[a] for a in axes])
    given = w.text(updates, 0)
    name = w.result(op)
    zero = "0.0" if op.result.dtype.kind == "f" else "0"
    w.line(f"{name} = {filled(zero, op.result.type).text}")
    w.line(f"np.add.at({_leading(name, axes)}, {_tuple(places, indices)}, {given})")


def _tuple(places: str, indices: Sequence[Value]) -> str:
    return places if len(indices) == 1 else f"({places})"


def update_at(w: Writer, op: Op) -> None:
    """Write a copy with elements set, or added to."""
    x, updates, *indices = op.operands
    axes = op.params["axes"]
    places = _places(w, indices, [x.shape[a] for a in axes])
    given = w.text(updates, 0)
    name = copied(w, op)
    if isinstance(op.kind, AddAt):
        w.line(f"np.add.at({_leading(name, axes)}, {_tuple(places, indices)}, {given})")
    else:
        w.line(f"{_leading(name, axes)}[{places}] = {given}")


def copied(w: Writer, op: Op) -> str:
    """Return the name of a copy of the first operand."""
    found = w.array(op.operands[0])
    is_new = found.text.startswith(("np.zeros(", "np.ones(", "np.full("))
    made = found.text if is_new else f"np.array({found.text})"
    name = w.result(op)
    w.line(f"{name} = {made}")
    return name


def update(w: Writer, op: Op) -> Expression | None:
    x, v = op.operands
    if not x.shape:
        return w.array(v)
    given = w.expression(v).text
    name = copied(w, op)
    ranges = zip(*window(v.shape, op.params), x.shape, strict=True)
    parts = [range_text(*r) for r in ranges]
    w.line(f"{name}[{', '.join(parts)}] = {given}")
    return None
