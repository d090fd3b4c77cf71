"""Modules against PyTorch's: names of states, texts, values and gradients."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from autojit import torch

pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")

_rng = np.random.default_rng(0)
#: A module, and what it is called with; ints stand for class numbers below them.
ROWS = [
    ("nn.Linear(4, 3)", [(5, 4)]),
    ("nn.Linear(4, 3, bias=False)", [(2, 5, 4)]),
    ("nn.Linear(4, 3)", [(4,)]),
    ("nn.Bilinear(3, 4, 2)", [(5, 3), (5, 4)]),
    ("nn.Identity()", [(2, 3)]),
    ("nn.Embedding(7, 3, padding_idx=1)", [(2, 5, "below 7")]),
    ("nn.Flatten()", [(2, 3, 4)]),
    ("nn.Unflatten(1, (2, 3))", [(4, 6)]),
    ("nn.Conv1d(3, 4, 2, padding=1)", [(2, 3, 6)]),
    ("nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2, bias=False)", [(2, 4, 6, 5)]),
    ("nn.MaxPool2d(2)", [(2, 3, 4, 6)]),
    ("nn.AvgPool1d(3, stride=1, padding=1)", [(2, 3, 6)]),
    ("nn.AvgPool2d((2, 3))", [(2, 3, 4, 6)]),
    ("nn.AdaptiveAvgPool2d((2, 1))", [(2, 3, 4, 6)]),
    ("nn.AdaptiveMaxPool2d(1)", [(2, 3, 4, 6)]),
    ("nn.LayerNorm((3, 4))", [(5, 3, 4)]),
    ("nn.LayerNorm(4, elementwise_affine=False)", [(5, 4)]),
    ("nn.RMSNorm(4)", [(5, 4)]),
    ("nn.GroupNorm(2, 4)", [(3, 4, 5)]),
    ("nn.BatchNorm1d(3)", [(6, 3)]),
    ("nn.BatchNorm1d(3, momentum=None)", [(6, 3, 2)]),
    ("nn.BatchNorm2d(3, affine=False)", [(2, 3, 2, 4)]),
    ("nn.BatchNorm1d(3).eval()", [(6, 3)]),
    ("nn.BatchNorm1d(3, track_running_stats=False)", [(6, 3)]),
    ("nn.Sequential(nn.ReLU(inplace=False), nn.LeakyReLU(0.2), nn.ELU(), nn.GELU())", [(3, 4)]),
    ("nn.Sequential(nn.Tanh(), nn.Sigmoid(), nn.Softplus(), nn.SiLU(), nn.Mish())", [(3, 4)]),
    ("nn.Sequential(nn.SELU(), nn.Hardtanh(), nn.Hardswish(), nn.ReLU6(), nn.PReLU())", [(3, 4)]),
    ("nn.Sequential(nn.Softsign(), nn.LogSigmoid(), nn.GLU(), nn.Softmin(dim=1))", [(3, 4)]),
    ("nn.Sequential(nn.Softmax(dim=1), nn.Threshold(0.1, 2.0), nn.LogSoftmax(dim=0))", [(3, 4)]),
    ("nn.Sequential(nn.Dropout(0.3), nn.GELU('tanh'), nn.Dropout2d()).eval()", [(3, 4, 2, 2)]),
    ("nn.Conv3d(2, 4, (2, 3, 1), stride=(1, 2, 1), padding=1, groups=2)", [(2, 2, 3, 4, 3)]),
    ("nn.Conv3d(1, 2, 2, padding=1, padding_mode='replicate')", [(1, 2, 3, 2)]),
    ("nn.ConvTranspose3d(2, 3, 2, stride=2, padding=1, output_padding=1)", [(1, 2, 2, 3, 2)]),
    ("nn.MaxPool3d(2, stride=1, padding=1)", [(1, 2, 3, 2, 3)]),
    ("nn.AvgPool3d((1, 2, 3))", [(1, 2, 2, 4, 3)]),
    ("nn.AdaptiveAvgPool3d((2, 1, 3))", [(1, 2, 4, 3, 5)]),
    ("nn.AdaptiveMaxPool3d(2)", [(1, 2, 4, 2, 6)]),
    ("nn.BatchNorm3d(2)", [(2, 2, 2, 3, 1)]),
    ("nn.Sequential(nn.InstanceNorm3d(2, affine=True), nn.ConstantPad3d((0, 1, 1, 0, 2, 0), 2.0))",
     [(1, 2, 2, 3, 2)]),
    ("nn.Sequential(nn.ReflectionPad3d(1), nn.CircularPad3d(1), nn.ReplicationPad3d(1))",
     [(1, 2, 2, 3, 2)]),
    ("nn.EmbeddingBag(7, 3)", [(2, 5, "below 7")]),
    ("nn.EmbeddingBag(7, 3, mode='max', padding_idx=-2)", [(4, 3, "below 7")]),
    ("nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 3, 2), dim=1)", [(5, 4, 3)]),
    ("nn.utils.parametrizations.weight_norm(nn.LSTM(3, 2), 'weight_hh_l0', None)", [(3, 2, 3)]),
    ("nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))", [(5, 4)]),
    ("nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(4, 3, 2), 'weight', 2)",
     [(5, 4, 3)]),
    ("nn.MSELoss()", [(3, 4), (3, 4)]),
    ("nn.L1Loss(reduction='sum')", [(3, 4), (3, 4)]),
    ("nn.HuberLoss(delta=0.5)", [(3, 4), (3, 4)]),
    ("nn.SmoothL1Loss(beta=0.5, reduction='none')", [(3, 4), (3, 4)]),
    ("nn.CrossEntropyLoss(label_smoothing=0.1)", [(5, 4), (5, "below 4")]),
    ("nn.CrossEntropyLoss(ignore_index=1, reduction='sum')", [(5, 3, 2), (5, 2, "below 3")]),
    ("nn.NLLLoss()", [(5, 4), (5, "below 4")]),
    ("nn.BCEWithLogitsLoss()", [(3, 4), (3, 4, "in 0..1")]),
    ("nn.BCELoss()", [(3, 4, "in 0..1"), (3, 4, "in 0..1")]),
    ("nn.KLDivLoss(reduction='batchmean')", [(3, 4), (3, 4, "in 0..1")]),
    ("nn.SoftMarginLoss()", [(3, 4), (3, 4, "below 2")]),
    ("nn.GaussianNLLLoss()", [(3, 4), (3, 4), (3, 4, "in 0..1")]),
    ("nn.PoissonNLLLoss()", [(3, 4), (3, 4)]),
    ("nn.MarginRankingLoss(margin=0.2)", [(3,), (3,), (3,)]),
    ("nn.CosineSimilarity()", [(3, 4), (3, 4)]),
    ("nn.MultiheadAttention(6, 3, batch_first=True)", [(2, 5, 6), (2, 4, 6), (2, 4, 6)]),
    ("nn.MultiheadAttention(6, 2, kdim=3, vdim=4, bias=False)", [(5, 2, 6), (4, 2, 3), (4, 2, 4)]),
    ("nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)", [(5, 2, 8)]),
    (
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, 'gelu', "
        "norm_first=True), 2, nn.LayerNorm(4), enable_nested_tensor=False)",
        [(3, 2, 4)],
    ),
    ("nn.LSTM(3, 2)", [(3, 2, 3)]),
    ("nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True)", [(2, 3, 3)]),
]  # fmt: skip


def operand(shape: tuple[Any, ...], t: Any) -> Any:
    *extents, kind = shape if isinstance(shape[-1], str) else (*shape, "")
    if kind.startswith("below"):
        numbers = np.random.default_rng(len(extents)).integers(0, int(kind.split()[1]), extents)
        return t.tensor(numbers)
    drawn = np.random.default_rng(sum(extents) + len(kind)).standard_normal(extents)
    if kind:
        drawn = 1 / (1 + np.exp(-drawn))
    return t.tensor(drawn, requires_grad=True)


def arrays(made: Any) -> list[Any]:
    if isinstance(made, (tuple, list)):
        return [a for m in made for a in arrays(m)]
    return [] if made is None else [made]


def run(module: Any, t: Any, shapes: Any) -> tuple[list[Any], list[Any]]:
    operands = [operand(s, t) for s in shapes]
    results = arrays(module(*operands))
    total = sum((r * (0.5 + k)).sin().sum() for k, r in enumerate(results))
    leaves = [x for x in (*operands, *module.parameters()) if x.requires_grad]
    grads = t.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else []
    return results, grads


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("code", "shapes"), ROWS, ids=[r[0] for r in ROWS])
def test_module_is_pytorchs(code: str, shapes: Any) -> None:
    theirs = eval(code, {"nn": pytorch.nn}).double()
    ours = eval(code, {"nn": torch.nn}).double()
    assert repr(ours) == repr(theirs)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    loaded = ours.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in state.items()})
    assert str(loaded) == "<All keys matched successfully>"
    (a, ga), (b, gb) = run(ours, torch, shapes), run(theirs, pytorch, shapes)
    for x, y in zip([*a, *ga], [*b, *gb], strict=True):
        if y is None:
            assert x is None or not x.numpy().any()
            continue
        assert tuple(x.shape) == tuple(y.shape)
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), 1e-7, 1e-9)
    after = theirs.state_dict()
    for name, value in ours.state_dict().items():
        np.testing.assert_allclose(value.numpy(), after[name].numpy(), 1e-9)


WRONG = [
    "nn.Linear(3, 2)(t.ones(4, 5))",
    "nn.Linear(3, 2)(t.ones(4, 3, dtype=t.float64))",
    "nn.Linear(2, 2).load_state_dict({'weight': t.ones(3, 2), 'foo': t.ones(1)})",
    "nn.Conv2d(3, 4, 2)(t.ones(2, 5, 4, 4))",
    "nn.Conv2d(3, 4, 2, groups=2)",
    "nn.LayerNorm(4)(t.ones(2, 3))",
    "nn.BatchNorm1d(3)(t.ones(1, 3))",
    "nn.BatchNorm1d(3)(t.ones(1, 3, 2, 2))",
    "nn.Embedding(3, 2)(t.tensor([3]))",
    "nn.EmbeddingBag(3, 2)(t.tensor([0, 1]))",
    "nn.EmbeddingBag(3, 2)(t.tensor([[0, 1]]), t.tensor([0]))",
    "nn.CrossEntropyLoss()(t.ones(3, 2), t.tensor([0, 1]))",
    "nn.BCEWithLogitsLoss()(t.ones(3), t.ones(2))",
    "nn.MultiheadAttention(6, 4)",
    "nn.LSTM(3, 2)(t.ones(2, 1, 4))",
    "nn.Dropout(1.5)",
    "nn.Linear(2, 2).foo",
    "nn.Linear(2, 2).register_parameter('a.b', None)",
    "nn.Linear(2, 2).register_buffer('weight', t.ones(1))",
    "nn.Module()(1)",
    "setattr(nn.Linear(2, 2), 'weight', t.ones(2, 2))",
    "nn.ModuleList([nn.ReLU()])[3]",
    "nn.init.xavier_uniform_(t.ones(3))",
    "nn.Parameter(t.tensor([1, 2]))",
]


@pytest.mark.parametrize("code", WRONG)
def test_errors_have_pytorchs_words(code: str) -> None:
    known = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError,
             AssertionError)  # fmt: skip
    with pytest.raises(known) as theirs:
        eval(code, {"nn": pytorch.nn, "t": pytorch})
    with pytest.raises(type(theirs.value)) as ours:
        eval(code, {"nn": torch.nn, "t": torch})
    words = [str(e.value).lower().split("\n") for e in (theirs, ours)]
    words[1] = [line for line in words[1] if not line.startswith("    ")]  # the fix is our own
    assert next(len(w) for w in words) == len(words[1])
    for a, b in zip(*words, strict=True):
        assert a.startswith(b.split("'")[0].rstrip(".")) or b.startswith(a.split("'")[0])


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.ReLU()])
        self.named = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1)})
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("cache", torch.zeros(1), persistent=False)
        self.tied = self.named["a"]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return self.scale * self.named["a"](x)


def test_tables_of_a_module() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "scale", "layers.0.weight", "layers.0.bias", "named.a.weight", "named.a.bias",
    ]  # fmt: skip
    assert [n for n, _ in net.named_modules()] == [
        "", "layers", "layers.0", "layers.1", "named", "named.a",
    ]  # fmt: skip
    assert list(net.state_dict())[:2] == ["scale", "seen"]
    assert "tied.weight" in net.state_dict()
    assert "cache" not in net.state_dict()
    assert [n for n, _ in net.named_children()] == ["layers", "named", "tied"]
    assert not any(m.training for m in net.eval().modules())
    net.apply(lambda m: setattr(m, "visited", True))
    assert all(m.visited for m in net.modules())
    assert net.get_submodule("layers.0") is net.layers[0]
    net(torch.ones(3, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.double()
    assert {p.dtype for p in net.parameters()} == {torch.float64}
    net.requires_grad_(False)
    assert not net(torch.ones(3, 2, dtype=torch.float64)).requires_grad
    del net.scale
    assert "scale" not in net.state_dict()


def test_containers_are_lists_and_dicts() -> None:
    nn = torch.nn
    layers = nn.Sequential(OrderedDict(first=nn.Linear(2, 3), second=nn.ReLU()))
    assert layers.first is layers[0]
    assert len(layers[:1]) == 1
    assert next(iter(layers.state_dict())) == ("first.weight")
    modules = nn.ModuleList([nn.ReLU()])
    modules.append(nn.Tanh()).extend([nn.Linear(1, 1)])
    modules.insert(0, nn.Sigmoid())
    modules[1] = nn.GELU()
    del modules[2]
    assert [type(m).__name__ for m in modules] == ["Sigmoid", "GELU", "Linear"]
    values = nn.ParameterList([torch.ones(2), torch.zeros(1)])
    assert [n for n, _ in values.named_parameters()] == ["0", "1"]
    named = nn.ModuleDict({"a": nn.ReLU()})
    named["b"] = nn.Tanh()
    assert list(named) == ["a", "b"]
    assert "b" in named
    assert type(named.pop("a")).__name__ == "ReLU"


def hooked(t: Any, log: list[Any]) -> list[Any]:
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh())
    with t.no_grad():
        model[0].weight.fill_(0.5)
        model[0].bias.fill_(0.1)
    handles = [
        model.register_forward_pre_hook(lambda m, args: (args[0] * 2,)),
        model[1].register_forward_hook(lambda m, args, out: out + 1),
        model[1].register_full_backward_hook(
            lambda m, gi, go: log.append([*gi[0].tolist()[0], *go[0].tolist()[0]])
        ),
        model[0].register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,)),
    ]
    x = t.tensor([[1.0, 2.0]], requires_grad=True)
    y = model(x)
    (y * y).sum().backward()
    for h in handles:
        h.remove()
    return [*y.tolist()[0], *x.grad.tolist()[0], *model(x).tolist()[0]]


def test_hooks_of_modules_are_called_as_pytorchs() -> None:
    ours: list[Any] = []
    theirs: list[Any] = []
    np.testing.assert_allclose(hooked(torch, ours), hooked(pytorch, theirs), 1e-5)
    np.testing.assert_allclose(ours, theirs, 1e-5)


def test_masks_of_attention_are_pytorchs() -> None:
    states = []
    for t in (torch, pytorch):
        layer = t.nn.MultiheadAttention(4, 2)
        with t.no_grad():
            for k, p in enumerate(layer.parameters()):
                p.copy_(t.from_numpy(np.random.default_rng(k).random(p.shape, np.float32)))
        x = t.from_numpy(np.random.default_rng(9).random((3, 2, 4), np.float32))
        causal = t.from_numpy(~np.tri(3, dtype=bool))
        padding = t.from_numpy(np.array([[False, False, True], [False, False, False]]))
        both = layer(x, x, x, attn_mask=causal, key_padding_mask=padding)
        bare = layer(x, x, x, attn_mask=causal, need_weights=False)[0]
        F = t.nn.functional
        plain = F.scaled_dot_product_attention(x, x, x, is_causal=True)
        states.append([a.detach().numpy() for a in (*both, bare, plain)])
    for a, b in zip(*states, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_dropout_keeps_the_mean_and_is_seeded() -> None:
    torch.manual_seed(3)
    layer, x = torch.nn.Dropout(0.25), torch.ones(10_000, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert set(y.tolist()) == {0.0, np.float32(1 / 0.75)}
    assert abs(float(y.mean()) - 1.0) < 0.03
    torch.manual_seed(3)
    assert layer(x).tolist() == y.tolist()
    assert layer.eval()(x) is x


def test_initial_values_have_their_spread() -> None:
    w = torch.empty(200, 100)
    init = torch.nn.init
    for fill, deviation in [
        (lambda: init.xavier_uniform_(w), (2 / 300) ** 0.5), (lambda: init.normal_(w, 0, 2), 2.0),
        (lambda: init.kaiming_normal_(w, nonlinearity="relu"), (2 / 100) ** 0.5),
        (lambda: init.kaiming_uniform_(w, mode="fan_out"), (2 / 200) ** 0.5),
        (lambda: init.trunc_normal_(w), 0.88),
    ]:  # fmt: skip
        assert fill() is w
        assert abs(float(w.std()) / deviation - 1) < 0.03
    init.orthogonal_(w)
    np.testing.assert_allclose((w.T @ w).numpy(), np.eye(100), atol=1e-5)
    assert init.zeros_(w).sum() == 0
    assert init.calculate_gain("tanh") == 5 / 3
    leaf = torch.nn.Parameter(torch.zeros(3))
    assert init.ones_(leaf) is leaf
    assert leaf.is_leaf
    assert leaf.tolist() == [1.0] * 3


def test_gradients_within_bounds_and_one_vector() -> None:
    made = []
    for t in (torch, pytorch):
        p = [t.tensor([3.0, -4.0], requires_grad=True), t.tensor([[1.0]], requires_grad=True)]
        (p[0] ** 2).sum().backward()
        p[1].grad = t.tensor([[2.0]])
        u = t.nn.utils
        norms = [float(u.clip_grad_norm_(p, 5.0)), float(u.clip_grad_norm_(p, 1.0, float("inf")))]
        u.clip_grad_value_(p, 0.5)
        vector = u.parameters_to_vector(p)
        u.vector_to_parameters(vector * 2, p)
        made.append([*norms, *p[0].grad.tolist(), *vector.tolist(), *p[0].tolist()])
    np.testing.assert_allclose(made[0], made[1], 1e-6)


def test_parameters_are_trees_of_transformations_and_compile() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    x = torch.randn(4, 2)
    params = dict(model.named_parameters())

    def loss(params: Any, x: Any) -> Any:
        return torch.func.functional_call(model, params, (x,)).sum()

    grads = torch.func.grad(loss)(params, x)
    model(x).sum().backward()
    for name, p in params.items():
        np.testing.assert_allclose(grads[name].numpy(), p.grad.numpy(), 1e-5)
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)
    np.testing.assert_allclose(each["0.weight"].numpy().sum(0), grads["0.weight"].numpy(), 1e-4)
    compiled = torch.compile(model)
    np.testing.assert_allclose(compiled(x).detach().numpy(), model(x).detach().numpy(), 1e-5)


def test_targets_of_another_shape_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="likely lead to incorrect results due to broadcasting"):
        assert torch.nn.MSELoss()(torch.zeros(3, 1), torch.ones(3)) == 1.0


@pytest.mark.filterwarnings("ignore:size_average and reduce args")
def test_losses_know_the_older_words_for_reductions() -> None:
    x, y = _rng.uniform(0.1, 0.9, (2, 3, 4))
    names = ["mse_loss", "l1_loss", "smooth_l1_loss", "kl_div", "binary_cross_entropy",
             "binary_cross_entropy_with_logits", "soft_margin_loss", "poisson_nll_loss",
             "cross_entropy"]  # fmt: skip
    for name in names:
        for words in ({"size_average": False}, {"reduce": False}, {"reduce": True}):
            got, want = (
                getattr(t.nn.functional, name)(t.tensor(x), t.tensor(y), **words)
                for t in (torch, pytorch)
            )
            np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-9, err_msg=name)
    assert torch.nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        torch.nn.functional.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0]))


def test_copies_of_parametrized_modules_are_independent() -> None:
    parametrize = torch.nn.utils.parametrize
    model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    twin = copy.deepcopy(model)
    kept = twin.weight
    parametrize.remove_parametrizations(model, "weight")
    assert type(model) is torch.nn.Linear
    assert parametrize.is_parametrized(twin, "weight")
    np.testing.assert_array_equal(twin.weight.detach().numpy(), kept.detach().numpy())
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(twin)


def test_text_of_a_list_of_parameters() -> None:
    def text(t: Any) -> str:
        shapes = ((2, 3), t.float32), ((), t.float64)
        listed = t.nn.ParameterList([t.nn.Parameter(t.zeros(s, dtype=d)) for s, d in shapes])
        return f"{listed}{t.nn.ModuleList([listed])}"

    assert text(torch) == text(pytorch)
