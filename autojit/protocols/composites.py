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
    """Whether x is 0, and y not NaN."""
    return arithmetic.bitwise_and(arithmetic.eq(x, 0), arithmetic.eq(y, y))


@composite("scipy.special.xlogy")
def _xlogy(x: Value, y: Value) -> Value:
    zero = _is_zero_beside(x, y)
    safe = arithmetic.select(zero, full(1, y.type), y)
    return arithmetic.select(zero, full(0, x.type), x * elementary.log(safe))


@composite("scipy.special.xlog1py")
def _xlog1py(x: Value, y: Value) -> Value:
    zero = _is_zero_beside(x, y)
    safe = arithmetic.select(zero, full(0, y.type), y)
    return arithmetic.select(zero, full(0, x.type), x * elementary.log1p(safe))


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
