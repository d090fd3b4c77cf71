"""Elementary functions of scipy.special that NumPy lacks, and losses and entropies.

Sources: SciPy's definitions. SciPy's function is called if it keeps digits that a plain formula
loses; the others are formulas of ordinary ops (``formulas``), which fuse and become vector code.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log as ln
from math import pi

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import absolute, bitwise_and, eq, ge, gt, isnan, le, power, select
from autojit.ir.ops.elementary import cbrt, exp2, expm1, log, log1p, sin, sqrt

from .external import External
from .series import one, where_not, zero

_DEGREE = pi / 180
#: d 10**x = ln(10) 10**x.
_LN10 = ln(10.0)

exp10 = External("exp10", lambda t, y, x: t * (y * _LN10), cost=60)
cosm1 = External("cosm1", lambda t, y, x: -(t * sin(x)), cost=60)
sindg: External = External("sindg", lambda t, y, x: t * (cosdg(x) * _DEGREE), cost=60)
cosdg: External = External("cosdg", lambda t, y, x: -(t * (sindg(x) * _DEGREE)), cost=60)
tandg = External("tandg", lambda t, y, x: t * ((y * y + 1) * _DEGREE), cost=60)
cotdg = External("cotdg", lambda t, y, x: -(t * ((y * y + 1) * _DEGREE)), cost=60)


def _radian_by(unit: float) -> Callable[..., Value]:
    return lambda t, y, *args: t * unit


radian = External(
    "radian", _radian_by(_DEGREE), _radian_by(_DEGREE / 60), _radian_by(_DEGREE / 3600), cost=20
)
#: x**y - 1.
powm1 = External(
    "powm1",
    lambda t, w, x, y: t * (y * power(x, y - 1)),
    lambda t, w, x, y: t * ((w + 1) * log(x)),
    cost=120,
)
round_ = External("round", None, cost=8)

# -- formulas ------------------------------------------------------------------------------


def _nan_or(x: Value, value: float) -> Value:
    """Return a constant; NaN where x is NaN."""
    return select(isnan(x), x, full(value, x.type))


def _steep(x: Value) -> Value:
    """Return sqrt(x) for x = 0, which is 0 with an infinite derivative. Adding 0 turns -0 into 0,
    whose root has the derivative from the right."""
    return sqrt(select(eq(x, 0), x + zero(x), one(x)))


def _entr(x: Value) -> Value:
    """Return -x log(x); 0 at 0, with an infinite derivative; minus infinity below 0."""
    inside = gt(x, zero(x))
    safe = select(inside, x, one(x))
    return select(
        inside, -(safe * log(safe)), select(eq(x, 0), _steep(x), _nan_or(x, -float("inf")))
    )


def _rel_entr(x: Value, y: Value) -> Value:
    """Return x log(x / y); 0 if x is 0 and y is not negative, with the derivative -infinity by x if
    y is positive; else infinity."""
    inside = bitwise_and(gt(x, zero(x)), gt(y, zero(y)))
    a, b = select(inside, x, one(x)), select(inside, y, one(y))
    at_zero = bitwise_and(eq(x, 0), ge(y, zero(y)))
    steep = select(gt(y, zero(y)), zero(x) - _steep(x), zero(x))
    beyond = select(at_zero, steep, _nan_or(x + y, float("inf")))
    return select(inside, a * log(a / b), beyond)


def _kl_div(x: Value, y: Value) -> Value:
    return _rel_entr(x, y) - x + y


def _huber(delta: Value, r: Value) -> Value:
    size = absolute(r)
    inner, outer = r * r * 0.5, delta * (size - delta * 0.5)
    found = select(le(size, delta), inner, outer)
    return select(ge(delta, zero(delta)), found, _nan_or(delta + r, float("inf")))


def _pseudo_huber(delta: Value, r: Value) -> Value:
    flat = eq(delta, 0)
    d = where_not(flat, delta, 1.0)
    u = r / d
    square = u * u
    # sqrt(1 + u**2) - 1 without cancellation
    inside = select(flat, zero(r), d * d * (square / (sqrt(square + 1) + 1)))
    return select(ge(delta, zero(delta)), inside, _nan_or(delta + r, float("inf")))


#: The implementations of the ufuncs of scipy.special that are formulas of other ops.
FORMULAS: dict[str, Callable[..., Value]] = {
    "entr": _entr,
    "rel_entr": _rel_entr,
    "kl_div": _kl_div,
    "huber": _huber,
    "pseudo_huber": _pseudo_huber,
    "exp2": lambda x: exp2(x),
    "expm1": lambda x: expm1(x),
    "log1p": lambda x: log1p(x),
    "cbrt": lambda x: cbrt(x),
}
