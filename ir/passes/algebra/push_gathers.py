"""Gathers rows before they are computed, so that only the gathered rows are computed.

Before::

    %y = exp %x                      # 1,000 rows
        %z = dot %y, %w                  # 1,000 rows, read only by the gather
    %r = gather %z, %i {axes=(0,)}   # 10 rows

After::

    %x_ = gather %x, %i {axes=(0,)}
    %y_ = exp %x_
    %r = dot %y_, %w

Operands without these rows (``%w``) are unchanged. The pass applies if nothing else reads the full
values and at most every second row is gathered.

Legal where nothing else reads the rows; rows are independent, and computed by ops that cannot fail,
since an error in a row that is not gathered counts too; and an array is left to gather from, which
checks the indices.  Products and sums may be rounded differently; nothing else changes in the
results.
"""

from __future__ import annotations

from math import prod
from typing import Any

from autojit.ir.core.program import Builder, Op, Program, Value, building, readers_of
from autojit.ir.ops.contract import Dot, free_axes
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather, gather
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Broadcast, Concatenate, Pad, Reshape, Slice, Transpose, transpose
from autojit.ir.ops.reduce import Reduce
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass

#: At most one row in this many is gathered.
FEW = 2


@program_pass(
    "Selects rows before they are computed, so that only the selected rows are computed.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with its gathers moved ahead."""
    picks = [op for op in program.ops if _picks_few(op)] if program.has(Gather) else []
    if not picks:
        return program
    plans = {op: plan for op in picks if (plan := _plan(program, op)) is not None}
    return _rewritten(program, plans) if plans else program


def _picks_few(op: Op) -> bool:
    if not isinstance(op.kind, Gather) or len(op.params["axes"]) != 1:
        return False
    x, indices = op.operands
    (axis,) = op.params["axes"]
    return indices.type.ndim == 1 and 0 < indices.type.size * FEW <= x.shape[axis]


# -- the ops to move after the gather --------------------------------------------------


def _plan(program: Program, pick: Op) -> dict[Value, int] | None:
    """The values to compute for gathered rows only, and the axis of their rows; None if none."""
    readers = readers_of(program.ops, program.outputs)
    wanted: dict[Value, list[int]] = {pick.operands[0]: [pick.params["axes"][0]]}
    found: dict[Value, int] = {}
    work = False
    for op in reversed(program.ops):
        demands = wanted.get(op.results[0]) if len(op.results) == 1 else None
        if not demands or len(demands) < readers[op.result] or len(set(demands)) > 1:
            continue
        axes = _axes_of_operands(op, demands[0])
        if axes is None:
            continue
        found[op.result] = demands[0]
        work = work or isinstance(op.kind, (Elementwise, Dot, Reduce))
        for v, axis in zip(op.operands, axes, strict=True):
            if axis is not None:
                wanted.setdefault(v, []).append(axis)
    # An array must be left to gather from, since that checks the indices.
    return found if work and wanted.keys() - found.keys() else None


def _axes_of_operands(op: Op, axis: int) -> list[int | None] | None:
    """The axis of each operand that corresponds to an axis of the result; None if it has no such
    axis.

    None altogether if the rows along that axis are not independent.
    """
    kind, params = op.kind, op.params
    if kind.may_fail(op):
        return None  # an error in a row that is not gathered counts too
    if isinstance(kind, (Elementwise, Constant)):
        return [axis] * len(op.operands)
    if isinstance(kind, Dot):
        return _axes_of_factors(op, axis)
    if isinstance(kind, Broadcast):
        return [params["dims"].index(axis) if axis in params["dims"] else None]
    if isinstance(kind, Transpose):
        return [params["axes"][axis]]
    if isinstance(kind, Reduce):
        kept = [a for a in range(op.operands[0].type.ndim) if a not in params["axes"]]
        return [kept[axis]]
    if isinstance(kind, Concatenate):
        return None if params["axis"] == axis else [axis] * len(op.operands)
    if isinstance(kind, (Pad, Slice)):
        same = op.operands[0].shape[axis] == op.result.shape[axis]
        return [axis] if same else None
    return _axis_before_reshape(op, axis) if isinstance(kind, Reshape) else None


def _axes_of_factors(op: Op, axis: int) -> list[int | None]:
    (a, b), (ca, cb), (ba, bb) = op.operands, op.params["contract"], op.params["batch"]
    if axis < len(ba):
        return [ba[axis], bb[axis]]
    left = free_axes(a.type.ndim, ca, ba)
    place = axis - len(ba)
    if place < len(left):
        return [left[place], None]
    return [None, free_axes(b.type.ndim, cb, bb)[place - len(left)]]


def _axis_before_reshape(op: Op, axis: int) -> list[int | None] | None:
    (x,), shape = op.operands, op.result.shape
    if not x.type.size:
        return None
    for a, n in enumerate(x.shape):
        if n == shape[axis] and prod(x.shape[:a]) == prod(shape[:axis]):
            return [a]
    return None


# -- rewriting -------------------------------------------------------------------------


def _rewritten(program: Program, plans: dict[Op, dict[Value, int]]) -> Program:
    made_by = {v: op for op in program.ops for v in op.results}
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    with building(builder):
        for op in program.ops:
            with builder.at(op.source):
                if op in plans:
                    rows = _Rows(plans[op], made_by, env, env[op.operands[1]])
                    (axis,) = op.params["axes"]
                    picked = rows.of(op.operands[0], axis)
                    others = [a for a in range(picked.type.ndim) if a != axis]
                    env[op.result] = transpose(picked, axes=(axis, *others)) if axis else picked
                    continue
                results = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)


class _Rows:
    """The gathered rows of values, each computed once."""

    def __init__(
        self, plan: dict[Value, int], made_by: dict[Value, Op], env: dict[Value, Value], at: Value
    ) -> None:
        self.plan = plan
        self.made_by = made_by
        self.env = env
        self.at = at
        self.done: dict[tuple[Value, int], Value] = {}
        # In program order, so that the recursion stays shallow.
        for value, axis in reversed(plan.items()):
            self.done[value, axis] = self._computed(made_by[value], axis)

    def of(self, value: Value, axis: int) -> Value:
        """The rows of a value."""
        if (value, axis) not in self.done:
            whole = self.env[value]
            picked = gather(whole, self.at, axes=(axis,))
            back = [*range(1, axis + 1), 0, *range(axis + 1, picked.type.ndim)]
            self.done[value, axis] = transpose(picked, axes=tuple(back)) if axis else picked
        return self.done[value, axis]

    def _computed(self, op: Op, axis: int) -> Value:
        axes = _axes_of_operands(op, axis)
        assert axes is not None
        operands = [
            self.env[v] if a is None else self.of(v, a)
            for v, a in zip(op.operands, axes, strict=True)
        ]
        result: Value = op.kind(*operands, **self._parameters(op, axis))
        return result

    def _parameters(self, op: Op, axis: int) -> dict[str, Any]:
        params, count = dict(op.params), self.at.shape[0]
        if "shape" in params:
            params["shape"] = _with(params["shape"], axis, count)
        if isinstance(op.kind, Slice):
            params["stop"] = _with(params["stop"], axis, count)
        return params


def _with(numbers: tuple[int, ...], place: int, number: int) -> tuple[int, ...]:
    return (*numbers[:place], number, *numbers[place + 1 :])
