"""The scalar vocabulary as Python that Numba compiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.codegen.export.text.expressions import CHOICE, UNARY, Expression, binary, call, unary
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.vocabulary import PREDICATES, SYMBOLS
from autojit.ir.core.types import dtype_from_name

from .language import refuse_halves

#: Operations that have another name in NumPy.
_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "fmax": "fmax", "fmin": "fmin",
}  # fmt: skip
_FLOATS = {
    "abs", "sign", "floor", "ceil", "trunc", "rint", "sqrt", "cbrt", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "maximum", "minimum", "fmax", "fmin",
    "copysign", "hypot", "atan2", "fmod", "logaddexp",
}  # fmt: skip
#: Operations that are functions of `numba_helpers`.
_OWN = ("sigmoid", "softplus", "ndtr", "floor_divide", "remainder")
_INTEGERS = {
    "floor_divide": "_integer_floor_divide", "remainder": "_integer_remainder",
    "fmod": "_integer_fmod", "pow": "_integer_power", "shift_left": "_shifted_left",
    "shift_right": "_shifted_right",
}  # fmt: skip
_BOOLS = {
    "and": "and", "mul": "and", "minimum": "and", "fmin": "and",
    "or": "or", "add": "or", "maximum": "or", "fmax": "or",
}  # fmt: skip


def dtype_name(dtype: str) -> str:
    """Return the name of a dtype, such as ``np.float32``.

    >>> dtype_name("f32"), dtype_name("bool")
    ('np.float32', 'np.bool_')
    """
    refuse_halves(dtype, "for Numba")
    return "np.bool_" if dtype == "bool" else f"np.{dtype_from_name(dtype).name}"


def constant(value: Any, dtype: str) -> Expression:
    """Return a number of a dtype: a Python number if Numba gives it that dtype."""
    if dtype == "bool":
        return Expression(str(bool(value)))
    if dtype[0] == "f":
        number = dtype_from_name(dtype).type(value)
        text = str(number.item() if dtype == "f64" else number)
        text = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(text, text)
    else:
        text = str(int(value))
    if dtype not in ("f64", "i64"):
        return call(dtype_name(dtype), text)
    return Expression(text, UNARY if text[0] == "-" else 10)


def expression(name: str, args: list[Expression], operand: str, result: str) -> Expression:
    """Apply an operation to operands of dtype ``operand``; the result has dtype ``result``."""
    if name == "select":
        condition, yes, no = (a.at(CHOICE + 1) for a in args)
        return Expression(f"{yes} if {condition} else {no}", CHOICE)
    if name == "convert":
        if operand[0] == "f" and result[0] in "iu":
            return _narrow(_saturated(args[0], result), result)
        return call(dtype_name(result), args[0].text)
    if name in PREDICATES:
        return binary(SYMBOLS[name], *args)
    by_kind = {"b": _bool, "f": _float, "i": _integer, "u": _integer}
    made = by_kind[operand[0]](name, args, operand)
    if made is None:
        what = name.removeprefix("special: ")
        raise TargetError(
            f"{what} of {operand} operands cannot be written for Numba. "
            'target="numpy" calls NumPy and SciPy'
        )
    return made


def _saturated(x: Expression, dtype: str) -> Expression:
    if dtype == "u64":
        raise TargetError("a float as an unsigned integer of 64 bits cannot be written for Numba")
    bounds = np.iinfo(dtype_from_name(dtype))
    return call("_saturated", x.text, str(bounds.min), str(bounds.max))


def _bool(name: str, args: list[Expression], dtype: str) -> Expression | None:
    if name == "abs":
        return args[0]
    if name == "not":
        return Expression(f"not {args[0].at(10)}", CHOICE)
    if name == "xor":
        return binary("!=", *args)
    word = _BOOLS.get(name)
    return None if word is None else Expression(f" {word} ".join(a.at(1) for a in args), CHOICE)


def _float(name: str, args: list[Expression], dtype: str) -> Expression | None:
    if name in ("add", "sub", "mul", "div"):
        return binary(SYMBOLS[name], *args)
    if name == "neg":
        return unary("-", args[0])
    if name == "pow":
        return Expression(f"{args[0].at(10)} ** {args[1].at(10)}", 9)
    given = [a.text for a in args]
    if name in ("erf", "erfc"):
        return _narrow(call(f"math.{name}", *given), dtype)
    if name in _OWN:
        return _narrow(call(f"_{name}", *given), dtype)
    if name not in _FLOATS:
        return None
    return _narrow(call(f"np.{_NUMPY.get(name, name)}", *given), dtype)


def _narrow(made: Expression, dtype: str) -> Expression:
    """Convert a result to its dtype, since Numba may compute in more bits than NumPy."""
    return made if dtype in ("f64", "i64") else call(dtype_name(dtype), made.text)


def _integer(name: str, args: list[Expression], dtype: str) -> Expression | None:
    if name in ("add", "sub", "mul", "and", "or", "xor"):
        return _narrow(binary(SYMBOLS[name], *args), dtype)
    if name in ("neg", "not"):
        return _narrow(unary("-" if name == "neg" else "~", args[0]), dtype)
    if name in ("floor", "ceil", "trunc"):
        return args[0]
    given = [a.text for a in args]
    if name in _INTEGERS:
        return _narrow(call(_INTEGERS[name], *given), dtype)
    if name == "abs" and dtype[0] == "u":
        return args[0]
    if name in ("abs", "sign"):
        return _narrow(call(f"np.{name}", *given), dtype)
    words = {"maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min"}
    return _narrow(call(words[name], *given), dtype) if name in words else None
