"""Ufuncs that are formulas of other ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic, elementary
from autojit.ir.special.elementary import FORMULAS
from autojit.ir.special.holomorphic import COMPLEX

#: The formulas by ufunc, on operands in the dtypes of NumPy's loop.
COMPOSITES: dict[Any, Callable[..., Value]] = {}


def composite(*ufuncs: Any) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register a formula for a ufunc (or its dotted name, for those of SciPy)."""

    def register(formula: Callable[..., Value]) -> Callable[..., Value]:
        for ufunc in ufuncs:
            COMPOSITES[ufunc] = formula
        return formula

    return register


composite(np.positive)(lambda x: x)
composite(np.square)(lambda x: x * x)
composite(np.deg2rad, np.radians)(lambda x: x * (np.pi / 180))
composite(np.rad2deg, np.degrees)(lambda x: x * (180 / np.pi))
composite(np.logical_and)(
    lambda a, b: arithmetic.bitwise_and(arithmetic.truth(a), arithmetic.truth(b))
)
composite(np.logical_or)(arithmetic.logical_or)
composite(np.float_power)(lambda x, p: arithmetic.power(x, p))
composite(np.logical_xor)(
    lambda a, b: arithmetic.bitwise_xor(arithmetic.truth(a), arithmetic.truth(b))
)
composite(np.logical_not)(lambda x: arithmetic.bitwise_not(arithmetic.truth(x)))


def _is_whole(x: Value) -> bool:
    return x.dtype.kind in "biu"


composite(np.conjugate)(lambda x: arithmetic.conj(x) if x.dtype.kind == "c" else x)
composite(np.floor)(lambda x: x if _is_whole(x) else arithmetic.floor(x))
composite(np.ceil)(lambda x: x if _is_whole(x) else arithmetic.ceil(x))
composite(np.trunc)(lambda x: x if _is_whole(x) else arithmetic.trunc(x))
composite(np.absolute)(lambda x: x if x.dtype.kind in "bu" else arithmetic.absolute(x))
composite(np.isnan)(lambda x: _never(x) if _is_whole(x) else arithmetic.isnan(x))
composite(np.isinf)(lambda x: _never(x) if _is_whole(x) else arithmetic.isinf(x))
composite(np.isfinite)(
    lambda x: full(True, x.type.with_dtype(bool)) if _is_whole(x) else arithmetic.isfinite(x)
)


@composite(np.reciprocal)
def _reciprocal(x: Value) -> Value:
    one = full(1, x.type)
    if x.dtype.kind == "c":
        return arithmetic.reciprocal(x)
    if not _is_whole(x):
        return one / x
    whole = arithmetic.select(arithmetic.eq(x, 1), one, full(0, x.type))
    if x.dtype.kind == "u":
        return whole
    return arithmetic.select(arithmetic.eq(x, -1), full(-1, x.type), whole)


def _never(x: Value) -> Value:
    return full(False, x.type.with_dtype(bool))


@composite(np.heaviside)
def _heaviside(x: Value, at_zero: Value) -> Value:
    step = arithmetic.select(
        arithmetic.gt(x, 0),
        full(1, x.type),
        arithmetic.select(arithmetic.eq(x, 0), at_zero, full(0, x.type)),
    )
    return arithmetic.select(arithmetic.isnan(x), x, step)


def _is_zero_beside(x: Value, y: Value) -> Value:
    """Whether x is 0, and y is not NaN."""
    return arithmetic.bitwise_and(arithmetic.eq(x, 0), arithmetic.eq(y, y))


# -- complex numbers ------------------------------------------------------------

#: The formulas by ufunc, for complex operands.
OF_COMPLEX: dict[Any, Callable[..., Value]] = {}


def _before(compare: Callable[..., Value]) -> Callable[..., Value]:
    """An order by the real part, then by the imaginary part, like NumPy's."""
    strict = arithmetic.lt if compare in (arithmetic.lt, arithmetic.le) else arithmetic.gt

    def formula(a: Value, b: Value) -> Value:
        (ar, ai), (br, bi) = ((arithmetic.real(x), arithmetic.imag(x)) for x in (a, b))
        numbers = arithmetic.bitwise_and(arithmetic.eq(ai, ai), arithmetic.eq(bi, bi))
        first = arithmetic.bitwise_and(strict(ar, br), numbers)
        second = arithmetic.bitwise_and(arithmetic.eq(ar, br), compare(ai, bi))
        return arithmetic.bitwise_or(first, second)

    return formula


