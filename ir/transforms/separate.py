"""Separation: a program that is linear in some inputs becomes a nonlinear and a linear part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ops.elementwise import Elementwise
from ..program import Op, Program, Value


class Separated(NamedTuple):
    """``nonlinear`` takes the nonlinear inputs and returns the outputs that depend on no linear
    input, then the residuals; ``linear`` takes the residuals, then the linear inputs, and
    returns the other outputs."""

    nonlinear: Program
    linear: Program
    residuals: int


def separate(program: Program, linear: Sequence[bool]) -> Separated:
    """Split a program that is linear in the marked inputs (all together)."""
    bound = [v for v, marked in zip(program.inputs, linear, strict=True) if marked]
    free = [v for v, marked in zip(program.inputs, linear, strict=True) if not marked]
    moving = set(bound)
    first: list[Op] = []
    second: list[Op] = []
    for op in program.ops:
        depends = not moving.isdisjoint(op.operands)
        (second if depends else first).append(op)
        if depends:
            moving.update(op.results)
    fixed = [v for v in program.outputs if v not in moving]
    moved = [v for v in program.outputs if v in moving]
    residuals = free_values(second, moved, bound)
    return Separated(
        Program(free, first, [*fixed, *residuals], name=program.name),
        Program([*residuals, *bound], second, moved, name=f"{program.name}_linear"),
        len(residuals),
    )


def free_values(ops: list[Op], outputs: list[Value], bound: list[Value]) -> list[Value]:
    """Values that are used and not defined, in order of first use."""
    defined = set(bound)
    free: dict[Value, None] = {}
    for op in ops:
        free.update((v, None) for v in op.operands if v not in defined)
        defined.update(op.results)
    free.update((v, None) for v in outputs if v not in defined)
    return list(free)


def depends(program: Program, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
    """Which outputs depend on the marked inputs; with ``inexact`` only by way of values that
    have derivatives."""
    moving = {v for v, m in zip(program.inputs, marked, strict=True) if m}
    for op in program.ops:
        if inexact:
            if _has_derivative(op, moving):
                moving.update(v for v in op.results if v.type.is_inexact)
        elif not moving.isdisjoint(op.operands):
            moving.update(op.results)
    return [v in moving for v in program.outputs]


def _has_derivative(op: Op, moving: set[Value]) -> bool:
    """Whether the op has a derivative by one of these operands, as far as is known."""
    rules = op.kind.rules if isinstance(op.kind, Elementwise) else [True] * len(op.operands)
    return any(rule and v in moving for v, rule in zip(op.operands, rules, strict=True))
