"""Elementwise functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.torch.engine.recording import compute, record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.views import view

from .kinks import ATAN2, FMAX, FMIN, HYPOT, XLOGY
from .making import (
    NUMBERS,
    binary,
    comparison,
    floating,
    function,
    in_dtype,
    question,
    tensors,
    unary,
)


def _special(name: str) -> Callable[..., Any]:
    def call(*x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*x)

    return call


_UNARY: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
    "sigmoid": _special("expit"), "erf": _special("erf"), "erfc": _special("erfc"),
    "erfinv": _special("erfinv"), "lgamma": _special("gammaln"), "digamma": _special("psi"),
    "deg2rad": np.deg2rad, "rad2deg": np.rad2deg, "sinc": np.sinc, "i0": np.i0,
}  # fmt: skip
_PLAIN: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc,
    "frac": lambda x: x - np.trunc(x), "conj": np.conj,
    "nan_to_num": np.nan_to_num,
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "fmod": np.fmod,
    "remainder": np.remainder, "floor_divide": np.floor_divide,
    "heaviside": np.heaviside,
}  # fmt: skip
_FLOAT_BINARY: dict[str, Callable[..., Any]] = {
    "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2,
    "copysign": np.copysign,
}  # fmt: skip
_BY_OPERATION = {"atan2": ATAN2, "hypot": HYPOT, "xlogy": XLOGY, "fmax": FMAX, "fmin": FMIN}
_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}  # fmt: skip
_QUESTIONS = {
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not,
    "bitwise_not": np.invert, "signbit": np.signbit,
}  # fmt: skip


def _title(name: str) -> str:
    return name.replace("_", " ").title().replace(" ", "")


#: The functions, by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: unary(_title(name), f) for name, f in _UNARY.items()},
    **{name: unary(_title(name), f, floats=False) for name, f in _PLAIN.items()},
    **{name: binary(_title(name), f) for name, f in _BINARY.items()},
    **{name: binary(_title(name), f, floats=True) for name, f in _FLOAT_BINARY.items()},
    **{name: binary(o.name, o.impl, floats=True, operation=o) for name, o in _BY_OPERATION.items()},
    **{name: comparison(f) for name, f in _COMPARISONS.items()},
    **{name: question(f) for name, f in _QUESTIONS.items()},
}
_REAL, _IMAG = Operation("Real", np.real), Operation("Imag", np.imag)


def _of_complex(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of complex tensors that returns real tensors unchanged."""
    return lambda input: function(input) if input._data.dtype.kind == "c" else input


FUNCTIONS["conj"] = _of_complex(FUNCTIONS["conj"])
FUNCTIONS["real"] = _of_complex(lambda input: view(_REAL, input))


def _imag(input: Tensor) -> Tensor:
    """A view of the imaginary parts."""
    if input._data.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view(_IMAG, input)


