"""Arguments that are integers in any dtype, so that there is no derivative by them."""

from __future__ import annotations

from typing import Any

from autojit.ir.ops.checks import whole_number
from autojit.protocols.lifting import as_value, tracer
from autojit.tracing.tracer import Tracer


def without_derivative(x: Any) -> Any:
    """A count or an order, unchanged; a derivative by it is refused.

    >>> from autojit import grad
    >>> from scipy.stats import bernoulli
    >>> grad(lambda p: bernoulli.pmf(1.0, p))(0.25)
    np.float64(1.0)
    >>> grad(lambda k: bernoulli.pmf(k, 0.25))(1.0)
    Traceback (most recent call last):
    autojit.ir.core.errors.DerivativeError: A derivative is requested with respect to ...
    """
    if not isinstance(x, Tracer) or x.dtype.kind != "f":
        return x
    return tracer(whole_number(as_value(x)))
