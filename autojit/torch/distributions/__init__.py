"""``torch.distributions``: densities, entropies and samples of the most common distributions."""

from __future__ import annotations

from typing import Any

from autojit.spelling import MissingName

from .continuous import (
    Beta,
    Exponential,
    Gamma,
    Laplace,
    LogNormal,
    MultivariateNormal,
    Normal,
    Uniform,
)
from .discrete import Bernoulli, Categorical, Poisson
from .distribution import Distribution, Independent
from .divergence import kl_divergence

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Distribution", "Exponential", "Gamma", "Independent",
    "Laplace", "LogNormal", "MultivariateNormal", "Normal", "Poisson", "Uniform", "kl_divergence",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise MissingName("torch.distributions", name, __all__)
