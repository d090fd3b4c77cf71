"""The decoder of a transformer, and the whole transformer, as modules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories
from autojit.torch.functions.shaping import triu

from . import init
from .activation import Dropout
from .containers import ModuleList
from .functional import _FUNCTIONS as F
from .linear import Linear
from .module import Module
from .normalization import LayerNorm
from .transformer import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's results, and a perceptron, each with a residual
    connection and normalisation."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Any] = "relu", layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        more: dict[str, Any] = {"bias": bias, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **more)
            setattr(self, name, attention)
        self.linear1: Linear = Linear(d_model, dim_feedforward, **more)
        self.dropout: Module = Dropout(dropout)
        self.linear2: Linear = Linear(dim_feedforward, d_model, **more)
        self.norm_first = norm_first
        for k in (1, 2, 3):
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, **more))
        for k in (1, 2, 3):
            setattr(self, f"dropout{k}", Dropout(dropout))
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        self.activation = F[activation] if isinstance(activation, str) else activation

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Any:  # fmt: skip
        def look(x: Any) -> Any:
            return self._attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, 1)

        def ask(x: Any) -> Any:
            return self._attend(
                self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask, 2
            )

        x: Any = tgt
        parts = ((look, self.norm1), (ask, self.norm2), (self._perceive, self.norm3))
        for part, norm in parts:
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x

    def _attend(self, attention: Any, x: Any, keys: Any, mask: Any, padding: Any, k: int) -> Any:
        made, _ = attention(x, keys, keys, attn_mask=mask, key_padding_mask=padding,
                            need_weights=False)  # fmt: skip
        return getattr(self, f"dropout{k}")(made)

    def _perceive(self, x: Tensor) -> Any:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoder(Module):
    """Copies of a layer in sequence."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers: ModuleList = ModuleList(
            [copy.deepcopy(decoder_layer) for _ in range(num_layers)]
        )
        self.num_layers: int = num_layers
        self.norm = norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Any:  # fmt: skip
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                        memory_key_padding_mask)  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of sources, and a decoder of targets that attends to the encoder's results.

    >>> from autojit import torch
    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(torch.ones(5, 3, 8), torch.ones(4, 3, 8)).shape              # (steps, N, width)
    torch.Size([4, 3, 8])

    Vaswani and others, "Attention is all you need", 2017.
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
                 num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Any] = "relu", custom_encoder: Any = None,
                 custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        form = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                norm_first, bias)  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*form, dtype=dtype), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*form, dtype=dtype), num_decoder_layers, norm()
        )
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)
        self.d_model: int = d_model
        self.nhead: int = nhead
        self.batch_first: bool = batch_first

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any = None, tgt_mask: Any = None,
                memory_mask: Any = None, src_key_padding_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Any:  # fmt: skip
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                            memory_key_padding_mask)  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """The mask that is added to scores so that no step sees a later one: minus infinity for
        later steps, else 0."""
        return triu(factories.full((sz, sz), float("-inf"), dtype=dtype), 1)
