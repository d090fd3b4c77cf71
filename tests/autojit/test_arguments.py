"""Every function of `autojit.nn` and `autojit.optim`, called with bad arguments: each error names
the argument, and is not one that the middle of a formula happens to raise.

Each argument of a call that works is replaced in turn.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import autojit
from autojit import jit, nn, optim
from autojit.errors import (
    AutojitError,
    ConcreteValueError,
    SettingError,
    ShapeError,
    StructureError,
)
from autojit.nn import init, layers
from autojit.scalar import MLP, Neuron, Value


class Thing:
    """An object that is neither an array nor a number."""


#: By their kinds.
BAD: dict[str, Any] = {
    "an object": Thing(), "a text": "wrong", "None": None, "a negative number": -1,
    "a tree": {"q": [Thing()]},
}  # fmt: skip

X, LABELS, V = np.ones((4, 3)), np.array([0, 1, 2, 0]), np.ones(3)
SIGNAL, IMAGE, STEPS = np.ones((1, 2, 5)), np.ones((1, 2, 5, 5)), np.ones((4, 2, 3))
SHARES, ROWS = np.full((4, 3), 0.5), np.ones((5, 6))
SIGNALS = {"x": SIGNAL, "weight": np.ones((2, 2, 3)), "bias": np.ones(2)}
IMAGES = {"x": IMAGE, "weight": np.ones((2, 2, 3, 3)), "bias": np.ones(2)}
VOLUME = np.ones((1, 2, 3, 3, 3))
VOLUMES = {"x": VOLUME, "weight": np.ones((2, 2, 2, 2, 2)), "bias": np.ones(2)}
RECURRENT = {"x": STEPS, "state": np.ones((1, 2, 2))}

#: By the function: good arguments; others are the defaults, and ``X``.
GOOD: dict[Callable[..., Any], dict[str, Any]] = {
    nn.linear: {"weight": np.ones((2, 3)), "bias": np.ones(2)},
    nn.embedding: {"indices": LABELS, "padding_idx": 0},
    nn.embedding_bag: {
        "indices": LABELS, "weight": ROWS, "offsets": np.array([0, 2]), "padding_idx": 0,
    },
    nn.one_hot: {"labels": LABELS, "num_classes": 3},
    nn.dropout: {"rng": 0},
    nn.cross_entropy: {"target": LABELS, "weight": V},
    nn.nll_loss: {"target": LABELS, "weight": V},
    nn.binary_cross_entropy: {"x": SHARES, "target": SHARES, "weight": SHARES},
    nn.binary_cross_entropy_with_logits: {"weight": SHARES, "pos_weight": SHARES},
    nn.conv1d: SIGNALS, nn.conv_transpose1d: SIGNALS,
    nn.conv2d: IMAGES, nn.conv_transpose2d: IMAGES,
    nn.conv3d: VOLUMES, nn.conv_transpose3d: VOLUMES,
    nn.max_pool1d: {"x": SIGNAL, "kernel_size": 2}, nn.avg_pool1d: {"x": SIGNAL, "kernel_size": 2},
    nn.max_pool2d: {"x": IMAGE, "kernel_size": 2}, nn.avg_pool2d: {"x": IMAGE, "kernel_size": 2},
    nn.max_pool3d: {"x": VOLUME, "kernel_size": 2}, nn.avg_pool3d: {"x": VOLUME, "kernel_size": 2},
    nn.layer_norm: {"normalized_shape": 3, "weight": V, "bias": V},
    nn.rms_norm: {"normalized_shape": 3, "weight": V},
    nn.group_norm: {"num_groups": 3, "weight": V, "bias": V},
    nn.batch_norm: {
        "running_mean": V, "running_var": V, "weight": V, "bias": V, "training": True,
    },
    nn.lstm: {**RECURRENT, "params": nn.init_lstm(0, 3, 2), "state": (np.ones((1, 2, 2)),) * 2},
    nn.gru: {**RECURRENT, "params": [{"weight_ih": np.ones((6, 3)), "weight_hh": np.ones((6, 2))}]},
    nn.rnn: {**RECURRENT, "params": [{"weight_ih": np.ones((2, 3)), "weight_hh": np.ones((2, 2))}]},
    nn.scaled_dot_product_attention: {
        "attn_mask": np.ones((4, 4)), "rng": 0, "dropout_p": 0.5, "scale": 0.5,
    },
    nn.multi_head_attention: {
        "params": nn.init_multi_head_attention(0, 6), "query": ROWS, "key": ROWS, "value": ROWS,
        "num_heads": 2, "attn_mask": np.ones((5, 5)), "rng": 0, "dropout_p": 0.5,
    },
    nn.transformer_encoder_layer: {
        "params": nn.init_transformer_encoder_layer(0, 6, 8), "x": ROWS, "num_heads": 2,
    },
    nn.global_norm: {}, nn.clip_by_global_norm: {"max_norm": 1.0},
    nn.clip_by_value: {"clip_value": 1.0},
    nn.batches: {"rng": 0, "batch_size": 2}, nn.keep_mask: {"rng": 0, "p": 0.5, "shape": (3,)},
    nn.mlp: {"params": nn.init_mlp(0, [3, 2])},
    nn.init_linear: {"rng": 0, "inputs": 3, "outputs": 2},
    nn.init_conv: {"rng": 0, "channels": 2, "filters": 2, "kernel_size": 3},
    nn.init_norm: {"shape": 3}, nn.init_lstm: {"rng": 0, "inputs": 3, "hidden": 2},
    nn.init_multi_head_attention: {"rng": 0, "width": 6},
    nn.init_transformer_encoder_layer: {"rng": 0, "width": 6, "feedforward": 8},
    nn.init_mlp: {"rng": 0, "sizes": [3, 2]}, nn.sequential: {"layers": nn.relu},
    layers.linear: {"inputs": 3, "outputs": 2},
    layers.conv1d: {"channels": 2, "filters": 2, "kernel_size": 3},
    layers.conv2d: {"channels": 2, "filters": 2, "kernel_size": 3},
    layers.embedding: {"rows": 3, "width": 2}, layers.layer_norm: {"normalized_shape": 3},
    layers.flatten: {}, init.default: {"fan_in": 2}, init.calculate_gain: {"nonlinearity": "relu"},
    optim.lambda_lr: {"factor": lambda step: 1.0}, optim.step_lr: {"step_size": 2},
    optim.multi_step_lr: {"milestones": [2]}, optim.exponential_lr: {"gamma": 0.5},
    optim.cosine_annealing: {"t_max": 5}, optim.cosine_warm_restarts: {"t_0": 5},
    optim.one_cycle: {"max_lr": 0.1, "total_steps": 10}, optim.warmup: {"steps": 3},
}  # fmt: skip
_ALWAYS = {"shape": (2, 3), "rng": 0, "lr": 0.1}
#: Arguments that may be None: None is a valid seed, dtype, axis or (empty) tree.
_NONE_IS_GOOD = {"rng", "dtype", "axis", "tree"}


def functions() -> list[Callable[..., Any]]:
    """Return all functions of both modules."""
    found: list[Callable[..., Any]] = [
        function
        for module, names in ((nn, nn.__all__), (optim, optim.__all__))
        for name in names
        if inspect.isfunction(function := getattr(module, name))
    ]
    for module in (layers, init):
        found += [
            f for name, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__ and name[0] != "_"
            and f not in found
        ]  # fmt: skip
    return found


def good_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    own = GOOD.get(function, {})
    made = {}
    for name, parameter in inspect.signature(function).parameters.items():
        default = _ALWAYS.get(name, X) if parameter.default is parameter.empty else None
        made[name] = own.get(name, parameter.default if default is None else default)
    return made


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    parameters = inspect.signature(function).parameters
    named = {k: v for k, v in arguments.items() if parameters[k].kind is inspect._ParameterKind(3)}
    return function(*[v for k, v in arguments.items() if k not in named], **named)


CASES = [
    pytest.param(function, argument, kind, id=f"{function.__name__}-{argument}-{kind}")
    for function in functions()
    for argument in inspect.signature(function).parameters
    for kind in BAD
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("function", "argument", "kind"), CASES)
def test_the_error_names_the_argument(
    function: Callable[..., Any], argument: str, kind: str
) -> None:
    parameter = inspect.signature(function).parameters[argument]
    found: Exception | None = None
    try:
        call(function, {**good_arguments(function), argument: BAD[kind]})
    except Exception as error:
        found = error
    if found is None:  # a factor may be negative
        good = parameter.default is None or str(parameter.annotation).endswith("| None")
        good = good or argument in _NONE_IS_GOOD
        assert kind == "a negative number" or (kind == "None" and good)
        return
    assert isinstance(found, AutojitError) or type(found) is ValueError
    assert re.search(rf"\b{argument}\b", str(found).partition("\n")[0])


@pytest.mark.parametrize("function", functions(), ids=lambda f: f.__name__)
def test_the_calls_are_good(function: Callable[..., Any]) -> None:
    call(function, good_arguments(function))


def test_settings_that_are_used_later_are_checked_at_once() -> None:
    wrong: Any = "wrong"
    nothing: Any = None
    for make, words in (
        (partial(optim.adam, maximize=wrong), "maximize of adam must be True or False"),
        (partial(optim.adam, lr=nothing), "lr of adam must be a number or a schedule, not None"),
        (partial(layers.linear, 3, -2), "outputs of linear must be a non-negative integer"),
        (partial(layers.linear, 3, 2, bias=wrong), "bias of linear must be True or False"),
        (partial(nn.linear, [1.0], X), r"not \[1.0\]: np.asarray\(x\)"),
        (partial(nn.multi_head_attention, {}, ROWS, num_heads=2), "has no 'in_proj_weight'"),
    ):
        with pytest.raises(SettingError, match=words) as caught:
            make()
        assert "test_arguments.py" in str(caught.value)
    with pytest.raises(
        SettingError, match=r"sgd has no argument 'learning_rate'.\nIts arguments: lr"
    ):
        cast("Any", optim.sgd)(learning_rate=0.1)


@pytest.mark.parametrize("state", [None, "wrong", 3, {}, {"step": 0}])
def test_a_state_of_another_optimiser(state: Any) -> None:
    with pytest.raises(
        StructureError, match=r"state of update must come from .* init\(params\); it "
    ):
        optim.adam().update([X], [X], state)


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_an_error_of_the_users_function_stays_as_it_is(transform: Any) -> None:
    """The user's error is kept even if a bad argument could raise the same class."""

    def activation(x: Any) -> Any:
        return x.missing_part  # no argument of nn is wrong here

    params = nn.init_mlp(0, [3, 4, 2])
    with pytest.raises(AttributeError, match="missing_part"):
        transform(lambda x: nn.mlp(params, x, activation))(X)


