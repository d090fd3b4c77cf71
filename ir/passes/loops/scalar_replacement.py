"""Loops over small arrays as loops over numbers (scalar replacement of aggregates).

Before::

    %1: f64[2], %2: f64[100,2] = scan %p, %y {body=program step(%0: f64[4], %1: i64[], %2: f64[2]) {
      … slices of %0 and %2, … concatenate …
    }, …}

After::

    %a: f64[], %b: f64[], %c: f64[100], %d: f64[100] = scan %p, (slice %y), (slice %y) {
      body=program step(%0: f64[4], %1: i64[], %2: f64[], %3: f64[]) { … }, …}

Arrays that a step only reads stay as they are.  What an element depends on is seen now, where each
element of a concatenated array was a choice among all of its parts.

Legal where the arrays that change have a few elements each, an op computes its elements one by one,
moves them or adds up their products, and none may fail for an element that nobody reads.  Sums may
be rounded in another order, and zeros that only fill up an array are not added, so that -0.0 keeps
its sign.
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
from autojit.ir.ops.move import Concatenate, Move, Pad, concatenate, reshape, slice_axis
from autojit.ir.ops.reduce import Sum
from autojit.ir.regions.scan import Scan, scan
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

#: Elements of an array that a step computes, multiplications in a product, operations in a step.
MOST_ELEMENTS = 64
MOST_PRODUCTS = 64
MOST_OPS = 8000
#: Single elements in an array that is made of them in each step.
MANY_PARTS = 3
#: Ops that move, add up or multiply elements: done on arrays of values as on arrays of numbers.
MOVING = (Move, Pad, Concatenate, Sum, Dot)


class TooLarge(Exception):
    """The steps are not of a few numbers."""


@program_pass(
    "Makes loops over small arrays loops over numbers.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with loops over numbers for those whose steps take small arrays apart."""
    return rewrite(program, [_rule]) if program.has(Scan) else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not isinstance(op.kind, Scan) or not _takes_apart(op):
        return None
    try:
        steps = ScalarSteps(op, rows=False)
    except TooLarge:
        return None
    return steps.results(at.emit(scan, steps.operands(op.operands), steps.params))


def _takes_apart(op: Op) -> bool:
    """Whether steps make arrays of single elements, or pad them as the cotangents of such, which
    they read or hand on; not those that are the same in each step, which stay arrays."""
    body, m = op.params["body"], op.params["carries"]
    varying = set(body.inputs[op.params["constants"] :])
    for inner in body.ops:
        if not varying.isdisjoint(inner.operands):
            varying.update(inner.results)
    read = set(body.outputs[:m])
    for inner in reversed(body.ops):
        if not isinstance(inner.kind, MOVING) or not read.isdisjoint(inner.results):
            read.update(inner.operands)
    taken = read & varying
    for inner in body.ops:
        single = [v for v in inner.operands if v.type.size == 1]
        parts = inner.result.type.size if isinstance(inner.kind, Pad) else len(single)
        made = isinstance(inner.kind, (Pad, Concatenate)) and inner.result in taken
        if made and single and parts >= MANY_PARTS:
            return True
    return False


class ScalarSteps:
    """A scan whose carries are numbers, and with ``rows`` its rows and results too: its ``params``,
    what its ``operands`` are and what its ``results`` mean.

    Raises TooLarge where a step computes larger arrays, or something else than elements.
    """

    def __init__(self, op: Op, *, rows: bool) -> None:
        self.op, self.rows = op, rows
        body: Program = op.params["body"]
        self.n, self.m = op.params["constants"], op.params["carries"]
        constants, index, carries, xs = groups(body.inputs, self.n, 1, self.m)
        #: The elements of each value, where they have been taken apart.
        self.elements: dict[Value, Any] = {}
        #: Zeros that fill up arrays.
        self.zeros: set[Value] = set()
        self.env: dict[Value, Value] = {v: v for v in (*constants, *index)}
        self.builder = Builder()
        self.varying = set(body.inputs[self.n :])
        inputs = [*constants, *index]
        for v in (*carries, *xs) if rows else carries:
            apart = _array([Value(v.type.with_shape(())) for _ in range(_small(v))], v.shape)
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
                raise TooLarge  # an element that nobody reads would not be computed
            operands = [self._apart(v).ravel() for v in op.operands]
            made = [self._element(op, [o[k] for o in operands]) for k in range(size)]
            self.elements[op.result] = _array(made, op.result.shape)
        elif isinstance(op.kind, MOVING):
            _small(op.result)
            self._moved(op)
        elif isinstance(op.kind, Gather) and op.result.shape == ():
            if op.operands[0] in self.varying:
                raise TooLarge
            places = [self._apart(v).item() for v in op.operands[1:]]
            picked = self.builder.emit(op.kind, [self.env[op.operands[0]], *places], op.params)
            self.elements[op.result] = _array(picked, ())
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
            made = _array([v if isinstance(v, Value) else zero for v in made.flat], made.shape)
        if not all(isinstance(v, Value) for v in made.flat):
            raise TooLarge
        self.elements[op.result] = made

    def _together(self, v: Value) -> Value:
        """A value of which the elements have been computed."""
        if v not in self.elements or v in self.env:
            return self.env[v]
        parts = self.elements[v]
        return parts.item() if v.shape == () else _joined(list(parts.flat), v.shape)

    def _apart(self, v: Value) -> Any:
        """The elements of a value, as an array of its shape."""
        if v not in self.elements:
            _small(v)
            self.elements[v] = _array(_columns(self.env[v], ()), v.shape)
        return self.elements[v]

    # -- the loop --------------------------------------------------------------------

    def operands(self, operands: Sequence[Value]) -> list[Value]:
        """The operands of the loop over numbers."""
        constants, carries, rows = groups(operands, self.n, self.m)
        made = list(constants)
        for v in carries:
            made += _columns(v, ())
        for v in rows:
            made += _columns(v, v.shape[:1]) if self.rows else [v]
        return made

    def results(self, made: Sequence[Value]) -> list[Value]:
        """The results of the loop from those of the loop over numbers."""
        numbers = iter(made)
        found = []
        for k, v in enumerate(self.op.results):
            if k >= self.m and not self.rows:
                found.append(next(numbers))
                continue
            lead = () if k < self.m else v.shape[:1]
            columns = [next(numbers) for _ in range(prod(v.shape[len(lead) :]))]
            found.append(columns[0] if v.shape == lead else _joined(columns, v.shape))
        return found


def _columns(v: Value, lead: tuple[int, ...]) -> list[Value]:
    """The numbers of an array, each for all of its leading axes."""
    if v.shape == lead:
        return [v]
    flat = reshape(v, shape=(*lead, prod(v.shape[len(lead) :])))
    axis = len(lead)
    return [reshape(slice_axis(flat, axis, k, k + 1), shape=lead) for k in range(flat.shape[axis])]


def _joined(columns: Sequence[Value], shape: tuple[int, ...]) -> Value:
    """The array of which these are the columns."""
    lead = columns[0].shape
    parts = [reshape(v, shape=(*lead, 1)) for v in columns]
    whole = concatenate(*parts, axis=len(lead)) if len(parts) > 1 else parts[0]
    return reshape(whole, shape=shape)


def _small(v: Value) -> int:
    """The number of elements; raises TooLarge for many, or none."""
    if not 0 < v.type.size <= MOST_ELEMENTS:
        raise TooLarge
    return v.type.size


def _array(values: Sequence[Value], shape: tuple[int, ...]) -> Any:
    made = np.empty(len(values), object)
    made[:] = list(values)
    return made.reshape(shape)
