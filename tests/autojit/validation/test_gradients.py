"""``jit(f, check="first")``: right derivatives pass, and wrong ones are named with their line."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import custom_vjp, errors, grad, jacrev, jit, scan, value_and_grad
from autojit.errors import DerivativeCheckError, UncheckedGradientWarning
from autojit.ir.ops import elementary
from autojit.session import transform_cache
from autojit.testing import check_grads
from autojit.validation.rules import wrong_rule

X = np.array([0.3, 0.7, 1.1])


@custom_vjp
def halved(x: Any) -> Any:
    return np.sin(x) * x


def halved_forward(x: Any) -> Any:
    return halved(x), x


def halved_backward(x: Any, cotangent: Any) -> Any:
    slope = np.cos(x) * x
    return (cotangent * slope,)  # np.sin(x) is missing


halved.defvjp(halved_forward, halved_backward)


def loss(x: Any) -> Any:
    return np.sum(halved(x) ** 2)


def in_loop(x: Any) -> Any:
    return scan(lambda c, v: (c + halved(v), None), 0.0, x)[0]


@pytest.mark.parametrize("f", [loss, in_loop])
@pytest.mark.parametrize("transform", [lambda f: f, grad, value_and_grad, jacrev])
def test_custom_rule_of_the_users_is_named(f: Any, transform: Any) -> None:
    compiled = jit(transform(f), check="first")
    for _ in range(2):  # it is not let through the second time
        with pytest.raises(DerivativeCheckError) as caught:
            compiled(X)
        words = str(caught.value)
        assert "The cause is the rule of halved (custom_vjp), in reverse mode: expected" in words
        assert "return (cotangent * slope,)  # np.sin(x) is missing" in words
        assert f"line {f.__code__.co_firstlineno + 1}, in " in words


def test_expected_and_got_are_derivatives_of_single_numbers() -> None:
    with pytest.raises(DerivativeCheckError) as caught:
        jit(grad(halved), check="first")(0.5)
    got, expected = np.cos(0.5) * 0.5, np.cos(0.5) * 0.5 + np.sin(0.5)
    words = str(caught.value)
    assert f"expected {expected:.6f}"[:-1] in words
    assert f"got {got:.6f}"[:-1] in words


def network(params: Any, x: Any, power: str) -> Any:
    hidden = np.tanh(x @ params["w"] + params["b"])
    value = np.sum(hidden**2 if power == "two" else hidden)
    return value, {"hidden": hidden}


def test_right_derivatives_pass_and_later_calls_are_native() -> None:
    params = {"w": np.ones((3, 2)) / 3, "b": np.array([0.1, -0.2])}
    f = jit(value_and_grad(network, has_aux=True), check="first")
    (value, _), gradient = f(params, X, "two")
    assert value == pytest.approx(network(params, X, "two")[0])
    assert gradient["w"].shape == (3, 2)
    assert f._natives
    f = jit(grad(lambda x, y, n: np.sum(x**2) * y * n, argnums=(1, 0)), check="first")
    by_y, by_x = f(X, 2.0, 3)
    np.testing.assert_allclose([by_y, *by_x], [3 * np.sum(X**2), *(12 * X)])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(np.tanh(x) ** 2), X.astype(np.float32)),
        (lambda x: np.sum(np.exp(3 * x)) / np.sum(x), np.float32([5, 6, 7])),
        (lambda z: np.abs(z) ** 2, X + 1j),
        (lambda x: (np.cumsum(x), np.argmax(x)), X),
        (lambda x: np.sort(x)[::-1] * 1e6, X * 1e5),
        (lambda x: np.sum(np.maximum(x, 0.0)), np.zeros(3)),
        (lambda x: 1.0 / x if x > 0 else -x, 0.4),
    ],
)  # fmt: skip
def test_no_false_alarm(f: Any, x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit(f, check="first")(x)


def test_point_without_a_derivative_is_warned_of() -> None:
    def kink(x: Any) -> Any:
        return np.sum(np.where(x > 0, 3.0 * x, x))

    with pytest.warns(UncheckedGradientWarning, match="are at a kink"):
        jit(grad(kink), check="first")(np.zeros(2))
    with pytest.warns(UncheckedGradientWarning, match="give no finite value"):
        jit(grad(lambda x: np.log(x - 1.0)), check="first")(0.5)


def test_function_without_derivatives_is_refused() -> None:
    for f, x in ((lambda n: n + 1, 3), (np.argmax, X)):
        with pytest.raises(errors.IntegerGradientError, match='check="first" compares'):
            jit(f, check="first")(x)
    with pytest.raises(errors.StructureError, match="check must be 'first' or None, not 'always'"):
        jit(np.sin, check="always")


def test_it_pickles_and_is_a_decorator() -> None:
    @jit(check="first")
    def f(x: Any) -> Any:
        return np.sin(x)

    f(X)
    assert pickle.loads(pickle.dumps(f)).check == "first"


# -- rules of ours, made wrong ---------------------------------------------------------------


@pytest.fixture
def wrong_sine(monkeypatch: pytest.MonkeyPatch) -> Any:
    transform_cache.clear()
    rules = (lambda t, y, x: t * elementary.cos(x) * 1.01,)
    monkeypatch.setattr(elementary.sin, "rules", rules)
    monkeypatch.setattr(elementary.sin, "adjoints", rules)
    yield
    transform_cache.clear()


def waves(x: Any) -> Any:
    y = np.cos(x) * x
    y = y + np.sin(y)
    return np.sum(np.exp(y))


@pytest.mark.usefixtures("wrong_sine")
def test_rule_of_ours_is_named() -> None:
    def looped(x: Any) -> Any:
        return scan(lambda c, v: (c * 0.5 + np.sin(v * c), None), 1.0, x)[0]

    with autojit.disable_jit(), pytest.raises(DerivativeCheckError) as caught:
        check_grads(waves, (X,))
    words = str(caught.value)
    assert words.startswith("derivative of order 1 (forward): wrong with respect to argument 0")
    assert "The cause is the derivative of sin, in forward mode: expected" in words
    assert "y = y + np.sin(y)" in words
    for f in (waves, looped):
        program = autojit.trace(f)(X)
        found = wrong_rule(program, [X], np.random.default_rng(0), ["rev"])
        assert found is not None
        assert found.op.kind is elementary.sin


def test_code_that_is_wrong_is_told_from_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.validation import gradients

    real = gradients.apply

    def wrong(program: Any, arrays: Any, *more: Any, **named: Any) -> Any:
        results = real(program, arrays, *more, **named)
        return [*results[:-1], np.asarray(results[-1]) * 1.01]

    monkeypatch.setattr(gradients, "apply", wrong)
    with pytest.raises(DerivativeCheckError, match="The compiled code is wrong"):
        jit(grad(lambda x: np.sum(np.sin(x))), check="first")(X)
