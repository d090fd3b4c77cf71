"""The checker of derivatives: right ones pass, and wrong ones are named."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.ir.core.declaration import full
from autojit.ir.ops import arithmetic, elementary
from autojit.staging import execute
from autojit.testing import check_grads, compare_grads

X = np.array([0.3, 0.7, 1.1])


@pytest.fixture(autouse=True)
def interpreter() -> Iterator[None]:
    """Nothing needs to be compiled to see whether a derivative is right."""
    with autojit.disable_jit():
        yield


def network(params: Any, x: Any) -> Any:
    hidden = np.tanh(x @ params["w"] + params["b"])
    return hidden.sum(axis=0), {"norm": np.sqrt(np.sum(hidden**2))}


RIGHT = [
    (lambda x: x * 3.0, (2.0,)),
    (lambda x: np.sum(x**3), np.float32([1, 2, 3])),
    (network, ({"w": np.ones((3, 2)) / 3, "b": np.array([0.1, -0.2])}, np.eye(3))),
    (lambda x, n: x * n, (X, 3)),
    (lambda x: (np.sin(x), np.argmax(x)), (X,)),
    (lambda z: np.abs(z) ** 2, (np.array([1 + 2j, 0.5 - 1j]),)),
    (lambda z: np.exp(z) * z, (np.array([0.3 + 0.2j]),)),
    (lambda x: 1e6 * x, (X * 1e8,)),
    (lambda x: X, (X,)),
    (lambda x: np.sum(x), (np.zeros((0, 3)),)),
]


@pytest.mark.parametrize(("f", "args"), RIGHT)
def test_right_derivatives_pass(f: Any, args: Any) -> None:
    check_grads(f, args, order=2)


def test_comparisons_are_every_combination_of_modes_lower_orders_first() -> None:
    found = [c.name for c in compare_grads(np.sin, (X,), order=2)]
    assert found == [
        "derivative of order 1 (forward)",
        "derivative of order 1 (reverse)",
        "derivative of order 2 (forward over forward)",
        "derivative of order 2 (reverse over forward)",
        "derivative of order 2 (forward over reverse)",
        "derivative of order 2 (reverse over reverse)",
    ]
    third = [c.name for c in compare_grads(np.sin, (X,), order=3, modes=("rev",))]
    assert third[-1] == "derivative of order 3 (reverse over reverse over reverse)"


def break_rules(monkeypatch: pytest.MonkeyPatch, op: Any, *rules: Any) -> None:
    monkeypatch.setattr(op, "rules", rules)
    monkeypatch.setattr(op, "adjoints", rules)


def test_wrong_rule_is_caught_with_its_argument_and_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_rules(monkeypatch, elementary.sin, lambda t, y, x: t * elementary.sin(x))

    def f(p: Any, x: Any) -> Any:
        right = np.sum(np.cos(x)) * p["scale"]
        return right + np.sum(np.sin(x[1:2, 2])) + np.sum(p["other"])

    args = ({"other": X, "scale": 2.0}, np.linspace(0.1, 1.0, 12).reshape(3, 4))
    with pytest.raises(AssertionError) as caught:
        check_grads(f, args)
    words = str(caught.value)
    assert words.startswith(
        "derivative of order 1 (forward): wrong with respect to argument 1[1, 2]\n"
        "  by autojit              "
    )
    assert "by central differences" in words
    assert "tolerance" in words
    with pytest.raises(
        AssertionError, match=r"^derivative of order 1 \(reverse\): .* argument 1\["
    ):
        check_grads(f, args, modes=("rev",))


def test_wrong_leaf_of_a_tree_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    break_rules(monkeypatch, elementary.exp, lambda t, y, x: t * (y * 1.001))
    with pytest.raises(AssertionError, match=r"argument 0\['b'\]\[1\]"):
        check_grads(lambda p: np.sum(np.cos(p["a"])) + np.exp(p["b"][1]), ({"a": X, "b": X},))


def test_wrong_transpose_alone_is_caught_in_reverse_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic.neg, "adjoints", [lambda t, y, x: t])
    check_grads(lambda x: -x, (X,), modes=("fwd",))
    with pytest.raises(AssertionError, match=r"order 1 \(reverse\)"):
        check_grads(lambda x: -x, (X,), modes=("fwd", "rev"))


def test_derivative_wrong_only_in_second_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = lambda t, y, x: t * arithmetic.stop_gradient(elementary.cos(x))  # noqa: E731
    break_rules(monkeypatch, elementary.sin, frozen)
    check_grads(np.sin, (X,), order=1)
    with pytest.raises(AssertionError, match=r"order 2 \(forward over forward\): .* argument 0\["):
        check_grads(np.sin, (X,), order=2)


def test_missing_derivative_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    break_rules(monkeypatch, elementary.sin, lambda t, y, x: full(0, t.type))
    with pytest.raises(AssertionError, match=r"by autojit +0\.0"):
        check_grads(np.sin, (0.5,))


def test_trace_that_differs_from_the_function_is_caught() -> None:
    def f(x: Any) -> Any:
        return x * (2.0 if operator.attrgetter("__class__")(x) is np.ndarray else 3.0)

    with pytest.raises(AssertionError, match="order 1"):
        check_grads(f, (X,))


def test_not_a_number_never_agrees() -> None:
    with pytest.raises(AssertionError, match="by central differences  nan"):
        check_grads(lambda x: np.log(x), (np.array([-1.0, 1.0]),))


def test_float32_error_above_its_tolerance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    break_rules(monkeypatch, elementary.exp, lambda t, y, x: t * (y * 1.2))
    with pytest.raises(AssertionError, match="order 1"):
        check_grads(lambda x: np.sum(np.exp(x)), np.ones(4, np.float32))


def test_compiled_code_is_checked_outside_of_disable_jit(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(execute.settings, "interpret", 0)
    real = execute.executable
    monkeypatch.setattr(execute, "executable", lambda *a: compiled.append(a) or real(*a))
    check_grads(lambda x: np.sum(np.sin(x)), (X,), order=1)
    assert compiled


def test_words_for_misuse() -> None:
    with pytest.raises(autojit.errors.IntegerGradientError) as caught:
        check_grads(np.sin, (3,))
    assert str(caught.value) == (
        "check_grads needs at least one floating-point argument, but got i64[]. "
        "Write 3.0 for 3, or x.astype(float)."
    )
    with pytest.raises(autojit.errors.StructureError, match="got 'back'"):
        check_grads(np.sin, (X,), modes=("back",))
    with pytest.raises(autojit.errors.NotArrayError, match="argument 0 is 'sin'"):
        check_grads(np.sin, ("sin",))