def test_traced_settings_and_numpys_are_good() -> None:
    def f(x: Any, slope: Any, rate: Any) -> Any:
        return nn.leaky_relu(x, slope), optim.sgd(rate).update(x, x, {"step": 0})[0]

    found, moved = jit(f)(X - 2.0, 0.25, 0.5)
    np.testing.assert_array_equal(found, np.full_like(X, -0.25))
    np.testing.assert_array_equal(moved, np.full_like(X, -0.5))
    inputs, outputs, bias = cast("Any", (np.int64(3), np.int32(2), np.bool_(False)))
    layer = layers.linear(inputs, outputs, bias, dtype="f4")
    assert layer.init(0)["weight"].dtype == np.float32


def test_numbers_and_halves_are_clipped_as_arrays_are() -> None:
    clipped, norm = nn.clip_by_global_norm(
        {"w": np.ones(1, np.float32) * 3, "b": 4.0}, 1.0, eps=0.0
    )
    assert norm == 5.0
    np.testing.assert_allclose([clipped["w"][0], clipped["b"]], [0.6, 0.8], rtol=1e-6)
    assert clipped["w"].dtype == np.float32
    whole, _ = nn.clip_by_global_norm({"w": np.array([3, 4])}, 1.0, eps=0.0)
    np.testing.assert_allclose(whole["w"], [0.6, 0.8])


