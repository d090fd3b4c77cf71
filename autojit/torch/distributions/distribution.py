"""The base class of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from autojit.ir.core.halves import in_dtype as as_dtype
from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.shapes import Size
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories
from autojit.torch.functions.arranging import FUNCTIONS as ARRANGING
from autojit.torch.functions.making import in_dtype


def together(*values: Any) -> tuple[Any, ...]:
    """Parameters as tensors of one shape; numbers get the dtype of the tensors."""
    given = [v for v in values if isinstance(v, Tensor)]
    dtype = given[0]._data.dtype if given else factories.dtypes.default.float.numpy
    made = [v if isinstance(v, Tensor) else in_dtype(float(v), dtype) for v in values]
    found: tuple[Any, ...] = ARRANGING["broadcast_tensors"](*made)
    return found


def source() -> np.random.Generator:
    """The NumPy generator of the default generator."""
    return factories.default_generator.numbers


_HOLDS: dict[str, Callable[[np.ndarray], Any]] = {
    "positive": lambda x: x > 0,
    "not negative": lambda x: x >= 0,
    "in [0, 1]": lambda x: (x >= 0) & (x <= 1),
    "0 or 1": lambda x: (x == 0) | (x == 1),
    "a whole number from 0 on": lambda x: (x >= 0) & (x == np.floor(x)) & (x < np.inf),
    "real": lambda x: x == x,
}


class Distribution:
    """A distribution of tensors.

    ``batch_shape``  the shape of the parameters: one independent distribution for each element
    ``event_shape``  the shape of one sample
    """

    has_rsample = False
    #: The parameters, with the constraint on each.
    arg_constraints: ClassVar[dict[str, str]] = {}
    #: The constraint on values.
    support: ClassVar[str] = "real"

    def __init__(self, batch_shape: Any = (), event_shape: Any = (),
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.batch_shape: Size = Size(tuple(batch_shape))
        self.event_shape: Size = Size(tuple(event_shape))
        self._validates = validate_args is not False
        if self._validates:
            for name, constraint in self.arg_constraints.items():
                value = self.__dict__.get(name)
                if value is not None and isinstance(value._data, np.ndarray):
                    self._check(name, value, constraint)

    def _check(self, name: str, value: Tensor, constraint: str) -> None:
        holds = _HOLDS[constraint](value._data)
        if not holds.all():
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {type(self).__name__} to be {constraint}, but found invalid "
                f"values:\n{value}"
            )

    def _check_value(self, value: Tensor) -> None:
        """Raise ValueError if a value is outside the support."""
        if self._validates and isinstance(value._data, np.ndarray):
            inside = self._inside(value._data)
            if not inside.all():
                raise ValueError(
                    f"Expected value argument ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) to be within the support ({self.support}) of the "
                    f"distribution {self!r}, but found invalid values:\n{value}"
                )

    def _inside(self, value: np.ndarray) -> Any:
        return _HOLDS[self.support](value)

    def _extended(self, sample_shape: Any) -> tuple[int, ...]:
        return (*tuple(sample_shape), *self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw a sample through which gradients flow to the parameters."""
        raise NotImplementedError(
            f"{type(self).__name__}.rsample is not covered: a sample has no gradient with "
            "respect to the parameters. Use sample() with log_prob(), as in REINFORCE."
        )

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw a sample."""
        with no_grad():
            return self.rsample(sample_shape).detach()

    def log_prob(self, value: Tensor) -> Any:
        """The logarithm of the density, or of the probability."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__}.entropy is not covered")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return getattr(self, "variance").sqrt()  # noqa: B009

    def perplexity(self) -> Any:
        """``exp`` of the entropy."""
        return self.entropy().exp()

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                shown = value if value.numel() == 1 else f"torch.Size({list(value.shape)})"
                parts.append(f"{name}: {shown if value.numel() != 1 else value.item()}")
        return f"{type(self).__name__}({', '.join(parts)})"


def drawn(array: Any, like: Tensor) -> Tensor:
    """Random numbers as a tensor of the dtype of another."""
    made: Tensor = wrap(as_dtype(array, like._data.dtype))
    return made


class Independent(Distribution):
    """A distribution whose last batch axes are event axes."""

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        n = reinterpreted_batch_ndims
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        if n > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{n} vs {len(base_distribution.batch_shape)}"
            )
        split = len(base_distribution.batch_shape) - n
        self.base_dist: Any = base_distribution
        self.reinterpreted_batch_ndims: int = n
        self.has_rsample = base_distribution.has_rsample
        super().__init__(shape[:split], shape[split:], False)

    def _summed(self, x: Any) -> Any:
        n = self.reinterpreted_batch_ndims
        return x.sum(tuple(range(-n, 0))) if n else x

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        made: Tensor = self.base_dist.rsample(sample_shape)
        return made

    def sample(self, sample_shape: Any = ()) -> Tensor:
        made: Tensor = self.base_dist.sample(sample_shape)
        return made

    def log_prob(self, value: Tensor) -> Any:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self._summed(self.base_dist.entropy())

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.base_dist.variance

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
