"""Attention, and the encoder layer of a transformer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autojit.arguments import check_flag, named
from autojit.transformations.derivatives import stop_gradient

from .activations import relu, softmax
from .basic import dropout, linear
from .checks import given_function, need_shape, need_value
from .normalization import layer_norm


@named
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, rng: Any = None,
) -> Any:  # fmt: skip
    """``softmax(query @ key.T * scale) @ value``.

    Args:
        query: an array of shape (…, targets, width).
        key: an array of shape (…, sources, width).
        value: an array of shape (…, sources, value width).
        attn_mask: an array that broadcasts to (…, targets, sources): bools that are True if a
            target may look at a source, or numbers that are added to the scores.
        dropout_p: the probability with which a weight becomes 0, drawn with ``rng``.
        is_causal: whether target i looks only at the sources up to i.
        scale: a factor of the scores; None for ``1 / sqrt(width)``.
        rng: a Generator or a seed for ``dropout_p``, as for :func:`dropout`.

    Returns:
        An array of shape (…, targets, value width). A target that may look at no source gets zeros.

    Raises:
        ShapeError: if the shapes do not match.

    Vaswani and others, "Attention is all you need", 2017, equation 1.

    >>> x = np.eye(2)
    >>> scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.0)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    check_flag(is_causal, "is_causal", "scaled_dot_product_attention")
    _check_share(dropout_p)
    need_shape(
        min(query.ndim, key.ndim, value.ndim) >= 2
        and query.shape[-1] == key.shape[-1]
        and key.shape[-2] == value.shape[-2],
        f"query has shape {query.shape}, key {key.shape} and value {value.shape}; attention needs "
        "(…, targets, width), (…, sources, width) and (…, sources, value width)",
    )
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ np.swapaxes(key, -1, -2)
    allowed = None
    if attn_mask is not None and attn_mask.dtype.kind == "b":
        allowed = attn_mask
    elif attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        causal = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
        allowed = causal if allowed is None else causal & allowed
    if allowed is None and attn_mask is None:
        shares = softmax(scores)
    else:
        shares = _masked_softmax(scores, allowed)
    if dropout_p > 0.0:
        shares = dropout(shares, dropout_p, rng)
    return shares @ value


def _check_share(p: float) -> None:
    need_value(0.0 <= p <= 1.0, f"dropout_p={p} is not a probability")


def _masked_softmax(scores: Any, allowed: Any) -> Any:
    """The softmax over allowed positions; zeros if none is allowed."""
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    top = stop_gradient(np.max(scores, axis=-1, keepdims=True))
    weights = np.exp(scores - np.where(top == -np.inf, 0.0, top))
    total = np.sum(weights, axis=-1, keepdims=True)
    return weights / np.where(total == 0.0, 1.0, total)


@named
def multi_head_attention(
    params: Mapping[str, Any], query: Any, key: Any = None, value: Any = None, *, num_heads: int,
    attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, rng: Any = None,
) -> Any:  # fmt: skip
    """Attention in several subspaces, combined by a linear map.

    Args:
        params: a dict with ``in_proj_weight`` of shape (3 width, width), which stacks the maps of
            query, key and value, and ``out_proj_weight`` of shape (width, width). Optional are
            ``in_proj_bias`` (3 width,) and ``out_proj_bias`` (width,). It is made by
            :func:`init_multi_head_attention`.
        query: an array of shape (…, targets, width).
        key, value: arrays of shape (…, sources, width). By default, key is query, and value is key.
        num_heads: a divisor of the width.
        attn_mask: an array that broadcasts to (…, heads, targets, sources); otherwise as for
            :func:`scaled_dot_product_attention`.
        dropout_p, is_causal, rng: as for :func:`scaled_dot_product_attention`.

    Returns:
        An array of shape (…, targets, width).

    Raises:
        ShapeError: if the shapes do not match.

    Vaswani and others, "Attention is all you need", 2017, section 3.2.2.

    >>> from autojit import nn
    >>> params = nn.init_multi_head_attention(0, 6)
    >>> multi_head_attention(params, np.ones((2, 5, 6)), num_heads=3).shape
    (2, 5, 6)
    """
    check_flag(is_causal, "is_causal", "multi_head_attention")
    weight, bias = params["in_proj_weight"], params.get("in_proj_bias")
    width = weight.shape[1]
    need_shape(
        weight.shape[0] == 3 * width,
        f"in_proj_weight has shape {weight.shape}; it needs ({3 * width}, {width})",
    )
    need_shape(width % num_heads == 0, f"num_heads={num_heads} does not divide the width {width}")
    if key is None and value is None:
        projected = np.split(linear(query, weight, bias), 3, axis=-1)
    else:
        key = query if key is None else key
        weights = np.split(weight, 3)
        biases = [None] * 3 if bias is None else np.split(bias, 3)
        sources = (query, key, key if value is None else value)
        projected = [linear(x, w, b) for x, w, b in zip(sources, weights, biases, strict=True)]
    queries, keys, values = (_heads(x, num_heads) for x in projected)
    made = scaled_dot_product_attention(
        queries, keys, values, attn_mask, dropout_p, is_causal, rng=rng
    )
    joined = np.swapaxes(made, -2, -3)
    joined = joined.reshape(*joined.shape[:-2], width)
    return linear(joined, params["out_proj_weight"], params.get("out_proj_bias"))


