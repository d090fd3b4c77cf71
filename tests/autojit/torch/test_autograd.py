"""Graphs, gradients, hooks and errors: what the documents of PyTorch's autograd show."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import torch
from autojit.torch.utils.checkpoint import checkpoint

pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")


def leaf(*data: Any) -> Any:
    return torch.tensor(data[0] if len(data) == 1 else list(data), requires_grad=True)


def test_gradients_add_up_until_they_are_set_to_zero() -> None:
    x = leaf(3.0)
    for want in (6, 12, 18):
        (x**2).backward()
        assert x.grad.item() == want
    x.grad.zero_()
    assert x.grad.item() == 0


def test_second_backward_needs_retain_graph() -> None:
    x = leaf(2.0)
    y = x**3
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == 24
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_graph_can_be_walked() -> None:
    x = leaf(2.0)
    y = x**2 * 3 + 1
    assert str(y.grad_fn).startswith("<autojit.torch.engine.nodes.AddBackward0")
    names, node = [], y.grad_fn
    while node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == ["AddBackward0", "MulBackward0", "PowBackward0"]
    assert type(node).__name__ == "AccumulateGrad"
    assert node.name() == "torch::autograd::AccumulateGrad"
    assert node.variable is x
    assert x.is_leaf
    assert not y.is_leaf


def test_third_derivative() -> None:
    x = leaf(2.0)
    g = x**4
    for want in (32, 48, 48):
        (g,) = torch.autograd.grad(g, x, create_graph=True)
        assert g.item() == want
    assert x.grad is None


def test_hooks_see_and_change_gradients() -> None:
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    handle = x.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    y.sum().backward()
    assert seen == [[1.0, 1.0], [60.0, 60.0]]
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_grad_and_inputs() -> None:
    x, z = leaf(2.0), leaf(1.0)
    a = x * 3
    a.retain_grad()
    (a * z).backward(inputs=[x], retain_graph=True)
    assert (x.grad.item(), z.grad, a.grad) == (3, None, None)
    (a * z).backward()
    assert (x.grad.item(), z.grad.item(), a.grad.item()) == (6, 6, 1)


def test_modes() -> None:
    x = leaf(2.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
        x -= 1.0
    assert x.is_leaf
    assert x.item() == 1

    @torch.no_grad()
    def quiet() -> Any:
        return x * 2

    assert not quiet().requires_grad
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


ERRORS = [
    (lambda x: (x * 2).backward(), "implicitly created only for scalar outputs"),
    (lambda x: x.detach().sum().backward(), "does not require grad and does not have a grad_fn"),
    (lambda x: x.add_(1), "a leaf Variable that requires grad is being used in an in-place"),
    (lambda x: x[0].mul_(2), "a view of a leaf Variable that requires grad"),
    (lambda x: x.numpy(), r"Use tensor.detach\(\).numpy\(\) instead"),
    (lambda x: x + torch.ones(3), r"size of tensor a \(2\) must match the size of tensor b \(3\)"),
    (lambda x: x.item(), "a Tensor with 2 elements cannot be converted to Scalar"),
    (lambda x: torch.autograd.grad(x.sum(), leaf(1.0)), "index 0 appears to not have been used"),
    (lambda x: torch.tensor([1], requires_grad=True), "Only Tensors of floating point"),
    (lambda x: x.view(3), r"shape '\[3\]' is invalid for input of size 2"),
    (lambda x: x.backward(torch.ones(3)), "Mismatch in shape"),
]


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case[1])
def test_errors_are_in_pytorchs_words(case: Any) -> None:
    run, words = case
    with pytest.raises((RuntimeError, NotImplementedError), match=words):
        run(leaf(1.0, 2.0))


def test_what_is_saved_may_not_change() -> None:
    x = leaf(1.0, 2.0)
    y = torch.exp(x)
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"inplace operation: \[torch.FloatTensor \[2\]\], which is output 0 of "
        r"ExpBackward0, is at version 1; expected version 0",
    ):  # fmt: skip
        y.sum().backward()
    w = leaf(1.0, 2.0)
    z = x * w
    with torch.no_grad():
        w += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_view_that_is_changed_changes_its_base() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[0:2].mul_(3)
    y.sum().backward()
    assert y.tolist() == [6, 12, 6]
    assert x.grad.tolist() == [6, 6, 2]
    assert y.detach()._version == y._version == 1


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return factor * x**3

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return 3 * ctx.factor * x**2 * grad_output, None


def test_own_function() -> None:
    x = leaf(2.0)
    y = Cube.apply(x, 2.0)
    assert type(y.grad_fn).__name__ == "CubeBackward"
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.item() == 24
    g.backward()
    assert x.grad.item() == 24
    assert torch.autograd.gradcheck(
        lambda v: Cube.apply(v, 2.0), (x.double().detach().requires_grad_(),)
    )


def test_gradcheck_finds_a_wrong_backward() -> None:
    class Wrong(Cube):
        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return grad_output, None

    x = torch.tensor([0.5, 2.0], dtype=torch.double, requires_grad=True)
    with pytest.raises(torch.autograd.GradcheckError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda v: Wrong.apply(v, 1.0), (x,))
    assert torch.autograd.gradgradcheck(lambda v: (v**3).sin(), (x,))


def test_anomaly_names_the_line() -> None:
    x = leaf(0.0)
    with torch.autograd.detect_anomaly():
        y = torch.sqrt(x) * 0.0
        with pytest.raises(RuntimeError, match=r"'SqrtBackward0' returned nan(.|\n)*test_autograd"):
            y.backward()


def test_checkpoint_computes_again() -> None:
    calls = []
    w = leaf(3.0)

    def layer(x: Any) -> Any:
        calls.append(1)
        return torch.tanh(x * w)

    grads = []
    for run in (layer, lambda x: checkpoint(layer, x, use_reentrant=False)):
        x = leaf(0.1, 0.2)
        w.grad = None
        run(run(x)).sum().backward()
        grads.append((x.grad.tolist(), w.grad.item()))
        by_grad = torch.autograd.grad(run(run(x)).sum(), [x, w])
        assert [by_grad[0].tolist(), by_grad[1].item()] == list(grads[-1])
    assert grads[0] == grads[1]
    assert len(calls) == 4 + 8


@pytest.mark.slow
def test_deep_graphs_neither_recurse_nor_leak() -> None:
    x = leaf(0.5)
    y = x
    for _ in range(10_000):
        y = y * 1.00001 + 1e-6
    y.backward()
    assert x.grad.item() == pytest.approx(1.00001**10_000, 1e-3)

    def step() -> None:
        with torch.no_grad():
            x.copy_(0.5)
        x.grad = None
        (x.sin() * x + (x * 2).exp()).backward()

    for _ in range(50):
        step()
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        for _ in range(300):
            step()
        assert gc.collect() == 0  # nothing waits for the collector
        assert tracemalloc.get_traced_memory()[0] < 5_000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_functional() -> None:
    x = torch.tensor([1.0, 2.0])

    def f(v: Any) -> Any:
        return v**3

    functional = torch.autograd.functional
    assert functional.jacobian(f, x).tolist() == [[3, 0], [0, 12]]
    assert functional.hessian(lambda v: f(v).sum(), x).tolist() == [[6, 0], [0, 12]]
    v = torch.tensor([1.0, -1.0])
    assert functional.vjp(f, x, v)[1].tolist() == [3, -12]
    assert functional.jvp(f, x, v)[1].tolist() == [3, -12]
    assert functional.hvp(lambda v: f(v).sum(), x, v)[1].tolist() == [6, -12]
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        assert forward_ad.unpack_dual(f(dual)).tangent.tolist() == [3, -12]


def test_func() -> None:
    x = torch.tensor([1.0, 2.0])

    def f(v: Any) -> Any:
        return (v**3).sum()

    assert torch.func.grad(f)(x).tolist() == [3, 12]
    assert torch.func.vmap(torch.func.grad(f))(torch.ones(2, 2)).tolist() == [[3, 3], [3, 3]]
    assert torch.func.hessian(f)(x).tolist() == [[6, 0], [0, 12]]
    assert torch.func.jacfwd(lambda v: v**2)(x).tolist() == [[2, 0], [0, 4]]
    value, pull = torch.func.vjp(f, x)
    assert (value.item(), pull(torch.tensor(2.0))[0].tolist()) == (9, [6, 24])
    assert torch.func.jvp(f, (x,), (x,))[1].item() == 27
    gradient, value = torch.func.grad_and_value(f)(x)
    assert (gradient.tolist(), value.item()) == ([3, 12], 9)


def test_tensors_vanish_under_jit() -> None:
    x = torch.tensor([1.0, 2.0])

    def step(v: Any) -> Any:
        w = v.detach().requires_grad_()
        (w**3).sum().backward()
        return w.grad

    assert autojit.jit(step)(x).tolist() == [3, 12]
    program = autojit.trace(lambda v: torch.relu(torch.func.grad(lambda u: (u * u).sum())(v)))(x)
    assert [op.kind.name for op in program.ops][-1] == "select"


def test_conditions_and_gradients_of_functions_of_tensors() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return (x * x).sum()
        return (x * 3).sum()

    x = torch.tensor([1.0, 2.0])
    for make in (autojit.grad, lambda f: autojit.jit(autojit.grad(f))):
        assert make(f)(x).tolist() == [2.0, 4.0]
        assert make(f)(-x).tolist() == [3.0, 3.0]
    value, slope = autojit.value_and_grad(f)(x)
    assert (value.item(), slope.tolist()) == (5.0, [2.0, 4.0])
    with pytest.raises(autojit.errors.NonScalarGradientError, match="returns it in a"):
        autojit.grad(lambda x: [x.sum()])(x)


def test_compile() -> None:
    w = leaf(2.0, 3.0)
    f = torch.compile(lambda x: torch.relu(x * w).sum())
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    f(x).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([2, 0], [1, 0])
    with torch.no_grad():
        w *= 2
    assert f(x).item() == 4
    with pytest.raises(RuntimeError, match="draws random numbers"):
        torch.compile(lambda x: x * torch.rand(2))(x)


def test_compile_reads_what_it_closes_over_at_each_call() -> None:
    scale, table = torch.tensor([2.0, 3.0]), {"shift": torch.tensor(1.0)}

    class Holder:
        offset = torch.tensor(5.0)

    holder = Holder()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * scale + table["shift"] + holder.offset + torch.ones(2)

    compiled, x = torch.compile(f), torch.tensor([1.0, 1.0])
    assert compiled(x).tolist() == f(x).tolist() == [9.0, 10.0]
    scale *= 2
    holder.offset += 1
    table["shift"] = torch.tensor(100.0)
    assert compiled(x).tolist() == f(x).tolist() == [111.0, 113.0]
    scale = torch.tensor([0.0, 0.0])
    assert compiled(x).tolist() == f(x).tolist() == [107.0, 107.0]


def test_compile_reads_modules_at_each_call() -> None:
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    unused = torch.nn.Linear(1, 1)
    inner.eval()
    compiled, x = torch.compile(lambda x: (inner(x), unused)[0]), torch.ones(1, 2)
    compiled(x).sum().backward()
    assert inner[0].weight.grad is not None
    assert unused.weight.grad is None
    inner[0].weight = torch.nn.Parameter(torch.zeros(2, 2))
    assert compiled(x).tolist() == inner(x).tolist()
    inner.train()
    with pytest.raises(autojit.errors.FrozenRandomError, match="would draw only once"):
        compiled(x)
    inner[1].eval()
    assert compiled(x).tolist() == inner(x).tolist()


def test_compile_reads_lists_in_attributes() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.settings = {"scales": [1.0, 2.0]}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.settings["scales"][1]

    module, x = Scaled(), torch.ones(2)
    module.settings["itself"] = module.settings
    compiled = torch.compile(module)
    assert compiled(x).tolist() == [2.0, 2.0]
    module.settings["scales"][1] = 5.0
    assert compiled(x).tolist() == [5.0, 5.0]


def test_compiled_functions_within_compiled_functions() -> None:
    weight, shift = leaf(2.0, 3.0), torch.tensor([10.0, 20.0])
    inner = torch.compile(lambda x: x * weight)
    outer = torch.compile(lambda x: inner(x) + shift * torch.ones(2))
    x = torch.tensor([1.0, 1.0])
    outer(x).sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0]
    shift += 1
    with torch.no_grad():
        weight.mul_(2)
    assert outer(x).tolist() == [15.0, 27.0]


def test_compile_on_several_threads() -> None:
    wrong: list[Any] = []

    def work(start: float) -> None:
        s = torch.tensor([start])
        f = torch.compile(lambda x: x * s + torch.ones(1))
        for _ in range(5):
            s.add_(1.0)
            if f(torch.ones(1)).tolist() != [s.item() + 1]:
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


PRINTED = [
    "t.tensor(1.5)", "t.tensor([1.5, -2.25])", "t.tensor([[1, 2], [3, 40]])",
    "t.tensor([True, False])", "t.tensor([])", "t.tensor([1e-8, 1.0])", "t.tensor([1e10, 1.0])",
    "t.tensor([float('nan'), 1.0, float('inf')])", "t.tensor([1.0], dtype=t.float64)",
    "t.zeros(2, 3)", "t.arange(1200.0).reshape(30, 40)", "t.ones(2, 2, 2)", "t.zeros(0, 3)",
    "t.tensor([1.0, 2.0], requires_grad=True)", "t.tensor([1.0], requires_grad=True) * 2",
    "t.tensor([[1.0]], requires_grad=True).T", "t.arange(40)", "t.tensor([0.1, 100.5])",
    "t.arange(30.0) / 7", "t.tensor([1, 2]) / 2", "t.tensor([1, 2]) * t.tensor(2.5)",
    "t.tensor([1.0]) * t.tensor(2.0, dtype=t.float64)", "t.tensor([1, 2]).sqrt()",
    "t.tensor([7, -7]) // 2", "t.tensor([True, True]).sum()", "t.tensor([1.0]).dtype",
    "t.tensor([1.0]).shape", "t.ones(2, 2, requires_grad=True)[:, 1]",
    "t.ones(2, 2, requires_grad=True).max(1).values", "t.ones(2, requires_grad=True).double()",
    "f'{t.tensor(1.5):.3f}'", "t.where(t.tensor([True, False]), 1.0, 2.0)", "t.full((2,), 7)",
]  # fmt: skip


@pytest.mark.parametrize("expression", PRINTED)
def test_printed_as_pytorch_does(expression: str) -> None:
    ours, theirs = (str(eval(expression, {"t": t})) for t in (torch, pytorch))
    assert ours == theirs


def test_random_numbers_repeat() -> None:
    torch.manual_seed(3)
    first = torch.randn(5), torch.randint(0, 10, (3,)), torch.randperm(4)
    torch.manual_seed(3)
    again = torch.randn(5), torch.randint(0, 10, (3,)), torch.randperm(4)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].dtype is torch.float32
    generator = torch.Generator().manual_seed(1)
    assert torch.rand(2, generator=generator).shape == (2,)


def test_memory_is_shared_with_numpy() -> None:
    array = np.zeros(3)
    x = torch.from_numpy(array)
    x[1] = 5.0
    assert array.tolist() == [0, 5, 0]
    assert x.view(3, 1)[1].item() == 5


def complex_loss(t: Any) -> Any:
    x = t.tensor([1.0 + 2.0j, 0.5 - 1.0j], requires_grad=True)
    w = t.tensor([[1.0 - 1.0j, 2.0j], [0.3 + 0.0j, 1.0 + 1.0j]], requires_grad=True)
    y = (w @ x) * x.conj()
    log: list[Any] = []
    y.register_hook(lambda g: log.append(g))
    loss = y.real.sum() + x.abs().pow(3).sum() + (x**2 * (2 + 1j)).imag.sum()
    gx, gw = t.autograd.grad(loss, (x, w), create_graph=True)
    again = t.autograd.grad((gx * gx.conj()).real.sum(), (x, w), retain_graph=True)
    (y * 1j).backward(t.tensor([1.0 + 1.0j, 2.0 - 3.0j]))
    return [gx, gw, *again, x.grad, w.grad, *log]


def test_gradients_of_complex_numbers_are_conjugate_as_pytorchs_are() -> None:
    for got, want in zip(complex_loss(torch), complex_loss(pytorch), strict=True):
        np.testing.assert_allclose(
            got.detach().numpy(), want.detach().resolve_conj().numpy(), rtol=1e-5
        )
