"""Search for the operation with a wrong derivative.

Each operation is compared with differences of its own evaluation, at its operands in the program.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import AutojitError
from autojit.ir.core.errors import with_place
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Op, Program, Source, Value
from autojit.ir.regions.custom import custom_jvp, custom_vjp
from autojit.ir.tools.interpreter import interpret, watching

from .comparisons import MODES, Arrays, Comparison, Map, Probe, Settings
from .origins import Call, Calls, Frame
from .widening import is_narrow, widened

#: The number of runs of an operation's bodies that are examined: the first and the last ones.
MOST_RUNS = 4
#: The relative error from which on a rule counts as wrong.
WRONG = 1e-4


class WrongRule(NamedTuple):
    """An operation and the comparison that failed."""

    op: Op
    mode: str
    comparison: Comparison

    @property
    def name(self) -> str:
        """The operation, or the user's function with a custom rule."""
        if self.op.kind in (custom_jvp, custom_vjp):
            return f"the rule of {self.op.params['body'].name} ({self.op.kind.name})"
        return f"the derivative of {self.op.kind.name}"

    @property
    def rule(self) -> Source | None:
        """The user's line of a custom rule."""
        for name in ("backward", "rule"):
            program = self.op.params.get(name)
            if isinstance(program, Program):
                outputs = set(program.outputs)
                last = [op.source for op in program.ops if not outputs.isdisjoint(op.results)]
                return next((source for source in last if source is not None), None)
        return None

    def report(self) -> str:
        """The operation with its line, and its expected and actual derivative."""
        c = self.comparison
        words = (
            f"The cause is {self.name}, in {MODES[self.mode]} mode: expected {c.numeric:.10g}, "
            f"got {c.exact:.10g}."
        )
        words = with_place(words, self.op.source)
        if self.rule is not None:
            words += with_place("\n\nThe rule:", self.rule)
        return words


def wrong_rule(
    program: Program, arrays: Sequence[Any], rng: np.random.Generator, modes: Sequence[str]
) -> WrongRule | None:
    """The first operation of a program whose derivative is wrong at these inputs."""
    for op, operands in _differentiable(program, arrays):
        found = _checked(op, operands, rng, modes)
        if found is not None:
            return _inner(op, operands, rng, modes) or found
    return None


def _differentiable(program: Program, arrays: Sequence[Any]) -> Iterator[tuple[Op, list[Any]]]:
    frame = Frame(program, arrays)
    for op in program.ops:
        results = any(v.type.is_inexact for v in op.results)
        if results and any(v.type.is_inexact for v in op.operands):
            yield op, frame.operands(op)


def _inner(
    op: Op, operands: list[Any], rng: np.random.Generator, modes: Sequence[str]
) -> WrongRule | None:
    """The first wrong operation in the bodies of an operation, as they ran."""
    if not op.programs or op.kind in (custom_jvp, custom_vjp):
        return None
    calls = Calls()
    with np.errstate(all="ignore"), watching(calls):
        op.kind.evaluate(*operands, **op.params)
    for call in _some(calls.kept):
        found = wrong_rule(call.program, call.arguments, rng, modes)
        if found is not None:
            return found
    return None


def _some(calls: Sequence[Call]) -> Sequence[Call]:
    half = MOST_RUNS // 2
    return calls if len(calls) <= MOST_RUNS else [*calls[:half], *calls[-half:]]


def _checked(
    op: Op, operands: list[Any], rng: np.random.Generator, modes: Sequence[str]
) -> WrongRule | None:
    """Check an operation alone, along a direction of its operands; None if its rules are right."""
    found = map_of(_alone(op), operands, [f"operand {k}" for k in range(len(operands))])
    settings = Settings.of(found, WRONG, WRONG, None)
    tangents, cotangents = directions(found, rng)
    for mode in modes:
        try:
            derived = found.derived(mode, tangents, cotangents)
            probe = Probe(found, derived, mode, tangents, cotangents, settings)
            comparison = probe.compare()
        except AutojitError:  # no derivative in this mode
            continue
        fine = comparison.agrees or comparison.at_kink or not np.isfinite(comparison.numeric)
        if not fine:
            return WrongRule(op, mode, comparison)
    return None


def _alone(op: Op) -> Program:
    """The operation as a program of its own."""
    inputs = [Value(v.type) for v in op.operands]
    results = [Value(v.type) for v in op.results]
    made = Op(op.kind, tuple(inputs), op.params, tuple(results), op.source)
    return Program(inputs, [made], results, name=op.kind.name)


def map_of(program: Program, arrays: Sequence[Any], names: Sequence[str]) -> Map:
    """The function of a program, interpreted."""
    point = [in_dtype(a, t.dtype) for a, t in zip(arrays, program.in_types, strict=True)]

    def evaluate(arrays: Arrays) -> Arrays:
        return interpreted(program, arrays)

    return Map(evaluate, program, point, names, wide=wide_runner(program), run=interpreted)


def interpreted(program: Program, arrays: Sequence[Any]) -> Arrays:
    """The outputs of a program, given all inputs except the captured ones."""
    everything = [*arrays, *program.captured]
    given = [in_dtype(a, t.dtype) for a, t in zip(everything, program.in_types, strict=True)]
    return [np.asarray(a) for a in interpret(program, given)]


def wide_runner(program: Program) -> Any:
    """The interpreter of a single-precision program in double precision.

    None if the program has no such form, or needs none.
    """
    wide = widened(program) if any(is_narrow(v.dtype) for v in program.inputs) else None
    return None if wide is None else functools.partial(interpreted, wide)


def directions(found: Map, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """A tangent and a cotangent; they are 1 for single numbers, which makes errors readable."""
    tangents, cotangents = found.random_tangents(rng), found.random_cotangents(rng)
    if all(t.ndim == 0 for t in tangents) and len(tangents) == 1:
        tangents = [np.ones_like(tangents[0])]
    if len(cotangents) == 1 and cotangents[0].ndim == 0 and cotangents[0].dtype.kind in "fc":
        cotangents = [np.ones_like(cotangents[0])]
    return tangents, cotangents
