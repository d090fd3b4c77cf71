"""Reads scalar arguments as elements of an array, so that loops over them can be rolled.

Before (the trace of ``for v in values: s = s + v * v`` with a list of floats as argument)::

    %9: f64[] = mul %0, %0
    %10: f64[] = add %8, %9
    %11: f64[] = mul %1, %1
    …

After::

    %8: f64[1] = reshape %0 {shape=(1,)}
    …
    %16: f64[8] = concatenate %8, …
    %17: f64[1] = slice %16 {start=(0,), stop=(1,), stride=(1,)}
    %18: f64[] = reshape %17 {shape=()}
    %19: f64[] = mul %18, %18
    …

so that the steps differ only in the places that they read.

Legal where the numbers are arguments without axes and of one type.  Their bits in an array are the
same, so nothing changes in the results.
"""

from __future__ import annotations

from typing import NamedTuple

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.move import Move, concatenate, reshape, slice_

from .repetitions import LEAST_STEPS


class WithArrays(NamedTuple):
    """A program that reads its scalar arguments as elements of arrays, its first inputs."""

    program: Program
    numbers: int
    #: The ops that join the numbers, and the arrays.
    joining: list[Op]
    arrays: list[Value]

    def of_numbers(self, program: Program) -> Program:
        """The program, after rewriting, with the numbers as its inputs again."""
        made = Program(
            program.inputs[len(self.arrays) :], [*self.joining, *program.ops], program.outputs,
            name=program.name, captured=program.captured,
        )  # fmt: skip
        made.devices = program.devices
        return made


def with_arrays(program: Program) -> WithArrays | None:
    """The program in which each op reads scalar arguments as elements of an array.

    None if it computes with too few of one dtype.
    """
    own = program.inputs[: len(program.inputs) - len(program.captured)]
    needed = {v for op in program.ops if not isinstance(op.kind, Move) for v in op.operands}
    groups: dict[Type, list[Value]] = {}
    for v in own:
        if not v.shape and v in needed:
            groups.setdefault(v.type, []).append(v)
    many = [group for group in groups.values() if len(group) >= LEAST_STEPS]
    if not many:
        return None
    joining, builder = Builder(), Builder()
    places: dict[Value, tuple[Value, int]] = {}
    arrays = []
    with building(joining):
        for group in many:
            array = concatenate(*[reshape(v, shape=(1,)) for v in group], axis=0)
            arrays.append(array)
            places.update((v, (array, i)) for i, v in enumerate(group))
    with building(builder):
        for op in program.ops:
            if places.keys().isdisjoint(op.operands):
                builder.append(op)
                continue
            with builder.at(op.source):
                read = {v: _element(*places[v]) for v in op.operands if v in places}
            operands = tuple([read.get(v, v) for v in op.operands])
            builder.append(Op(op.kind, operands, op.params, op.results, op.source))
    inputs = [*arrays, *program.inputs]
    made = builder.finish(inputs, program.outputs, name=program.name, captured=program.captured)
    made.devices = program.devices
    return WithArrays(made, len(places), joining.ops, arrays)


def _element(array: Value, i: int) -> Value:
    return reshape(slice_(array, start=(i,), stop=(i + 1,), stride=(1,)), shape=())
