"""Ties, origins, ends and misuse: values, gradients and errors are those of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import optim as pure
from autojit import torch as ours
from autojit.torch.functions.arguments import checked

theirs = pytest.importorskip("torch")
NAN, INF = math.nan, math.inf


def both(case: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return a case's numbers or error on autojit and on PyTorch."""

    def run(torch: Any) -> Any:
        try:
            return case(torch)
        except Exception as error:
            return error

    return run(ours), run(theirs)


def assert_same(case: Callable[[Any], Any], rtol: float = 1e-6) -> None:
    """Equal numbers, or errors of one class whose words begin alike."""
    got, want = both(case)
    if isinstance(want, Exception):
        assert type(got) is type(want), (got, want)
        assert str(got)[:35] == str(want)[:35]
        return
    assert not isinstance(got, Exception), got
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol)


def gradients(f: Callable[..., Any], *given: Any) -> Callable[[Any], list[Any]]:
    """A case: the value of a function, and its gradients."""

    def case(torch: Any) -> list[Any]:
        leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in given]
        value = f(torch, *leaves)
        value = value if hasattr(value, "sum") else value[0]
        value.sum().backward()
        return [value.tolist(), *(x.grad.tolist() for x in leaves)]

    return case


KINKS: dict[str, Callable[[Any], Any]] = {
    "median of ties": gradients(lambda _, x: x.median(), [1.0, 2.0, 2.0, 3.0]),
    "median of equal ones": gradients(lambda _, x: x.median() ** 2, [[2.0, 2.0], [2.0, 2.0]]),
    "median of infinities": gradients(lambda _, x: x.median(), [INF, 1.0, INF]),
    "median with NaN": gradients(lambda _, x: x.median(), [NAN, 1.0, 2.0, NAN]),
    "median along": gradients(
        lambda _, x: x.median(dim=1), [[1.0, 1.0, 3.0], [2.0, 2.0, 2.0], [NAN, 1.0, NAN]]
    ),
    **{
        f"atan2 at {a}, {b}": gradients(lambda torch, x, y: torch.atan2(x, y), [a], [b])
        for a in (0.0, -0.0, 1.0) for b in (0.0, -0.0, -1.0)
    },
    **{
        f"entropy of {x}, target {y}": gradients(
            lambda torch, p, y=y: torch.nn.functional.binary_cross_entropy(
                p, torch.tensor(y, dtype=torch.float64)
            ),
            [x, 0.25],
        )
        for x in (0.0, 1.0, 1e-20) for y in ([0.0, 0.5], [1.0, 0.0], [0.5, 1.0])
    },
    "entropy by targets": gradients(
        lambda torch, p, y: torch.nn.functional.binary_cross_entropy(p, y, reduction="sum"),
        [0.0, 1.0, 0.5], [0.0, 1.0, 0.3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KINKS)
def test_gradients_at_kinks(name: str) -> None:
    assert_same(KINKS[name], rtol=1e-7 if "entropy" not in name else 1e-6)


def test_second_derivatives_of_the_entropy() -> None:
    def case(torch: Any) -> list[Any]:
        x = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([1.0, 0.25], dtype=torch.float64)
        loss = torch.nn.functional.binary_cross_entropy(x, y)
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        return [first.tolist(), torch.autograd.grad(first.sum(), x)[0].tolist()]

    assert_same(case)


@pytest.mark.parametrize(
    ("input", "target", "integers"),
    [([1.5], [1.0], False), ([0.5], [1.5], False), ([0.5], [1], True), ([NAN], [1.0], False)],
)
def test_probabilities_are_checked(input: Any, target: Any, integers: bool) -> None:
    def case(torch: Any) -> Any:
        y = torch.tensor(target, dtype=torch.int64 if integers else torch.float32)
        return torch.nn.functional.binary_cross_entropy(torch.tensor(input), y)

    assert_same(case)


# -- gradients that are kept -----------------------------------------------------------


def kept(change: Callable[[Any, Any], Any]) -> Callable[[Any], list[Any]]:
    """A case: a tensor keeps its gradient, and is changed in place."""

    def case(torch: Any) -> list[Any]:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.retain_grad()
        part = y[0]
        z = y * 5
        assert y.retains_grad
        change(torch, y if change.__name__ != "of_a_view" else part)
        assert y.retains_grad
        (y**2).sum().backward()
        return [y.grad.tolist(), x.grad.tolist(), z.tolist()]

    return case


def of_a_view(torch: Any, part: Any) -> None:
    part.mul_(3)


def an_item(torch: Any, y: Any) -> None:
    y[0] = 5.0


CHANGES: list[Callable[[Any, Any], Any]] = [
    lambda torch, y: y.mul_(3),
    lambda torch, y: y.exp_(),
    lambda torch, y: y.copy_(torch.tensor([4.0, 5.0])),
    lambda torch, y: y.mul_(2).add_(1),
    lambda torch, y: y.zero_(),
    of_a_view,
    an_item,
]


@pytest.mark.parametrize("change", range(len(CHANGES)))
def test_what_keeps_its_gradient_and_is_changed_in_place(change: int) -> None:
    """The tensor keeps the gradient by its last value."""
    assert_same(kept(CHANGES[change]))


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "a shape": lambda torch, x: torch.ones(3),
    "a dtype": lambda torch, x: torch.ones(2, dtype=torch.float64),
    "a number": lambda torch, x: 1.0,
    "an array": lambda torch, x: np.zeros(2),
    "itself": lambda torch, x: x,
    "none": lambda torch, x: None,
    "one that fits": lambda torch, x: torch.tensor([3.0, 4.0]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_that_are_set(name: str) -> None:
    def case(torch: Any) -> list[Any]:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        x.grad = GRADIENTS[name](torch, x)
        x.sum().backward()
        return [x.grad.tolist()]

    got, want = both(case)
    if name == "an array":  # PyTorch's name of the class has its module
        assert type(got) is type(want)
        assert str(got) == str(want).replace("numpy.", "")
    else:
        assert_same(case)


# -- memory that repeats ---------------------------------------------------------------

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add_": lambda torch, x, y: y.add_(1),
    "a tensor": lambda torch, x, y: y.mul_(torch.ones(3, 2)),
    "+=": lambda torch, x, y: y.__iadd__(1),
    "exp_": lambda torch, x, y: y.exp_(),
    "copy_": lambda torch, x, y: y.copy_(torch.ones(3, 2)),
    "fill_": lambda torch, x, y: y.fill_(7.0),
    "zero_": lambda torch, x, y: y.zero_(),
    "an item": lambda torch, x, y: y.__setitem__(0, 5.0),
    "a row": lambda torch, x, y: y[1].add_(1),
    "not repeated": lambda torch, x, y: x.expand(1, 2).add_(1),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing_to_what_was_expanded(name: str) -> None:
    def case(torch: Any) -> list[Any]:
        x = torch.tensor([1.0, 2.0])
        WRITES[name](torch, x, x.expand(3, 2))
        return [x.tolist()]

    assert_same(case)


# -- arguments -------------------------------------------------------------------------

WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "the input": lambda torch, t, bad: torch.nn.functional.linear(bad, t),
    "the weight": lambda torch, t, bad: torch.nn.functional.linear(t, bad),
    "the bias": lambda torch, t, bad: torch.nn.functional.linear(t, t, bad),
    "by name": lambda torch, t, bad: torch.nn.functional.linear(t, weight=bad),
    "of a module": lambda torch, t, bad: torch.nn.Linear(2, 2)(bad),
    "of a sum": lambda torch, t, bad: torch.sum(bad),
    "of a product": lambda torch, t, bad: torch.matmul(t, bad),
    "of a method": lambda torch, t, bad: t.matmul(bad),
    "of an operand": lambda torch, t, bad: torch.add(t, bad),
    "in place": lambda torch, t, bad: t.add_(bad),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("bad", [{"w": 1}, [1.0, 2.0]], ids=["dict", "list"])
def test_arguments_that_are_no_tensors(name: str, bad: Any) -> None:
    got, want = both(lambda torch: WRONG[name](torch, torch.ones(2, 2), bad))
    assert type(got) is type(want) is TypeError
    assert f"must be Tensor, not {type(bad).__name__}" in str(got)
    assert str(got).partition("(")[0] == str(want).partition("(")[0]
    fix = "torch.as_tensor(" if isinstance(bad, list) else "The arguments are "
    assert fix in str(got)


def test_other_attribute_errors_are_the_users() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        checked("f", lambda input: input.nothing)(ours.ones(2))
    with pytest.raises(TypeError, match=r"element 1 of argument .*, but got list"):
        ours.cat([ours.ones(1), [1.0]])


@pytest.mark.parametrize(
    ("name", "setting"),
    [("RMSprop", "eps"), ("RMSprop", "alpha"), ("Adagrad", "eps"), ("Adam", "eps"),
     ("Adagrad", "initial_accumulator_value"), ("Adagrad", "lr_decay")],
)  # fmt: skip
@pytest.mark.parametrize("value", [-1.0, NAN])
def test_settings_of_optimisers(name: str, setting: str, value: float) -> None:
    def case(torch: Any) -> Any:
        return getattr(torch.optim, name)([torch.ones(1, requires_grad=True)], **{setting: value})

    assert_same(case)
    if value < 0:
        with pytest.raises(ValueError, match="is negative"):
            getattr(pure, name.lower())(**{setting: value})