_COMPARED = {
    np.less: arithmetic.lt,
    np.less_equal: arithmetic.le,
    np.greater: arithmetic.gt,
    np.greater_equal: arithmetic.ge,
}
OF_COMPLEX.update({ufunc: _before(compare) for ufunc, compare in _COMPARED.items()})


def _extreme(compare: Any, *, of_nan: bool) -> Callable[..., Value]:
    def formula(a: Value, b: Value) -> Value:
        first = OF_COMPLEX[compare](a, b)
        nan = arithmetic.isnan(a if of_nan else b)
        return arithmetic.select(arithmetic.bitwise_or(first, nan), a, b)

    return formula


OF_COMPLEX.update({
    np.maximum: _extreme(np.greater_equal, of_nan=True),
    np.minimum: _extreme(np.less_equal, of_nan=True),
    np.fmax: _extreme(np.greater_equal, of_nan=False),
    np.fmin: _extreme(np.less_equal, of_nan=False),
    np.rint: lambda z: arithmetic.make_complex(
        arithmetic.rint(arithmetic.real(z)), arithmetic.rint(arithmetic.imag(z))
    ),
})  # fmt: skip


def _direction(z: Value) -> Value:
    """``np.sign``: the number divided by its magnitude; the sign of a part if it alone is
    infinite."""
    size, parts = arithmetic.magnitude(z), (arithmetic.real(z), arithmetic.imag(z))
    zero, one = full(0, size.type), full(1, size.type)
    infinite = [arithmetic.isinf(part) for part in parts]
    either, both = arithmetic.bitwise_or(*infinite), arithmetic.bitwise_and(*infinite)
    at_zero = arithmetic.eq(size, 0)
    safe = arithmetic.select(at_zero, one, arithmetic.select(either, one, size))
    limits = [
        arithmetic.select(wild, arithmetic.sign(part), zero)
        for wild, part in zip(infinite, parts, strict=True)
    ]
    limits[0] = arithmetic.select(both, full(np.nan, size.type), limits[0])
    limits[1] = arithmetic.select(both, full(np.nan, size.type), limits[1])
    units = (arithmetic.select(at_zero, zero, part / safe) for part in parts)
    re, im = (
        arithmetic.select(either, limit, unit) for unit, limit in zip(units, limits, strict=True)
    )
    return arithmetic.make_complex(re, im)


OF_COMPLEX[np.sign] = _direction


def _times_log(x: Value, y: Value, log: Callable[[Value], Value], start: float) -> Value:
    """``x log(y)``, where log has its pole at ``start``; 0 if x is 0, also beyond the pole.

    At x = 0 the derivative with respect to x is the logarithm, or 0 if the logarithm is undefined
    or infinite. The sum with 0 turns a product of -0 into the 0 that SciPy returns.
    """
    zero = _is_zero_beside(x, y)
    if y.dtype.kind == "c":
        finite = arithmetic.ne(y, full(start, y.type))
    else:
        above = arithmetic.gt(y, full(start, y.type))
        finite = arithmetic.bitwise_and(above, arithmetic.lt(y, full(np.inf, y.type)))
    beyond = arithmetic.bitwise_and(zero, arithmetic.bitwise_not(finite))
    product = x * log(arithmetic.select(beyond, full(start + 1, y.type), y))
    nothing = full(0, product.type)
    found = arithmetic.select(zero, product + nothing, product)
    return arithmetic.select(beyond, nothing, found)


@composite("scipy.special.xlogy")
def _xlogy(x: Value, y: Value) -> Value:
    return _times_log(x, y, elementary.log, 0.0)


@composite("scipy.special.xlog1py")
def _xlog1py(x: Value, y: Value) -> Value:
    return _times_log(x, y, elementary.log1p, -1.0)


@composite("scipy.special.logit")
def _logit(p: Value) -> Value:
    return elementary.log(p / (1 - p))


@composite("scipy.special.log_expit")
def _log_expit(x: Value) -> Value:
    return -elementary.logaddexp(full(0, x.type), -x)


for _name, _formula in FORMULAS.items():
    composite(f"scipy.special.{_name}")(_formula)
for _name in ("wofz", "hankel1", "hankel1e", "hankel2", "hankel2e"):  # of complex numbers only
    composite(f"scipy.special.{_name}")(COMPLEX[_name])
