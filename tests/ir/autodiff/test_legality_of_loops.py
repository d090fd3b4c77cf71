"""Loop transformations with their own conditions, and programs that break them."""

from __future__ import annotations

import numpy as np
import pytest

from autojit.errors import DerivativeError
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify

SUMS = """program main(%x: f64[4,128], %y: f64[4,128], %k: f64[128,128]) {
  %r: f64[128,128] = scan %k, %x, %y {body=program body(
      %0: i64[], %1: f64[128,128], %2: f64[128], %3: f64[128]) {
    %4: f64[128,128] = dot %2, %3 {batch=((), ()), contract=((), ())}
    %5: f64[128,128] = add %1, %4
    return %5
  }, carries=1, constants=0, length=4, reverse=False}
  return %r
}"""
ROWS = """program main(%w: f64[128,128], %x: f64[4,128], %k: f64[128]) {
  %r: f64[128] = scan %w, %k, %x {body=program body(
      %0: f64[128,128], %1: i64[], %2: f64[128], %3: f64[128]) {
    %4: f64[128] = dot %0, %3 {batch=((), ()), contract=((1,), (0,))}
    %5: f64[128] = mul %2, %4
    return %5
  }, carries=1, constants=1, length=4, reverse=False}
  return %r
}"""
#: Each step has a stacked result.
STACKED = (
    ("%r: f64[128,128]", "%r: f64[128,128], %s: f64[4,128,128]"),
    ("return %r", "return %r, %s"),
)


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text.replace("(\n      ", "(")


def agreeing(program: Program) -> Program:
    """The optimized program, after checking that it computes the same as the given one."""
    verify(program)
    made = optimize(program)
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.5, 1.0, t.shape).astype(t.dtype) for t in program.in_types]
    for got, want in zip(interpret(made, given), interpret(program, given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)
    return made


def products_in_loops(text: str) -> int:
    """How many products the loops of an optimized program have."""
    made = agreeing(parse(text))
    bodies = [body for op in made.ops for body in op.programs]
    return sum(op.kind.name == "dot" for body in bodies for op in body.ops)


@pytest.mark.parametrize("text", [SUMS, ROWS])
def test_products_leave_a_loop(text: str) -> None:
    assert products_in_loops(edited(text)) == 0


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (SUMS, [("add %1, %4", "mul %1, %4")]),  # the step does not add the product
        (SUMS, [("add %1, %4", "add %1, %4\n%6: f64[128,128] = mul %5, %1"),
                ("return %5", "return %6")]),  # the step reads the sum
        (SUMS, [("%4: f64", "%6: f64[128] = sum %1 {axes=(0,)}\n%4: f64"),
                ("dot %2, %3", "dot %2, %6")]),  # a factor depends on the sum
        (SUMS, [("return %5", "return %5, %5"), *STACKED]),  # the sums are results
        (SUMS, [("return %5", "return %5, %4"), *STACKED]),  # the products are results
        (ROWS, [("dot %0, %3", "dot %0, %2"), ("mul %2", "mul %3")]),  # a factor is a carry
    ],
)  # fmt: skip
def test_products_that_stay_in_a_loop(text: str, edits: list[tuple[str, str]]) -> None:
    assert products_in_loops(edited(text, *edits)) == 1


def counting(*, carry: str, condition: str) -> Program:
    """A loop of three steps that carries two more numbers; the first of them is read."""
    return parse(
        "program main(%x: f64[], %y: f64[]) {\n"
        "%i: i64[] = constant {dtype=i64, shape=(), value=0}\n"
        "%n: i64[], %a: f64[], %b: f64[] = while %i, %x, %y {backward=(False,), carries=(3,), "
        "condition=program test(%0: i64[], %1: f64[], %2: f64[]) {\n"
        "%3: i64[] = constant {dtype=i64, shape=(), value=3}\n"
        f"%4: bool[] = lt %0, %3\n{condition}}}, constants=0, "
        "sweeps=(program step(%0: i64[], %1: f64[], %2: f64[]) {\n"
        "%3: i64[] = constant {dtype=i64, shape=(), value=1}\n%4: i64[] = add %0, %3\n"
        f"%5: f64[] = {carry}\n%6: f64[] = sin %2\nreturn %4, %5, %6\n}},)}}\nreturn %a\n}}"
    )


@pytest.mark.parametrize(
    ("carry", "condition", "left"),
    [
        ("cos %1", "return %4\n", 2),
        ("add %1, %2", "return %4\n", 3),  # a carry that is read depends on the second number
        ("cos %1", "%5: f64[] = constant {dtype=f64, shape=(), value=9.0}\n"
                   "%6: bool[] = lt %2, %5\n%7: bool[] = and %4, %6\nreturn %7\n", 3),
    ],
)  # fmt: skip
def test_a_loop_carries_what_something_reads(carry: str, condition: str, left: int) -> None:
    made = agreeing(counting(carry=carry, condition=condition))
    (loop,) = [op for op in made.ops if op.kind.name == "while"]
    assert len(loop.results) == left


NOT_LINEAR = """program main(%i: i64[], %t: f64[]) {
  %n: i64[], %y: f64[] = while %i, %t {backward=(False,), carries=(2,), condition=program test(
      %0: i64[], %1: f64[]) {
    %2: i64[] = constant {dtype=i64, shape=(), value=3}
    %3: bool[] = lt %0, %2
    return %3
  }, constants=0, sweeps=(program step(%0: i64[], %1: f64[]) {
    %2: i64[] = constant {dtype=i64, shape=(), value=1}
    %3: i64[] = add %0, %2
    %4: f64[] = mul %1, %1
    return %3, %4
  },)}
  return %y
}"""


def test_a_while_that_is_not_linear_is_not_transposed() -> None:
    with pytest.raises(DerivativeError, match="is not linear"):
        transpose(parse(edited(NOT_LINEAR)), 1)
    transpose(parse(edited(NOT_LINEAR, ("mul %1, %1", "add %1, %1"))), 1)


def test_a_while_whose_condition_reads_a_tangent_is_not_transposed() -> None:
    linear = edited(NOT_LINEAR, ("mul %1, %1", "add %1, %1"))
    reads = edited(
        linear,
        ("%3: bool[] = lt %0, %2", "%4: f64[] = convert %2 {dtype=f64}\n%3: bool[] = lt %1, %4"),
    )
    with pytest.raises(DerivativeError, match="condition of a while_loop depends on a tangent"):
        transpose(parse(reads), 1)


def test_a_scan_that_is_not_linear_is_not_transposed() -> None:
    text = """program main(%t: f64[]) {
      %y: f64[] = scan %t {body=program body(%0: i64[], %1: f64[]) {
        %2: f64[] = mul %1, %1
        return %2
      }, carries=1, constants=0, length=3, reverse=False}
      return %y
    }"""
    with pytest.raises(DerivativeError, match="is not linear"):
        transpose(parse(text), 0)
    transpose(parse(text.replace("mul", "add")), 0)
