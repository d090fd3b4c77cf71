"""A derivative raises its function's errors, even if it does not read the value that fails: ``y +
table[i]`` has the derivative of ``y``, and raises for an ``i`` out of bounds.

Before, the gradient of ``ensure(floor(x), x < 3)``::

    program main(%0: f64[]) {
      %1: f64[] = constant {dtype=f64, shape=(), value=0.0}
      return %1
    }

After::

    program main(%0: f64[]) {
      %1: f64[] = constant {dtype=f64, shape=(), value=3.0}
      %2: bool[] = lt %0, %1
      %3: f64[] = constant {dtype=f64, shape=(), value=0.0}
      %4: f64[] = ensure %3, %2 {derivatives=True, failure=('ValueError', 'big')}
      return %4
    }

If the derivative lacks an op that may fail, the op is added, unless another op fails with it, as
the scatter of a cotangent at the indices of a gather does. Ops in bodies are matched by kind and
line, because derivatives of bodies are new bodies. An endless loop is not an error, nor is the
overflow of an integer that only the value reads.

Legal where errors of the value are meant to be errors of the derivative, which always holds; the
derivative is bit-identical.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import bitwise_and, ge, lt, select
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.checks import computed
from autojit.ir.ops.move import broadcast
from autojit.ir.ops.reduce import all_
from autojit.ir.rewriting.bodies import narrowed
from autojit.ir.rewriting.dce import run as without_dead_code

from .scalar_ranges import Range, inputs_of, range_of

_NO_RANGES: Mapping[Value, Range] = {}
#: The key of an error of an op in a body: its kind, and the user's line.
Site = tuple[Any, Any]


def with_errors(
    ops: Sequence[Op], outputs: Sequence[Value], derived: Sequence[Value]
) -> list[Value]:
    """Derivatives in the current builder that fail whenever ``outputs`` do; ``ops`` compute the
    outputs."""
    result = list(derived)
    for op, found in _missing(ops, outputs, derived) if derived else ():
        with current_builder().at(op.source):
            result = [_after(op, found, g, math.nan) if g.type.is_inexact else g for g in result]
    return result


def with_held(program: Program, linear: Program, count: int) -> Program:
    """The program with an additional last output: a bool that fails whenever the first ``count``
    outputs do. The other outputs are residuals, the first inputs of ``linear``; the program is
    unchanged if the residuals that are read fail too.
    """
    builder = Builder()
    with building(builder):
        inputs = [Value(v.type) for v in program.inputs]
        outputs = builder.inline(program, inputs)
        read = {v for op in _needed(linear.ops, linear.outputs) for v in op.operands}
        residuals = zip(outputs[count:], linear.inputs, strict=False)
        used = [v for v, given in residuals if given in read or given in linear.outputs]
        found = list(_missing(tuple(builder.ops), outputs[:count], used))
        held = full(True, Type(np.dtype(np.bool_), ()))
        for op, results in found:
            with builder.at(op.source):
                held = _after(op, results, held, False)
    if not found:
        return program
    return builder.finish(inputs, [*outputs, held], name=program.name, captured=program.captured)


class Applied(NamedTuple):
    """A program that was inlined: where its ops begin and end, and its outputs."""

    start: int
    stop: int
    outputs: Sequence[Value]


def of_unread(
    outputs: Sequence[Value], applied: Sequence[Applied], known: Mapping[Value, Range]
) -> list[tuple[Value, Op]]:
    """The ops of the current builder that may fail and that the outputs do not need, each with a
    bool that is false or fails if the op does: Python computes what nobody reads.

    Of a program that was applied, these are the ops that its own outputs need. ``known`` has the
    ranges of some integers.
    """
    ops = tuple(current_builder().ops)
    begins = [0, *(each.stop for each in applied)]
    ends = [*(each.start for each in applied), len(ops)]
    own = [op for start, stop in zip(begins, ends, strict=True) for op in ops[start:stop]]
    failing = [op for op in own if op.kind.fallible or op.kind.in_range(op)]
    results = [v for op in failing if op.kind.may_fail(op) for v in op.results]
    results += [v for each in applied for v in each.outputs]
    found = []
    for op, mine in _missing(ops, results, outputs, known) if results else ():
        with current_builder().at(op.source):
            found.append((_holds(op, mine), op))
    return found


def _holds(op: Op, results: Sequence[Value]) -> Value:
    held = full(True, Type(np.dtype(np.bool_), ()))
    places = op.kind.in_range(op)
    if not places:
        return _after(op, results, held, False)
    for index, bound in places:
        inside = bitwise_and(ge(index, 0), lt(index, bound))
        held = bitwise_and(held, all_(inside, axes=tuple(range(len(inside.shape)))))
    return held


def _missing(
    ops: Sequence[Op],
    outputs: Sequence[Value],
    derived: Sequence[Value],
    known_ranges: Mapping[Value, Range] = _NO_RANGES,
) -> Iterator[tuple[Op, list[Value]]]:
    """The ops that outputs need and that may fail when no op of the other values does; with the
    results of each that show the failure."""
    needed = _needed(ops, outputs)
    if not any(op.kind.may_fail(op) for op in needed):
        return
    reached = _needed(current_builder().ops, derived)
    there = {v for op in reached for v in op.results}
    known = {op.kind.fails_by(op) for op in reached if op.kind.may_fail(op)}
    missing = _counted(needed, known_ranges) - _counted(reached, known_ranges)
    ranges = _Ranges(needed, dict(known_ranges))
    for op in needed:
        if isinstance(op.kind, BodyOp):
            found = _failing_results(op, missing)
        elif op.results[0] in there or not ranges.may_fail(op) or op.kind.fails_by(op) in known:
            continue
        else:
            found = [op.results[0]]
            known.add(op.kind.fails_by(op))
        if found:
            yield op, found


def _needed(ops: Sequence[Op], outputs: Sequence[Value]) -> Sequence[Op]:
    return without_dead_code.function(Program((), ops, outputs)).ops


def _after(op: Op, found: Sequence[Value], value: Value, fill: Any) -> Value:
    """A value that fails whenever an op does; ``found`` are results of the op."""
    checked = op.kind.failing_too(op, value)
    if checked is not None:
        return checked
    for result in found:
        done = computed(result)
        if done.shape:
            done = all_(done, axes=tuple(range(len(done.shape))))
        if value.shape:
            done = broadcast(done, shape=value.shape, dims=())
        value = select(done, value, full(fill, value.type))  # a constant folds with zeros
    return value


class _Ranges:
    """Which ops of a body may fail, given the ranges of its integers."""

    def __init__(self, ops: Sequence[Op], known: dict[Value, Range]) -> None:
        self._made = {v: op for op in ops for v in op.results}
        self._known = known

    def of(self, value: Value) -> Range:
        return range_of(value, self._made.get, self._known)

    def may_fail(self, op: Op) -> bool:
        if not op.kind.may_fail(op) or op.kind.fails_by(op) is None:
            return False
        places = op.kind.in_range(op)
        return not places or not all(self._is_inside(v, bound) for v, bound in places)

    def _is_inside(self, index: Value, bound: int) -> bool:
        found = self.of(index)
        return found is not None and found[0] >= 0 and found[1] < bound


# -- bodies -------------------------------------------------------------------------------


def _counted(ops: Sequence[Op], known: Mapping[Value, Range] = _NO_RANGES) -> Counter[Site]:
    """The number of ops in bodies that may fail, by kind of error and line."""
    ranges = _Ranges(ops, dict(known))
    return Counter(site for op in ops if isinstance(op.kind, BodyOp) for site in _inner(op, ranges))


def _inner(op: Op, ranges: _Ranges) -> Iterator[Site]:
    for body in op.programs:
        if not body.may_fail:
            continue
        inside = _Ranges(body.ops, inputs_of(op, body, ranges.of))
        for each in body.ops:
            if isinstance(each.kind, BodyOp):
                yield from _inner(each, inside)
            elif inside.may_fail(each):
                yield (IndexError if each.kind.in_range(each) else each.kind), each.source


def _failing_results(op: Op, missing: Counter[Site]) -> list[Value]:
    """Results of an op with bodies that need some of the missing ops that may fail."""
    found: list[Value] = []
    for k, result in enumerate(op.results):
        if not missing:
            break
        alone = narrowed(op, [j == k for j in range(len(op.results))]) or op
        mine = _counted([alone]) & missing
        if mine:
            missing -= mine
            found.append(result)
    return found
