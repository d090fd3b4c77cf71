"""Losses as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from autojit.torch.engine.tensor import Tensor

from .functional import _FUNCTIONS as F
from .functional.losses import older
from .module import Module


class _Loss(Module):
    function: str = ""
    #: The further settings, with their defaults; tensors are buffers.
    settings: ClassVar[dict[str, Any]] = {}
    tensors: tuple[str, ...] = ()

    def __init__(self, *args: Any, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean", **kwargs: Any) -> None:  # fmt: skip
        super().__init__()
        given = dict(zip((*self.tensors, *self.settings), args, strict=False)) | kwargs
        for name in self.tensors:
            self.register_buffer(name, given.pop(name, None))
        for name, default in self.settings.items():
            setattr(self, name, given.pop(name, default))
        if given:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                f"'{next(iter(given))}'"
            )
        self.reduction: str = older(reduction, size_average, reduce)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        named = {name: getattr(self, name) for name in (*self.tensors, *self.settings)}
        return F[self.function](input, target, reduction=self.reduction, **named)


class MSELoss(_Loss):
    """``functional.mse_loss`` as a module."""

    function: str = "mse_loss"


class L1Loss(_Loss):
    """``functional.l1_loss`` as a module."""

    function: str = "l1_loss"


class HuberLoss(_Loss):
    """``functional.huber_loss`` as a module."""

    function: str = "huber_loss"
    settings: ClassVar[dict[str, Any]] = {"delta": 1.0}


class SmoothL1Loss(_Loss):
    """``functional.smooth_l1_loss`` as a module."""

    function: str = "smooth_l1_loss"
    settings: ClassVar[dict[str, Any]] = {"beta": 1.0}


class CrossEntropyLoss(_Loss):
    """``functional.cross_entropy`` as a module."""

    function: str = "cross_entropy"
    settings: ClassVar[dict[str, Any]] = {"ignore_index": -100, "label_smoothing": 0.0}
    tensors: tuple[str, ...] = ("weight",)


class NLLLoss(_Loss):
    """``functional.nll_loss`` as a module."""

    function: str = "nll_loss"
    settings: ClassVar[dict[str, Any]] = {"ignore_index": -100}
    tensors: tuple[str, ...] = ("weight",)


class BCELoss(_Loss):
    """``functional.binary_cross_entropy`` as a module."""

    function: str = "binary_cross_entropy"
    tensors: tuple[str, ...] = ("weight",)


class BCEWithLogitsLoss(_Loss):
    """``functional.binary_cross_entropy_with_logits`` as a module."""

    function: str = "binary_cross_entropy_with_logits"
    tensors: tuple[str, ...] = ("weight", "pos_weight")


class KLDivLoss(_Loss):
    """``functional.kl_div`` as a module."""

    function: str = "kl_div"
    settings: ClassVar[dict[str, Any]] = {"log_target": False}


class SoftMarginLoss(_Loss):
    """``functional.soft_margin_loss`` as a module."""

    function: str = "soft_margin_loss"


class PoissonNLLLoss(_Loss):
    """``functional.poisson_nll_loss`` as a module."""

    function: str = "poisson_nll_loss"
    settings: ClassVar[dict[str, Any]] = {"log_input": True, "full": False, "eps": 1e-8}


class MarginRankingLoss(_Loss):
    """``functional.margin_ranking_loss`` as a module."""

    settings: ClassVar[dict[str, Any]] = {"margin": 0.0}

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any:  # type: ignore[override]
        return F["margin_ranking_loss"](
            input1, input2, target, self.margin, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """``functional.gaussian_nll_loss`` as a module."""

    settings: ClassVar[dict[str, Any]] = {"full": False, "eps": 1e-6}

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Any:  # type: ignore[override]
        return F["gaussian_nll_loss"](input, target, var, self.full, self.eps, self.reduction)


class CosineEmbeddingLoss(_Loss):
    """``functional.cosine_embedding_loss`` as a module."""

    settings: ClassVar[dict[str, Any]] = {"margin": 0.0}

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any:  # type: ignore[override]
        return F["cosine_embedding_loss"](
            input1, input2, target, self.margin, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """``functional.triplet_margin_loss`` as a module."""

    settings: ClassVar[dict[str, Any]] = {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Any:  # type: ignore[override]
        named = {name: getattr(self, name) for name in self.settings}
        return F["triplet_margin_loss"](
            anchor, positive, negative, reduction=self.reduction, **named
        )


class HingeEmbeddingLoss(_Loss):
    """``functional.hinge_embedding_loss`` as a module."""

    function: str = "hinge_embedding_loss"
    settings: ClassVar[dict[str, Any]] = {"margin": 1.0}


class MultiMarginLoss(_Loss):
    """``functional.multi_margin_loss`` as a module."""

    function: str = "multi_margin_loss"
    settings: ClassVar[dict[str, Any]] = {"p": 1, "margin": 1.0, "weight": None}


class MultiLabelSoftMarginLoss(_Loss):
    """``functional.multilabel_soft_margin_loss`` as a module."""

    function: str = "multilabel_soft_margin_loss"
    tensors: tuple[str, ...] = ("weight",)


class PairwiseDistance(Module):
    """``functional.pairwise_distance`` as a module."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm: float = p
        self.eps: float = eps
        self.keepdim: bool = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return F["pairwise_distance"](x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``functional.cosine_similarity`` as a module."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim: int = dim
        self.eps: float = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return F["cosine_similarity"](x1, x2, self.dim, self.eps)
