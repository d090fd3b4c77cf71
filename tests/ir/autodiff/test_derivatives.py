"""Derivatives of random programs, compared with methods that need no derivative rules.

Forward mode is compared with central differences. Reverse mode is compared with forward mode by the
identity <u, J v> = <J^T u, v>, over the reals: a complex number is a pair of reals, and the pairing
is the real part of the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autojit.ir.autodiff.linearize import jvp, linearize, vjp
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Program
from autojit.ir.core.registry import REGISTRY
from autojit.ir.ops import arithmetic
from autojit.ir.ops.elementwise import Compare, Elementwise
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from autojit.ir.transforms.gradient import gradient
from tests.ir.random_programs import (
    CUTS,
    EXAMPLES,
    KINKS,
    SEEDS,
    STEPS,
    arguments_for,
    assert_same_results,
    programs,
    sampler,
)

INEXACT = tuple(np.dtype(d) for d in ("f8", "c16"))

#: Undefined or unbounded for most numbers.
NARROW = {"arcsin", "arccos", "arccosh", "arctanh"}


def is_bounded(kind: Declaration) -> bool:
    return kind.name not in NARROW


def has_partials(kind: Declaration) -> bool:
    """Ops that are differentiable almost everywhere and are not step functions."""
    steps = {"fmod", "remainder", "copysign"}
    without = isinstance(kind, Elementwise) and None in kind.rules and kind.name != "select"
    return not without and kind.name not in NARROW | steps


def is_smooth(kind: Declaration) -> bool:
    """Ops whose derivative does not jump on the reals."""
    jumps = STEPS | KINKS | {"arctan2"}
    return is_bounded(kind) and not isinstance(kind, Compare) and kind.name not in jumps


def is_smooth_complex(kind: Declaration) -> bool:
    return is_smooth(kind) and kind.name not in CUTS


def inexact_inputs(program: Program) -> list[int]:
    return [i for i, t in enumerate(program.in_types) if t.is_inexact]


def random_like(arrays: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    def one(array: Any) -> Any:
        noise = rng.normal(size=np.shape(array))
        is_complex = np.asarray(array).dtype.kind == "c"
        return noise + 1j * rng.normal(size=np.shape(array)) if is_complex else noise

    return [one(array) for array in arrays]


def pairing(a: Sequence[Any], b: Sequence[Any]) -> tuple[float, float]:
    """The sum of the products' real parts, and of their magnitudes."""
    terms = [np.real(np.asarray(x) * y).ravel() for x, y in zip(a, b, strict=True)]
    flat = np.concatenate([np.zeros(1), *terms])
    return float(flat.sum()), float(np.abs(flat).sum())


