"""The scalar vocabulary as C expressions; what C lacks is in `prelude.h`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.errors import (
    NEGATIVE_POWER,
    NOT_POSITIVE,
    OUT_OF_BOUNDS,
    SINGULAR,
    TargetError,
)
from autojit.codegen.loop_ir.vocabulary import PREDICATES, SYMBOLS, WORDS
from autojit.ir.core.types import dtype_from_name

_HEADER = (Path(__file__).parent / "prelude.h").read_text(encoding="utf-8")
_BITS = {"OUT_OF_BOUNDS": OUT_OF_BOUNDS, "NEGATIVE_POWER": NEGATIVE_POWER,
         "NOT_POSITIVE": NOT_POSITIVE, "SINGULAR": SINGULAR}  # fmt: skip
#: What every file begins with.
PRELUDE = "".join(f"#define {name} {bit}\n" for name, bit in _BITS.items()) + _HEADER

#: Words of bools as operators.
_BOOLS = {
    "and": "&&", "mul": "&&", "minimum": "&&", "fmin": "&&",
    "or": "||", "add": "||", "maximum": "||", "fmax": "||",
    "xor": "!=", "not": "!", "abs": "",
}  # fmt: skip


def _defined(macro: str) -> frozenset[str]:
    """The words that a macro of the header defines."""
    (text,) = re.findall(rf"#define {macro}\(.*?\n\n", _HEADER, re.DOTALL)
    return frozenset(re.findall(r"inline T (\w+)_##N", text))


_FLOATS, _INTEGERS = _defined("WORDS_OF_FLOATS"), _defined("WORDS_OF_INTEGERS")


def c_type(dtype: str) -> str:
    """The C type of a scalar."""
    kinds = {"bool": "bool", "f32": "float", "f64": "double"}
    return kinds.get(dtype) or f"{'u' if dtype[0] == 'u' else ''}int{dtype[1:]}_t"


def constant(value: Any, dtype: str) -> str:
    """A constant of a dtype."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype[0] != "f":
        kind, number = dtype[1:] if dtype[0] == "i" else f"{dtype[1:]}U", int(value)
        least = number == -(1 << 63)  # its digits alone are too large
        return "INT64_MIN" if least else f"UINT64_C({number})" if kind == "64U" else str(number)
    number = dtype_from_name(dtype).type(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{number}f" if dtype == "f32" else repr(float(number))


def expression(name: str, args: list[str], operand: str, result: str) -> str:
    """One word applied to operands of dtype ``operand``, giving one of dtype ``result``."""
    if name == "select":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if name == "convert":
        saturates = operand[0] == "f" and result[0] in "iu"
        return f"saturated_{result}({args[0]})" if saturates else f"({c_type(result)}){args[0]}"
    if name in PREDICATES:
        return f"{args[0]} {SYMBOLS[name]} {args[1]}"
    by_kind = {"b": _bool, "f": _float, "i": _integer, "u": _integer}
    text = by_kind[operand[0]](name, args, operand)
    if text is None:
        raise TargetError(f"{name} of {operand} operands cannot be written in C")
    return text


def _bool(name: str, args: list[str], dtype: str) -> str | None:
    symbol = _BOOLS.get(name)
    if symbol is None:
        return None
    return f"{args[0]} {symbol} {args[1]}" if len(args) == 2 else f"{symbol}{args[0]}"


def _float(name: str, args: list[str], dtype: str) -> str | None:
    if name in ("add", "sub", "mul", "div"):
        return f"{args[0]} {SYMBOLS[name]} {args[1]}"
    if name == "neg":
        return f"-{args[0]}".replace("--", "- -")
    if name in _FLOATS:
        return f"{name}_{dtype}({', '.join(args)})"
    # What the header does not define, <tgmath.h> has for both widths.
    function = "fabs" if name == "abs" else name
    return f"{function}({', '.join(args)})" if name in WORDS["f"] else None


def _integer(name: str, args: list[str], dtype: str) -> str | None:
    if name in ("and", "or", "xor"):
        return f"{args[0]} {SYMBOLS[name]} {args[1]}"
    if name == "not":
        return f"~{args[0]}"
    if name == "pow":
        args = [*args, "status"]
    return f"{name}_{dtype}({', '.join(args)})" if name in _INTEGERS else None
