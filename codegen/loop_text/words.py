"""Implementations of the scalar vocabulary's words, by NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import converted as in_halves
from autojit.ir.core.halves import is_bfloat16
from autojit.ir.core.types import dtype_from_name
from autojit.ir.ops.checks import Failure, error_of, failure_of
from autojit.ir.special.external import external

#: Functions that NumPy calls otherwise.
_NUMPY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "true_divide", "neg": "negative",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "invert",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "abs": "absolute", "shift_left": "left_shift", "shift_right": "right_shift",
}  # fmt: skip
_SCIPY = {"erf": "erf", "erfc": "erfc", "ndtr": "ndtr", "sigmoid": "expit"}


def evaluate(name: str, args: Sequence[Any], dtype: str) -> Any:
    """A word applied to NumPy scalars, as a scalar of a dtype.

    >>> evaluate("add", [np.float32(1), np.float32(2)], "f32")
    np.float32(3.0)
    """
    kind = dtype_from_name(dtype)
    if name == "convert" and (is_bfloat16(kind) or is_bfloat16(args[0].dtype)):
        return in_halves(np.asarray(args[0]), kind)[()]
    result = converted(args[0], kind) if name == "convert" else function_of(name)(*args)
    return np.asarray(result).astype(kind)[()]


def converted(x: Any, kind: np.dtype) -> Any:
    """A scalar in another dtype; floats that are too large become the largest integer, NaN 0."""
    if x.dtype.kind != "f" or kind.kind not in "iu":
        return x
    if np.isnan(x):
        return 0
    info = np.iinfo(kind)
    whole = np.trunc(x)
    if whole >= float(info.max):
        return info.max
    return info.min if whole <= float(info.min) else int(whole)


def function_of(name: str) -> Callable[..., Any]:
    """The function of a word, on NumPy scalars; most take arrays, too."""
    own = _OWN.get(name)
    if own is not None:
        return own
    called = external(name)
    if called is not None:
        return called.call
    failure = failure_of(name)
    if failure is not None:
        return _ensured(failure)
    if name in _SCIPY:
        from scipy import special

        return getattr(special, _SCIPY[name])
    return getattr(np, _NUMPY.get(name, name))


def _ensured(failure: Failure) -> Callable[[Any, Any], Any]:
    def ensure(holds: Any, x: Any) -> Any:
        if not holds:
            raise error_of(failure)
        return x

    return ensure


def _power(x: Any, p: Any) -> Any:
    if x.dtype.kind in "iu" and p < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return np.power(x, p)


#: Words that are no function of NumPy.
_OWN: dict[str, Callable[..., Any]] = {
    "select": lambda c, a, b: a if c else b,
    "pow": _power,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "set": lambda old, new: new,
    "floor": lambda x: x if x.dtype.kind in "iu" else np.floor(x),
    "ceil": lambda x: x if x.dtype.kind in "iu" else np.ceil(x),
    "trunc": lambda x: x if x.dtype.kind in "iu" else np.trunc(x),
}


def combined(name: str, old: Any, new: Any) -> Any:
    """A value combined with the old one."""
    return function_of(name)(old, new)
