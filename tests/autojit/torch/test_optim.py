"""Optimisers and learning rates against PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from autojit import torch
from autojit.torch.engine.rules import OFTEN

pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")

LIBRARIES: list[Any] = [torch, pytorch]
OPTIMIZERS = [
    "SGD(p, lr=0.01)",
    "SGD(p, lr=0.01, momentum=0.9, nesterov=True)",
    "SGD(p, lr=0.01, momentum=0.9, dampening=0.1, weight_decay=0.1, maximize=True)",
    "Adam(p, lr=0.01, weight_decay=0.1)",
    "Adam(p, amsgrad=True)",
    "AdamW(p, lr=0.01, betas=(0.8, 0.9))",
    "RMSprop(p, momentum=0.9, centered=True)",
    "Adagrad([{'params': p[:1], 'lr': 0.1}, {'params': p[1:]}], lr_decay=0.1)",
    "Adadelta(p, weight_decay=0.1)",
    "Adamax(p, foreach=False)",
    "NAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(p, lr=0.01, betas=(0.8, 0.85))",
    "ASGD(p, lr=0.1, lambd=0.1, t0=1)",
    "Rprop(p, lr=0.1, step_sizes=(0.01, 0.2))",
]


def parameters(t: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [t.tensor(rng.standard_normal(s), requires_grad=True) for s in ((3, 2), (4,))]


def trained(t: Any, p: list[Any], o: Any, steps: range, scheduler: Any = None) -> list[Any]:
    rates = []
    for k in steps:

        def closure(k: int = k) -> Any:
            o.zero_grad()
            loss = (p[0] ** 4).sum()
            if k % 4 != 3:  # the second parameter has no gradient otherwise
                loss = loss + ((p[1] - k) ** 2).sum().log1p()
            loss.backward()
            return loss

        o.step(closure)
        if scheduler is not None:
            scheduler.step()
            rates.append(scheduler.get_last_lr())
    return rates


def made(t: Any, p: list[Any], code: str) -> Any:
    return eval(code, {**vars(t.optim), "p": p})


@pytest.mark.parametrize("code", OPTIMIZERS)
def test_optimizer_is_pytorchs(code: str) -> None:
    ours, theirs = parameters(torch), parameters(pytorch)
    a, b = made(torch, ours, code), made(pytorch, theirs, code)
    trained(torch, ours, a, range(6))
    trained(pytorch, theirs, b, range(6))
    x, y = a.state_dict(), b.state_dict()
    assert x["param_groups"] == y["param_groups"]
    assert repr(a) == repr(b)
    names = [{k: set(v) for k, v in s["state"].items()} for s in (x, y)]
    assert names[0] == names[1]
    again = [p.detach().clone().requires_grad_() for p in ours]
    c = made(torch, again, code)
    c.load_state_dict(copy.deepcopy(x))
    trained(torch, again, c, range(6, 9))
    trained(pytorch, theirs, b, range(6, 9))
    for p, q in zip(again, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-7, 1e-9)


@pytest.mark.parametrize(
    "code",
    ["LBFGS(p, max_iter=4, lr=0.1)", "LBFGS(p, line_search_fn='strong_wolfe', max_iter=3)"],
)
def test_lbfgs_is_pytorchs(code: str) -> None:
    results = []
    for t in (torch, pytorch):
        p = parameters(t)
        o = made(t, p, code)

        def closure(p: Any = p, o: Any = o) -> Any:
            o.zero_grad()
            loss = (p[0] ** 4).sum() + ((p[1] - p[0].sum()) ** 2).sum()
            loss.backward()
            return loss

        losses = [o.step(closure).item() for _ in range(3)]
        results.append([losses, *(x.detach().numpy().ravel() for x in p)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, 1e-6)
    with pytest.raises(ValueError, match="parameter groups"):
        torch.optim.LBFGS([{"params": parameters(torch)[:1]}, {"params": parameters(torch)[1:]}])


SCHEDULES = [
    "StepLR(o, 3)", "MultiStepLR(o, [2, 5], 0.5)", "ExponentialLR(o, 0.9)",
    "ConstantLR(o, 0.5, 3)", "LinearLR(o, 0.1, total_iters=4)", "PolynomialLR(o, 7, 2.0)",
    "CosineAnnealingLR(o, 10, 0.001)", "CosineAnnealingWarmRestarts(o, 3, 2)",
    "OneCycleLR(o, 0.1, total_steps=20, cycle_momentum=False)",
    "LambdaLR(o, lambda k: 1 / (k + 1))", "MultiplicativeLR(o, lambda k: 0.9)",
    "SequentialLR(o, [LinearLR(o, 0.1, total_iters=4), ExponentialLR(o, 0.9)], [4])",
    "ChainedScheduler([ConstantLR(o, 0.5, 4), ExponentialLR(o, 0.9)])",
]  # fmt: skip


@pytest.mark.parametrize("code", SCHEDULES)
def test_learning_rates_are_pytorchs(code: str) -> None:
    rates = []
    for t in (torch, pytorch):
        p = parameters(t)
        o = t.optim.SGD([{"params": p[:1]}, {"params": p[1:], "lr": 0.2}], lr=0.05)
        scheduler = eval(code, {**vars(t.optim.lr_scheduler), "o": o})
        rates.append(trained(t, p, o, range(9), scheduler))
    np.testing.assert_allclose(rates[0], rates[1], 1e-12)


def test_a_plateau_lowers_the_rate_as_pytorchs() -> None:
    rates = []
    for t in (torch, pytorch):
        o = t.optim.SGD(parameters(t), lr=1.0)
        s = t.optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1)
        found = []
        for metric in (3.0, 2.0, 2.0, 2.5, 2.0, 2.0, 2.0, 1.0, 1.0):
            s.step(metric)
            found.append(o.param_groups[0]["lr"])
        rates.append(found)
    assert rates[0] == rates[1]


def test_a_schedule_goes_on_from_its_state() -> None:
    o = torch.optim.SGD(parameters(torch), lr=1.0)
    s = torch.optim.lr_scheduler.StepLR(o, 2, 0.5)
    for _ in range(3):
        o.step()
        s.step()
    later = torch.optim.lr_scheduler.StepLR(o, 7)
    later.load_state_dict(s.state_dict())
    o.step()
    later.step()
    assert later.get_last_lr() == [0.25]


WRONG = [
    "SGD([], lr=0.1)", "SGD(p[0], lr=0.1)", "SGD(p, lr=-1.0)", "SGD([p[0], p[0] * 1], lr=0.1)",
    "SGD(p, lr=0.1, nesterov=True)", "Adam(p, betas=(1.0, 0.9))", "Adam(p, eps=-1.0)",
    "SGD([{'params': p}, {'params': p[:1]}], lr=0.1)", "SGD([1.0], lr=0.1)",
    "SGD(p, lr=0.1).load_state_dict(Adam(p[:1]).state_dict())",
]  # fmt: skip


@pytest.mark.parametrize("code", WRONG)
def test_errors_have_pytorchs_words(code: str) -> None:
    with pytest.raises((ValueError, TypeError)) as theirs:
        made(pytorch, parameters(pytorch), code)
    with pytest.raises(type(theirs.value)) as ours:
        made(torch, parameters(torch), code)
    a, b = str(ours.value), str(theirs.value)
    assert a.replace("builtins.", "").lower()[:40] == b.lower()[:40]


def test_hooks_of_steps_and_what_is_not_covered() -> None:
    log: list[str] = []
    o = torch.optim.SGD(parameters(torch), lr=0.1)
    o.register_step_pre_hook(lambda *_: log.append("before"))
    handle = o.register_step_post_hook(lambda *_: log.append("after"))
    o.step()
    handle.remove()
    o.step()
    assert log == ["before", "after", "before"]
    with pytest.raises(NotImplementedError, match="differentiable=True is not covered"):
        torch.optim.SGD(parameters(torch), lr=0.1, differentiable=True)
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        torch.optim.lr_scheduler.OneCycleLR(
            torch.optim.Adagrad(parameters(torch), lr=0.1), 0.1, total_steps=3
        )


def test_a_step_counts_as_a_change_in_place() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    o = torch.optim.SGD([x], lr=0.1)
    y = x.exp() * x
    y.backward(retain_graph=True)
    o.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_steps_of_many_numbers_are_compiled_and_the_same(kind: str) -> None:
    start = np.random.default_rng(0).normal(size=(400, 300)).astype(np.float32)
    weights = {}
    for t in LIBRARIES:
        w = t.tensor(start.copy(), requires_grad=True)
        optimizer = getattr(t.optim, kind)([w], lr=0.1, weight_decay=0.01)
        for step in range(OFTEN + 3):
            w.grad = t.tensor(np.cos(start * step))
            optimizer.step()
            optimizer.param_groups[0]["lr"] *= 0.9
            if t is torch and step == OFTEN + 1:
                assert [s._compiled is not None for s in optimizer._steps.values()] == [True]
                again = pickle.loads(pickle.dumps(optimizer))
                assert again.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
        weights[t] = w.detach().numpy()
    np.testing.assert_allclose(weights[torch], weights[pytorch], rtol=2e-5, atol=2e-6)
