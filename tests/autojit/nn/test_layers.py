"""Layers with states and random numbers, and declared ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import checkpoint, grad, jit, nn, optim, value_and_grad, vmap
from autojit.errors import FrozenRandomError
from autojit.nn import layers

RNG = np.random.default_rng(0)


# -- beside PyTorch's modules ---------------------------------------------------------------


def tensors(torch: Any, tree: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: torch.from_numpy(x.copy()) for name, x in tree.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_lstm(bidirectional: bool) -> None:
    torch = pytest.importorskip("torch")
    params = nn.init_lstm(1, 3, 4, num_layers=2, bidirectional=bidirectional)
    module = torch.nn.LSTM(3, 4, 2, bidirectional=bidirectional, batch_first=True).double()
    state: dict[str, Any] = {}
    for k, layer in enumerate(params):
        for d, weights in enumerate(layer if bidirectional else [layer]):
            state |= {f"{name}_l{k}{'_reverse' * d}": x for name, x in weights.items()}
    module.load_state_dict(tensors(torch, state))
    x, first = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 4 if bidirectional else 2, 2, 4))
    given = torch.from_numpy(x).requires_grad_()
    y, (h, c) = module(given, tuple(torch.from_numpy(first)))
    (torch.sum(y * y) + torch.sum(h * c)).backward()

    def loss(x: Any, params: Any) -> Any:
        y, (h, c) = nn.lstm(x, params, tuple(first), batch_first=True)
        return np.sum(y * y) + np.sum(h * c)

    ours = nn.lstm(x, params, tuple(first), batch_first=True)
    for got, expected in zip([ours[0], *ours[1]], [y, h, c], strict=True):
        np.testing.assert_allclose(got, expected.detach().numpy(), atol=1e-13)
    dx, dparams = grad(loss, argnums=(0, 1))(x, params)
    np.testing.assert_allclose(dx, given.grad.numpy(), atol=1e-12)
    last = dparams[-1][-1] if bidirectional else dparams[-1]
    suffix = "_l1" + "_reverse" * bidirectional
    for name, got in last.items():
        expected = getattr(module, name + suffix).grad.numpy()
        np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_encoder_layer(norm_first: bool) -> None:
    torch = pytest.importorskip("torch")
    params = nn.init_transformer_encoder_layer(1, 6, 8)
    module = torch.nn.TransformerEncoderLayer(
        6, 2, 8, dropout=0.0, batch_first=True, norm_first=norm_first, activation="gelu"
    ).double()
    names = {"out_proj_weight": "out_proj.weight", "out_proj_bias": "out_proj.bias"}
    module.load_state_dict(
        tensors(
            torch,
            {
                f"{part}.{names.get(name, name)}": x
                for part, own in params.items()
                for name, x in own.items()
            },
        )
    )
    x = RNG.normal(size=(2, 5, 6))
    given = torch.from_numpy(x).requires_grad_()
    later = torch.nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    expected = module(given, src_mask=later, is_causal=True)
    torch.sum(torch.sin(expected)).backward()
    apply = partial(
        nn.transformer_encoder_layer, num_heads=2, is_causal=True, norm_first=norm_first,
        activation=nn.gelu,
    )  # fmt: skip
    np.testing.assert_allclose(apply(params, x), expected.detach().numpy(), atol=1e-13)
    dparams, dx = grad(lambda p, x: np.sum(np.sin(apply(p, x))), argnums=(0, 1))(params, x)
    np.testing.assert_allclose(dx, given.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(
        dparams["self_attn"]["in_proj_weight"],
        module.self_attn.in_proj_weight.grad.numpy(),
        atol=1e-12,
    )


def test_attention_with_other_keys_and_values() -> None:
    torch = pytest.importorskip("torch")
    params = nn.init_multi_head_attention(1, 6)
    module = torch.nn.MultiheadAttention(6, 3, batch_first=True).double()
    state = {name.replace("out_proj_", "out_proj."): x for name, x in params.items()}
    module.load_state_dict(tensors(torch, state))
    arrays = [RNG.normal(size=(2, n, 6)) for n in (4, 5, 5)]
    expected = module(*map(torch.from_numpy, arrays))[0].detach().numpy()
    got = nn.multi_head_attention(params, *arrays, num_heads=3)
    np.testing.assert_allclose(got, expected, atol=1e-13)
    got = nn.multi_head_attention(params, *arrays[:2], num_heads=3)
    expected = module(*map(torch.from_numpy, [*arrays[:2], arrays[1]]))[0].detach().numpy()
    np.testing.assert_allclose(got, expected, atol=1e-13)


def test_running_statistics() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.BatchNorm2d(3, momentum=0.3).double()
    statistics = (np.zeros(3), np.ones(3))
    for _ in range(3):
        x = RNG.normal(size=(2, 3, 4, 4))
        expected = module(torch.from_numpy(x)).detach().numpy()
        y, statistics = jit(partial(nn.batch_norm, training=True, momentum=0.3))(x, *statistics)
        np.testing.assert_allclose(y, expected, atol=1e-12)
    np.testing.assert_allclose(statistics[0], module.running_mean.numpy(), rtol=1e-12)
    np.testing.assert_allclose(statistics[1], module.running_var.numpy(), rtol=1e-12)


# -- random numbers --------------------------------------------------------------------------


def test_a_seed_drops_the_same_places_compiled_or_not() -> None:
    def f(x: Any, seed: Any) -> Any:
        return nn.dropout(x, 0.25, seed)

    x = np.ones((40, 50))
    plain = f(x, 7)
    assert abs(np.mean(plain == 0) - 0.25) < 0.03
    assert set(np.unique(plain)) == {0.0, 1 / 0.75}
    for seed in (7, np.int64(7), np.uint64(7)):
        np.testing.assert_array_equal(jit(f)(x, seed), plain)
    assert np.any(jit(f)(x, np.int64(8)) != plain)
    slopes = grad(lambda x: np.sum(f(x, 7)))(x)
    np.testing.assert_array_equal(slopes, plain)


def test_seeded_masks_look_random() -> None:
    """Masks of neighbouring seeds, and neighbouring places of one, are not correlated."""
    masks = np.stack([nn.keep_mask(seed, 0.5, (2000,)) for seed in range(50)]) - 0.5
    assert abs(masks.mean()) < 0.01
    correlations = masks @ masks.T / 500 - np.eye(50)
    assert np.abs(correlations).max() < 0.12
    assert abs(np.mean(masks[:, 1:] * masks[:, :-1])) < 0.005


def test_a_generator_is_drawn_from_at_each_call() -> None:
    x = np.ones(100)
    expected = np.random.default_rng(3).random(100) < 0.5
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(nn.dropout(x, 0.5, rng) > 0, expected)
    rng = np.random.default_rng(3)
    slopes = grad(lambda x: np.sum(nn.dropout(x, 0.5, rng)))(x)
    np.testing.assert_array_equal(slopes > 0, expected)
    rng = np.random.default_rng(3)
    again = checkpoint(lambda x: np.sum(nn.dropout(x * x, 0.5, rng)))
    np.testing.assert_array_equal(grad(again)(x) > 0, expected)
    assert np.any((grad(again)(x) > 0) != expected)
    shared = vmap(lambda x: nn.dropout(x, 0.5, rng))(np.ones((2, 100)))
    np.testing.assert_array_equal(shared[0], shared[1])


def test_a_generator_in_compiled_code_is_refused() -> None:
    rng = np.random.default_rng(0)
    for transform in (
        jit,
        lambda f: jit(grad(lambda x: np.sum(f(x)))),
        lambda f: lambda x: autojit.map(f, x),
    ):
        with pytest.raises(FrozenRandomError, match=r"dropout\(x, p, seed\)"):
            transform(lambda x: nn.dropout(x, 0.5, rng))(np.ones((2, 3)))


def test_checkpoint_drops_the_same_places_twice() -> None:
    def f(x: Any, seed: Any) -> Any:
        return np.sum(np.sin(nn.dropout(x, 0.5, seed)))

    x = RNG.normal(size=20)
    np.testing.assert_allclose(jit(grad(checkpoint(f)))(x, 5), grad(f)(x, 5), rtol=1e-12)


def test_dropout_at_its_ends() -> None:
    x = np.ones(3)
    assert nn.dropout(x, 0.0) is x
    assert nn.dropout(x, 0.5, training=False) is x
    np.testing.assert_array_equal(nn.dropout(x * np.inf, 1.0, 0), np.zeros(3))
    np.testing.assert_array_equal(nn.dropout(x, 1.0, 0), np.zeros(3))
    np.testing.assert_array_equal(grad(lambda x: np.sum(nn.dropout(x, 1.0, 0)))(x), np.zeros(3))


def test_dropout_in_a_transformer_layer_draws_four_times() -> None:
    params = nn.init_transformer_encoder_layer(1, 6, 8)
    x = RNG.normal(size=(5, 6))
    apply = partial(nn.transformer_encoder_layer, num_heads=2, dropout_p=0.5)
    seeds = np.array([1, 2, 3, 4])
    compiled = jit(lambda p, x, s: apply(p, x, rng=s))
    np.testing.assert_allclose(compiled(params, x, seeds), apply(params, x, rng=seeds), rtol=1e-12)
    np.testing.assert_array_equal(apply(params, x, rng=(1, 2, 3, 4)), apply(params, x, rng=seeds))
    assert np.all(np.isfinite(apply(params, x, rng=np.random.default_rng(0))))
    with pytest.raises(ValueError, match="with one seed, all four dropouts"):
        apply(params, x, rng=3)


def test_batches() -> None:
    x, y = np.arange(10), np.arange(10) ** 2
    seen = list(nn.batches(np.random.default_rng(0), x, y, batch_size=4))
    assert [len(a) for a, _ in seen] == [4, 4, 2]
    assert all(np.array_equal(a**2, b) for a, b in seen)
    assert sorted(np.concatenate([a for a, _ in seen])) == list(range(10))
    assert [len(a) for a, _ in nn.batches(0, x, y, batch_size=4, drop_last=True)] == [4, 4]
    in_order = [a.tolist() for (a,) in nn.batches(None, x[:3], batch_size=2)]
    assert in_order == [[0, 1], [2]]
    rng = np.random.default_rng(0)
    first, second = (next(nn.batches(rng, x, batch_size=10))[0] for _ in range(2))
    assert not np.array_equal(first, second)


# -- declared layers, and first values --------------------------------------------------------


def test_sequential_layers_train() -> None:
    net = nn.sequential(
        layers.embedding(7, 6), layers.layer_norm(6), np.tanh,
        nn.sequential(lambda x: np.swapaxes(x, -1, -2), layers.conv1d(6, 4, 3, padding="same")),
        nn.relu, layers.flatten, layers.linear(4 * 5, 3),
    )  # fmt: skip
    params = net.init(0)
    x, labels = RNG.integers(0, 7, (8, 5)), RNG.integers(0, 3, 8)
    step = jit(value_and_grad(lambda p: nn.cross_entropy(net.apply(p, x), labels)))
    before, grads = step(params)
    assert grads[2] is None
    assert grads[0]["weight"].shape == (7, 6)
    assert set(grads[3][1]) == {"weight", "bias"}
    again = net.init(0)
    np.testing.assert_array_equal(params[0]["weight"], again[0]["weight"])
    assert 0.5 < float(before) < 2.0


def test_functions_that_are_passed_may_have_branches() -> None:
    def active(x: Any) -> Any:
        if np.sum(x) > 0:
            return x
        return 2.0 * x

    def rate(step: Any) -> Any:
        return 0.5 if step < 2 else 0.25

    params = nn.init_mlp(0, [2, 3, 1])
    net = nn.sequential(active, nn.Layer(lambda rng: None, lambda p, x: active(x)))
    layer = nn.init_transformer_encoder_layer(0, 4, 8)
    opt = optim.sgd(lr=optim.warmup(rate, 2))

    def everything(x: Any, state: Any) -> Any:
        y = nn.transformer_encoder_layer(layer, np.outer(x, x[:1] + 1) @ np.ones((1, 4)),
                                         num_heads=2, activation=active)  # fmt: skip
        stepped, _ = opt.update([x], [x], state)
        return nn.mlp(params, x, active), net.apply([None, None], x), y, stepped[0]

    compiled = jit(everything)
    for sign in (-1.0, 1.0):
        x, state = sign * np.ones(2), {"step": np.int64(2 if sign > 0 else 1)}
        for got, expected in zip(compiled(x, state), everything(x, state), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_initial_values_have_pytorchs_spread() -> None:
    torch = pytest.importorskip("torch")
    shape = (64, 8, 5, 5)
    for name, settings in [
        ("xavier_uniform", {}), ("xavier_normal", {"gain": 2.0}), ("kaiming_uniform", {"a": 0.3}),
        ("kaiming_normal", {"mode": "fan_out", "nonlinearity": "relu"}), ("normal", {"std": 0.2}),
        ("uniform", {"a": -0.5, "b": 0.1}), ("orthogonal", {"gain": 3.0}),
    ]:  # fmt: skip
        ours = getattr(nn.init, name)(0, shape, **settings, dtype=np.float32)
        theirs = getattr(torch.nn.init, name + "_")(torch.empty(shape), **settings).numpy()
        assert ours.dtype == np.float32, name
        np.testing.assert_allclose(ours.std(), theirs.std(), rtol=0.03, err_msg=name)
        np.testing.assert_allclose(ours.max(), theirs.max(), rtol=0.4, err_msg=name)
        np.testing.assert_allclose(ours.mean(), theirs.mean(), atol=0.02, err_msg=name)
    for ours, theirs in [
        (nn.init_linear(0, 300, 200), torch.nn.Linear(300, 200)),
        (nn.init_conv(0, 8, 64, 5, groups=2), torch.nn.Conv2d(8, 64, 5, groups=2)),
    ]:
        for name, x in ours.items():
            expected = getattr(theirs, name).detach().numpy()
            assert x.shape == expected.shape
            np.testing.assert_allclose(np.abs(x).max(), np.abs(expected).max(), rtol=0.1)
            if name == "weight":
                np.testing.assert_allclose(x.std(), expected.std(), rtol=0.03)


def test_orthogonal_columns() -> None:
    q = nn.init.orthogonal(0, (6, 2, 2))
    np.testing.assert_allclose(q.reshape(6, 4).T @ q.reshape(6, 4), np.eye(4), atol=1e-12)


# -- clipping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [0.5, 100.0])
def test_clipping_as_in_pytorch(bound: float) -> None:
    torch = pytest.importorskip("torch")
    tree = {"w": RNG.normal(size=(3, 4)), "b": [RNG.normal(size=5)]}
    leaves = [tree["w"], tree["b"][0]]
    params = [torch.zeros(x.shape, dtype=torch.float64) for x in leaves]
    for p, x in zip(params, leaves, strict=True):
        p.grad = torch.from_numpy(x.copy())
    norm = torch.nn.utils.clip_grad_norm_(params, bound)
    clipped, ours = jit(lambda t: nn.clip_by_global_norm(t, bound))(tree)
    np.testing.assert_allclose(ours, norm, rtol=1e-14)
    np.testing.assert_allclose(clipped["w"], params[0].grad.numpy(), rtol=1e-14)
    np.testing.assert_allclose(clipped["b"][0], params[1].grad.numpy(), rtol=1e-14)
    np.testing.assert_array_equal(nn.clip_by_value(tree, 0.3)["w"], np.clip(tree["w"], -0.3, 0.3))
    single = {"w": tree["w"].astype(np.float32)}
    assert nn.clip_by_global_norm(single, bound)[0]["w"].dtype == np.float32
