"""Functions that are run again in the backward pass: as PyTorch's, whose hooks run once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import torch
from autojit.torch.utils.checkpoint import CheckpointError, checkpoint


def run(function: Callable[..., Any], *args: Any) -> Any:
    return checkpoint(function, *args, use_reentrant=False)


def test_a_hook_gets_the_whole_gradient_once() -> None:
    for is_leaf in (True, False):
        seen: list[float] = []
        x = torch.tensor(2.0, requires_grad=True)
        y = x if is_leaf else x * 3

        def doubled(g: Any, seen: Any = seen) -> Any:
            seen.append(g.item())
            return g * 2

        y.register_hook(doubled)
        (run(lambda a, y=y: a * y, x * 1) + y).backward()
        assert (seen, x.grad.item()) == (([5.0], 10.0) if is_leaf else ([3.0], 24.0))


def test_hooks_in_the_function_run_once() -> None:
    seen = []

    def doubled(g: Any) -> Any:
        seen.append(g.item())
        return g * 2

    def f(a: Any) -> Any:
        b = a * 3
        b.register_hook(doubled)
        return b * b

    x = torch.tensor(2.0, requires_grad=True)
    run(f, x).backward()
    assert (seen, x.grad.item()) == ([12.0], 72.0)


def turns(*functions: Any) -> Callable[[Any], Any]:
    left = list(functions)
    return lambda x: left.pop(0)(x)


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        (lambda x: (x * x).sin(), lambda x: x * x * x, "operation 1 was SinBackward0"),
        (lambda x: (x * x).sin(), lambda x: x * x, "forward: 2"),
        (lambda x: x * torch.ones(3), lambda x: x * torch.ones(4), r"saved metadata: \[3\]"),
    ],
)
def test_another_run_that_differs_is_an_error(first: Any, then: Any, words: str) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = run(turns(first, then), x).sum()
    with pytest.raises(CheckpointError, match=words):
        y.backward()


def test_arguments_and_parameters_that_change_in_between_are_errors() -> None:
    w = torch.tensor(3.0, requires_grad=True)
    for change in (0, 1):
        x = torch.tensor([1.0, 2.0])
        y = run(lambda x: (x * w).sin(), x).sum()
        with torch.no_grad():
            (x, w)[change].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_what_is_compared_with_a_run_that_keeps_everything() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))

    def inner(x: Any) -> Any:
        return Cube.apply(model(x)) + torch.nn.functional.dropout(x, 0.5)

    def nested(x: Any) -> Any:
        return run(lambda a: run(inner, a).exp().tanh(), x)

    found = []
    for way in (lambda x: inner(x).exp().tanh(), nested):
        torch.manual_seed(1)
        x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        model.zero_grad()
        y = way(x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (g**2).sum().backward()
        found.append([x.grad.numpy(), *(p.grad.numpy() for p in model.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_the_second_run_is_in_half_precision_as_the_first() -> None:
    layer = torch.nn.Linear(3, 3)
    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        y = run(lambda x: layer(x).tanh(), torch.ones(2, 3))
    y.float().sum().backward()
    assert layer.weight.grad.dtype is torch.float32


def test_a_graph_that_was_freed_says_so() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = run(lambda x: x.sin().exp(), x)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_half_of_the_memory() -> None:
    def peak(way: Any) -> int:
        x = torch.ones(100_000).requires_grad_()
        tracemalloc.start()
        y = x
        for _ in range(16):
            y = way(lambda y: y.sin().exp().tanh().cos(), y)
        y.sum().backward()
        kept = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return kept

    plain = peak(lambda f, y: f(y))
    assert peak(run) < plain / 2