def add(c: Any, x: Any) -> Any:
    return c + x, c


def double(x: Any) -> Any:
    return 2.0 * x


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda wrong: autojit.grad(np.sum, has_aux=wrong), "has_aux of grad"),
        (lambda wrong: autojit.value_and_grad(np.sum, has_aux=wrong), "has_aux of value_and"),
        (lambda wrong: autojit.vjp(np.sum, V, has_aux=wrong), "has_aux of vjp"),
        (lambda wrong: autojit.scan(add, 0.0, V, reverse=wrong), "reverse of scan"),
        (lambda wrong: autojit.associative_scan(np.add, V, reverse=wrong), "reverse of assoc"),
    ],
)
@pytest.mark.parametrize("wrong", [V, "no", None])
def test_settings_that_are_true_or_false(make: Any, words: str, wrong: Any) -> None:
    with pytest.raises(SettingError, match=f"{words}.* must be True or False, not "):
        make(wrong)


@pytest.mark.parametrize("wrong", [None, "wrong", Thing()])
def test_what_is_no_number(wrong: Any) -> None:
    for make, words in (
        (lambda: autojit.custom_linear_solve(double, wrong, lambda f, b: b / 2), "^b of custom_"),
        (lambda: Value(wrong), "Value must be a number, not"),
        (lambda: Neuron(2)([1.0, wrong]), "an input must be a number, not"),
        (lambda: Neuron(wrong), "^nin of Neuron must be"),
        (lambda: MLP(2, wrong), "^nouts of MLP must be"),
        (lambda: MLP(-1, [2]), "^nin of MLP must be"),
        (lambda: Neuron(2, nonlin=wrong), "^nonlin of Neuron must be"),
        (lambda: Neuron(2, activation="wrong"), "^activation='wrong'"),
    ):
        with pytest.raises(SettingError, match=words):
            make()
    with pytest.raises(ShapeError, match="a neuron with 2 inputs was called with 1"):
        MLP(2, [1])([1.0])


@pytest.mark.parametrize("use", [lambda x: {x: 1}, lambda x: {x + 1.0}, lambda x: hash(x)])
def test_a_traced_value_is_no_key(use: Any) -> None:
    with pytest.raises(
        ConcreteValueError, match=r"hash\(x\), as dicts and sets call it,"
    ) as caught:
        jit(lambda x: use(x) and x)(2.0)
    assert "table[i]" in str(caught.value)
