"""Distributions of integers and classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.pointwise import FUNCTIONS as POINTWISE
from autojit.torch.functions.reductions import logsumexp, softmax
from autojit.torch.nn.functional import _FUNCTIONS as F

from .distribution import Distribution, drawn, source, together


def _one_given(probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Bernoulli(Distribution):
    """The Bernoulli distribution: 1 with a given probability, else 0."""

    support = "0 or 1"
    arg_constraints: ClassVar[dict[str, str]] = {"probs": "in [0, 1]", "logits": "real"}

    def __init__(self, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        _one_given(probs, logits)
        self.__dict__["probs" if logits is None else "logits"] = given = together(
            probs if logits is None else logits
        )[0]
        super().__init__(given.shape, (), validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "probs":
            return self.logits.sigmoid()
        if name == "logits":
            eps = float(np.finfo(self.probs._data.dtype).eps)
            p = self.probs.clamp(eps, 1 - eps)
            return p.log() - (-p).log1p()
        raise AttributeError(name)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        p = self.probs
        return drawn(source().random(self._extended(sample_shape)) < p._data, p)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        logits, given = together(self.logits, value)
        return -F["binary_cross_entropy_with_logits"](logits, given, reduction="none")

    def entropy(self) -> Any:
        return F["binary_cross_entropy_with_logits"](self.logits, self.probs, reduction="none")

    @property
    def mean(self) -> Any:
        """The probability of 1."""
        return self.probs

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)


class Categorical(Distribution):
    """The distribution of a class, given probabilities or their unnormalised logarithms along the
    last axis.

    >>> from autojit import torch
    >>> d = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
    >>> d.probs, d.log_prob(torch.tensor(1))
    (tensor([0.2500, 0.7500]), tensor(-0.2877))
    """

    support = "the number of a class"

    def __init__(self, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        _one_given(probs, logits)
        given = probs if logits is None else logits
        if given.ndim < 1:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        if logits is None:
            if validate_args is not False and (probs._data < 0).any():
                raise ValueError(f"Expected parameter probs of Categorical >= 0, but got {probs}")
            self.probs: Any = probs / probs.sum(-1, True)
            eps = float(np.finfo(self.probs._data.dtype).eps)
            self.logits: Any = self.probs.clamp(eps, 1 - eps).log()
        else:
            self.logits = logits - logsumexp(logits, -1, True)
            self.probs = softmax(self.logits, -1)
        super().__init__(tuple(given.shape)[:-1], (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        share = source().random((*self._extended(sample_shape), 1))
        ends = np.cumsum(self.probs._data.astype(float), axis=-1)
        index = (share * ends[..., -1:] >= ends).sum(-1)
        made: Tensor = drawn(index, self.logits).long()
        return made

    def _inside(self, value: np.ndarray) -> Any:
        return (value >= 0) & (value < self.logits.shape[-1]) & (value == np.floor(value))

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        places = value.long().unsqueeze(-1)
        shape = np.broadcast_shapes(tuple(places.shape)[:-1], tuple(self.batch_shape))
        logits = self.logits.expand(*shape, self.logits.shape[-1])
        return logits.gather(-1, places.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Any:
        least = float(np.finfo(self.logits._data.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    @property
    def mode(self) -> Any:
        """The likeliest class."""
        return self.probs.argmax(-1)

    def __repr__(self) -> str:
        return f"Categorical(probs: torch.Size({list(self.probs.shape)}))"


class Poisson(Distribution):
    """The Poisson distribution."""

    support = "a whole number from 0 on"
    arg_constraints: ClassVar[dict[str, str]] = {"rate": "positive"}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return drawn(source().poisson(self.rate._data, self._extended(sample_shape)), self.rate)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        return POINTWISE["xlogy"](value, self.rate) - self.rate - (value + 1).lgamma()

    @property
    def mean(self) -> Any:
        """The mean, which is the rate."""
        return self.rate

    @property
    def variance(self) -> Any:
        """The variance, which is the rate."""
        return self.rate