FUNCTIONS["imag"] = _imag
FUNCTIONS["positive"] = lambda input: input
_add, _sub = binary("Add", np.add), binary("Sub", np.subtract)
_div = binary("Div", np.true_divide, floats=True)
mul: Callable[..., Any] = FUNCTIONS["mul"]
neg: Callable[..., Any] = FUNCTIONS["neg"]
_POWER_OF = Operation("PowBackward0", lambda x, n: x**n)
_power = binary("PowBackward1", np.power)
_RELU = Operation("Relu", lambda x: np.where(x <= 0, 0, x), eager=lambda x: np.maximum(x, 0))
FUNCTIONS["relu"] = relu = lambda input: record(_RELU, (input,))
FUNCTIONS["square"] = unary("PowBackward0", np.square, floats=False)
_round = unary("Round", np.round, floats=False)
_ROUND_TO = Operation("Round", np.round)


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """``input + alpha * other``."""
    return _add(input, other if alpha == 1 else mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """``input - alpha * other``."""
    return _sub(input, other if alpha == 1 else mul(other, alpha))


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient; ``rounding_mode`` rounds it down (``"floor"``) or towards 0 (``"trunc"``)."""
    if rounding_mode == "floor":
        return FUNCTIONS["floor_divide"](input, other)
    if rounding_mode not in (None, "trunc"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    if rounding_mode and _is_whole(input) and _is_whole(other):  # exact, with an integer result
        quotient = FUNCTIONS["floor_divide"](abs(input), abs(other))
        return mul(mul(quotient, _sign(input)), _sign(other))
    quotient = _div(input, other)
    return quotient if rounding_mode is None else FUNCTIONS["trunc"](quotient)


def _is_whole(x: Any) -> bool:
    return x._data.dtype.kind in "iu" if isinstance(x, Tensor) else type(x) is int


def _sign(x: Any) -> Any:
    return FUNCTIONS["sign"](x) if isinstance(x, Tensor) else (x > 0) - (x < 0)


def pow(input: Any, exponent: Any) -> Tensor:
    """``input`` to a power."""
    if isinstance(exponent, NUMBERS) and isinstance(input, Tensor):
        if isinstance(exponent, float) and input._data.dtype.kind in "biu":
            input = floating(input)
        if isinstance(exponent, int) and exponent < 0 and input._data.dtype.kind in "iu":
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if isinstance(exponent, float) and exponent == int(exponent) and math.isfinite(exponent):
            exponent = int(exponent)
        made: Tensor = record(_POWER_OF, (input,), (exponent,))
        return made
    return _power(input, exponent)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer, or to ``decimals`` decimals; halves round to even."""
    made: Tensor = record(_ROUND_TO, (input,), (decimals,)) if decimals else _round(input)
    return made


_WHERE = Operation("Where", np.where)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition is True, else ``other``."""
    if input is None and other is None:
        return tuple(compute(Operation("Nonzero", np.nonzero), (condition,)))
    if input is None or other is None:
        name = "input" if input is None else "other"
        raise TypeError(f"where(): argument '{name}' must be Tensor, not NoneType")
    a, b = tensors(input, other)
    if condition._data.dtype.kind != "b":
        raise RuntimeError(
            f"expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype!r}"
        )
    return record(_WHERE, (condition, a, b))


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``value`` where the mask is True, else ``input``."""
    made: Tensor = record(_MASKED, (mask, in_dtype(value, input._data.dtype), input))
    return made


_MASKED = Operation("MaskedFill", np.where)


def _clamped(x: Any, *bounds: Any) -> Any:
    *given, has_low, has_high = bounds
    if has_low:
        low = given.pop(0)
        x = np.where(x < low, low, x)
    if has_high:
        x = np.where(x > given[0], given[0], x)
    return x


_CLAMP = Operation("ClampBackward1", _clamped)


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """``input`` clipped to bounds; the derivative at the bounds is 1."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    operands = tensors(input, *(b for b in (min, max) if b is not None))
    made: Tensor = record(_CLAMP, operands, (min is not None, max is not None))
    return made


_LERP = Operation("Lerp", lambda a, b, w: a + w * (b - a))
_ADDCMUL = Operation("Addcmul", lambda x, a, b, v: x + v * a * b)
_ADDCDIV = Operation("Addcdiv", lambda x, a, b, v: x + v * a / b)


def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """``input + weight * (end - input)``."""
    made: Tensor = record(_LERP, tensors(input, end, weight))
    return made


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    made: Tensor = record(_ADDCMUL, tensors(input, tensor1, tensor2), (value,))
    return made


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    made: Tensor = record(_ADDCDIV, tensors(input, tensor1, tensor2), (value,))
    return made


def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8,
            equal_nan: bool = False) -> Tensor:  # fmt: skip
    """Whether two tensors are close, element by element."""
    close = Operation("Isclose", lambda a, b: np.isclose(a, b, rtol, atol, equal_nan))
    made: Tensor = compute(close, tensors(input, other))
    return made


def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8,
             equal_nan: bool = False) -> bool:  # fmt: skip
    """Whether all elements of two tensors are close."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._data.all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements."""
    return bool(np.array_equal(input._data, other._data))


_CLONE = function("Clone", lambda x: x.copy())


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in its own memory, recorded."""
    made: Tensor = _CLONE((input,))
    return made


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x))."""
    x = floating(input) if eps is None else clamp(floating(input), eps, 1 - eps)
    made: Tensor = record(_LOGIT, (x,))
    return made


def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` in float64."""
    double = np.dtype(np.float64)
    return pow(in_dtype(input, double), exponent)


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """``input``, or a lower bound where that is larger."""
    return clamp(input, min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """``input``, or an upper bound where that is smaller."""
    return clamp(input, None, max)


_LOGIT = Operation("Logit", lambda x: np.log(x / (1 - x)))

FUNCTIONS.update(
    add=add, sub=sub, div=div, pow=pow, round=round, where=where, masked_fill=masked_fill,
    clamp=clamp, lerp=lerp, addcmul=addcmul, addcdiv=addcdiv, isclose=isclose, allclose=allclose,
    equal=equal, clone=clone, logit=logit, float_power=float_power, clamp_min=clamp_min,
    clamp_max=clamp_max, angle=unary("Angle", np.angle),
    subtract=sub, divide=div, true_divide=div, multiply=mul, negative=neg, clip=clamp,
    absolute=FUNCTIONS["abs"], arcsin=FUNCTIONS["asin"], arccos=FUNCTIONS["acos"],
    arctan=FUNCTIONS["atan"], arctan2=FUNCTIONS["atan2"], fix=FUNCTIONS["trunc"],
    sgn=FUNCTIONS["sign"], arcsinh=FUNCTIONS["asinh"], arccosh=FUNCTIONS["acosh"],
    arctanh=FUNCTIONS["atanh"], greater=FUNCTIONS["gt"], less=FUNCTIONS["lt"],
    not_equal=FUNCTIONS["ne"], greater_equal=FUNCTIONS["ge"], less_equal=FUNCTIONS["le"],
)  # fmt: skip
