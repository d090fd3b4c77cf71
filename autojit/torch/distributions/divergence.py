"""Kullback-Leibler divergences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.torch.functions.linalg import linalg

from .continuous import Beta, Exponential, Gamma, Laplace, MultivariateNormal, Normal
from .discrete import Bernoulli, Categorical
from .distribution import Distribution, Independent


def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _categorical(p: Any, q: Any) -> Any:
    return (p.probs * (p.logits - q.logits)).sum(-1)


def _bernoulli(p: Any, q: Any) -> Any:
    a, b = p.probs, q.probs
    return a * (a / b).log() + (1 - a) * ((1 - a) / (1 - b)).log()


def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


def _laplace(p: Any, q: Any) -> Any:
    apart = (p.loc - q.loc).abs()
    return (q.scale / p.scale).log() + apart / q.scale - 1 + (
        p.scale / q.scale * (-apart / p.scale).exp()
    )  # fmt: skip


def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))  # fmt: skip


def _beta(p: Any, q: Any) -> Any:
    a, b = p.concentration1, p.concentration0
    c, d = q.concentration1, q.concentration0
    return (q._log_beta() - p._log_beta() + (a - c) * a.digamma() + (b - d) * b.digamma()
            + (c + d - a - b) * (a + b).digamma())  # fmt: skip


def _vectors(p: Any, q: Any) -> Any:
    apart = linalg.solve(q.scale_tril, (q.loc - p.loc).unsqueeze(-1))
    turned = linalg.solve(q.scale_tril, p.scale_tril)
    total = (turned**2).sum((-2, -1)) + (apart**2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (total - p.event_shape[0])


_PAIRS: dict[type[Distribution], Callable[[Any, Any], Any]] = {
    Normal: _normal, Categorical: _categorical, Bernoulli: _bernoulli, Exponential: _exponential,
    Laplace: _laplace, Gamma: _gamma, Beta: _beta, MultivariateNormal: _vectors,
}  # fmt: skip


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The Kullback-Leibler divergence KL(p || q).

    >>> from autojit import torch
    >>> Normal = torch.distributions.Normal
    >>> torch.distributions.kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    if isinstance(p, Independent) and isinstance(q, Independent):
        if p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims:
            return p._summed(kl_divergence(p.base_dist, q.base_dist))
    elif type(p) is type(q) and type(p) in _PAIRS:
        return _PAIRS[type(p)](p, q)
    raise NotImplementedError(
        f"kl_divergence of {type(p).__name__} and {type(q).__name__} is not covered. It is "
        "covered for two distributions of the same class: "
        f"{', '.join(c.__name__ for c in _PAIRS)}"
    )
