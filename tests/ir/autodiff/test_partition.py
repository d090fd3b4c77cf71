"""The parts of `separate`, alone and on random programs."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autojit.ir.autodiff.partition import depends, free_values, halves, needed, parted
from autojit.ir.core.program import Op, Program, Source, Value
from autojit.ir.ops.bodies import chosen
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir.autodiff.splits import separated
from tests.ir.random_programs import arguments_for, assert_same_results, programs
from tests.sampling import share

EXAMPLES = settings(
    max_examples=share(100),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

PRODUCT = """
program main(%x: f64[], %t: f64[]) {
  %a: f64[] = sin %x
  %b: f64[] = mul %a, %t
  %c: f64[] = exp %b
  return %a, %c
}
"""

LOOP = """
program main(%x: f64[], %t: f64[]) {
  %a: f64[], %b: f64[] = scan %x, %t {body=program body(%0: i64[], %1: f64[], %2: f64[]) {
    %3: f64[] = sin %1
    %4: f64[] = mul %2, %1
    return %3, %4
  }, carries=2, constants=0, length=3, reverse=False}
  return %a, %b
}
"""

IGNORED = """
program main(%x: f64[2], %t: i64[3]) {
  %a: f64[2] = custom_jvp %x, %t {body=program f(%0: f64[2], %1: i64[3]) {
    return %0
  }, constants=0, rule=None}
  return %a
}
"""


def only_op(text: str) -> tuple[Op, Value]:
    """The op of a program, and its linear input, which is the last one."""
    program = parse(text)
    (op,) = program.ops
    return op, program.inputs[-1]


def test_op_that_does_not_move_is_kept_as_it_is() -> None:
    op, _ = only_op(LOOP)
    assert halves(op, {Value(op.operands[0].type)}) == ([op], [])


def test_op_of_which_all_moves_is_kept_as_it_is() -> None:
    op, _ = only_op(LOOP)
    assert halves(op, set(op.operands)) == ([], [op])


def test_each_result_of_an_op_in_both_halves_is_defined_by_one() -> None:
    op, t = only_op(LOOP)
    (zero, fixed), (moving,) = halves(op, {t})
    assert zero.kind.name == "constant"
    assert zero.params["value"] == 0
    assert fixed.results == op.results[:1]  # the other result is not computed at all
    assert op.results[0] not in moving.results
    assert op.results[1] in moving.results
    assert moving.operands == op.operands
    assert moving.params is op.params


def test_op_that_ignores_what_moves_has_one_half_and_reads_zeros_of_its_type() -> None:
    op, t = only_op(IGNORED)
    (zero, fixed), moving = halves(op, {t})
    assert zero.result.type == t.type
    assert fixed.operands == (op.operands[0], zero.result)
    assert fixed.results == op.results
    assert moving == []


def test_half_keeps_the_source() -> None:
    op, t = only_op(LOOP)
    marked = Op(op.kind, op.operands, op.params, op.results, Source("model.py", 3))
    (_, fixed), (moving,) = halves(marked, {t})
    assert fixed.source == moving.source == marked.source


def test_parts_hold_all_ops_in_order() -> None:
    program = parse(PRODUCT)
    sin, mul, exp = program.ops
    t = program.inputs[1]
    assert parted(program.ops, [t]) == ([sin], [mul, exp], {t, mul.result, exp.result})
    assert parted(program.ops, []) == ([sin, mul, exp], [], set())


def test_what_is_needed() -> None:
    ops = parse(PRODUCT).ops
    assert needed(ops, [ops[1].result]) == [*ops[:2]]
    assert needed(ops, []) == []


def test_free_values_are_in_order_of_first_use() -> None:
    program = parse(PRODUCT)
    x, t = program.inputs
    sin, mul, exp = program.ops
    assert free_values([mul, exp], [x, exp.result, x], [t]) == [sin.result, x]


def marks_of(program: Program, rng: np.random.Generator) -> list[bool]:
    return [bool(m) for m in rng.integers(0, 2, len(program.inputs))]


@EXAMPLES
@given(programs(), st.integers(0, 2**32 - 1))
def test_parts_of_random_programs_make_the_whole(program: Program, seed: int) -> None:
    """Whether or not they are linear in the marked inputs."""
    rng = np.random.default_rng(seed)
    made = separated(program, marks_of(program, rng), [False] * len(program.inputs))
    verify(made.parts.primal)
    verify(made.parts.linear)
    assert_same_results(program, made.composed(), arguments_for(program, rng))


@EXAMPLES
@given(programs(), st.integers(0, 2**32 - 1))
def test_values_of_random_programs_are_on_one_side(program: Program, seed: int) -> None:
    linear = marks_of(program, np.random.default_rng(seed))
    bound = chosen(program.inputs, linear)
    first, second, moving = parted(program.ops, bound)
    fixed = {v for op in first for v in op.results}
    assert moving == {*bound, *(v for op in second for v in op.results)}
    assert fixed.isdisjoint(moving)
    assert all(moving.isdisjoint(op.operands) for op in first)
    assert {v for op in program.ops for v in op.results} <= fixed | moving
    assert [v in moving for v in program.outputs] == depends(program, linear)
