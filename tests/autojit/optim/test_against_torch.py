"""Steps of ``autojit.optim`` beside those of ``torch.optim``, and rates beside its schedulers."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from autojit import jit, optim
from autojit.errors import DtypeError, ShapeError, StructureError

torch = pytest.importorskip("torch", reason="the witness is not installed")

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {}), ("sgd", {"lr": 0.1, "momentum": 0.9}),
    ("sgd", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("sgd", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("adam", {}), ("adam", {"lr": 0.1, "weight_decay": 0.2, "betas": (0.8, 0.95)}),
    ("adam", {"lr": 0.1, "amsgrad": True, "eps": 1e-3}), ("adam", {"lr": 0.1, "maximize": True}),
    ("adamw", {}), ("adamw", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("rmsprop", {}), ("rmsprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("rmsprop", {"centered": True, "alpha": 0.9, "momentum": 0.5}),
    ("adagrad", {}), ("adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2,
                                  "weight_decay": 0.1}),
    ("adadelta", {}), ("adadelta", {"rho": 0.7, "eps": 1e-3, "weight_decay": 0.1}),
    ("adamax", {}), ("adamax", {"betas": (0.8, 0.95), "weight_decay": 0.1, "maximize": True}),
    ("nadam", {}), ("nadam", {"weight_decay": 0.1, "momentum_decay": 0.1}),
    ("nadam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("radam", {}), ("radam", {"lr": 0.1, "betas": (0.7, 0.6), "weight_decay": 0.2}),
    ("radam", {"betas": (0.9, 0.9), "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("asgd", {}), ("asgd", {"lr": 0.2, "lambd": 0.1, "alpha": 0.5, "t0": 2, "weight_decay": 0.1}),
    ("rprop", {}), ("rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.02, 0.2),
                              "maximize": True}),
]  # fmt: skip
CLASSES = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW", "rmsprop": "RMSprop",
           "adagrad": "Adagrad", "adadelta": "Adadelta", "adamax": "Adamax", "nadam": "NAdam",
           "radam": "RAdam", "asgd": "ASGD", "rprop": "Rprop"}  # fmt: skip


def start() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=(3, 4)), "b": [rng.normal(size=4)]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_steps(name: str, settings: dict[str, Any]) -> None:
    params = start()
    tensors = [torch.from_numpy(x.copy()) for x in (params["b"][0], params["w"])]
    witness = getattr(torch.optim, CLASSES[name])(tensors, **settings)
    opt = getattr(optim, name)(**settings)
    state = opt.init(params)
    kept = start()
    rng = np.random.default_rng(1)
    # PyTorch keeps the numbers in the states of these two in float32.
    rtol, atol = (1e-8, 1e-7) if name in ("nadam", "asgd") else (1e-13, 1e-14)
    for _ in range(6):
        grads = {"w": rng.normal(size=(3, 4)), "b": [rng.normal(size=4)]}
        for tensor, g in zip(tensors, (grads["b"][0], grads["w"]), strict=True):
            tensor.grad = torch.from_numpy(g)
        witness.step()
        params, state = opt.update(params, grads, state)
        np.testing.assert_allclose(params["b"][0], tensors[0].numpy(), rtol, atol)
        np.testing.assert_allclose(params["w"], tensors[1].numpy(), rtol, atol)
    assert state["step"] == 6
    np.testing.assert_array_equal(start()["w"], kept["w"])


def test_compiled_steps_keep_their_types() -> None:
    """One compiled function for all optimisers, called twice without being traced again."""
    made = [getattr(optim, name)(**settings) for name, settings in SETTINGS]
    made.append(optim.adam(lr=optim.cosine_annealing(0.1, 10)))
    params = [{"w": start()["w"].astype(np.float32), "s": np.float32(0.5)} for _ in made]
    states = [opt.init(p) for opt, p in zip(made, params, strict=True)]

    def step(params: Any, states: Any) -> Any:
        return [
            opt.update(p, {k: x * x for k, x in p.items()}, s)
            for opt, p, s in zip(made, params, states, strict=True)
        ]

    compiled = jit(step)
    expected, got = step(params, states), compiled(params, states)
    for _ in range(2):
        for (p, s), (q, t) in zip(expected, got, strict=True):
            assert q["w"].dtype == q["s"].dtype == np.float32
            np.testing.assert_allclose(q["w"], p["w"], rtol=2e-5, atol=1e-6)
            assert s.keys() == t.keys()
            assert s["step"] == t["step"]
        expected, got = (step(*zip(*x, strict=True)) for x in (expected, got))  # type: ignore
        got = compiled([p for p, _ in got], [s for _, s in got])
        expected = step([p for p, _ in expected], [s for _, s in expected])
    assert compiled.cache_info().traces == 1


SCHEDULES: list[tuple[str, str, dict[str, Any]]] = [
    ("step_lr", "StepLR", {"step_size": 3}),
    ("multi_step_lr", "MultiStepLR", {"milestones": [2, 3, 7], "gamma": 0.5}),
    ("exponential_lr", "ExponentialLR", {"gamma": 0.9}),
    ("constant_lr", "ConstantLR", {"factor": 0.3, "total_iters": 4}), ("linear_lr", "LinearLR", {}),
    ("linear_lr", "LinearLR", {"start_factor": 0.2, "end_factor": 0.7, "total_iters": 8}),
    ("polynomial_lr", "PolynomialLR", {"total_iters": 7, "power": 2.0}),
    ("cosine_annealing", "CosineAnnealingLR", {"t_max": 9, "eta_min": 0.01}),
    ("cosine_warm_restarts", "CosineAnnealingWarmRestarts", {"t_0": 4, "eta_min": 0.01}),
    ("cosine_warm_restarts", "CosineAnnealingWarmRestarts", {"t_0": 2, "t_mult": 3}),
    ("one_cycle", "OneCycleLR", {"total_steps": 20}),
    ("one_cycle", "OneCycleLR", {"total_steps": 20, "anneal_strategy": "linear",
                                 "three_phase": True, "pct_start": 0.4}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "witness", "settings"), SCHEDULES)
def test_schedules(name: str, witness: str, settings: dict[str, Any]) -> None:
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.8)
    words = {"t_max": "T_max", "t_0": "T_0", "t_mult": "T_mult"}
    given = {words.get(k, k): v for k, v in settings.items()}
    if name == "one_cycle":
        given |= {"max_lr": 0.8, "cycle_momentum": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own: its steps come in another order
        scheduler = getattr(torch.optim.lr_scheduler, witness)(optimizer, **given)
        expected = []
        for _ in range(20):
            expected.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if len(expected) < 20:
                scheduler.step()
    schedule = getattr(optim, name)(0.8, **settings)
    steps = np.arange(20)
    np.testing.assert_allclose(schedule(steps), expected, rtol=1e-12)
    np.testing.assert_allclose([schedule(k) for k in range(20)], expected, rtol=1e-12)
    np.testing.assert_allclose(jit(schedule)(steps), expected, rtol=1e-12)
    np.testing.assert_allclose(jit(schedule)(np.int64(5)), expected[5], rtol=1e-12)


def test_warm_restarts_far_away() -> None:
    """Integer arithmetic finds a step's period, exactly even at the period's first step."""
    schedule = optim.cosine_warm_restarts(1.0, 1, 3)
    for n in (5, 20, 30):
        first = (3**n - 1) // 2
        assert schedule(first) == 1.0
        assert schedule(first - 1) < 1e-3


def test_warmup_of_a_schedule_and_a_rate_of_ones_own() -> None:
    schedule = optim.warmup(optim.step_lr(1.0, 2, 0.5), 4)
    np.testing.assert_allclose(schedule(np.arange(5)), [0.25, 0.5, 0.375, 0.5, 0.25])
    assert optim.lambda_lr(2.0, lambda t: 1 / (1 + t))(3) == 0.5
    opt = optim.sgd(lr=1.0)
    params, state = [np.ones(1)], optim.sgd().init([np.ones(1)])
    (halved,), _ = opt.update(params, [np.ones(1)], state, lr=0.5)
    assert halved == 0.5


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau(mode: str, threshold_mode: str) -> None:
    settings: dict[str, Any] = {
        "mode": mode, "threshold_mode": threshold_mode, "patience": 1, "cooldown": 2,
        "factor": 0.5, "threshold": 0.1, "min_lr": 0.15,
    }  # fmt: skip
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.8)
    witness = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
    plateau = optim.reduce_on_plateau(0.8, **settings)
    state = compiled = plateau.init()
    update = jit(plateau.update)
    rng = np.random.default_rng(0)
    for k in range(40):
        metric = 2.0 + rng.uniform() * (1.0 if mode == "max" else -1.0) * min(k, 12) / 12
        witness.step(metric)
        state, compiled = plateau.update(metric, state), update(metric, compiled)
        assert state["lr"] == compiled["lr"] == optimizer.param_groups[0]["lr"]
    assert state["lr"] == 0.15
    assert update.cache_info().traces == 1


WRONG: list[tuple[Any, str]] = [
    (lambda: optim.sgd(lr=-1.0), "lr=-1.0 is negative"),
    (lambda: optim.sgd(nesterov=True), "nesterov=True needs momentum > 0 and dampening=0"),
    (lambda: optim.adam(betas=(0.9, 1.0)), "betas=(0.9, 1.0) are not in [0, 1)"),
    (lambda: optim.one_cycle(1.0, 9, anneal_strategy="exp"), "anneal_strategy='exp' is not 'cos'"),
    (lambda: optim.reduce_on_plateau(1.0, mode="less"), "mode='less' is not 'min' or 'max'"),
    (lambda: optim.step_lr(1.0, 0), "step_size=0 is less than 1"),
]


@pytest.mark.parametrize(("call", "words"), WRONG, ids=[words for _, words in WRONG])
def test_settings_that_there_are_not(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert words in str(caught.value)


def test_trees_that_do_not_fit() -> None:
    opt = optim.adam()
    params = start()
    state = opt.init(params)
    with pytest.raises(StructureError, match="grads has the structure"):
        opt.update(params, params["w"], state)
    with pytest.raises(ShapeError, match=r"grads\['b'\]\[0\] has shape \(3,\), and the parameter"):
        opt.update(params, {"w": params["w"], "b": [np.ones(3)]}, state)
    with pytest.raises(DtypeError, match=r"params\['n'\] is int64; an optimiser needs real"):
        opt.init({"n": np.arange(3)})
    with pytest.raises(DtypeError, match="complex128"):
        opt.init(np.ones(2) * 1j)
    with pytest.raises(StructureError, match=r"state\['exp_avg'\] has the structure"):
        opt.update([np.ones(1)], [np.ones(1)], state)


def test_rates_are_finite_at_zero_gradients() -> None:
    for name, settings in SETTINGS:
        opt = getattr(optim, name)(**settings)
        params = [np.zeros(2)]
        params, _ = opt.update(params, [np.zeros(2)], opt.init(params))
        assert all(math.isfinite(x) for x in params[0]), name
