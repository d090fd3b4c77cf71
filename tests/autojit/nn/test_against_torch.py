"""Values and gradients of ``autojit.nn`` beside those of ``torch.nn.functional``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, nn, vmap

torch = pytest.importorskip("torch", reason="the witness is not installed")
F = torch.nn.functional
RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def shares(*shape: int) -> np.ndarray:
    return RNG.uniform(0.05, 0.95, size=shape)


@dataclass(frozen=True)
class Case:
    """The same function of both libraries, and arguments: floats are differentiated."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arguments: Sequence[np.ndarray] = field(repr=False)
    #: Whether the functions close over arrays, which have double precision.
    closed: bool = False


def case(name: str, *arguments: np.ndarray, theirs: str = "", **settings: Any) -> Case:
    """Functions of one name with the same settings; ``axis`` is PyTorch's ``dim``."""
    of_torch = {"dim" if k == "axis" else k: v for k, v in settings.items()}
    label = name + "".join(f"-{v}" for v in settings.values() if not isinstance(v, np.ndarray))
    return Case(
        label,
        partial(getattr(nn, name), **settings),
        partial(getattr(F, theirs or name), **of_torch),
        arguments,
    )


X = np.concatenate([draw(3, 5), np.zeros((1, 5)), 30 * draw(1, 5)])
ELEMENTWISE = [
    case("relu", X), case("leaky_relu", X), case("leaky_relu", X, negative_slope=0.3),
    case("elu", X), case("elu", X, alpha=0.5), case("selu", X), case("gelu", X),
    case("gelu", X, approximate="tanh"), case("sigmoid", X), case("silu", X), case("tanh", X),
    case("hardtanh", np.array([-3.0, -1.0, 0.2, 1.0, 4.0])),
    case("hardtanh", X, min_val=-0.5, max_val=0.25),
    Case("softplus", nn.softplus, lambda x: F.softplus(x, threshold=1e9), [X / 4]),
    Case("softplus-2", lambda x: nn.softplus(x, 2.0), lambda x: F.softplus(x, 2.0, 1e9), [X / 4]),
    case("softmax", X, axis=-1), case("softmax", draw(2, 3, 4), axis=1),
    case("log_softmax", X, axis=-1), case("log_softmax", draw(2, 3, 4), axis=1),
]  # fmt: skip

LAYERS = [
    case("linear", draw(2, 4, 3), draw(5, 3), draw(5)), case("linear", draw(3), draw(5, 3)),
    case("embedding", np.array([[2, 0], [2, 1]]), draw(4, 3)),
    case("embedding", np.array([[2, 0], [2, 1]]), draw(4, 3), padding_idx=2),
    case("embedding", np.array([3, 0]), draw(4, 3), padding_idx=-1),
    case("embedding_bag", np.array([[2, 0], [2, 1]]), draw(4, 3)),
    case("embedding_bag", np.array([[2, 0, 1], [2, 1, 2]]), draw(4, 3), mode="sum", padding_idx=2),
    case("embedding_bag", np.array([[2, 0, 2], [3, 1, 0]]), np.tile(draw(1, 3), (4, 1)),
         mode="max"),
    Case("embedding_bag-offsets", lambda i, w, o, p: nn.embedding_bag(i, w, o, "sum", p),
         lambda i, w, o, p: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p),
         [np.array([2, 0, 1, 3]), draw(4, 3), np.array([0, 3, 3]), draw(4)]),
    Case("embedding_bag-max-offsets", lambda i, w, o: nn.embedding_bag(i, w, o, "max", None, 3),
         lambda i, w, o: F.embedding_bag(i, w, o, mode="max", padding_idx=3),
         [np.array([2, 0, 1, 3]), draw(4, 3), np.array([0, 3, 4])]),
    case("layer_norm", draw(2, 3, 4), normalized_shape=(4,)),
    Case("layer_norm-affine", lambda x, w, b: nn.layer_norm(x, (3, 4), w, b, 1e-3),
         lambda x, w, b: F.layer_norm(x, (3, 4), w, b, 1e-3),
         [draw(2, 3, 4), draw(3, 4), draw(3, 4)]),
    Case("rms_norm", lambda x, w: nn.rms_norm(x, 4, w), lambda x, w: F.rms_norm(x, (4,), w),
         [draw(2, 3, 4), draw(4)]),
    Case("group_norm", lambda x, w, b: nn.group_norm(x, 2, w, b),
         lambda x, w, b: F.group_norm(x, 2, w, b), [draw(2, 4, 3), draw(4), draw(4)]),
    Case("batch_norm", lambda x, w, b: nn.batch_norm(x, MEAN, VAR, w, b)[0],
         lambda x, w, b: F.batch_norm(x, of(MEAN), of(VAR), w, b),
         [draw(3, 4, 2), draw(4), draw(4)], closed=True),
    Case("batch_norm-training", lambda x, w, b: nn.batch_norm(x, None, None, w, b, True)[0],
         lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
         [draw(3, 4, 2, 2), draw(4), draw(4)]),
]  # fmt: skip
MEAN, VAR = draw(4), shares(4)

