"""Attention and a transformer's encoder as modules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories

from . import init
from .activation import Dropout
from .containers import ModuleList
from .functional import _FUNCTIONS as F
from .functional.attention import joined_mask, multi_head_attention
from .linear import Linear, fresh
from .module import Module
from .normalization import LayerNorm
from .parameter import Parameter


class NonDynamicallyQuantizableLinear(Linear):
    """The linear map of an attention layer's results, under PyTorch's name."""


class MultiheadAttention(Module):
    """Attention in several heads, combined by a linear map.

    >>> from autojit import torch
    >>> x = torch.ones(5, 2, 6)                                        # (steps, N, width)
    >>> y, shares = torch.nn.MultiheadAttention(6, 3)(x, x, x)
    >>> y.shape, shares.shape
    (torch.Size([5, 2, 6]), torch.Size([2, 5, 5]))
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if add_bias_kv or add_zero_attn:
            raise NotImplementedError(
                "MultiheadAttention: add_bias_kv and add_zero_attn are not covered"
            )
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim: int = embed_dim
        self.num_heads: int = num_heads
        self.dropout: float = dropout
        self.kdim: int = kdim or embed_dim
        self.vdim: int = vdim or embed_dim
        self.head_dim: int = embed_dim // num_heads
        self.batch_first: bool = batch_first
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        own = self._qkv_same_embed_dim
        shapes = {
            "q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }  # fmt: skip
        joined = fresh(3 * embed_dim, embed_dim, dtype=dtype) if own else None
        if own:
            self.register_parameter("in_proj_weight", joined)
        for name, shape in shapes.items():
            self.register_parameter(name, None if own else fresh(*shape, dtype=dtype))
        if not own:
            self.register_parameter("in_proj_weight", None)
        zeros = Parameter(factories.zeros(3 * embed_dim, dtype=dtype)) if bias else None
        self.register_parameter("in_proj_bias", zeros)
        self.out_proj: NonDynamicallyQuantizableLinear = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias, dtype=dtype
        )
        for p in self._weights():
            init.xavier_uniform_(p)
        if bias:
            init.zeros_(self.out_proj.bias)

    def _weights(self) -> list[Parameter]:
        if self._qkv_same_embed_dim:
            return [self.in_proj_weight]
        return [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any = None,
                need_weights: bool = True, attn_mask: Any = None,
                average_attn_weights: bool = True, is_causal: bool = False) -> Any:  # fmt: skip
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.ndim == 3
        tensors = [x if batched else x.unsqueeze(1) for x in (query, key, value)]
        as_given = batched and self.batch_first
        first = tensors if as_given else [x.transpose(0, 1) for x in tensors]
        if key_padding_mask is not None and not batched:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        weights = self._weights()
        parts = weights[0].chunk(3) if len(weights) == 1 else weights
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        mask = joined_mask(attn_mask, key_padding_mask, self.num_heads)
        made, shares = multi_head_attention(
            first, self.num_heads, parts, biases, self.out_proj.weight, self.out_proj.bias, mask,
            self.dropout if self.training else 0.0, False, need_weights, average_attn_weights,
        )  # fmt: skip
        if not as_given:
            made = made.transpose(0, 1)
        if not batched:
            made = made.squeeze(1)
            shares = None if shares is None else shares.squeeze(0)
        return made, shares


class TransformerEncoderLayer(Module):
    """Self-attention and a perceptron, each with a residual connection and normalisation."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Any] = "relu", layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        more: dict[str, Any] = {"bias": bias, "dtype": dtype}
        self.self_attn: MultiheadAttention = MultiheadAttention(
            d_model, nhead, dropout, batch_first=batch_first, **more
        )
        self.linear1: Linear = Linear(d_model, dim_feedforward, **more)
        self.dropout: Module = Dropout(dropout)
        self.linear2: Linear = Linear(dim_feedforward, d_model, **more)
        self.norm_first = norm_first
        self.norm1: LayerNorm = LayerNorm(d_model, layer_norm_eps, **more)
        self.norm2: LayerNorm = LayerNorm(d_model, layer_norm_eps, **more)
        self.dropout1: Module = Dropout(dropout)
        self.dropout2: Module = Dropout(dropout)
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        self.activation = F[activation] if isinstance(activation, str) else activation

    def forward(self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False) -> Tensor:  # fmt: skip
        masks = (src_mask, src_key_padding_mask)
        x: Any = src
        if self.norm_first:
            x = x + self._attend(self.norm1(x), *masks)
            return x + self._perceive(self.norm2(x))
        x = self.norm1(x + self._attend(x, *masks))
        return self.norm2(x + self._perceive(x))

    def _attend(self, x: Tensor, mask: Any, padding: Any) -> Any:
        made, _ = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False
        )
        return self.dropout1(made)

    def _perceive(self, x: Tensor) -> Any:
        hidden = self.dropout(self.activation(self.linear1(x)))
        return self.dropout2(self.linear2(hidden))


class TransformerEncoder(Module):
    """Copies of a layer in sequence."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True,
                 mask_check: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.layers: ModuleList = ModuleList(
            [copy.deepcopy(encoder_layer) for _ in range(num_layers)]
        )
        self.num_layers: int = num_layers
        self.norm = norm

    def forward(self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool | None = None) -> Tensor:  # fmt: skip
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)
