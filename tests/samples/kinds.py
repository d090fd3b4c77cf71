"""Rows of the table, samplers of arguments, and kinds of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator], Any]


@dataclass(frozen=True)
class Sample:
    """One row.

    ``torch``        the same function of torch tensors, given the module: ``lambda t, x: t.exp(x)``
    ``holomorphic``  NumPy evaluates it for complex arguments too, so a complex step differentiates
    ``order``        how often it is differentiable (0: the results are integers or bools)
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Draw, ...]
    torch: Callable[..., Any] | None = None
    holomorphic: bool = False
    order: int = 2

    def draw(self, seed: int = 0) -> list[Any]:
        rng = np.random.default_rng([seed, *self.name.encode()])
        return [draw(rng) for draw in self.arguments]


# -- arguments ----------------------------------------------------------------


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    """Floats at least 0.05 away from integers, where many functions have kinks."""

    def draw(rng: np.random.Generator) -> Any:
        x = rng.uniform(low, high, shape)
        whole = np.round(x)
        return whole + np.where(x < whole, -1, 1) * np.clip(np.abs(x - whole), 0.05, 0.45)

    return draw


def positive(*shape: int) -> Draw:
    return real(*shape, low=0.3, high=2.5)


def unit(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.1, 0.9, shape)


def distinct(*shape: int) -> Draw:
    """Floats at least 0.2 apart, so that extremes are unambiguous."""
    size = int(np.prod(shape))
    return lambda rng: (rng.permutation(size) * 0.3 - 1 + rng.uniform(0, 0.1, size)).reshape(shape)


def complexes(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.3, 1.5, shape) - 1j * rng.uniform(0.3, 1.5, shape)


def whole(*shape: int, low: int = -9, high: int = 9, dtype: Any = np.int64) -> Draw:
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def flags(*shape: int) -> Draw:
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def constant(*values: Any) -> Draw:
    return lambda rng: np.array(values)


# -- kinds of rows ------------------------------------------------------------


def unary(
    function: Any, domain: Draw | None = None, torch: Any = None, *, name: str = "", **kwargs: Any
) -> Sample:
    word = function.__name__
    torch = torch if torch is not None else (lambda t, x: getattr(t, word)(x))
    return Sample(name or word, function, (domain or real(3, 2),), torch or None, **kwargs)


def binary(
    function: Any, a: Draw | None = None, b: Draw | None = None, torch: Any = None, **kwargs: Any
) -> Sample:
    word = function.__name__
    torch = torch if torch is not None else (lambda t, x, y: getattr(t, word)(x, y))
    arguments = (a or real(3, 1), b or real(2))
    return Sample(word, function, arguments, torch or None, **kwargs)


def step(name: str, function: Any, *arguments: Draw) -> Sample:
    """A function whose results are integers or bools."""
    return Sample(name, function, arguments, order=0)


def moved(name: str, function: Any, *arguments: Draw) -> Sample:
    """A function that moves elements: linear, and the same for complex numbers."""
    return Sample(name, function, arguments or (real(3, 4),), holomorphic=True)


H = {"holomorphic": True}
#: A step function whose result is a float: the derivative is zero.
FLAT = {"order": 1}


def contraction(name: str, function: Any, *shapes: tuple[int, ...]) -> Sample:
    return Sample(name, function, tuple(real(*shape) for shape in shapes), holomorphic=True)
