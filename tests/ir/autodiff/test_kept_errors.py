"""A derivative raises the errors of its function, even if it does not read the failing values."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import (
    disable_jit,
    grad,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    trace,
    value_and_grad,
    vjp,
    vmap,
)
from autojit.ir.core.types import parse_type
from autojit.ir.ops.checks import ensure

TABLE = np.array([1.0, 2.0, 3.0])
PLACES = np.zeros(20, int)


def raises(x, n):
    if n > 3:
        raise ValueError("large")
    return np.floor(x)


def adds_an_element(x, n):
    return TABLE[n] + x


def adds_a_solution(x, n):
    return x + np.linalg.inv(np.ones((2, 2)) * n + np.eye(2) * (7 - n))[0, 0]


def reads_in_a_loop(x, n):
    s = x
    for i in range(20):
        s = s * 0.5 + TABLE[PLACES[i] + n]
    return s


def adds_a_factor(x, n):
    return 3 * x + np.floor(np.linalg.cholesky(np.eye(2) * (3.5 - n))[0, 0])


def raises_in_a_while(x, n):
    s = 0.0
    while s < n:
        if s > 3:
            raise ValueError("large")
        s = s + 1.0
    return s


def solves_in_a_loop(x, n):
    s = x
    for k in range(30):
        s = s + np.linalg.inv(np.ones((2, 2)) + np.eye(2) * (k - n - 0.5 * (n < 3)))[0, 0]
    return s


FUNCTIONS = [
    raises, adds_an_element, adds_a_solution, reads_in_a_loop, raises_in_a_while,
    solves_in_a_loop, adds_a_factor,
]  # fmt: skip
DERIVATIVES = {
    "grad": grad,
    "value_and_grad": lambda f: lambda x, n: value_and_grad(f)(x, n)[1],
    "vjp": lambda f: lambda x, n: vjp(lambda x: f(x, n), x)[1](1.0),
    "linearize": lambda f: lambda x, n: linearize(lambda x: f(x, n), x)[1](1.0),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "jvp": lambda f: lambda x, n: jvp(lambda x: f(x, n), (x,), (1.0,))[1],
    "hvp": lambda f: lambda x, n: hvp(lambda x: f(x, n))(x, 1.0),
    "grad of grad": lambda f: grad(grad(f)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_derivative_raises_what_the_function_raises(f, name):
    derivative = jit(DERIVATIVES[name](f))
    with disable_jit():
        assert np.isfinite(derivative(0.5, 2))
        with pytest.raises((ValueError, AssertionError, IndexError, np.linalg.LinAlgError)) as own:
            jit(f)(0.5, 7)
        with pytest.raises(type(own.value), match=str(own.value).partition("\n")[0]):
            derivative(0.5, 7)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_compiled_gradients_raise_it(f):
    derivative = jit(grad(f))
    assert np.isfinite(derivative(0.5, 2))
    with pytest.raises((ValueError, AssertionError, IndexError, np.linalg.LinAlgError)):
        derivative(0.5, 7)


def test_a_batch_of_gradients_raises_it():
    derivative = jit(vmap(grad(adds_an_element)))
    assert np.array_equal(derivative(np.ones(3), np.array([0, 1, 2])), np.ones(3))
    with pytest.raises(IndexError):
        derivative(np.ones(3), np.array([0, 1, 5]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i] * 2.0,  # the scatter of the cotangent fails with the gather
        lambda x, i: TABLE[i] * x[0],  # the gradient reads the element
        lambda x, i: np.sum(x) + (i + 1),  # an integer overflow is not a Python error
        lambda x, i: np.linalg.inv(x[0] * np.eye(2))[0, 0],
    ],
)
def test_what_the_gradient_raises_anyhow_is_not_checked_twice(f):
    x, i = parse_type("f64[3]"), parse_type("i64[]")
    program = trace(grad(f))(np.zeros(x.shape), np.zeros(i.shape, int)[()])
    text = program.text()
    assert "computed" not in text
    assert sum(op.kind is ensure and op.result.type.is_inexact for op in program.ops) == 0
