"""Second derivatives, ensembles and gradients of each sample, through layers and optimisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, nn, optim, vmap
from autojit.testing import check_grads

RNG = np.random.default_rng(0)
X, LABELS = RNG.normal(size=(5, 3)), np.array([0, 1, 1, 0, 1])


def loss(params: Any, x: Any, labels: Any) -> Any:
    return nn.cross_entropy(nn.mlp(params, x), labels)


LSTM, ATTENTION = nn.init_lstm(0, 2, 2), nn.init_multi_head_attention(0, 4)
SECOND: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "convolution": (
        lambda x, w: np.sum(nn.gelu(nn.max_pool2d(nn.conv2d(x, w, padding=1), 2, 1))),
        [(1, 1, 3, 3), (1, 1, 2, 2)],
    ),
    "lstm": (
        lambda x, w: np.sum(nn.lstm(x, [LSTM[0] | {"weight_hh": w}])[0] ** 2), [(2, 1, 2), (8, 2)]
    ),
    "attention": (
        lambda x: np.sum(nn.multi_head_attention(ATTENTION, x, num_heads=2, is_causal=True) ** 2),
        [(3, 4)],
    ),
    "batch norm": (
        lambda x: np.sum(nn.batch_norm(x, None, None, training=True)[0] ** 3), [(4, 2)]
    ),
    "cross entropy": (
        lambda x: nn.cross_entropy(x, np.array([1, 2]), label_smoothing=0.1), [(2, 3)]
    ),
}  # fmt: skip


SLOW = ("attention", "convolution", "lstm")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in SECOND]
)
def test_second_derivatives(name: str) -> None:
    f, shapes = SECOND[name]
    check_grads(f, tuple(RNG.normal(size=shape) for shape in shapes), order=2)


@pytest.mark.slow
def test_an_ensemble_trains_as_each_network_by_itself() -> None:
    networks = [nn.init_mlp(k, [3, 4, 2]) for k in range(3)]
    opt = optim.adamw(lr=0.1)

    def train(params: Any) -> Any:
        state = opt.init(params)
        for _ in range(3):
            params, state = opt.update(params, grad(loss)(params, X, LABELS), state)
        return params[0]["weight"], state["step"]

    stacked = [
        {name: np.stack([n[k][name] for n in networks]) for name in layer}
        for k, layer in enumerate(networks[0])
    ]
    weights, steps = jit(vmap(train))(stacked)
    np.testing.assert_array_equal(steps, [3, 3, 3])
    for weight, network in zip(weights, networks, strict=True):
        np.testing.assert_allclose(weight, train(network)[0], rtol=1e-10)


def test_gradients_of_each_sample() -> None:
    params = nn.init_mlp(0, [3, 4, 2])
    each = jit(vmap(grad(loss), in_axes=(None, 0, 0)))(params, X, LABELS)
    whole = grad(loss)(params, X, LABELS)
    np.testing.assert_allclose(each[0]["weight"].mean(axis=0), whole[0]["weight"], rtol=1e-12)


def test_seeds_of_a_batch_drop_other_places() -> None:
    masks = vmap(lambda seed: nn.dropout(np.ones(50), 0.5, seed))(np.arange(3))
    for seed, mask in enumerate(masks):
        np.testing.assert_array_equal(mask, nn.dropout(np.ones(50), 0.5, seed))
    assert np.any(masks[0] != masks[1])
