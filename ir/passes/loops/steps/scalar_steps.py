"""The steps of a loop over small arrays as steps over numbers, with one value for each element.

Legal where the arrays that change have a few elements each; each op computes its elements one by
one, moves them or adds up their products; and no op may fail for an element that nobody reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.arithmetic import add, neg
from autojit.ir.ops.bodies import BodyOp, groups
from autojit.ir.ops.contract import Dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather
from autojit.ir.ops.move import Concatenate, Move, Pad
from autojit.ir.ops.reduce import Sum

from .columns import array_of, columns_of, in_shape

#: The most elements of an array in a step, multiplications in a product, and operations in a step.
MOST_ELEMENTS = 64
MOST_PRODUCTS = 64
MOST_OPS = 8000
#: Ops that move, add up or multiply elements; NumPy evaluates them on arrays of values too.
MOVING = (Move, Pad, Concatenate, Sum, Dot)


class TooLarge(Exception):
    """Raised if the steps do not compute just a few numbers."""


class ScalarSteps:
    """A scan whose carries are numbers, and with ``rows`` also its rows and results.

    ``params`` are its parameters; ``operands`` and ``results`` convert operands and results.

    Raise TooLarge if a step computes larger arrays, or anything else than elements.
    """

    def __init__(self, op: Op, *, rows: bool) -> None:
        self.op, self.rows = op, rows
        body: Program = op.params["body"]
        self.n, self.m = op.params["constants"], op.params["carries"]
        constants, index, carries, xs = groups(body.inputs, self.n, 1, self.m)
        #: The elements of each value that has been taken apart.
        self.elements: dict[Value, Any] = {}
        #: Zeros that pad arrays.
        self.zeros: set[Value] = set()
        self.env: dict[Value, Value] = {v: v for v in (*constants, *index)}
        self.builder = Builder()
        self.varying = set(body.inputs[self.n :])
        inputs = [*constants, *index]
        for v in (*carries, *xs) if rows else carries:
            apart = in_shape([Value(v.type.with_shape(())) for _ in range(_small(v))], v.shape)
            self.elements[v] = apart
            inputs += apart.flat
        if not rows:
            self.env.update((v, v) for v in xs)
            inputs += xs
        with building(self.builder):
            for op_ in body.ops:
                with self.builder.at(op_.source):
                    self._follow(op_)
            outputs = [v for out in body.outputs[: self.m] for v in self._apart(out).flat]
            for out in body.outputs[self.m :]:
                outputs += self._apart(out).flat if rows else [self._together(out)]
        self.params = {
            **op.params, "carries": sum(v.type.size for v in carries),
            "body": self.builder.finish(inputs, outputs, name=body.name),
        }  # fmt: skip

    # -- the steps -------------------------------------------------------------------

    def _follow(self, op: Op) -> None:
        if self.varying.isdisjoint(op.operands):
            self._repeat(op)
            return
        self.varying.update(op.results)
        if len(self.builder.ops) > MOST_OPS:
            raise TooLarge
        if isinstance(op.kind, Elementwise):
            size = _small(op.result)
            if size > 1 and op.kind.may_fail(op):
                raise TooLarge  # errors in elements that nobody reads would be lost
            operands = [self._apart(v).ravel() for v in op.operands]
            made = [self._element(op, [o[k] for o in operands]) for k in range(size)]
            self.elements[op.result] = in_shape(made, op.result.shape)
        elif isinstance(op.kind, MOVING):
            _small(op.result)
            self._moved(op)
        elif isinstance(op.kind, Gather) and op.result.shape == ():
            if op.operands[0] in self.varying:
                raise TooLarge
            places = [self._apart(v).item() for v in op.operands[1:]]
            picked = self.builder.emit(op.kind, [self.env[op.operands[0]], *places], op.params)
            self.elements[op.result] = in_shape(picked, ())
        else:
            raise TooLarge

    def _repeat(self, op: Op) -> None:
        if isinstance(op.kind, BodyOp):
            raise TooLarge
        results = self.builder.repeat(op, [self.env[v] for v in op.operands])
        self.env.update(zip(op.results, results, strict=True))

    def _element(self, op: Op, operands: list[Value]) -> Value:
        zeros = [v in self.zeros for v in operands]
        if op.kind is add and any(zeros):
            return operands[0] if zeros[1] else operands[1]
        if op.kind is neg and zeros[0]:
            return operands[0]
        return self.builder.emit(op.kind, operands, op.params)[0]

    def _moved(self, op: Op) -> None:
        apart = [self._apart(v) for v in op.operands]
        if isinstance(op.kind, Dot):
            terms = prod(op.operands[0].shape[axis] for axis in op.params["contract"][0])
            if not 0 < terms * op.result.type.size <= MOST_PRODUCTS:
                raise TooLarge
        if isinstance(op.kind, Sum):
            made = np.asarray(np.sum(apart[0], axis=op.params["axes"]), object)
        else:
            made = np.asarray(op.kind.evaluate(*apart, **op.params), object)
        if isinstance(op.kind, Pad):
            zero = full(0, op.result.type.with_shape(()))
            self.zeros.add(zero)
            made = in_shape([v if isinstance(v, Value) else zero for v in made.flat], made.shape)
        if not all(isinstance(v, Value) for v in made.flat):
            raise TooLarge
        self.elements[op.result] = made

    def _together(self, v: Value) -> Value:
        """The array of a value whose elements have been computed."""
        if v not in self.elements or v in self.env:
            return self.env[v]
        parts = self.elements[v]
        return parts.item() if v.shape == () else array_of(list(parts.flat), v.shape)

    def _apart(self, v: Value) -> Any:
        """The elements of a value, as an array of its shape."""
        if v not in self.elements:
            _small(v)
            self.elements[v] = in_shape(columns_of(self.env[v], ()), v.shape)
        return self.elements[v]

    # -- the loop --------------------------------------------------------------------

    def operands(self, operands: Sequence[Value]) -> list[Value]:
        """The operands of the loop over numbers."""
        constants, carries, rows = groups(operands, self.n, self.m)
        made = list(constants)
        for v in carries:
            made += columns_of(v, ())
        for v in rows:
            made += columns_of(v, v.shape[:1]) if self.rows else [v]
        return made

    def results(self, made: Sequence[Value]) -> list[Value]:
        """The results of the loop, from the results of the loop over numbers."""
        numbers = iter(made)
        found = []
        for k, v in enumerate(self.op.results):
            if k >= self.m and not self.rows:
                found.append(next(numbers))
                continue
            lead = () if k < self.m else v.shape[:1]
            columns = [next(numbers) for _ in range(prod(v.shape[len(lead) :]))]
            found.append(columns[0] if v.shape == lead else array_of(columns, v.shape))
        return found


def _small(v: Value) -> int:
    """The number of elements; raise TooLarge if there are many, or none."""
    if not 0 < v.type.size <= MOST_ELEMENTS:
        raise TooLarge
    return v.type.size
