"""Views: stored values seen with strides, and as matrices that the BLAS can read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from autojit.ir.core import affine
from autojit.ir.core.affine import Var
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.ops.contract import free_axes
from autojit.ir.ops.move import Concatenate, Pad, Reshape

from .element_walk import ElementWalk, Index


def is_joined(op: Op) -> bool:
    """Whether an op joins several arrays, or an array and a margin."""
    return isinstance(op.kind, (Concatenate, Pad)) and op.result.type.size > 0


@dataclass
class Strided:
    """A view of a stored value: element = base[offset + sum(stride * index)].

    It is affine in the positions along its axes. These are not loop variables, because a product
    has none.
    """

    base: Value
    offset: int
    strides: tuple[int, ...]


class _ViewWalk(ElementWalk):
    """Follows movement ops only, to the stored value that a view shows."""

    def read(self, value: Value, index: Index, guard: Any) -> Any:
        return (value, index, guard)

    def choose(self, op: Op, cases: list[tuple[Any, Any]]) -> Any:
        return cases[0][1] if len(cases) == 1 else None

    def condition(self, conditions: list[Any], guard: Any) -> Any:
        return True

    def walk(self, value: Value, index: Index, guard: Any = None) -> Any:
        # The result of any other op is a base, stored row-major. So is an array joined from several
        # parts; in an array of another shape the part would have to be selected for each element.
        definer = self.definers.get(value)
        if definer is None or not hasattr(definer.kind, "sources") or is_joined(definer):
            return self.read(value, index, guard)
        return super().walk(value, index, guard)


def strided_view(value: Value, definers: dict[Value, Op], bases: Any) -> Strided | None:
    """The value as strides into a stored value or an input, or None if it is not such a view."""
    if value.type.size == 0:
        return None
    variables = [Var(n) for n in value.shape]
    found = _ViewWalk(definers, bases).walk(value, tuple(map(affine.of, variables)))
    if found is None or found[2] is not None:
        return None
    base, index, _ = found
    offset = affine.flatten(index, base.shape)
    if not offset.is_linear:
        return None
    return Strided(base, offset.constant, tuple(map(offset.coefficient, variables)))


def is_row_major(view: Strided, value: Value) -> bool:
    """Whether the last two axes of a view (or its only one) are contiguous and row-major."""
    shape = value.shape[-2:]
    return all(
        n == 1 or stride == wanted
        for n, stride, wanted in zip(
            shape, view.strides[-2:], row_major_strides(shape), strict=True
        )
    )


Groups = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def axis_groups(op: Op, side: int) -> Groups:
    """Axes of an operand as (batch, rows, columns) of its matrices."""
    contract, batch = op.params["contract"][side], op.params["batch"][side]
    free = free_axes(op.operands[side].type.ndim, contract, batch)
    return (batch, free, contract) if side == 0 else (batch, contract, free)


def renumbered(groups: Groups) -> Groups:
    positions = iter(range(sum(map(len, groups))))
    return tuple(tuple(next(positions) for _ in group) for group in groups)  # type: ignore[return-value]


def matrix_view(view: Strided, groups: Groups, value: Value) -> Strided | None:
    """The view with strides (batch…, row, column), or None if the BLAS cannot read it."""
    batch, rows, columns = groups
    merged = [_merge(view.strides, value.shape, group) for group in (rows, columns)]
    if None in merged or any(view.strides[i] < 0 for i in batch):
        return None
    row, column = merged
    n_rows, n_columns = (prod(value.shape[i] for i in g) for g in (rows, columns))
    by_row = column == 1 and row >= n_columns  # type: ignore[operator]
    by_column = row == 1 and column >= n_rows  # type: ignore[operator]
    if not (by_row or by_column):
        return None
    return Strided(view.base, view.offset, (*(view.strides[i] for i in batch), row, column))  # type: ignore[arg-type]


def _merge(strides: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...]) -> int | None:
    """The stride of several axes merged into one, or None."""
    axes = tuple(i for i in axes if shape[i] > 1)
    if not axes:
        return 1
    for outer, inner in pairwise(axes):
        if strides[outer] != strides[inner] * shape[inner]:
            return None
    return strides[axes[-1]] if strides[axes[-1]] > 0 else None


def without_last_reshapes(program: Program) -> Program:
    """The program with outputs replaced by the values they are reshaped from, in the same
    memory."""
    made_by = {v: op for op in program.ops for v in op.results}

    def original(value: Value) -> Value:
        op = made_by.get(value)
        return original(op.operands[0]) if op and isinstance(op.kind, Reshape) else value

    outputs = tuple(map(original, program.outputs))
    if outputs == program.outputs:
        return program
    return Program(program.inputs, program.ops, outputs, name=program.name)
