"""The words of the errors of ``autojit.nn``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import jit, nn, value_and_grad
from autojit.errors import DtypeError, ShapeError

ONES = np.ones
X, LABELS = ONES((4, 3)), np.array([0, 1, 2, 0])
IMAGE = ONES((1, 2, 5, 5))
ATTENTION = nn.init_multi_head_attention(0, 6)

SHAPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.linear(X, ONES((3, 2))), "x has shape (4, 3) and weight (3, 2): the last axis"),
    (lambda: nn.linear(X, ONES(3)), "weight has shape (3,); linear needs (outputs, inputs)"),
    (lambda: nn.linear(X, ONES((2, 3)), ONES(3)), "bias has shape (3,)"),
    (lambda: nn.embedding(LABELS, ONES(3)), "weight has shape (3,); embedding needs"),
    (lambda: nn.layer_norm(X, 4), "which does not end with normalized_shape=(4,)"),
    (lambda: nn.layer_norm(X, 3, ONES(2)), "weight has shape (2,); it needs normalized_shape"),
    (lambda: nn.group_norm(X, 2), "num_groups=2 does not divide axis 1"),
    (lambda: nn.batch_norm(X, ONES(4), ONES(3)), "running_mean has shape (4,)"),
    (lambda: nn.batch_norm(X, None, None), "batch_norm needs both, or training=True"),
    (lambda: nn.batch_norm(X[:1], None, None, training=True), "one value for each channel"),
    (lambda: nn.conv2d(X, ONES((1, 2, 3, 3))), "x has shape (4, 3); conv2d needs (N, C, H, W)"),
    (lambda: nn.conv2d(IMAGE, ONES((2, 3, 3))), "weight has shape (2, 3, 3); conv2d needs"),
    (lambda: nn.conv2d(IMAGE, ONES((4, 2, 3, 3)), groups=2), "x has 2 channels and weight"),
    (
        lambda: nn.conv2d(IMAGE, ONES((1, 2, 6, 3))),
        "conv2d: windows of size (6, 3) with dilation (1, 1) do not",
    ),
    (lambda: nn.conv2d(IMAGE, ONES((4, 2, 3, 3)), ONES(3)), "bias has shape (3,)"),
    (lambda: nn.max_pool2d(X, 2), "pooling needs (N, C, H, W)"),
    (lambda: nn.max_pool2d(IMAGE, 6), "pooling: windows of size (6, 6)"),
    (lambda: nn.lstm(X, nn.init_lstm(0, 3, 2)), "lstm needs (steps, N, inputs)"),
    (lambda: nn.lstm(X[None], nn.init_lstm(0, 4, 2)), "weight_ih has shape (8, 4)"),
    (lambda: nn.lstm(X[None], nn.init_lstm(0, 3, 2), (ONES((1, 2)),) * 2), "state has an array"),
    (lambda: nn.scaled_dot_product_attention(X, ONES((2, 4)), X), "query has shape (4, 3), key"),
    (lambda: nn.multi_head_attention(ATTENTION, ONES((2, 6)), num_heads=4), "num_heads=4"),
    (lambda: nn.mse_loss(X, ONES(4)), "x has shape (4, 3) and target (4,); they must be equal"),
    (lambda: nn.cross_entropy(X, LABELS[:3]), "target has shape (3,); x of shape (4, 3) needs"),
    (lambda: nn.cross_entropy(X, LABELS, ONES(4)), "weight has shape (4,); 3 classes need (3,)"),
    (lambda: nn.batches(0, X, LABELS[:3], batch_size=2), "arrays of one length, got (4, 3), (3,)"),
    (lambda: nn.init.xavier_normal(0, (3,)), "fewer than two axes, so no fans"),
    (lambda: nn.dropout(X, 0.5, np.arange(2)), "the seed has shape (2,)"),
]

VALUES: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.gelu(X, "erf"), "approximate='erf' is not 'none' or 'tanh'"),
    (lambda: nn.dropout(X, 1.5, 0), "p=1.5 is not a probability"),
    (lambda: nn.dropout(X), "dropout needs random numbers: dropout(x, p, rng), or training=False"),
    (lambda: nn.conv2d(IMAGE, ONES((1, 2, 3, 3)), padding="same", stride=2), "needs stride=1"),
    (lambda: nn.conv2d(IMAGE, ONES((1, 2, 3, 3)), padding="full"), "padding='full' is not"),
    (lambda: nn.conv2d(IMAGE, ONES((1, 2, 3, 3)), stride=(1, 2, 3)), "stride=(1, 2, 3) has 3"),
    (lambda: nn.max_pool2d(IMAGE, 2, padding=2), "padding=2 is more than half"),
    (lambda: nn.mse_loss(X, X, "avg"), "reduction='avg' is not 'mean', 'sum' or 'none'"),
    (lambda: nn.huber_loss(X, X, 0.0), "delta=0.0 is not positive"),
    (lambda: nn.smooth_l1_loss(X, X, -1.0), "beta=-1.0 is negative"),
    (lambda: nn.cross_entropy(X, LABELS, label_smoothing=2.0), "label_smoothing=2.0 is not in"),
    (lambda: nn.embedding(LABELS, X, 4), "padding_idx=4 is not a row"),
    (lambda: nn.init_mlp(0, [3]), "sizes=[3] needs two numbers"),
    (lambda: nn.init_conv(0, 3, 4, 5, groups=2), "groups=2 must divide channels=3"),
    (lambda: nn.init.kaiming_normal(0, (2, 3), mode="fan"), "mode='fan' is not 'fan_in'"),
    (lambda: nn.init.calculate_gain("swish"), "nonlinearity='swish' is not one of 'linear'"),
    (lambda: nn.batches(0, X, batch_size=0), "batch_size=0 is less than 1"),
    (lambda: nn.clip_by_global_norm([], 1.0), "the tree has no arrays"),
]


@pytest.mark.parametrize(("call", "words"), SHAPES, ids=[words[:40] for _, words in SHAPES])
def test_shapes_that_do_not_fit(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ShapeError) as caught:
        call()
    assert words in str(caught.value)
    assert "test_errors.py" in str(caught.value)


@pytest.mark.parametrize(("call", "words"), VALUES, ids=[words[:40] for _, words in VALUES])
def test_settings_that_there_are_not(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert words in str(caught.value)


def test_indices_are_integers() -> None:
    for call in (
        lambda: nn.embedding(ONES(2), X),
        lambda: nn.one_hot(ONES(2), 3),
        lambda: nn.nll_loss(X, ONES(4)),
    ):
        with pytest.raises(DtypeError, match=r"it needs integers: \w+.astype\(np.int64\)"):
            call()


def test_what_is_ignored_may_be_impossible() -> None:
    """An ignored target may have a log-probability of minus infinity."""
    x = np.array([[-np.inf, 0.0], [-1.0, -2.0]])
    target = np.array([-100, 1])
    loss = jit(value_and_grad(lambda x: nn.nll_loss(x, target)))
    value, slopes = loss(x)
    assert value == 2.0
    np.testing.assert_array_equal(slopes, [[0.0, 0.0], [0.0, -1.0]])


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_index_out_of_range_is_no_row(transform: Any, wrong: int) -> None:
    """A negative index raises too, though NumPy would count it from the end."""
    labels = np.array([0, 1, 2, wrong])
    with pytest.raises(IndexError):
        transform(lambda x, t: nn.cross_entropy(x, t))(X, labels)
    with pytest.raises(IndexError):
        transform(lambda x, t: nn.embedding(t, x[:3]))(X, labels)


def test_the_line_is_the_users_under_jit() -> None:
    with pytest.raises(ShapeError, match=r"test_errors\.py"):
        jit(lambda x: nn.linear(x, ONES((3, 2))))(X)
