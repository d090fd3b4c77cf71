"""Rows that loops inside a step read are read before them, so that the step stores only these rows.

    … = while %a, %k, … {… %x = gather %a, %k, %j {axes=(0, 1)} …}

becomes

    %row = gather %a, %k {axes=(0,)}
    … = while …, %row, … {… %x = gather %row, %j {axes=(0,)} …}

and so on outwards, through branches and loops. The linear part of a step then needs a row of an
array instead of the array.

Legal where the array and the index of the row are the same in all steps of the loop inside, and
where the index is certainly within its range, since the row is also read if that loop makes no
step, or if a branch is not taken.  The elements are the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.registry import REGISTRY, declared
from autojit.ir.core.shapes import without_axes
from autojit.ir.ops.index import Gather

from .integers import Integers, in_body

#: An array, indices of some of its axes, and these axes.
Row = tuple[Value, tuple[Value, ...], tuple[int, ...]]


def with_rows(ops: Iterable[Op], integers: Integers) -> list[Op]:
    """The ops of a step, with rows that loops and branches inside read from arrays before them."""
    made: list[Op] = []
    for op in ops:
        made += _Opened(op, integers).ops() if _has_bodies(op) else [op]
    return made


def _has_bodies(op: Op) -> bool:
    return op.kind in (declared.scan, declared.switch, REGISTRY["while"])


class _Opened:
    """An op with bodies, and the rows that these read."""

    def __init__(self, op: Op, integers: Integers) -> None:
        self.op, self.integers = op, integers
        self.shared = [op.operands[k] for k in op.kind.shared(op)]  # type: ignore[attr-defined]
        self.rows: dict[Row, Op] = {}

    def ops(self) -> list[Op]:
        op = self.op
        read = [self._rows_read(body) for body in self._bodies()]
        if not self.rows and all(
            body is made for body, (made, _) in zip(self._bodies(), read, strict=True)
        ):
            return [op]
        bodies = [self._with_inputs(body, rows) for body, rows in read]
        rows = [made.result for made in self.rows.values()]
        return [*self.rows.values(), _without_unread(self._op(bodies, rows))]

    def _bodies(self) -> Sequence[Program]:
        params = self.op.params
        if self.op.kind is declared.switch:
            return list(params["branches"])
        return [params["body"]] if self.op.kind is declared.scan else list(params["sweeps"])

    def _rows_read(self, body: Program) -> tuple[Program, dict[Row, Value]]:
        """A body that takes rows as more inputs, and these inputs."""
        known = in_body(self.op, body, self.integers)
        inner = with_rows(body.ops, known)
        outside = dict(zip(body.inputs, self.shared, strict=False))
        inputs: dict[Row, Value] = {}
        instead: dict[Value, Value] = {}
        ops: list[Op] = []
        for op in inner:
            if not instead.keys().isdisjoint(op.operands):
                operands = tuple(instead.get(v, v) for v in op.operands)
                op = Op(op.kind, operands, op.params, op.results, op.source)
            fixed = self._fixed(op, outside, known)
            if not fixed:
                ops.append(op)
                continue
            row = self._row(op, fixed, outside)
            taken = inputs.setdefault(row, Value(self.rows[row].result.type))
            if len(fixed) == len(op.operands) - 1:
                instead[op.result] = taken
            else:
                ops.append(_rest(op, fixed, taken))
        if not inputs and len(inner) == len(body.ops):
            return body, inputs
        outputs = [instead.get(v, v) for v in body.outputs]
        return Program(body.inputs, ops, outputs, name=body.name), inputs

    def _fixed(self, op: Op, outside: Mapping[Value, Value], known: Integers) -> list[int]:
        """The indices of a gather that are the same in all steps, if its array is."""
        if not isinstance(op.kind, Gather) or op.operands[0] not in outside:
            return []
        array, *indices = op.operands
        if any(v.type.shape for v in indices):
            return []
        return [
            k
            for k, (v, axis) in enumerate(zip(indices, op.params["axes"], strict=True))
            if v in outside and _is_within(known.range(v), array.shape[axis])
        ]

    def _row(self, op: Op, fixed: Sequence[int], outside: Mapping[Value, Value]) -> Row:
        array, *indices = op.operands
        axes = tuple(op.params["axes"][k] for k in fixed)
        row = outside[array], tuple(outside[indices[k]] for k in fixed), axes
        if row not in self.rows:
            result = Value(array.type.with_shape(without_axes(array.shape, axes)))
            params = {"axes": axes}
            self.rows[row] = Op(op.kind, (row[0], *row[1]), params, (result,), op.source)
        return row

    def _with_inputs(self, body: Program, inputs: Mapping[Row, Value]) -> Program:
        """A body that takes all rows after what all steps share."""
        more = [inputs.get(row) or Value(made.result.type) for row, made in self.rows.items()]
        n = len(self.shared)
        return Program(
            [*body.inputs[:n], *more, *body.inputs[n:]], body.ops, body.outputs, name=body.name
        )

    def _op(self, bodies: Sequence[Program], rows: Sequence[Value]) -> Op:
        op, n = self.op, len(self.shared)
        params: dict[str, Any] = dict(op.params)
        if op.kind is declared.switch:
            params["branches"] = tuple(bodies)
            return Op(op.kind, (*op.operands, *rows), params, op.results, op.source)
        params["constants"] = n + len(rows)
        if op.kind is declared.scan:
            (params["body"],) = bodies
        else:
            params["sweeps"] = tuple(bodies)
            params["condition"] = self._with_inputs(params["condition"], {})
        operands = (*op.operands[:n], *rows, *op.operands[n:])
        return Op(op.kind, operands, params, op.results, op.source)


def _without_unread(op: Op) -> Op:
    """An op without shared operands that its bodies no longer read."""
    unread = {k: None for k in op.kind.shared(op) if not op.kind.reads(op, k)}  # type: ignore[attr-defined]
    made: Op = op.kind.without(op, unread) if unread else op  # type: ignore[attr-defined]
    return made


def _is_within(found: tuple[int, int] | None, extent: int) -> bool:
    return found is not None and found[0] >= 0 and found[1] < extent


def _rest(op: Op, fixed: Sequence[int], row: Value) -> Op:
    """A gather of the other indices from a row."""
    indices = op.operands[1:]
    gone = [op.params["axes"][k] for k in fixed]
    left = [k for k in range(len(indices)) if k not in fixed]
    axes = tuple(a - sum(g < a for g in gone) for a in (op.params["axes"][k] for k in left))
    operands = (row, *(indices[k] for k in left))
    return Op(op.kind, operands, {"axes": axes}, op.results, op.source)
