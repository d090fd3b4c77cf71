"""The choice of residuals, in cases without exact text tests and on random programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

from autojit.ir.autodiff.linearize import linearize
from autojit.ir.autodiff.residuals import choose_residuals, repeatable
from autojit.ir.core.program import Program
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.ir.autodiff.splits import Split, linearized, separated
from tests.ir.random_programs import EXAMPLES, SEEDS, arguments_for, assert_same_results, programs

#: With at most this many values, all sets can be tried.
FEW = 10


def product() -> Program:
    return parse(
        "program f(%x: f64[], %y: f64[]) {\n%a: f64[] = mul %x, %y\n%b: bool[] = lt %x, %y\n"
        "return %b, %a\n}"
    )


def test_parts_that_pass_nothing_are_returned_as_they_are() -> None:
    parts = linearize(parse("program f(%x: f64[]) {\n%a: f64[] = neg %x\nreturn %a\n}"), (0,))
    assert choose_residuals(parts, [False]) is parts


def test_what_is_differentiated_stays() -> None:
    parts = choose_residuals(linearize(product(), (1,)), [False, False])
    assert (parts.wrt, parts.active) == ((1,), (1,))
    assert (parts.primal.name, parts.linear.name) == ("f", "f_linear")
    assert parts.residuals == 1


def test_parts_given_are_not_changed() -> None:
    parts = linearize(product(), (0, 1))
    before = [part.text() for part in (parts.primal, parts.linear)]
    choose_residuals(parts, [True, True])
    assert [part.text() for part in (parts.primal, parts.linear)] == before


def test_checks_find_residuals_in_the_wrong_places() -> None:
    before = linearized(product(), [True, True], [False, False])
    primal = before.parts.primal
    wrong = primal.with_body(primal.ops, [*primal.outputs[:2], *primal.outputs[:1:-1]])
    made = replace(before, parts=before.parts._replace(primal=wrong))
    arguments = arguments_for(made.whole, np.random.default_rng(0))
    with pytest.raises(AssertionError):
        assert_same_results(made.whole, made.composed(), arguments)


def test_checks_find_a_choice_of_too_many_bytes() -> None:
    program = parse(
        "program f(%x: f64[], %t: f64[2]) {\n%a: f64[2] = broadcast %x {dims=(), shape=(2,)}\n"
        "%b: f64[2] = mul %a, %t\nreturn %b\n}"
    )
    before = separated(program, [False, True], [False, False])
    assert (before.bytes(), before.fewest_bytes()) == (16, 8)


#: Ops on `%x: f64[2]`, `%z: c128[2]` and `%i: i64[2]`, and whether they may be repeated.
REPEATED = {
    "f64[2] = add %x, %x": True,
    "f64[2] = div %x, %x": True,
    "f64[2] = sqrt %x": True,
    "f64[2] = hypot %x, %x": True,
    "f64[2] = convert %i {dtype=f64}": True,
    "f64[2] = magnitude %z": False,
    "f64[2] = exp %x": False,
    "f64[2] = power %x, %x": False,
    "f64[2] = flip %x {axes=(0,)}": True,
    "f64[2,2] = broadcast %x {dims=(1,), shape=(2, 2)}": True,
    "f64[4] = concatenate %x, %x {axis=0}": True,
    "f64[2] = gather %x, %i {axes=(0,)}": True,
    "f64[2] = scatter_add %x, %i {axes=(0,), shape=(2,)}": False,
    "f64[] = sum %x {axes=(0,)}": False,
    "f64[] = dot %x, %x {batch=((), ()), contract=((0,), (0,))}": False,
    "f64[2] = iota {axis=0, dtype=f64, shape=(2,)}": True,
    "f64[2] = constant {dtype=f64, shape=(2,), value=1.0}": True,
}


@pytest.mark.parametrize("op", REPEATED)
def test_what_is_repeated(op: str) -> None:
    program = parse(f"program f(%x: f64[2], %z: c128[2], %i: i64[2]) {{\n%a: {op}\nreturn %a\n}}")
    assert repeatable(program.ops[0]) == REPEATED[op]


def marks(count: int, rng: np.random.Generator) -> list[bool]:
    return [bool(m) for m in rng.integers(0, 2, count)]


def check_choice(before: Split, rng: np.random.Generator) -> None:
    """The parts are valid, agree with the whole, and pass no more bytes than before."""
    after = before.with_choice()
    verify(after.parts.primal)
    verify(after.parts.linear)
    assert after.bytes() <= before.bytes()
    assert_same_results(before.whole, after.composed(), arguments_for(before.whole, rng))


@EXAMPLES
@given(programs(min_extent=1), SEEDS)
def test_random_programs_of_which_some_inputs_move(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = len(program.inputs)
    check_choice(separated(program, marks(count, rng), marks(count, rng)), rng)


@EXAMPLES
@given(programs(dtypes=[np.dtype("f8"), np.dtype("c16")], min_extent=1), SEEDS)
def test_random_programs_linearized(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    by = [t.is_inexact for t in program.in_types]
    check_choice(linearized(program, by, marks(len(by), rng)), rng)


@EXAMPLES
@given(programs(min_extent=1, max_ops=6), SEEDS)
def test_random_programs_have_no_choice_of_fewer_bytes(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = len(program.inputs)
    before = separated(program, marks(count, rng), marks(count, rng))
    primal = before.parts.primal
    assume(len(primal.inputs) + sum(len(op.results) for op in primal.ops) <= FEW)
    assert before.with_choice().bytes() == before.fewest_bytes()
