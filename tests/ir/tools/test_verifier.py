"""The verifier, tested on programs with one fault each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit.ir.core.declaration import Declaration, declaration
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import Type, parse_type
from autojit.ir.ops import arithmetic, elementary
from autojit.ir.tools.verifier import VerificationError, verify

VECTOR = parse_type("f64[3]")


def op(kind: Declaration, *operands: Value, result: Value | None = None, **params: Any) -> Op:
    return Op(kind, operands, params, (result or Value(VECTOR),))


def test_a_right_program_passes() -> None:
    x = Value(VECTOR)
    first = op(elementary.sin, x)
    second = op(arithmetic.add, x, first.result)
    verify(Program([x], [first, second], [second.result, x]))


def test_operand_that_is_defined_later() -> None:
    x = Value(VECTOR)
    first = op(elementary.sin, x)
    second = op(arithmetic.add, x, first.result)
    with pytest.raises(VerificationError, match="operand 1 of add is not defined before it"):
        verify(Program([x], [second, first], [second.result]))


def test_value_of_another_program() -> None:
    with pytest.raises(VerificationError, match=r"(?s)operand 0 of sin.*--> .* = sin %\?"):
        verify(Program([], [op(elementary.sin, Value(VECTOR))], []))


def test_value_defined_twice() -> None:
    x, y = Value(VECTOR), Value(VECTOR)
    ops = [op(elementary.sin, x, result=y), op(elementary.cos, x, result=y)]
    with pytest.raises(VerificationError, match=r"f64\[3\] is defined twice"):
        verify(Program([x], ops, [y]))


def test_input_given_twice() -> None:
    x = Value(VECTOR)
    with pytest.raises(VerificationError, match=r"(?s)defined twice.*--> program"):
        verify(Program([x, x], [], []))


def test_output_that_is_not_defined() -> None:
    x = Value(VECTOR)
    program = Program([x], [], [x, Value(VECTOR)])
    with pytest.raises(VerificationError, match=r"(?s)output 1 is not defined.*-->   return"):
        verify(program)


def test_wrong_type() -> None:
    x = Value(VECTOR)
    wrong = op(elementary.sin, x, result=Value(parse_type("f64[4]")))
    with pytest.raises(VerificationError, match=r"sin gives f64\[3\], recorded is f64\[4\]"):
        verify(Program([x], [wrong], [wrong.result]))


def test_operands_that_do_not_fit() -> None:
    x, i = Value(VECTOR), Value(parse_type("i64[3]"))
    with pytest.raises(VerificationError, match="add: add takes operands of one shape and dtype"):
        verify(Program([x, i], [op(arithmetic.add, x, i)], []))


def test_number_of_operands_and_results() -> None:
    x = Value(VECTOR)
    with pytest.raises(VerificationError, match="sin takes 1 operands, got 2"):
        verify(Program([x], [op(elementary.sin, x, x)], []))
    with pytest.raises(VerificationError, match="recorded is nothing"):
        verify(Program([x], [Op(elementary.sin, (x,), {}, ())], []))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, r"sum takes parameters \{axes\}, got \{\}"),
        ({"axes": (0,), "keep": True}, r"got \{axes, keep\}"),
        ({"axes": [0]}, "parameter axes of sum holds a list"),
        ({"axes": (np.int64(0),)}, "parameter axes of sum holds a int64"),
        ({"axes": (1,)}, "sum: sum of"),
    ],
)
def test_parameters(params: dict[str, Any], words: str) -> None:
    x = Value(VECTOR)
    with pytest.raises(VerificationError, match=words):
        verify(
            Program(
                [x], [op(declaration("sum"), x, result=Value(Type(VECTOR.dtype)), **params)], []
            )
        )


def test_more_captured_arrays_than_inputs() -> None:
    with pytest.raises(VerificationError, match="more captured arrays than inputs"):
        verify(Program([], [], [], captured=[np.zeros(3)]))


def test_programs_in_parameters_are_verified() -> None:
    class Call(Declaration):
        parameters = ("body",)

        def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
            return tuple(params["body"].out_types)

    call = Call("test_call")
    try:
        good, bad = Value(VECTOR), Value(VECTOR)
        for body, right in ((Program([good], [], [good]), True), (Program([], [], [bad]), False)):
            program = Program([], [Op(call, (), {"body": body}, (Value(VECTOR),))], [])
            if right:
                verify(program)
            else:
                with pytest.raises(VerificationError, match="output 0 is not defined"):
                    verify(program)
    finally:
        del REGISTRY["test_call"]


def test_error_shows_ten_lines_and_an_arrow() -> None:
    x = Value(VECTOR)
    ops = [op(elementary.sin, x) for _ in range(100)]
    ops[50] = op(elementary.cos, Value(VECTOR))
    with pytest.raises(VerificationError) as caught:
        verify(Program([x], ops, []))
    message, *lines = str(caught.value).splitlines()
    assert message.startswith("program main is not well formed: operand 0 of cos")
    assert len(lines) == 10
    assert lines[5].startswith("-->   %51: f64[3] = cos %?")
    assert [line[:3] for line in lines].count("-->") == 1
