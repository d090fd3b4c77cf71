"""Ops that stand for a program: refused programs, batching, transposition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit.errors import DerivativeError
from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.linearize import jvp, vjp
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.program import Program
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import TypeMismatch
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import VerificationError, verify

#: f(w, x, n) = w x with the tangent 10 w t; n is an integer.
JVP = """
program main(%w: f64[], %x: f64[], %n: i64[]) {
  %y: f64[], %m: i64[] = custom_jvp %w, %x, %n {body=program f(%0: f64[], %1: f64[], %2: i64[]) {
    %3: f64[] = mul %0, %1
    return %3, %2
  }, constants=1, rule=program f(%0: f64[], %1: f64[], %2: i64[], %3: f64[]) {
    %4: f64[] = mul %0, %1
    %5: f64[] = mul %0, %3
    %6: f64[] = constant {dtype=f64, shape=(), value=10.0}
    %7: f64[] = mul %5, %6
    return %4, %2, %7
  }}
  return %y, %m
}
"""

#: f(w, x, y) = w x y; the backward rule gives 10 times the cotangents.
VJP = """
program main(%w: f64[], %x: f64[], %y: f64[]) {
  %z: f64[] = custom_vjp %w, %x, %y {backward=program f(%0: f64[], %1: f64[], %2: f64[], %3: f64[]) {
    %4: f64[] = constant {dtype=f64, shape=(), value=10.0}
    %5: f64[] = mul %4, %3
    %6: f64[] = mul %0, %5
    %7: f64[] = mul %6, %2
    %8: f64[] = mul %6, %1
    return %7, %8
  }, body=program f(%0: f64[], %1: f64[], %2: f64[]) {
    %3: f64[] = mul %0, %1
    %4: f64[] = mul %3, %2
    return %4
  }, constants=1, forward=program f(%0: f64[], %1: f64[], %2: f64[]) {
    %3: f64[] = mul %0, %1
    %4: f64[] = mul %3, %2
    return %4, %1, %2
  }}
  return %z
}
"""  # noqa: E501

CHECKPOINT = """
program main(%w: f64[], %x: f64[3]) {
  %y: f64[3], %z: f64[] = checkpoint %w, %x {body=program f(%0: f64[], %1: f64[3]) {
    %2: f64[3] = sin %1
    %3: f64[3] = broadcast %0 {dims=(), shape=(3,)}
    %4: f64[3] = mul %2, %3
    %5: f64[] = exp %0
    return %4, %5
  }, keep=KEEP, policy='nothing'}
  return %y, %z
}
"""


def same(got: Any, want: Any) -> None:
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)


def loop(program: Program, marks: list[bool], arguments: list[Any], size: int) -> list[Any]:
    """Run the program for each element of a batch."""
    rows = [
        interpret(program, [a[i] if m else a for a, m in zip(arguments, marks, strict=True)])
        for i in range(size)
    ]
    return [np.stack(column) for column in zip(*rows, strict=True)]


PROGRAMS = {
    "custom_jvp": parse(JVP),
    "custom_vjp": parse(VJP),
    "checkpoint": parse(CHECKPOINT.replace("KEEP", "False")),
    "kept checkpoint": parse(CHECKPOINT.replace("KEEP", "True")),
}


def arguments(program: Program, marks: list[bool], size: int) -> list[Any]:
    rng = np.random.default_rng(0)
    made = []
    for t, m in zip(program.in_types, marks, strict=True):
        shape = (size, *t.shape) if m else t.shape
        made.append(np.asarray(rng.normal(size=shape) * 3).astype(t.dtype)[()])
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_well_formed_and_their_text_is_read_back(name: str) -> None:
    program = PROGRAMS[name]
    verify(program)
    assert parse(program.text()) == program
    verify(optimize(program))
    x = arguments(program, [False] * len(program.inputs), 1)
    same(interpret(optimize(program), x), interpret(program, x))


@pytest.mark.parametrize("pattern", range(1, 8))
@pytest.mark.parametrize("name", PROGRAMS)
def test_batch_is_a_loop_over_the_batch(name: str, pattern: int) -> None:
    program = PROGRAMS[name]
    marks = [bool(pattern >> i & 1) for i in range(len(program.inputs))]
    if not any(marks):
        return
    given = arguments(program, marks, 4)
    batched = batch(program, 4, marks)
    verify(batched)
    same(interpret(batched, given), loop(program, marks, given, 4))


@pytest.mark.parametrize("pattern", range(1, 8))
@pytest.mark.parametrize("name", ["custom_jvp", "checkpoint", "kept checkpoint"])
def test_derivative_of_a_batch_is_the_batch_of_derivatives(name: str, pattern: int) -> None:
    program = PROGRAMS[name]
    marks = [bool(pattern >> i & 1) for i in range(len(program.inputs))]
    wrt = [1]
    if not any(marks):
        return
    tangent = jvp(program, wrt)
    both = [*marks, marks[1]]
    given = arguments(tangent, both, 4)
    same(interpret(jvp(batch(program, 4, marks), wrt), given), loop(tangent, both, given, 4))


@pytest.mark.parametrize("pattern", range(1, 8))
def test_backward_rules_of_a_batch(pattern: int) -> None:
    program = PROGRAMS["custom_vjp"]
    marks = [bool(pattern >> i & 1) for i in range(3)]
    pulled = vjp(program, [1, 2])
    given = arguments(pulled, [*marks, True], 4)
    made = interpret(vjp(batch(program, 4, marks), [1, 2]), given)
    want = loop(pulled, [*marks, True], given, 4)
    sums = [w if m else w.sum(0) for w, m in zip(want[1:], marks[1:], strict=True)]
    same(made, [want[0], *sums])


def test_a_linear_op_of_a_batch() -> None:
    op: Any = REGISTRY["custom_linear"]
    from autojit.ir.autodiff.linearize import linearize

    parts = linearize(PROGRAMS["custom_vjp"], [1, 2])
    (linear,) = parts.linear.ops
    assert linear.kind is op
    for marks in ([True, True, True, False, True], [False, False, False, True, False]):
        backward = transpose(batch(parts.linear, 4, marks), 3)
        plain = transpose(parts.linear, 3)
        pattern = [*marks[:3], True]
        given = arguments(plain, pattern, 4)
        want = loop(plain, pattern, given, 4)
        sums = [w if m else w.sum(0) for w, m in zip(want, marks[3:], strict=True)]
        same(interpret(backward, given), sums)
    with pytest.raises(DerivativeError, match="f has a custom vjp"):
        interpret(parts.linear, [1.0] * 5)
    with pytest.raises(DerivativeError, match="f has a custom vjp"):
        optimize(parts.linear)
    with pytest.raises(DerivativeError, match="f has a custom vjp"):
        jvp(parts.linear, [0])
    twice = jvp(parts.linear, [3])  # linear in the tangents, so its derivative is the op itself
    assert [o.kind for o in twice.ops].count(op) == 2


def test_a_rule_of_which_only_a_part_is_traced() -> None:
    deep = parse(JVP[: JVP.index("rule=")] + "rule=None}\n  return %y, %m\n}")
    verify(deep)
    marks = [True, True, False]
    given = arguments(deep, marks, 4)
    same(interpret(batch(deep, 4, marks), given), loop(deep, marks, given, 4))
    with pytest.raises(DerivativeError, match="is too high"):
        jvp(deep, [1])


WRONG = {
    "a rule of other inputs": (JVP, "%3: f64[]) {\n", "%3: f64[], %9: f64[]) {\n", "custom rule"),
    "a rule of other results": (JVP, "return %4, %2, %7", "return %4, %2", "custom rule"),
    "another body": (JVP, "f(%0: f64[], %1: f64[], %2: i64[]) {\n    %3",
                     "f(%0: f64[], %1: f64[], %2: i32[]) {\n    %3", "custom derivative"),
    "a forward rule of other outputs": (VJP, "return %4, %1, %2", "return", "forward rule"),
    "a backward rule of other residuals": (VJP, "return %4, %1, %2", "return %4, %1",
                                           "backward rule"),
    "a backward rule of other results": (VJP, "return %7, %8", "return %7", "backward rule"),
    "a policy": (CHECKPOINT, "'nothing'", "'all'", "there is no policy 'all'"),
    "another body of a checkpoint": (CHECKPOINT, "program f(", "program f(%9: f32[], ",
                                     "checkpoint"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused(case: str) -> None:
    text, old, new, words = WRONG[case]
    text = text.replace("KEEP", "True")
    assert old in text
    with pytest.raises((TypeMismatch, VerificationError, ValueError), match=words):
        verify(parse(text.replace(old, new)))


def test_a_checkpoint_is_linear_where_its_body_is() -> None:
    program = parse(
        """
        program main(%w: f64[], %t: f64[]) {
          %y: f64[] = checkpoint %w, %t {body=program f(%0: f64[], %1: f64[]) {
            %2: f64[] = exp %0
            %3: f64[] = mul %2, %1
            return %3
          }, keep=True, policy='dots'}
          return %y
        }
        """
    )
    backward = transpose(program, 1)
    (op,) = backward.ops
    assert op.kind.name == "checkpoint"
    assert op.params["keep"]
    same(interpret(backward, [2.0, 3.0]), [3 * np.exp(2.0)])
    with pytest.raises(DerivativeError, match="mul is applied to a tangent and is not linear"):
        transpose(program, 0)


def test_what_nobody_needs_is_left_out_of_a_checkpoint() -> None:
    program = PROGRAMS["kept checkpoint"]
    one = optimize(Program(program.inputs, program.ops, program.outputs[1:]), verify=True)
    (op,) = one.ops
    assert [v.type for v in op.operands] == [program.inputs[0].type]
    assert [inner.kind.name for inner in op.params["body"].ops] == ["exp"]
    same(interpret(one, [2.0, np.ones(3)]), [np.exp(2.0)])


def test_errors_of_derivatives_are_those_of_the_package() -> None:
    assert issubclass(DerivativeError, autojit.errors.AutojitError)
    assert issubclass(DerivativeError, TypeError)
