"""Greatest common divisors, by Euclid's algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.composites import composite
from autojit.protocols.lifting import as_value, tracer

from .control import while_loop


@composite(np.gcd)
def gcd(a: Any, b: Any) -> Any:
    """Run Euclid's algorithm on every element until the last one is done."""

    def goes_on(pair: Any) -> Any:
        return np.any(pair[1] != 0)

    def step(pair: Any) -> Any:
        x, y = pair
        rest = np.remainder(x, np.where(y == 0, 1, y))
        return np.where(y == 0, x, y), np.where(y == 0, y, rest)

    start = tuple(np.abs(tracer(v)) for v in (a, b))
    return as_value(np.abs(while_loop(goes_on, step, start)[0]))


@composite(np.lcm)
def lcm(a: Any, b: Any) -> Any:
    x, y, divisor = tracer(a), tracer(b), tracer(gcd(a, b))
    return as_value(np.abs(x // np.where(divisor == 0, 1, divisor) * y))
