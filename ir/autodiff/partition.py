"""Separation: a program that is linear in some inputs becomes a nonlinear and a linear part.

Legal where the program is linear in all marked inputs together: a result that does not depend on
them is computed with zeros instead of them.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import BodyOp


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
    first, second, moving = parted(program.ops, bound)
    fixed = [v for v in program.outputs if v not in moving]
    moved = [v for v in program.outputs if v in moving]
    residuals = free_values(second, moved, bound)
    return Separated(
        Program(free, first, [*fixed, *residuals], name=program.name),
        Program([*residuals, *bound], second, moved, name=f"{program.name}_linear"),
        len(residuals),
    )


def parted(ops: Iterable[Op], bound: Iterable[Value]) -> tuple[list[Op], list[Op], set[Value]]:
    """The ops that do not depend on some values, the ops that do, and all dependent values."""
    moving = set(bound)
    first: list[Op] = []
    second: list[Op] = []
    for op in ops:
        fixed, moved = halves(op, moving)
        first += fixed
        second += moved
        moving.update(v for half in moved for v in half.results)
    return first, second, moving


def halves(op: Op, moving: set[Value]) -> tuple[list[Op], list[Op]]:
    """The parts of an op that do not depend on some values, and those that do.

    An op with both kinds of results is in both lists, and one of the two defines each result. In
    the first, the given values are zero.
    """
    if moving.isdisjoint(op.operands):
        return [op], []
    marks = [v in moving for v in op.operands]
    found = op.kind.reaches(op, marks)
    if all(found):
        return [], [op]
    builder = Builder()
    with building(builder):
        pairs = zip(op.operands, marks, strict=True)
        operands = [full(0, v.type) if m else v for v, m in pairs]
    wanted = [not f for f in found]
    fixed = _defining(op, operands, wanted)
    if isinstance(op.kind, BodyOp):
        fixed = op.kind.narrow(fixed, wanted) or fixed
    return [*builder.ops, fixed], [_defining(op, op.operands, found)] if any(found) else []


def needed(ops: Sequence[Op], values: Iterable[Value]) -> list[Op]:
    """The ops that these values depend on."""
    live = set(values)
    kept = []
    for op in reversed(ops):
        if not live.isdisjoint(op.results):
            kept.append(op)
            live.update(op.operands)
    return kept[::-1]


def _defining(op: Op, operands: Sequence[Value], wanted: list[bool]) -> Op:
    """The op on other operands, defining only some of its results."""
    pairs = zip(op.results, wanted, strict=True)
    results = tuple([v if w else Value(v.type) for v, w in pairs])
    return Op(op.kind, tuple(operands), op.params, results, op.source)


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
    """Which outputs depend on the marked inputs; with ``inexact``, only through values that have
    derivatives."""
    moving = {v for v, m in zip(program.inputs, marked, strict=True) if m}
    for op in program.ops:
        marks = [v in moving for v in op.operands]
        if any(marks):
            found = op.kind.reaches(op, marks, inexact=inexact)
            moving.update(v for v, f in zip(op.results, found, strict=True) if f)
    return [v in moving for v in program.outputs]
