"""Distributions with densities."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.linalg import linalg
from autojit.torch.functions.pointwise import FUNCTIONS as POINTWISE
from autojit.torch.functions.pointwise import where

from .distribution import Distribution, drawn, source, together

_LOG_2PI = math.log(2 * math.pi)


class _Located(Distribution):
    """A location-scale family: a standard distribution, scaled and shifted."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, str]] = {"loc": "real", "scale": "positive"}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    def _standard(self, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        made: Tensor = self.loc + drawn(self._standard(self._extended(sample_shape)), self.loc) * (
            self.scale
        )
        return made

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return self.loc


class Normal(_Located):
    """The normal distribution.

    >>> from autojit import torch
    >>> d = torch.distributions.Normal(torch.tensor([0.0, 1.0]), 1.0)
    >>> d.log_prob(torch.tensor(0.0))
    tensor([-0.9189, -1.4189])
    """

    def _standard(self, shape: tuple[int, ...]) -> Any:
        return source().standard_normal(shape)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - _LOG_2PI / 2

    def entropy(self) -> Any:
        return 0.5 + 0.5 * _LOG_2PI + self.scale.log()

    def cdf(self, value: Tensor) -> Any:
        """The cumulative distribution function."""
        return 0.5 * (1 + ((value - self.loc) / self.scale / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Any:
        """The quantile function: the inverse of the cumulative distribution function."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale**2


class LogNormal(_Located):
    """The distribution of ``exp`` of a normal variable."""

    support = "positive"

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        made: Tensor = Normal(self.loc, self.scale).rsample(sample_shape).exp()
        return made

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        normal = Normal(self.loc, self.scale, validate_args=False)
        return normal.log_prob(value.log()) - value.log()

    def entropy(self) -> Any:
        return Normal(self.loc, self.scale).entropy() + self.loc

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Any:
        """The variance."""
        square = self.scale**2
        return square.expm1() * (2 * self.loc + square).exp()


class Laplace(_Located):
    """The Laplace distribution."""

    def _standard(self, shape: tuple[int, ...]) -> Any:
        return source().laplace(size=shape)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()

    @property
    def variance(self) -> Any:
        """The variance."""
        return 2 * self.scale**2


class Uniform(Distribution):
    """The uniform distribution between two bounds."""

    support = "between low and high"
    has_rsample = True
    arg_constraints: ClassVar[dict[str, str]] = {"low": "real", "high": "real"}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = together(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if validate_args is not False and not (self.low._data < self.high._data).all():
            raise ValueError("Uniform is not defined when low >= high")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        share = drawn(source().random(self._extended(sample_shape)), self.low)
        made: Tensor = self.low + share * (self.high - self.low)
        return made

    def _inside(self, value: np.ndarray) -> Any:
        low, high = self.low._data, self.high._data
        if not isinstance(low, np.ndarray):  # traced
            return value == value
        return (value >= low) & (value <= high)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        inside: Any = (value >= self.low) & (value < self.high)
        return where(inside, -(self.high - self.low).log(), -math.inf)

    def entropy(self) -> Any:
        return (self.high - self.low).log()

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Any:
        """The variance."""
        return (self.high - self.low) ** 2 / 12


class Exponential(Distribution):
    """The exponential distribution."""

    support = "not negative"
    has_rsample = True
    arg_constraints: ClassVar[dict[str, str]] = {"rate": "positive"}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended(sample_shape)
        made: Tensor = drawn(source().standard_exponential(shape), self.rate) / self.rate
        return made

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        return self.rate.log() - self.rate * value

    def entropy(self) -> Any:
        return 1 - self.rate.log()

    @property
    def mean(self) -> Any:
        """The mean."""
        return 1 / self.rate

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.rate**-2


class Gamma(Distribution):
    """The gamma distribution."""

    support = "not negative"
    arg_constraints: ClassVar[dict[str, str]] = {"concentration": "positive", "rate": "positive"}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = together(concentration, rate)
        super().__init__(self.rate.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        a, b = self.concentration._data, self.rate._data
        return drawn(source().standard_gamma(a, self._extended(sample_shape)) / b, self.rate)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        a, b = self.concentration, self.rate
        return POINTWISE["xlogy"](a, b) + POINTWISE["xlogy"](a - 1, value) - b * value - a.lgamma()

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.rate

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.concentration / self.rate**2


class Beta(Distribution):
    """The beta distribution."""

    support = "in [0, 1]"
    arg_constraints: ClassVar[dict[str, str]] = {
        "concentration1": "positive",
        "concentration0": "positive",
    }

    def __init__(self, concentration1: Any, concentration0: Any,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.concentration1, self.concentration0 = together(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        a, b = self.concentration1._data, self.concentration0._data
        return drawn(source().beta(a, b, self._extended(sample_shape)), self.concentration1)

    def _log_beta(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return a.lgamma() + b.lgamma() - (a + b).lgamma()

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        a, b = self.concentration1, self.concentration0
        xlogy = POINTWISE["xlogy"]
        return xlogy(a - 1, value) + xlogy(b - 1, 1 - value) - self._log_beta()

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        total = a + b
        return (self._log_beta() - (a - 1) * a.digamma() - (b - 1) * b.digamma()
                + (total - 2) * total.digamma())  # fmt: skip

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Any:
        """The variance."""
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b) ** 2 * (a + b + 1))


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, given its covariance or the Cholesky factor of it."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, str]] = {"loc": "real"}

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: bool | None = None) -> None:  # fmt: skip
        given = (covariance_matrix, precision_matrix, scale_tril)
        if sum(x is not None for x in given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        self.loc: Any = loc
        if scale_tril is not None:
            self.scale_tril: Any = scale_tril
        elif covariance_matrix is not None:
            self.scale_tril = linalg.cholesky(covariance_matrix)
        else:
            self.scale_tril = linalg.cholesky(linalg.inv(precision_matrix))
        n = loc.shape[-1]
        batch = np.broadcast_shapes(tuple(loc.shape)[:-1], tuple(self.scale_tril.shape)[:-2])
        super().__init__(batch, (n,), validate_args)
        self.loc = loc.expand(*batch, n)
        self.scale_tril = self.scale_tril.expand(*batch, n, n)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = drawn(source().standard_normal(self._extended(sample_shape)), self.loc)
        made: Tensor = self.loc + (self.scale_tril @ eps.unsqueeze(-1)).squeeze(-1)
        return made

    def _half_log_det(self) -> Any:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Any:
        self._check_value(value)
        rest = (value - self.loc).unsqueeze(-1)
        factor = self.scale_tril
        if rest.ndim != factor.ndim:
            factor = factor.expand(*rest.shape[:-2], *factor.shape[-2:])
        white = linalg.solve(factor, rest).squeeze(-1)
        n = self.event_shape[0]
        return -0.5 * (n * _LOG_2PI + (white**2).sum(-1)) - self._half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self.event_shape[0] * (1 + _LOG_2PI) + self._half_log_det()

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        return (self.scale_tril**2).sum(-1)
