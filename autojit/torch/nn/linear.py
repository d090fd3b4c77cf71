"""Linear maps, embeddings and changes of shape, as modules."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories, shaping

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def fresh(*shape: int, dtype: Any = None) -> Parameter:
    """A parameter with uninitialised values."""
    return Parameter(factories.empty(*shape, dtype=dtype))


class Identity(Module):
    """Returns its input; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``x @ weight.T + bias``.

    >>> from autojit import torch
    >>> torch.nn.Linear(2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.in_features: int = in_features
        self.out_features: int = out_features
        self.weight: Parameter = fresh(out_features, in_features, dtype=dtype)
        self.register_parameter("bias", fresh(out_features, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        init.default_(self.weight, self.in_features)
        if self.bias is not None:
            init.default_(self.bias, self.in_features)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]``."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.in1_features: int = in1_features
        self.in2_features: int = in2_features
        self.out_features = out_features
        self.weight: Parameter = fresh(out_features, in1_features, in2_features, dtype=dtype)
        self.register_parameter("bias", fresh(out_features, dtype=dtype) if bias else None)
        for p in self.parameters():
            init.default_(p, in1_features)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        made: Tensor = F.bilinear(input1, input2, self.weight, self.bias)
        return made

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Embedding(Module):
    """The rows of a table at given indices."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings: int = num_embeddings
        self.embedding_dim: int = embedding_dim
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError("Padding_idx must be within num_embeddings")
        self.padding_idx: int | None = None if padding_idx is None else padding_idx % num_embeddings
        self.weight: Parameter = fresh(num_embeddings, embedding_dim, dtype=dtype)
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight._data[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True,
                        padding_idx: int | None = None) -> Embedding:  # fmt: skip
        """A table with given rows."""
        rows, width = embeddings.shape
        made = cls(rows, width, padding_idx)
        made.weight = Parameter(embeddings, requires_grad=not freeze)
        return made

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = F.embedding(input, self.weight, self.padding_idx)
        return made

    def extra_repr(self) -> str:
        end = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{end}"


class EmbeddingBag(Module):
    """The mean, the sum or the largest elements of the rows of a table, for each bag of indices.

    >>> from autojit import torch
    >>> bag = torch.nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0], [3.0]]), mode="sum")
    >>> bag(torch.tensor([0, 1, 1]), torch.tensor([0, 1]))
    tensor([[1.],
            [6.]])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: Any = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                 sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
                 padding_idx: int | None = None, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise NotImplementedError(
                "EmbeddingBag: max_norm, scale_grad_by_freq, sparse are not covered"
            )
        table = Embedding(num_embeddings, embedding_dim, padding_idx, dtype=dtype)
        self.num_embeddings: int = num_embeddings
        self.embedding_dim: int = embedding_dim
        self.mode: str = mode
        self.include_last_offset: bool = include_last_offset
        self.padding_idx: int | None = table.padding_idx
        self.weight: Parameter = table.weight if _weight is None else Parameter(_weight)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True,
                        **settings: Any) -> EmbeddingBag:  # fmt: skip
        """A table with given rows; the settings are those of the class."""
        made = cls(*embeddings.shape, **settings)
        made.weight = Parameter(embeddings, requires_grad=not freeze)
        return made

    def forward(self, input: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:  # fmt: skip
        made: Tensor = F.embedding_bag(
            input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=self.padding_idx,
        )  # fmt: skip
        return made

    def extra_repr(self) -> str:
        end = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}{end}"


class Flatten(Module):
    """Merges a range of axes into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim: int = start_dim
        self.end_dim: int = end_dim

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = shaping.FUNCTIONS["flatten"](input, self.start_dim, self.end_dim)
        return made

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one axis into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim: int = dim
        self.unflattened_size: tuple[Any, ...] = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        d = self.dim % input.ndim
        made: Tensor = input.reshape(
            *input.shape[:d], *self.unflattened_size, *input.shape[d + 1 :]
        )
        return made

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
