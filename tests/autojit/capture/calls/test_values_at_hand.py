"""Without `jit` traced numbers have known values, so Python's own branches are taken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autojit import grad

from .differential import Plain, Traced


def derivative(f: Any, x: float) -> float:
    """Return the derivative of the plain function by central differences."""
    step = 1e-6
    return (f(Plain(), x + step) - f(Plain(), x - step)) / (2 * step)


FUNCTIONS = {
    "range": lambda c, x: c(sum, [x * i for i in c(range, c(int, x))], 0.0),
    "dict": lambda c, x: c.item({2: x, 3: x * x}, c(int, x)),
    "get": lambda c, x: c({2: 5.0, 3: 6.0}.get, c(int, x)) * x,
    "names": lambda c, x: {"a": x, "b": x**3}[c(max, ["a", "b"], key={"a": 2.5, "b": x}.get)],
    "list": lambda c, x: c.item([x, x * x, x**3, 1.0], c(math.floor, x)),
    "sorted": lambda c, x: {"a": x, "b": -x}[c(sorted, "ba", key={"a": x, "b": 2.5}.get)[0]],
    "any": lambda c, x: x * x if c(any, (x > k for k in (1, 3))) else x,
    "filter": lambda c, x: c(sum, c(filter, lambda k: k < x, [1.0, 2.0, 3.0])) * x,
    "not": lambda c, x: x if c.not_(x > 2.5) else x * x,
    "pop": lambda c, x: c([1.0, 2.0, 3.0, 4.0].pop, c(int, x)) * x,
    "in": lambda c, x: x if c.in_(c(int, x), c(range, 3)) else 2 * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_known_values_decide(name: str) -> None:
    f = FUNCTIONS[name]
    for x in (2.2, 2.8, 3.3):
        found = grad(lambda t: f(Traced(), t) * 1.0)(x)
        assert abs(found - derivative(f, x)) <= 1e-6 * max(1.0, abs(found)), x


def test_errors_are_pythons() -> None:
    with pytest.raises(KeyError):
        grad(lambda x: Traced().item({1: x}, Traced()(int, x)))(5.5)
    with pytest.raises(IndexError, match="list index out of range"):
        grad(lambda x: Traced().item([x], Traced()(int, x)))(5.5)
    with pytest.raises(ValueError, match="cannot convert float NaN"):
        grad(lambda x: Traced()(int, x) * x)(np.nan)
