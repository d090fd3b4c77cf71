"""Multi-head attention, which returns the attention weights if requested."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit import nn
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import linalg, pointwise, reductions
from autojit.torch.precision import lowered

from .activations import dropout
from .layers import linear
from .shells import shell


def shares(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None,
    dropout_p: float = 0.0,
) -> Tensor:  # fmt: skip
    """The attention weights: the share of each source in each target."""
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = linalg.matmul(query * scale, key.transpose(-1, -2))
    if is_causal:
        mask = causal_mask(query.shape[-2], key.shape[-2])
    if mask is not None:
        added = pointwise.where(mask, 0.0, -math.inf) if mask.dtype.name == "bool" else mask
        scores = scores + added.to(scores.dtype)
    return dropout(reductions.softmax(scores, -1), dropout_p, training=dropout_p > 0.0)


def causal_mask(targets: int, sources: int) -> Tensor:
    """A mask: True where a source is not later than the target."""
    made: Tensor = wrap(np.tri(targets, sources, dtype=bool))
    return made


def joined_mask(attn_mask: Any, key_padding_mask: Any, heads: int) -> Any:
    """Both masks as one additive mask, with axes for batch and heads; None without any mask."""
    made = None
    if attn_mask is not None:
        made = _as_numbers(attn_mask)
        if made.ndim == 3:  # (N * heads, targets, sources)
            made = made.reshape(-1, heads, *made.shape[1:])
    if key_padding_mask is not None:
        padding = _as_numbers(key_padding_mask)
        padding = padding.reshape(padding.shape[0], 1, 1, padding.shape[1])
        made = padding if made is None else made + padding
    return made


def _as_numbers(mask: Tensor) -> Tensor:
    """An additive mask; in PyTorch's attention layers, True means that a source is ignored."""
    if mask.dtype.name == "bool":
        made: Tensor = pointwise.where(mask, -math.inf, 0.0)
        return made
    return mask


def multi_head_attention(
    sources: Sequence[Tensor], num_heads: int, weights: Any, biases: Any,
    out_weight: Tensor, out_bias: Any, mask: Any, dropout_p: float, is_causal: bool,
    need_weights: bool, average: bool,
) -> tuple[Tensor, Any]:  # fmt: skip
    """The attention of query, key and value, each (N, steps, width); and the weights, or None."""
    q, k, v = (
        _heads(linear(x, w, b), num_heads) for x, w, b in zip(sources, weights, biases, strict=True)
    )
    weights_of_heads = None
    if need_weights:
        weights_of_heads = shares(q, k, mask, is_causal, None, dropout_p)
        made = linalg.matmul(weights_of_heads, v)
        if average:
            weights_of_heads = weights_of_heads.mean(1)
    else:
        made = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    made = made.transpose(1, 2)
    made = made.reshape(*made.shape[:2], -1)
    return linear(made, out_weight, out_bias), weights_of_heads


def _heads(x: Tensor, count: int) -> Tensor:
    """(N, steps, width) as (N, heads, steps, width of a head)."""
    made: Tensor = x.reshape(*x.shape[:2], count, -1).transpose(1, 2)
    return made


_ATTENTION = shell(
    "ScaledDotProductAttention",
    lambda q, k, v, mask, causal, scale: nn.scaled_dot_product_attention(
        q, k, v, mask, 0.0, causal, scale
    ),
)


@lowered
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
) -> Tensor:  # fmt: skip
    """``softmax(query @ key.T * scale) @ value``."""
    if attn_mask is not None and is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if dropout_p == 0.0:
        made: Tensor = _ATTENTION(query, key, value, attn_mask, is_causal, scale)
        return made
    return linalg.matmul(shares(query, key, attn_mask, is_causal, scale, dropout_p), value)
