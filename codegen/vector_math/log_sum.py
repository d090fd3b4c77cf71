"""softplus and logaddexp: the larger term, plus log1p of the exponential of minus the distance."""

from __future__ import annotations

from .exponential import exp
from .logarithm import log1p_inside
from .scalar import Value, select
from .table import vector_function


@vector_function("softplus")
def softplus(x: Value) -> Value:
    """log(1 + e**x). Within 2 ulp."""
    return select(x < 0.0, 0.0, x) + log1p_inside(exp(-x.abs()))


@vector_function("logaddexp", arity=2)
def logaddexp(x: Value, y: Value) -> Value:
    """log(e**x + e**y). Within 2 ulp of the largest of |x|, |y| and the result.

    Relative accuracy is lost where the result is nearly 0, as in every evaluation in one precision.
    """
    # Equal infinities are no distance apart.
    distance = select(x.equals(y), 0.0, (x - y).abs())
    return select(x > y, x, y) + log1p_inside(exp(-distance))