def _heads(x: Any, count: int) -> Any:
    """(…, steps, width) as (…, heads, steps, width of a head)."""
    return np.swapaxes(x.reshape(*x.shape[:-1], count, x.shape[-1] // count), -2, -3)


@named
def transformer_encoder_layer(
    params: Mapping[str, Any], x: Any, *, num_heads: int, attn_mask: Any = None,
    is_causal: bool = False, activation: Callable[[Any], Any] = relu, norm_first: bool = False,
    eps: float = 1e-5, dropout_p: float = 0.0, rng: Any = None,
) -> Any:  # fmt: skip
    """Self-attention and a perceptron, each added to its input and normalised.

    Args:
        params: a dict of dicts: ``self_attn`` as for :func:`multi_head_attention`; ``linear1``,
            ``linear2``, ``norm1`` and ``norm2``, each with ``weight`` and ``bias``. It is made by
            :func:`init_transformer_encoder_layer`.
        x: an array of shape (…, steps, width).
        num_heads, attn_mask, is_causal: as for :func:`multi_head_attention`.
        activation: the function between the two linear maps.
        norm_first: whether the inputs of both are normalised instead of the sums.
        eps: as for :func:`layer_norm`.
        dropout_p: the probability of zeros in the attention weights, and after the attention, the
            activation and the second linear map.
        rng: a Generator for ``dropout_p``, or four seeds, one for each of these places.

    Vaswani and others, "Attention is all you need", 2017, section 3.1; ``norm_first``: Xiong and
    others, "On layer normalization in the transformer architecture", 2020.

    >>> from autojit import nn
    >>> params = nn.init_transformer_encoder_layer(0, 6, 24)
    >>> transformer_encoder_layer(params, np.ones((5, 6)), num_heads=2).shape
    (5, 6)
    """
    check_flag(is_causal, "is_causal", "transformer_encoder_layer")
    check_flag(norm_first, "norm_first", "transformer_encoder_layer")
    _check_share(dropout_p)
    draws = _four(rng)
    activation = given_function(activation, "activation", "transformer_encoder_layer")

    def drop(y: Any, k: int) -> Any:
        return dropout(y, dropout_p, draws[k])

    def norm(y: Any, name: str) -> Any:
        return layer_norm(y, y.shape[-1], params[name]["weight"], params[name]["bias"], eps)

    def attend(y: Any) -> Any:
        made = multi_head_attention(
            params["self_attn"], y, num_heads=num_heads, attn_mask=attn_mask,
            dropout_p=dropout_p, is_causal=is_causal, rng=draws[0],
        )  # fmt: skip
        return drop(made, 1)

    def perceive(y: Any) -> Any:
        hidden = activation(linear(y, **params["linear1"]))
        return drop(linear(drop(hidden, 2), **params["linear2"]), 3)

    if norm_first:
        x = x + attend(norm(x, "norm1"))
        return x + perceive(norm(x, "norm2"))
    x = norm(x + attend(x), "norm1")
    return norm(x + perceive(x), "norm2")


def _four(rng: Any) -> tuple[Any, ...]:
    """A source of random numbers for each of the four places."""
    if rng is None or isinstance(rng, np.random.Generator):
        return (rng,) * 4
    need_value(
        getattr(rng, "ndim", 1) == 1 and hasattr(rng, "__len__") and len(rng) == 4,
        "rng of transformer_encoder_layer must be a Generator or four seeds; with one seed, all "
        "four dropouts would drop the same elements:\n"
        "    rng=generator.integers(2**63, size=4)",
    )
    return tuple([rng[k] for k in range(4)])
