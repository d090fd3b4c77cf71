"""All passes together, on random programs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.declaration import Declaration, SingleResult, full
from autojit.ir.core.program import Builder, Program, Source, Value, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import Type, parse_type
from autojit.ir.ops import arithmetic, elementary, reduce
from autojit.ir.ops.elementwise import Compare, Elementwise
from autojit.ir.ops.move import broadcast_to
from autojit.ir.passes import optimize
from autojit.ir.rewriting import cse, dce, fold
from autojit.ir.rewriting.rewrite import rewrite
from autojit.ir.simplification import simplify
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir.random_programs import (
    CUTS,
    DTYPES,
    EXAMPLES,
    SEEDS,
    STEPS,
    arguments_for,
    assert_same_results,
    programs,
)

REAL = [dtype for dtype in DTYPES if dtype.kind != "c"]


def is_continuous(kind: Declaration) -> bool:
    return not isinstance(kind, Compare) and kind.name not in STEPS | CUTS


def is_continuous_on_reals(kind: Declaration) -> bool:
    return is_continuous(kind) or kind.name in CUTS - {"arctan2"}


def is_exact(kind: Declaration) -> bool:
    """Ops that are exact on small multiples of powers of two."""
    module = type(kind).__module__ if not isinstance(kind, Elementwise) else arithmetic.__name__
    rounded = {"div", "power", "integer_power", "magnitude", "remainder", "fmod", "floor_divide"}
    return (
        kind.name not in rounded
        and getattr(elementary, kind.name, None) is not kind
        and module.startswith("autojit.ir.ops")
    )


@EXAMPLES
@given(programs(kinds=is_continuous) | programs(dtypes=REAL, kinds=is_continuous_on_reals), SEEDS)
def test_results_of_continuous_programs(program: Program, seed: int) -> None:
    arguments = arguments_for(program, np.random.default_rng(seed), low=0.25, high=2)
    assert_same_results(program, optimize(program, verify=True), arguments)


@EXAMPLES
@given(programs(kinds=is_exact), SEEDS)
def test_results_of_exact_programs_with_special_values(program: Program, seed: int) -> None:
    arguments = arguments_for(program, np.random.default_rng(seed), special=0.5)
    assert_same_results(program, optimize(program, verify=True), arguments)


@EXAMPLES
@given(programs())
def test_one_walk_reaches_the_fixed_point(program: Program) -> None:
    once = optimize(program)
    assert optimize(once) is once


@EXAMPLES
@given(programs())
def test_signature_is_kept(program: Program) -> None:
    captured = [np.zeros(t.shape, t.dtype) for t in program.in_types[-1:]]
    named = Program(program.inputs, program.ops, program.outputs, name="f", captured=captured)
    after = optimize(named)
    assert after.name == "f"
    assert after.in_types == program.in_types
    assert after.captured == tuple(captured)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.25, 3.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("constant", [*SPECIAL, 2.0, -4.0, 0.5])
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div", "maximum", "fmin", "power"])
def test_special_values_to_the_sign_of_zero(kind: str, constant: float) -> None:
    builder, x = Builder(), Value(parse_type(f"f64[{len(SPECIAL)}]"))
    with building(builder):
        c = full(constant, x.type)
        op: Any = REGISTRY[kind]
        outputs = [op(x, c), op(c, x), op(-x, c), op(c, -x), op(-x, -c), -op(x, c)]
    program = builder.finish([x], outputs)
    for before, after in zip(
        program(np.array(SPECIAL)), optimize(program)(np.array(SPECIAL)), strict=True
    ):
        np.testing.assert_array_equal(after, before)
        numbers = ~np.isnan(before)
        np.testing.assert_array_equal(np.signbit(after[numbers]), np.signbit(before[numbers]))


def test_sources_stay_with_what_replaces_an_op() -> None:
    program = parse(
        "program main(%a: f64[], %b: f64[]) {\n"
        "%c: f64[] = neg %b\n%d: f64[] = add %a, %c\n%e: f64[] = exp %d\nreturn %e\n}"
    )
    for line, op in enumerate(program.ops, 1):
        op.source = Source("model.py", line)
    assert "sub %0, %1  # model.py:2" in optimize(program).text(sources=True)
    assert "exp %2  # model.py:3" in optimize(program).text(sources=True)


def test_program_without_work_is_returned_as_it_is() -> None:
    program = parse("program main(%x: f64[]) {\n%y: f64[] = sin %x\nreturn %y\n}")
    for one_pass in (fold, simplify, cse, dce):
        assert one_pass.run(program) is program
    assert optimize(program) is program


def test_rule_that_changes_a_type_is_caught() -> None:
    program = parse(
        "program main(%x: f64[3], %i: i64[]) {\n%y: f64[] = sum %x {axes=(0,)}\nreturn %y\n}"
    )
    with pytest.raises(AssertionError, match="other types"):
        rewrite(program, [lambda op, rewriter: op.operands])


def test_constants_are_never_filled() -> None:
    program = parse(
        "program main() {\n%a: f64[1000000,1000000] = constant "
        "{dtype=f64, shape=(1000000, 1000000), value=2.0}\n"
        "%b: f64[1000000,1000000] = exp %a\n%c: f64[] = max %b {axes=(0, 1)}\nreturn %c\n}"
    )
    assert len(optimize(program).ops) == 1


def test_op_with_several_results_is_merged_and_kept() -> None:
    class Halves(SingleResult):
        def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
            return types * 2

    halves = Halves("test_halves")
    try:
        builder, x = Builder(), Value(parse_type("f64[3]"))
        first = builder.emit(halves, [x], {})
        second = builder.emit(halves, [x], {})
        with building(builder):
            total = first[0] + second[1]
        program = optimize(builder.finish([x], [total]), verify=True)
    finally:
        del REGISTRY["test_halves"]
    assert [len(op.results) for op in program.ops] == [2, 1]
    assert program.ops[1].operands == program.ops[0].results


def long_program(layers: int) -> Program:
    builder, x = Builder(), Value(parse_type("f64[8]"))
    with building(builder):
        y = x
        for _ in range(layers):
            mean = broadcast_to(reduce.sum_(y, axes=(0,)) / 8.0, (8,))
            y = elementary.tanh((y - mean) * 2.0) + arithmetic.power(y, full(2.0, y.type))
        out = reduce.sum_(y, axes=(0,))
    return vjp(builder.finish([x], [out]), (0,))


def test_gradient_of_a_long_program() -> None:
    program = long_program(5)
    arguments = arguments_for(program, np.random.default_rng(0), low=-0.2, high=0.2)
    assert_same_results(program, optimize(program, verify=True), arguments)


def test_time_grows_in_proportion() -> None:
    def seconds(program: Program) -> float:
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            optimize(program)
            best = min(best, time.perf_counter() - start)
        return float(best)

    short, long = long_program(20), long_program(160)
    assert len(long.ops) > 7 * len(short.ops)
    assert seconds(long) < 40 * seconds(short)  # 8 if linear, 64 if quadratic
    verify(long)
