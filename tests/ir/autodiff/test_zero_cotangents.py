"""Shifts by the largest element that cancel, in the bodies of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import jv, jvp

import autojit
from autojit import grad, jit, scan, trace
from autojit.ir.autodiff import zero_cotangents
from autojit.ir.passes import optimize
from autojit.testing import check_grads

RNG = np.random.default_rng(0)
ROWS = np.random.default_rng(5).uniform(0.5, 2.0, (4, 3))
A, E = RNG.normal(size=(5, 5)), RNG.normal(size=(9, 5))


def log_sum_exp(x: Any, axis: int) -> Any:
    largest = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(largest, axis) + np.log(np.sum(np.exp(x - largest), axis=axis))


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def forward(a: Any, row: Any, m: Any) -> Any:
    """A step of the forward algorithm of a hidden Markov model."""
    return log_sum_exp(a[:, None] + m, 0) + row


def attended(a: Any, row: Any, m: Any) -> Any:
    return softmax(m @ a) * row + np.tanh(a)


def by_the_smallest(a: Any, row: Any, m: Any) -> Any:
    e = np.exp(-(a - np.min(a)))
    return m @ (e / np.sum(e)) + row


def at_a_temperature(a: Any, row: Any, m: Any) -> Any:
    z = (a + row) / 0.3
    top = np.max(z)
    return m[0] * (0.3 * (top + np.log(np.sum(np.exp(z - top))))) + row


def without_the_shift_again(a: Any, row: Any, m: Any) -> Any:
    """An incomplete log-sum-exp, which depends on the largest element."""
    return np.log(np.sum(np.exp(m + a - np.max(a)), axis=1)) + row


def best(a: Any, row: Any, m: Any) -> Any:
    """A step of Viterbi's algorithm."""
    return np.max(a[:, None] + m, axis=0) + row


def used_twice(a: Any, row: Any, m: Any) -> Any:
    top = np.max(a)
    e = np.exp(a - top)
    return e / np.sum(e) * row + 0.1 * top


def loss(step: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def function(m: Any, rows: Any) -> Any:
        last, each = scan(lambda a, row: (step(a, row, m),) * 2, rows[0], rows[1:])
        return np.sum(last**2) + np.sum(np.sin(each))

    return function


def idle(step: Callable[[Any, Any, Any], Any]) -> int:
    """How many cancelling shifts are found."""
    (op,) = [op for op in trace(loss(step))(A, E).ops if op.kind.name == "scan"]
    ops = zero_cotangents.run(op.params["body"]).ops
    return sum(op.kind.name == "stop_gradient" for op in ops)


STEPS = {
    forward: 1,
    attended: 1,
    by_the_smallest: 1,
    at_a_temperature: 1,
    without_the_shift_again: 0,
    best: 0,
    used_twice: 0,
}


@pytest.mark.parametrize("step", STEPS)
def test_what_cancels_is_found(step: Callable[[Any, Any, Any], Any]) -> None:
    assert idle(step) == STEPS[step]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("step", STEPS)
def test_derivatives(step: Callable[[Any, Any, Any], Any]) -> None:
    check_grads(loss(step), (A, E), order=2)
    compiled = jit(grad(loss(step), argnums=(0, 1)))(A, E)
    with autojit.disable_jit():
        expected = grad(loss(step), argnums=(0, 1))(A, E)
    for got, wanted in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_large_numbers_do_not_overflow() -> None:
    value, (by_m, _) = autojit.value_and_grad(
        lambda m, rows: scan(lambda a, row: (forward(a, row, m), None), rows[0], rows[1:])[0][0],
        argnums=(0, 1),
    )(A * 1000, E)
    assert np.isfinite(value)
    assert np.isfinite(by_m).all()
    np.testing.assert_allclose(by_m.sum(), 8, rtol=1e-12)  # one transition per step


def test_ties() -> None:
    """Equal numbers share a cotangent, which is zero here."""
    ones = np.ones((5, 5))
    check_grads(loss(forward), (ones, np.ones((9, 5))), order=1)


def test_nothing_is_kept_of_the_largest() -> None:
    """Masks of the largest elements were on the tape."""
    program = optimize(trace(grad(loss(forward)))(A, E))
    scans = [op for op in program.ops if op.kind.name == "scan"]
    assert all(v.dtype != np.bool_ for op in scans for v in op.results)


def test_a_derivative_that_nobody_asks_for_need_not_be_known() -> None:
    """The order of a Bessel function has no derivative; here it is a maximum that is held
    constant."""

    def loss(x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            return c + jv(np.max(row), x), c

        return scan(step, 0.0, ROWS)[0]

    rows = np.max(ROWS, axis=1)
    wanted = sum(jvp(v, 1.3) for v in rows)
    np.testing.assert_allclose(grad(loss)(1.3), wanted, rtol=1e-12)
    np.testing.assert_allclose(jit(grad(loss))(1.3), wanted, rtol=1e-12)