IMAGES, VOLUMES = draw(2, 4, 7, 6), draw(1, 2, 3, 4, 3)
WINDOWS = [
    case("conv1d", draw(2, 3, 8), draw(5, 3, 3), draw(5)),
    case("conv1d", draw(2, 4, 9), draw(6, 2, 2), stride=2, padding=1, dilation=2, groups=2),
    case("conv1d", draw(2, 3, 8), draw(5, 3, 4), padding="same", dilation=2),
    case("conv2d", IMAGES, draw(3, 4, 3, 2), draw(3)),
    case("conv2d", IMAGES, draw(3, 4, 3, 3), draw(3), stride=2, padding=1),
    case("conv2d", IMAGES, draw(6, 2, 2, 3), draw(6), stride=(1, 2), padding=(2, 1),
         dilation=(3, 1), groups=2),
    case("conv2d", IMAGES, draw(4, 1, 3, 3), padding="same", groups=4),
    case("conv2d", IMAGES, draw(3, 4, 1, 1), padding="valid", stride=3),
    case("conv2d", IMAGES, draw(3, 4, 6, 5), draw(3), padding=2, stride=2, dilation=(1, 2)),
    case("conv3d", VOLUMES, draw(4, 1, 2, 3, 1), draw(4), stride=(1, 2, 1), padding=1, groups=2),
    case("conv_transpose3d", VOLUMES, draw(2, 3, 2, 1, 2), stride=2, padding=(1, 0, 1),
         output_padding=1),
    case("max_pool3d", VOLUMES, kernel_size=(2, 3, 2), stride=1, padding=1),
    case("avg_pool3d", VOLUMES, kernel_size=2, padding=1, count_include_pad=False),
    case("max_pool1d", draw(2, 3, 8), kernel_size=3), case("max_pool2d", IMAGES, kernel_size=2),
    case("max_pool2d", IMAGES, kernel_size=(3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
    case("max_pool2d", np.zeros((1, 1, 4, 4)), kernel_size=2),
    case("avg_pool1d", draw(2, 3, 8), kernel_size=3, stride=2, padding=1),
    case("avg_pool2d", IMAGES, kernel_size=2),
    case("avg_pool2d", IMAGES, kernel_size=(3, 2), stride=1, padding=1, count_include_pad=False),
]  # fmt: skip

LABELS = np.array([2, 0, 4, 1])
WEIGHTS = shares(5)


def classes(name: str, *arguments: np.ndarray, weight: Any = None, **settings: Any) -> Case:
    """Return a case of a loss by class, whose weight is an array of the same library."""
    ours = partial(getattr(nn, name), weight=weight, **settings)
    given = None if weight is None else of(weight)
    theirs = partial(getattr(F, name), weight=given, **settings)
    label = "-".join([name, *map(str, settings.values()), *["weight"] * (weight is not None)])
    return Case(f"{label}-{arguments[1].dtype.kind}{arguments[1].ndim}", ours, theirs, arguments,
                weight is not None)  # fmt: skip


def of(x: np.ndarray) -> Any:
    return torch.from_numpy(np.array(x))


LOSSES = [
    *(case(name, draw(3, 4), draw(3, 4), reduction=reduction)
      for name in ("mse_loss", "l1_loss") for reduction in ("mean", "sum", "none")),
    case("smooth_l1_loss", 2 * draw(3, 4), draw(3, 4)),
    case("smooth_l1_loss", 2 * draw(3, 4), draw(3, 4), beta=0.5),
    case("smooth_l1_loss", 2 * draw(3, 4), draw(3, 4), beta=0.0),
    case("huber_loss", 2 * draw(3, 4), draw(3, 4), delta=0.7),
    case("binary_cross_entropy", shares(3, 4), shares(3, 4)),
    case("binary_cross_entropy", shares(3, 4), shares(3, 4), reduction="none"),
    case("binary_cross_entropy_with_logits", 9 * draw(3, 4), shares(3, 4)),
    Case("bce-weights", lambda x, t: nn.binary_cross_entropy_with_logits(x, t, W, "sum", P),
         lambda x, t: F.binary_cross_entropy_with_logits(x, t, of(W), reduction="sum",
                                                         pos_weight=of(P)),
         [9 * draw(3, 4), shares(3, 4)], closed=True),
    case("kl_div", -shares(3, 4), shares(3, 4), reduction="batchmean"),
    case("kl_div", -shares(3, 4), -shares(3, 4), reduction="sum", log_target=True),
    classes("nll_loss", -shares(4, 5), LABELS),
    classes("nll_loss", -shares(4, 5), LABELS, weight=WEIGHTS, reduction="sum"),
    classes("nll_loss", -shares(5), np.array(3)),
    classes("nll_loss", -shares(2, 5, 3), RNG.integers(0, 5, (2, 3)), reduction="none"),
    classes("cross_entropy", draw(4, 5), LABELS),
    classes("cross_entropy", draw(4, 5), LABELS, weight=WEIGHTS),
    classes("cross_entropy", draw(4, 5), LABELS, weight=WEIGHTS, ignore_index=0,
            label_smoothing=0.2),
    classes("cross_entropy", draw(4, 5), LABELS, ignore_index=4, reduction="none"),
    classes("cross_entropy", draw(4, 5), LABELS, label_smoothing=0.1, reduction="sum"),
    classes("cross_entropy", draw(2, 5, 3), RNG.integers(0, 5, (2, 3)), label_smoothing=0.1),
    classes("cross_entropy", draw(4, 5), shares(4, 5)),
    classes("cross_entropy", draw(4, 5), shares(4, 5), weight=WEIGHTS, label_smoothing=0.3),
    classes("cross_entropy", draw(2, 5, 3), shares(2, 5, 3), reduction="none"),
]  # fmt: skip
W, P = shares(3, 4), 1 + shares(4)

MASK = RNG.random((5, 6)) < 0.6
MASK[0] = False
ATTENTION = [
    Case(f"attention-{k}", partial(nn.scaled_dot_product_attention, **ours),
         partial(F.scaled_dot_product_attention, **theirs),
         [draw(2, 5, 4), draw(2, 6, 4), draw(2, 6, 3)], closed=k == 4)
    for k, (ours, theirs) in enumerate([
        ({}, {}), ({"is_causal": True}, {"is_causal": True}), ({"scale": 0.3}, {"scale": 0.3}),
        ({"attn_mask": MASK}, {"attn_mask": of(MASK)}),
        ({"attn_mask": 1.0 * MASK}, {"attn_mask": of(1.0 * MASK)}),
    ])
]  # fmt: skip

CASES = [*ELEMENTWISE, *LAYERS, *WINDOWS, *LOSSES, *ATTENTION]


def witness(c: Case, cotangent: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    tensors = [of(x).requires_grad_(x.dtype.kind == "f") for x in c.arguments]
    value = c.theirs(*tensors)
    (value * of(cotangent)).sum().backward()
    grads = [t.grad for t in tensors if t.requires_grad]
    return value.detach().numpy(), [g.numpy() for g in grads]


@pytest.mark.sampled(36)
@pytest.mark.parametrize("c", CASES, ids=lambda c: c.name)
def test_values_and_gradients(c: Case) -> None:
    value = c.ours(*c.arguments)
    cotangent = np.random.default_rng(1).normal(size=np.shape(value))
    expected, grads = witness(c, cotangent)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    argnums = tuple(k for k, x in enumerate(c.arguments) if x.dtype.kind == "f")
    found = grad(lambda *xs: np.sum(c.ours(*xs) * cotangent), argnums=argnums)(*c.arguments)
    for got, other in zip(found, grads, strict=True):
        np.testing.assert_allclose(got, other, rtol=1e-10, atol=1e-11)


FAMILIES = {
    "elementwise": ELEMENTWISE, "layers": LAYERS, "windows": WINDOWS, "losses": LOSSES,
    "attention": ATTENTION,
}  # fmt: skip


def in_single_precision(c: Case) -> list[np.ndarray]:
    return [x.astype(np.float32) if x.dtype.kind == "f" else x for x in c.arguments]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_compiled_single_precision(name: str) -> None:
    """Every second case of a family, in one compiled function."""
    family = FAMILIES[name][::2]
    arguments = [in_single_precision(c) for c in family]

    def everything(arguments: Any) -> Any:
        return [c.ours(*given) for c, given in zip(family, arguments, strict=True)]

    for c, got, given in zip(family, jit(everything)(arguments), arguments, strict=True):
        plain = c.ours(*given)
        assert got.dtype == plain.dtype, c.name
        assert c.closed or got.dtype == np.float32, c.name
        scale = max(1.0, float(np.max(np.abs(plain))))
        np.testing.assert_allclose(got, plain, rtol=1e-4, atol=1e-5 * scale, err_msg=c.name)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FAMILIES)
def test_batches(name: str) -> None:
    """The other cases of a family, under vmap."""
    for c in FAMILIES[name][1::2]:
        stacked = vmap(c.ours)(*(np.stack([x, x]) for x in c.arguments))
        np.testing.assert_allclose(stacked[1], c.ours(*c.arguments), rtol=1e-11, atol=1e-11)
