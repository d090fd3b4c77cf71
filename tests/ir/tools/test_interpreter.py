"""The oracle itself: small programs with known results."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from autojit.ir.core.program import Program
from autojit.ir.core.types import TypeMismatch
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse


def program(inputs: str, *lines: str, result: str = "%y") -> Program:
    return parse(f"program main({inputs}) {{\n" + "\n".join(lines) + f"\nreturn {result}\n}}")


X = np.arange(6.0).reshape(2, 3)
Z = np.array([1 + 2j, 3 - 4j])

#: The op, the type of its result, and NumPy's result.
ROWS: list[tuple[Any, str, str, Any]] = [
    (X, "broadcast %x {dims=(0, 2), shape=(2, 4, 3)}", "f64[2,4,3]", X[:, None] + np.zeros((4, 1))),
    (X, "reshape %x {shape=(3, 2)}", "f64[3,2]", X.reshape(3, 2)),
    (X, "transpose %x {axes=(1, 0)}", "f64[3,2]", X.T),
    (X, "slice %x {start=(0, 1), stop=(2, 3), stride=(1, 2)}", "f64[2,1]", X[0:2, 1:3:2]),
    (X[0], "pad %x {high=(1,), interior=(1,), low=(2,)}", "f64[8]", [0, 0, 0, 0, 1, 0, 2, 0]),
    (X, "flip %x {axes=(1,)}", "f64[2,3]", X[:, ::-1]),
    (X, "concatenate %x, %x {axis=0}", "f64[4,3]", np.concatenate([X, X])),
    (X, "sum %x {axes=(0,)}", "f64[3]", X.sum(0)),
    (X, "prod %x {axes=(0, 1)}", "f64[]", 0),
    (X[:0], "max %x {axes=(0,)}", "f64[3]", [-np.inf] * 3),
    (X[:0], "min %x {axes=(0,)}", "f64[3]", [np.inf] * 3),
    (X > 1, "any %x {axes=(1,)}", "bool[2]", [True, True]),
    (X > 1, "all %x {axes=(1,)}", "bool[2]", [False, True]),
    (X, "dot %x, %x {batch=((), ()), contract=((1,), (1,))}", "f64[2,2]", X @ X.T),
    (X, "dot %x, %x {batch=((1,), (1,)), contract=((0,), (0,))}", "f64[3]", (X * X).sum(0)),
    (X, "dot %x, %x {batch=((), ()), contract=((), ())}", "f64[2,3,2,3]", np.multiply.outer(X, X)),
    (X, "convert %x {dtype=i8}", "i8[2,3]", X),
    (Z, "convert %x {dtype=f64}", "f64[2]", [1, 3]),
    (Z, "imag %x", "f64[2]", [2, -4]),
    (Z, "magnitude %x", "f64[2]", [np.sqrt(5), 5]),
    (
        X,
        "integer_power %x {exponent=-2}",
        "f64[2,3]",
        [[np.inf, 1, 1 / 4], [1 / 9, 1 / 16, 1 / 25]],
    ),
    (X, "iota {axis=1, dtype=i32, shape=(2, 3)}", "i32[2,3]", [[0, 1, 2], [0, 1, 2]]),
    (X, "constant {dtype=u8, shape=(2,), value=7}", "u8[2]", [7, 7]),
]


@pytest.mark.parametrize(("x", "op", "type_", "wanted"), ROWS, ids=lambda row: str(row)[:24])
def test_ops(x: Any, op: str, type_: str, wanted: Any) -> None:
    names = {"f": "f64", "c": "c128", "b": "bool"}
    input_type = f"{names[x.dtype.kind]}[{','.join(map(str, x.shape))}]"
    result = program(f"%x: {input_type}", f"%y: {type_} = {op}")(x)
    np.testing.assert_allclose(result, wanted, 1e-15)


def test_an_infinite_part_leaves_the_other_alone() -> None:
    complex_ = program("%a: f64[2], %b: f64[2]", "%y: c128[2] = complex %a, %b")
    result = complex_(np.array([1.0, -0.0]), np.array([np.inf, np.nan]))
    np.testing.assert_array_equal(result.real, [1, 0])
    assert np.signbit(result.real[1])
    np.testing.assert_array_equal(result.imag, [np.inf, np.nan])


def test_infinities_and_nan_are_results_without_a_warning() -> None:
    assert np.isnan(program("%x: f64[]", "%y: f64[] = log %x")(-1.0))
    assert program("%x: f64[]", "%y: f64[] = exp %x")(1e4) == np.inf


def test_outputs_share_no_memory_with_inputs() -> None:
    x = np.zeros((2, 2))
    identity, turned = interpret(
        program("%x: f64[2,2]", "%y: f64[2,2] = transpose %x {axes=(1, 0)}", result="%x, %y"), [x]
    )
    assert not np.shares_memory(x, identity)
    assert not np.shares_memory(x, turned)


def test_scalars_come_back_as_numpy_scalars() -> None:
    assert type(program("%x: f32[]", "%y: f32[] = sin %x")(np.float32(1))) is np.float32


def test_foreign_byte_order_is_read() -> None:
    swapped = np.array([1.0, 2.0], ">f8")
    result = program("%x: f64[2]", "%y: f64[2] = neg %x", result="%x, %y")(swapped)
    assert [r.dtype.str for r in result] == ["<f8", "<f8"] or not np.little_endian
    np.testing.assert_array_equal(result[1], [-1, -2])


def test_captured_arrays_are_the_last_arguments() -> None:
    body = program("%x: f64[2], %c: f64[2]", "%y: f64[2] = sub %x, %c")
    closed = Program(body.inputs, body.ops, body.outputs, captured=[np.array([1.0, 2.0])])
    np.testing.assert_array_equal(closed(np.array([5.0, 5.0])), [4, 3])


def test_several_outputs_are_a_tuple_and_none_an_empty_one() -> None:
    assert program("%x: f64[]", result="%x, %x")(1.0) == (1.0, 1.0)
    assert program("%x: f64[]", result="")(1.0) == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "takes 1 arguments, got 0"),
        ([np.zeros(2)], r"argument 0 of program main must be f64\[3\], got f64\[2\]"),
        ([np.zeros(3, int)], r"must be f64\[3\], got i64\[3\]"),
    ],
)
def test_arguments_that_do_not_fit(arguments: list[Any], words: str) -> None:
    with pytest.raises(TypeMismatch, match=words):
        program("%x: f64[3]", "%y: f64[3] = sin %x")(*arguments)


def test_reduction_over_no_axes_changes_nothing() -> None:
    z = np.array([complex(np.inf, 1.0), complex(-0.0, -0.0)])
    result = program("%x: c128[2]", "%y: c128[2] = sum %x {axes=()}")(z)
    assert [str(v) for v in result] == [str(v) for v in z]


def test_programs_pickle_without_their_hash() -> None:
    program = parse(
        "program f(%0: f64[3]) {\n  %1: f64[3] = sin %0\n  %2: f64[] = sum %1 {axes=(0,)}\n"
        "  return %2\n}"
    )
    hash(program)
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert again._structure.hash is None
    assert again(np.ones(3)) == program(np.ones(3))
