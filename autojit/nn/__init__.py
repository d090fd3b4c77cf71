"""Layers and losses of neural networks, as pure functions of arrays.

Parameters are trees of arrays, passed explicitly, with PyTorch's names and shapes; no state is kept
between calls. All functions work on NumPy arrays and on traced arrays, under every transformation.

>>> from autojit import jit, nn, optim, value_and_grad
>>> x = np.random.default_rng(0).normal(size=(64, 2))
>>> labels = (x[:, 0] * x[:, 1] > 0).astype(int)                            # an exclusive or
>>> params = nn.init_mlp(0, [2, 16, 2])
>>> opt = optim.adam(lr=0.02)
>>> state = opt.init(params)
>>> def loss(params, x, labels):
...     return nn.cross_entropy(nn.mlp(params, x), labels)
>>> @jit
... def step(params, state, x, labels):
...     value, grads = value_and_grad(loss)(params, x, labels)
...     return *opt.update(params, grads, state), value
>>> for epoch in range(40):
...     for batch in nn.batches(epoch, x, labels, batch_size=32):
...         params, state, value = step(params, state, *batch)
>>> bool(loss(params, x, labels) < 0.2)
True

``init`` creates initial values of parameters; ``layers`` declares layers that create their own.
"""

from typing import Any

from autojit.tracing.hooks import hooks

from . import init, layers
from .activations import (
    elu,
    gelu,
    hardtanh,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from .attention import (
    multi_head_attention,
    scaled_dot_product_attention,
    transformer_encoder_layer,
)
from .basic import dropout, embedding, embedding_bag, linear, one_hot
from .classification import cross_entropy, nll_loss
from .clipping import clip_by_global_norm, clip_by_value, global_norm
from .convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from .layers import Layer, sequential
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    hinge_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from .normalization import batch_norm, group_norm, layer_norm, rms_norm
from .parameters import (
    init_conv,
    init_linear,
    init_lstm,
    init_mlp,
    init_multi_head_attention,
    init_norm,
    init_transformer_encoder_layer,
    mlp,
)
from .pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from .random import batches, keep_mask
from .recurrent import gru, lstm, rnn

__all__ = [
    "Layer",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "batches",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "clip_by_global_norm",
    "clip_by_value",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "embedding_bag",
    "gelu",
    "global_norm",
    "group_norm",
    "gru",
    "hardtanh",
    "hinge_loss",
    "huber_loss",
    "init",
    "init_conv",
    "init_linear",
    "init_lstm",
    "init_mlp",
    "init_multi_head_attention",
    "init_norm",
    "init_transformer_encoder_layer",
    "keep_mask",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "layers",
    "leaky_relu",
    "linear",
    "log_softmax",
    "lstm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mlp",
    "mse_loss",
    "multi_head_attention",
    "nll_loss",
    "one_hot",
    "relu",
    "rms_norm",
    "rnn",
    "scaled_dot_product_attention",
    "selu",
    "sequential",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
    "transformer_encoder_layer",
]


def __getattr__(name: str) -> Any:
    """Find PyTorch's names, such as ``nn.Linear`` and ``nn.Module``, in ``autojit.torch``."""
    return hooks.class_named(__name__, name)
