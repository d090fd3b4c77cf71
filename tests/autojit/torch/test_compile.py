"""``torch.compile``: the same as the function itself, beside PyTorch, also when things change."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autojit import torch
from autojit.ir.core.types import Type
from autojit.staging.trace_function import LeafType, trace_function
from autojit.torch.compiling import MOST
from autojit.torch.engine.halves import Halves
from autojit.torch.engine.rules import Operation

pytorch: Any = pytest.importorskip("torch")
X = np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)


def numbers(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [numbers(v) for v in x]
    return x.detach().numpy() if hasattr(x, "detach") else x


def closed_over(t: Any, compiled: Any) -> Any:
    w, box, place, size = t.tensor([2.0]), [t.tensor([1.0])], SimpleNamespace(k=2.0), 3.0
    f = compiled(lambda x: (x * w + box[0]) * place.k * size)
    found = [f(t.tensor(X))]
    w.mul_(3)
    found.append(f(t.tensor(X)))
    box[0] = t.tensor([5.0])
    found.append(f(t.tensor(X)))
    place.k = 7.0
    found.append(f(t.tensor(X)))
    size = -1.0
    return [*found, f(t.tensor(X))]


def gradients_of_what_is_closed_over(t: Any, compiled: Any) -> Any:
    w = t.tensor([2.0], requires_grad=True)
    f, x = compiled(lambda x: (x * w).sum()), t.tensor(X, requires_grad=True)
    f(x).backward()
    with t.no_grad():
        w.mul_(2)
    f(x).backward()
    return x.grad, w.grad


def attributes_and_hooks(t: Any, compiled: Any) -> Any:
    class Scaled(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.flag = t.nn.BatchNorm1d(4), True

        def forward(self, x: Any) -> Any:
            return self.inner(x) * 2 if self.flag else x

    module = Scaled().eval()
    f, x = compiled(module), t.tensor(X)
    found = [f(x)]
    module.inner.running_mean.add_(1)
    found.append(f(x))
    hook = module.inner.register_forward_hook(lambda m, i, o: o * 10)
    found.append(f(x))
    hook.remove()
    found.append(f(x))
    module.flag = False
    return [*found, f(x)]


def not_recorded_inside(t: Any, compiled: Any) -> Any:
    @t.no_grad()
    def decorated(x: Any) -> Any:
        return x * 3

    def blocks(x: Any) -> Any:
        with t.no_grad():
            y = x * 2
            with t.enable_grad():
                z = x * 5
        return (x * y + z + x * x.detach() + x * x.data + x * decorated(x)).sum()

    x = t.tensor(X, requires_grad=True)
    compiled(blocks)(x).backward()
    return x.grad


def assigned_where_nothing_is_recorded(t: Any, compiled: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * t.tensor([1.0, 1.0, 0.0, 1.0])
        with t.no_grad():
            z = y * 2
            z[0] = y[1]
        return (z * x).sum()

    x = t.tensor(X, requires_grad=True)
    compiled(f)(x).backward()
    return x.grad


def types_of_constants(t: Any, compiled: Any) -> Any:
    f, x = compiled(lambda x, k: x * k), t.tensor([1, 2])
    return [f(x, k) for k in (2, 2.0, True, 1, 1.0)]


def a_method(t: Any, compiled: Any) -> Any:
    class Model:
        def __init__(self) -> None:
            self.w = t.ones(4)

        def f(self, x: Any) -> Any:
            return x * self.w

    model = Model()
    f, x = compiled(model.f), t.tensor(X)
    found = [f(x)]
    model.w = t.ones(4) * 4
    found.append(f(x))
    model.w.add_(1)
    return [*found, f(x)]


def around_no_grad(t: Any, compiled: Any) -> Any:
    f, x = compiled(lambda x: x * 2), t.tensor(X, requires_grad=True)
    with t.no_grad():
        found = [f(x).requires_grad]
    f(x).sum().backward()
    return [*found, f(x).requires_grad, x.grad]


def derivatives_by_func(t: Any, compiled: Any) -> Any:
    def f(x: Any) -> Any:
        with t.no_grad():
            y = x * x
        return (x * x.detach() + y * x).sum()

    with t.no_grad():
        outside = t.func.grad(f)(t.tensor(X))
    return t.func.grad(f)(t.tensor(X)), t.func.vmap(t.func.grad(f))(t.tensor(X)), outside


def second_derivatives(t: Any, compiled: Any) -> Any:
    w, x = t.tensor(X, requires_grad=True), t.tensor(X, requires_grad=True)
    f = compiled(lambda x, n: ((w * x).sin() * n).sum() + (x @ w.T).exp().mean())
    (first,) = t.autograd.grad(f(x, 3), x, create_graph=True)
    second = t.autograd.grad((first**2).sum(), (x, w))
    return [first, *second]


def several_results(t: Any, compiled: Any) -> Any:
    def f(x: Any, y: Any) -> Any:
        top, place = x.max(1)
        return x, (y * top[:, None]).tanh(), place, (y.exp() @ x.T, top)

    x, y = t.tensor(X, requires_grad=True), t.tensor(X - 1, requires_grad=True)
    same, a, place, (b, top) = compiled(f)(x, y)
    (a.sum() * 2 + (b * b).sum() + same[0, 0]).backward(retain_graph=True)
    found = [x.grad.clone(), y.grad.clone(), place, top]
    top.sum().backward()
    return [*found, x.grad]


def one_input_needs_no_gradient(t: Any, compiled: Any) -> Any:
    x, y = t.tensor(X), t.tensor(X, requires_grad=True)
    f = compiled(lambda x, y: ((x * y).sin() * x.cos()).sum())
    f(x, y).backward()
    found = [y.grad]
    x.requires_grad_()
    f(x, y.detach()).backward()
    return [*found, x.grad]


def complex_numbers(t: Any, compiled: Any) -> Any:
    x = t.tensor(X + 1j * X[::-1], requires_grad=True)
    f = compiled(lambda x: (x.exp() * x.conj() * x).abs().sum())
    (first,) = t.autograd.grad(f(x), x, create_graph=True)
    (first * first.conj()).real.sum().backward()
    return [first, x.grad]


def changed_after_the_call(t: Any, compiled: Any) -> Any:
    x = t.tensor(X, requires_grad=True)
    y = x * 1
    out = compiled(lambda y: (y * 2).exp() + 1)(y)
    y.add_(1)  # backward reads the exponentials alone
    out.sum().backward()
    return x.grad


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    closed_over, gradients_of_what_is_closed_over, attributes_and_hooks, not_recorded_inside,
    assigned_where_nothing_is_recorded, types_of_constants, a_method, around_no_grad,
    derivatives_by_func, second_derivatives, several_results, one_input_needs_no_gradient,
    complex_numbers, changed_after_the_call,
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program: Callable[[Any, Any], Any]) -> None:
    wanted = numbers(program(pytorch, lambda f: f))
    found = numbers(program(torch, torch.compile))
    for got, want in zip(*(x if type(x) is list else [x] for x in (found, wanted)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        assert np.asarray(got).dtype == np.asarray(want).dtype


def test_backward_computes_nothing_dear_again() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(np.sin(np.tanh(x @ w) @ w))

    types = [LeafType(Type(np.dtype("f4"), (4, 4)), None)] * 2
    program = trace_function(f, types, lambda f, arrays: f(*arrays)).program
    both = Halves(Operation("f", f), program, (0, 1))
    assert [op.kind.name for op in both.backward.ops].count("dot") == 4  # two a product
    dear = {"dot", "sin", "cos", "tanh"}
    assert not dear.intersection(op.kind.name for op in both.backward.ops) - {"dot"}
    assert [s for s in both.rule.sources if s[0] == "residual"]


def test_a_change_of_an_input_that_backward_reads_is_refused() -> None:
    y = torch.ones(3, requires_grad=True) * 1
    out = torch.compile(lambda y: y * y)(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_numbers_that_are_drawn_are_refused() -> None:
    for draw in (random.random, np.random.rand, lambda: float(torch.rand(()))):
        with pytest.raises(RuntimeError, match="draws random numbers"):
            torch.compile(lambda x, draw=draw: x * draw())(torch.ones(2))


def test_functions_with_a_backward_of_their_own_are_refused() -> None:
    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.round()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    for use in (torch.compile(Through.apply), torch.func.grad(lambda x: Through.apply(x).sum())):
        with pytest.raises(RuntimeError, match=r"Through\.backward would be ignored"):
            use(torch.ones(2))


def test_arguments_that_are_neither_tensors_nor_constants_are_refused() -> None:
    with pytest.raises(TypeError, match="ndarray is neither a tensor nor a constant"):
        torch.compile(lambda x, k: x * 2)(torch.ones(2), np.ones(2))


def test_what_changes_in_each_call_is_not_compiled_for_ever() -> None:
    count = [0]

    def f(x: Any) -> Any:
        count[0] += 1
        return x * count[0]

    compiled = torch.compile(f)
    with pytest.warns(RuntimeWarning, match=f"compiled {MOST} times"):
        found = [float(compiled(torch.ones(()))) for _ in range(MOST + 3)]
    assert found == [*range(1, MOST + 4)]


def test_changes_of_what_is_detached_are_refused() -> None:
    for change in (lambda x: x.detach().mul_(2), lambda x: x.data[0].add_(1)):
        with pytest.raises(RuntimeError, match="a detached tensor is changed in place"):
            torch.compile(lambda x, c=change: c(x * 1))(torch.ones(2))
