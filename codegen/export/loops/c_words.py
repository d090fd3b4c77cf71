"""The scalar vocabulary as C expressions; operations that C lacks are in `c_helpers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.codegen.export.text.expressions import (
    ADD,
    ATOM,
    CHOICE,
    COMPARE,
    UNARY,
    Expression,
    binary,
    unary,
)
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.vocabulary import PREDICATES, SYMBOLS, WORDS
from autojit.ir.core.types import dtype_from_name

from .c_helpers import WORDS_OF_FLOATS, WORDS_OF_INTEGERS, c_type

#: Operations on bools as operators.
_BOOLS = {
    "and": "&&", "mul": "&&", "minimum": "&&", "fmin": "&&",
    "or": "||", "add": "||", "maximum": "||", "fmax": "||",
    "xor": "!=", "not": "!", "abs": "",
}  # fmt: skip


#: Operations that have another name in C.
_IN_C = {"abs": "fabs", "special: gammaln": "lgamma"}


def constant(value: Any, dtype: str) -> str:
    """Return a constant of a dtype."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype[0] != "f":
        kind, number = dtype[1:] if dtype[0] == "i" else f"{dtype[1:]}U", int(value)
        least = number == -(1 << 63)  # its digits without the sign are too large
        return "INT64_MIN" if least else f"UINT64_C({number})" if kind == "64U" else str(number)
    number = dtype_from_name(dtype).type(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{number}f" if dtype == "f32" else repr(float(number))


def constant_expression(value: Any, dtype: str) -> Expression:
    text = constant(value, dtype)
    return Expression(text, UNARY if text[0] == "-" else ATOM)


def expression(name: str, args: list[Expression], operand: str, result: str) -> Expression:
    """Apply an operation to operands of dtype ``operand``; the result has dtype ``result``."""
    if name == "select":
        condition, yes, no = (a.at(COMPARE) for a in args)
        return Expression(f"{condition} ? {yes} : {no}", CHOICE)
    if name == "convert":
        return _converted(args[0], operand, result)
    if name in PREDICATES:
        return Expression(f" {SYMBOLS[name]} ".join(a.at(ADD) for a in args), COMPARE)
    by_kind = {"b": _bool, "f": _float, "i": _integer, "u": _integer}
    made = by_kind[operand[0]](name, args, operand)
    if made is None:
        what = name.removeprefix("special: ")
        raise TargetError(
            f"{what} of {operand} operands cannot be written in C. "
            'target="numpy" calls NumPy and SciPy'
        )
    return made


def _converted(x: Expression, operand: str, result: str) -> Expression:
    if operand[0] == "f" and result[0] in "iu":
        return Expression(f"saturated_{result}({x.text})")
    return Expression(f"({c_type(result)}){x.at(UNARY)}", UNARY)


def _bool(name: str, args: list[Expression], dtype: str) -> Expression | None:
    symbol = _BOOLS.get(name)
    if symbol is None:
        return None
    if len(args) == 1:
        return Expression(f"{symbol}{args[0].at(UNARY)}", UNARY)
    return Expression(f" {symbol} ".join(a.at(ATOM) for a in args), CHOICE)


def _float(name: str, args: list[Expression], dtype: str) -> Expression | None:
    if name in ("add", "sub", "mul", "div"):
        return binary(SYMBOLS[name], *args)
    if name == "neg":
        return unary("-", args[0])
    given = ", ".join(a.text for a in args)
    if name in WORDS_OF_FLOATS:
        return Expression(f"{name}_{dtype}({given})")
    # <tgmath.h> has the functions that the helpers do not define, for both widths.
    function = _IN_C.get(name, name)
    return Expression(f"{function}({given})") if name in {*WORDS["f"], *_IN_C} else None


def _integer(name: str, args: list[Expression], dtype: str) -> Expression | None:
    if name in ("and", "or", "xor"):
        return Expression(f" {SYMBOLS[name]} ".join(a.at(ATOM) for a in args), CHOICE)
    if name == "not":
        return Expression(f"~{args[0].at(UNARY)}", UNARY)
    given = [a.text for a in args] + ["status"] * (name == "pow")
    return Expression(f"{name}_{dtype}({', '.join(given)})") if name in WORDS_OF_INTEGERS else None
