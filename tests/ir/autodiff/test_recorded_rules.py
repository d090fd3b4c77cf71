"""Recorded rules make the same programs as the rules themselves, with the same source places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from autojit.ir.autodiff.linearize import _Split, jvp, vjp
from autojit.ir.autodiff.recorded_rules import RecordedRules
from autojit.ir.core.declaration import MaybeValue
from autojit.ir.core.program import Builder, DerivedSource, Op, Program, Source, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir.autodiff.test_derivatives import INEXACT
from tests.ir.random_programs import EXAMPLES, programs
from tests.sampling import share
from tests.thresholds import Thresholds

LEAST = "ir.autodiff.recorded_rules.LEAST"
PLACES = [
    None,
    Source("model.py", 3, "f"),
    Source("model.py", 7, "f"),
    Source("model.py", 7, "f", True),
    DerivedSource("model.py", 9, "g"),
    DerivedSource.cotangent(Source("model.py", 9, "g", True), Source("model.py", 3, "f")),
]


def often(program: Program) -> Program:
    """The program three times, in sequence and in parallel, from places of all kinds."""
    inputs = [Value(t) for t in program.in_types]
    builder = Builder()
    outputs: list[Value] = []
    with building(builder):
        for _ in range(3):
            outputs += builder.inline(program, inputs)
        taken = [next((v for v in outputs if v.type == i.type), i) for i in inputs]
        outputs += builder.inline(program, taken)
    for op, place in zip(builder.ops, PLACES * len(builder.ops), strict=False):
        op.source = place
    return builder.finish(inputs, outputs)


def described(program: Program) -> list[Any]:
    places = [
        (type(op.source), op.source, getattr(op.source, "of", ""), getattr(op.source, "value", ""))
        for op in program.ops
    ]
    return [program.key, places]


@settings(EXAMPLES, max_examples=share(40))
@given(programs(dtypes=INEXACT, inexact_outputs=True))
def test_recordings_change_nothing(program: Program) -> None:
    program = often(program)
    wrt = range(len(program.inputs))
    for transformed in (jvp, vjp):
        made: list[Any] = []
        for least in (10**9, 0):
            with Thresholds({LEAST: least}):
                try:
                    made.append(transformed(program, wrt))
                except Exception as error:  # no derivative: the same error message
                    made.append(str(error))
        without, recorded = made
        if isinstance(without, str):
            assert recorded == without
        else:
            verify(recorded)
            assert described(recorded) == described(without)


NUMBER = Type(np.dtype("f8"), ())


class Recorded:
    """A rule that is run for several ops, and the ops that it emitted."""

    def __init__(self, rule: Callable[[Sequence[Value]], Sequence[MaybeValue]]) -> None:
        self.builder, self.rules, self.rule, self.calls = Builder(), RecordedRules(), rule, 0

    def __call__(self, kind: Elementwise, values: Sequence[Value]) -> list[Op]:
        def rule() -> Sequence[MaybeValue]:
            self.calls += 1
            return self.rule(values)

        op = Op(kind, tuple(values), {}, (Value(NUMBER),))
        before = len(self.builder.ops)
        with building(self.builder):
            self.rules.run(op, values, None, (self.builder.ops,), rule)
        return self.builder.ops[before:]


def test_one_op_of_a_form_runs_the_rule() -> None:
    recorded = Recorded(lambda values: [values[0] * values[1]])
    x, y, z = (Value(NUMBER) for _ in range(3))
    row = Value(Type(np.dtype("f8"), (3,)))
    recorded(arithmetic.mul, (x, y))
    (again,) = recorded(arithmetic.mul, (y, z))
    assert recorded.calls == 1
    assert again.operands == (y, z)
    recorded(arithmetic.mul, (x, x))  # the same value twice
    recorded(arithmetic.mul, (row, row))  # of another type
    recorded(arithmetic.add, (x, y))
    assert recorded.calls == 4


def test_rules_read_the_types_of_operands_that_are_not_handed_over() -> None:
    """Cotangents of conversions from two dtypes to the same one."""
    program = parse("""program main(%0: f32[2]) {
        %1: f64[2] = convert %0 {dtype=f64}
        %2: c64[2] = convert %0 {dtype=c64}
        %3: f64[2] = mul %1, %1
        %4: f32[2] = convert %3 {dtype=f32}
        %5: f32[2] = convert %2 {dtype=f32}
        %6: f32[2] = add %4, %5
        return %6
    }""")
    with Thresholds({LEAST: 0}):
        made = vjp(program, (0,))
    verify(made)
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(interpret(made, [x, x])[1], 3 * x)


def test_what_was_not_handed_to_a_rule_is_not_recorded() -> None:
    outside = iter([Value(NUMBER), Value(NUMBER)])
    recorded = Recorded(lambda values: [values[0] * next(outside)])
    x = Value(NUMBER)
    first, second = (recorded(arithmetic.neg, (x,))[0] for _ in range(2))
    assert recorded.calls == 2
    assert first.operands[1] is not second.operands[1]


def test_a_result_from_outside_is_not_recorded() -> None:
    recorded = Recorded(lambda values: [Value(NUMBER)])
    for _ in range(2):
        recorded(arithmetic.neg, (Value(NUMBER),))
    assert recorded.calls == 2


@pytest.mark.parametrize("line", [1, 2])
def test_what_comes_from_another_place_is_not_recorded(line: int) -> None:
    def rule(values: Sequence[Value]) -> Sequence[MaybeValue]:
        with recorded.builder.at(Source("rule.py", line)):
            return [-values[0]]

    recorded = Recorded(rule)
    for _ in range(2):
        recorded(arithmetic.neg, (Value(NUMBER),))
    assert recorded.calls == 2


def test_where_an_op_belongs_is_not_repeated() -> None:
    """A tangent may be a constant, as in branches; then nothing in it is linear."""
    number = Type(np.dtype(float), ())
    x, moving, constant = (Value(number) for _ in range(3))
    split, rules = _Split(), RecordedRules()
    split.linear.add(moving)
    lists = (split.ops, split.linear_ops)
    with building(split):
        for tangent in (moving, constant, moving):
            op = Op(arithmetic.mul, (x, tangent), {}, (Value(number),), None)
            rules.run(
                op, op.operands, None, lists, lambda t: [arithmetic.mul(x, t)], tangent,
                linear=split.linear,
            )  # fmt: skip
    assert [op.operands for op in split.ops] == [(x, constant)]
    assert [op.operands for op in split.linear_ops] == [(x, moving)] * 2