def check_reverse(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arguments = arguments_for(program, rng, low=0.2, high=0.9)
    wrt = inexact_inputs(program)
    forward, backward = jvp(program, wrt), vjp(program, wrt)
    verify(forward)
    verify(backward)
    n = len(program.outputs)
    tangents = random_like([arguments[i] for i in wrt], rng)
    out_tangents = interpret(forward, [*arguments, *tangents])[n:]
    cotangents = random_like(out_tangents, rng)
    in_cotangents = interpret(backward, [*arguments, *cotangents])[n:]
    if not all(np.all(np.abs(a) < 1e6) for a in [*out_tangents, *in_cotangents]):
        return  # infinite, NaN or too large to compare
    left, scale = pairing(cotangents, out_tangents)
    right, other_scale = pairing(in_cotangents, tangents)
    assert abs(left - right) <= 1e-9 * (1 + scale + other_scale)


def check_forward(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arguments = arguments_for(program, rng, low=0.2, high=0.9)
    wrt = inexact_inputs(program)
    tangents = random_like([arguments[i] for i in wrt], rng)

    def moved(step: float) -> list[Any]:
        at = list(arguments)
        for i, tangent in zip(wrt, tangents, strict=True):
            at[i] = np.asarray(arguments[i]) + step * tangent
        return interpret(program, at)

    def difference(step: float) -> list[Any]:
        pairs = zip(moved(step), moved(-step), strict=True)
        with np.errstate(all="ignore"):
            return [np.asarray(a - b) / (2 * step) for a, b in pairs]

    answers = interpret(jvp(program, wrt), [*arguments, *tangents])[len(program.outputs) :]
    values = moved(0.0)
    for value, got, fine, coarse in zip(
        values, answers, difference(1e-5), difference(2e-5), strict=True
    ):
        # If the two step sizes disagree, there is a kink, a pole or cancellation nearby.
        with np.errstate(all="ignore"):
            noise = 1e-9 * (1 + np.abs(value)) + 1e-6 * np.abs(fine)
            settled = np.isfinite(fine) & (np.abs(fine - coarse) < noise)
            wrong = settled & (np.abs(got - fine) > 1e-4 * (1e-3 + np.abs(fine)))
        assert not np.any(wrong), (got, fine)


COMPLEX_AND_REAL = {"dtypes": INEXACT, "min_extent": 1, "inexact_outputs": True}
REAL = {"dtypes": INEXACT[:1], "min_extent": 1, "inexact_outputs": True}


@EXAMPLES
@given(programs(kinds=is_bounded, **COMPLEX_AND_REAL), SEEDS)
def test_reverse_is_the_transpose_of_forward(program: Program, seed: int) -> None:
    check_reverse(program, seed)


@EXAMPLES
@given(programs(kinds=has_partials, **REAL), SEEDS)
def test_forward_agrees_with_central_differences(program: Program, seed: int) -> None:
    check_forward(program, seed)


SAMPLED = [kind for kind in REGISTRY.values() if sampler(kind)]


@pytest.mark.sampled(14)
@pytest.mark.parametrize("kind", SAMPLED, ids=lambda kind: kind.name)
@settings(EXAMPLES, max_examples=8)
@given(data=st.data(), seed=SEEDS)
def test_each_op(kind: Declaration, data: st.DataObject, seed: int) -> None:
    alone = programs(kinds=lambda other: other is kind, max_ops=2, **COMPLEX_AND_REAL)
    check_reverse(data.draw(alone), seed)
    if has_partials(kind):
        real = programs(kinds=lambda other: other is kind, max_ops=1, **REAL)
        check_forward(data.draw(real), seed)


@EXAMPLES
@given(
    programs(kinds=is_smooth, **REAL) | programs(kinds=is_smooth_complex, **COMPLEX_AND_REAL), SEEDS
)
def test_optimized_derivatives_are_the_same(program: Program, seed: int) -> None:
    arguments = arguments_for(program, np.random.default_rng(seed), low=0.2, high=0.9)
    wrt = inexact_inputs(program)
    forward = jvp(program, wrt)
    tangents = [arguments[i] for i in wrt]
    results = interpret(forward, [*arguments, *tangents])
    if all(np.all(np.abs(a) < 1e4) for a in results):
        assert_same_results(forward, optimize(forward, verify=True), [*arguments, *tangents])


SQUARE = """
program main(%x: f64[3], %c: f64[3]) {
  %y: f64[3] = mul %x, %x
  %z: f64[3] = mul %y, %c
  %s: f64[] = sum %z {axes=(0,)}
  return %s, %y
}
"""


def test_checks_see_a_wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(SQUARE)
    check_reverse(program, 0)
    check_forward(program, 0)
    monkeypatch.setattr(arithmetic.mul, "adjoints", arithmetic.add.adjoints)
    with pytest.raises(AssertionError):
        check_reverse(program, 0)
    monkeypatch.undo()
    monkeypatch.setattr(arithmetic.mul, "rules", arithmetic.add.rules)
    with pytest.raises(AssertionError):
        check_forward(program, 0)


def test_linearize_text() -> None:
    parts = linearize(parse(SQUARE), [0])
    assert parts.linear.text() == (
        "program main_linear(%0: f64[3], %1: f64[3], %2: f64[3]) {\n"
        "  %3: f64[3] = mul %2, %0\n"
        "  %4: f64[3] = mul %0, %2\n"
        "  %5: f64[3] = add %3, %4\n"
        "  %6: f64[3] = mul %5, %1\n"
        "  %7: f64[] = sum %6 {axes=(0,)}\n"
        "  return %7, %5\n}"
    )
    assert parts.residuals == 2
    assert parts.active == (0, 1)
    verify(parts.primal)
    verify(parts.linear)
    verify(transpose(parts.linear, parts.residuals))


def test_gradient_and_outputs() -> None:
    x, c = np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])
    program = gradient(parse(SQUARE), [0, 1], keep_outputs=True)
    value, square, by_x, by_c = program(x, c)
    assert value == 1 + 40 + 900
    np.testing.assert_array_equal(square, x * x)
    np.testing.assert_array_equal(by_x, 2 * x * c)
    np.testing.assert_array_equal(by_c, x * x)
    assert len(gradient(parse(SQUARE), [0], keep_outputs=False).outputs) == 1


def test_inputs_that_do_not_matter_have_zero_gradient() -> None:
    program = parse(
        "program main(%x: f64[2], %i: i64[], %u: f64[]) {\n"
        "%f: f64[2] = floor %x\n%s: f64[] = sum %f {axes=(0,)}\nreturn %s, %i\n}"
    )
    _, _, by_x, by_u = vjp(program, [0, 2])(np.ones(2), 1, 1.0, 1.0, 1)
    np.testing.assert_array_equal(by_x, [0, 0])
    assert by_u == 0
    results = jvp(program, [0, 2])(np.ones(2), 1, 1.0, np.ones(2), 1.0)
    assert results[2:] == (0, 0)


def test_captured_arrays_stay_last() -> None:
    body = parse(SQUARE)
    program = Program(body.inputs, body.ops, body.outputs[:1], captured=[np.array([1.0, 2.0, 3.0])])
    _, by_x = vjp(program, [0])(np.array([1.0, 1.0, 1.0]), 1.0)
    np.testing.assert_array_equal(by_x, [2, 4, 6])
    _, moved = jvp(program, [0])(np.array([1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0]))
    assert moved == 2


def test_derivatives_nest() -> None:
    program = parse(
        "program main(%x: f64[]) {\n%y: f64[] = integer_power %x {exponent=4}\nreturn %y\n}"
    )
    first = gradient(program, [0], keep_outputs=False)
    second = gradient(first, [0], keep_outputs=False)
    third = optimize(gradient(second, [0], keep_outputs=False), verify=True)
    assert [p(2.0) for p in (first, second, third)] == [32, 48, 48]
