"""Words of the scalar vocabulary become expressions with one meaning in numba.cuda and NumPy.

Numba computes small integers in 64 bits, and its literals are float64 or int64. So every integer
result is cast back, and every constant has an explicit type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.nodes import Combine
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.halves import to_bfloat16
from autojit.ir.special.external import external

from .helpers import Helpers, family, libdevice, numpy_type
from .special import TEXTS

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_BITS = {"and": "&", "or": "|", "xor": "^"}
_LOGIC = {
    "and": "and", "mul": "and", "minimum": "and", "fmin": "and",
    "or": "or", "add": "or", "maximum": "or", "fmax": "or",
    "xor": "!=",
}  # fmt: skip
#: Functions of Python's ``math`` that numba.cuda maps to libdevice, for both widths.
_MATH = {
    "abs": "fabs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh",
    "atan": "atan", "atan2": "atan2", "atanh": "atanh", "copysign": "copysign", "cos": "cos",
    "cosh": "cosh", "erf": "erf", "erfc": "erfc", "exp": "exp", "expm1": "expm1", "fmod": "fmod",
    "hypot": "hypot", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2",
    "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
#: Functions that ``math`` lacks, or for which it returns a Python integer.
_LIBDEVICE = ("cbrt", "ceil", "exp2", "floor", "rint", "trunc")


class Words:
    """Prints words of the vocabulary, and collects the helpers that they need."""

    def __init__(self) -> None:
        self.helpers = Helpers()

    def expression(self, name: str, args: list[str], operand: str, result: str) -> str:
        """A word applied to operands of dtype ``operand``; the result has dtype ``result``."""
        if name == "select":
            condition, x, y = args
            return f"{x} if {condition} else {y}"
        if name == "convert":
            return self.convert(args[0], operand, result)
        if name in _COMPARISONS:
            return f"{args[0]} {_COMPARISONS[name]} {args[1]}"
        called = external(name)
        if called is not None:
            return self._special(called.function, args, operand)
        by_kind = {"b": self._bool, "f": self._float, "i": self._integer, "u": self._integer}
        text = by_kind[operand[0]](name, args, operand)
        if text is None:
            raise TargetError(f"{name} of {operand} operands cannot be compiled for CUDA")
        return text

    def _special(self, function: str, args: list[str], operand: str) -> str:
        if function not in TEXTS or operand not in ("f32", "f64"):
            raise TargetError(
                f"scipy.special.{function} cannot be compiled for CUDA; SciPy has it for the CPU"
            )
        name = self.helpers.special(function)
        if operand == "f64":
            return f"{name}({args[0]})"
        return f"np.float32({name}(np.float64({args[0]})))"

    def convert(self, x: str, old: str, new: str) -> str:
        """A scalar in another dtype; floats beyond an integer's range saturate, NaN becomes 0."""
        if "bf16" in (old, new):
            return f"{self.helpers.of_bfloat16(widens=old == 'bf16')}({x})"
        if old[0] == "f" and new[0] in "iu":
            return f"{self.helpers.saturate(old, new)}({x})"
        return f"{numpy_type(new)}({x})"

    def combining(self, combine: str, dtype: str, s: Combine, warp: int) -> str:
        """The device function that combines a value of every thread of a team."""
        combined = self.expression(combine, ["x", "y"], dtype, dtype)
        if s.stride > 1:
            return self.helpers.columns(combine, dtype, combined, s.width, s.stride)
        if s.width > warp:
            return self.helpers.block(combine, dtype, combined, s.width, warp)
        return self.helpers.team(combine, dtype, combined, s.width)

    def _bool(self, name: str, args: list[str], dtype: str) -> str | None:
        if name == "not":
            return f"not {args[0]}"
        if name == "abs":
            return args[0]
        return f"{args[0]} {_LOGIC[name]} {args[1]}" if name in _LOGIC else None

    def _float(self, name: str, args: list[str], dtype: str) -> str | None:
        if name in _ARITHMETIC:
            return f"{args[0]} {_ARITHMETIC[name]} {args[1]}"
        if name == "neg":
            return f"-{args[0]}"
        if name == "pow":
            return f"{args[0]} ** {args[1]}"
        if name in _MATH:
            return f"math.{_MATH[name]}({', '.join(args)})"
        if name in _LIBDEVICE:
            return f"{libdevice(name, dtype)}({args[0]})"
        return self._helper(name, args, dtype)

    def _integer(self, name: str, args: list[str], dtype: str) -> str | None:
        t = numpy_type(dtype)
        if name in ("floor", "ceil", "trunc") or (name == "abs" and dtype[0] == "u"):
            return args[0]
        if name == "abs":
            return f"{t}(abs({args[0]}))"
        if name in _BITS or name in ("add", "sub", "mul"):
            return f"{t}({args[0]} {_BITS.get(name) or _ARITHMETIC[name]} {args[1]})"
        if name == "neg":
            return f"{t}({t}(0) - {args[0]})"
        if name == "not":
            return f"{t}(~{args[0]})"
        if name in ("maximum", "fmax", "minimum", "fmin"):
            symbol = ">" if name in ("maximum", "fmax") else "<"
            return f"{args[0]} if {args[0]} {symbol} {args[1]} else {args[1]}"
        return self._helper("floor_divide" if name == "div" else name, args, dtype)

    def _helper(self, name: str, args: list[str], dtype: str) -> str | None:
        if name not in family(dtype):
            return None
        return f"{self.helpers.name(name, dtype)}({', '.join(args)})"


def constant(value: Any, dtype: str) -> str:
    """A constant of a dtype as source."""
    if dtype == "bool":
        return str(bool(value))
    if dtype == "bf16":
        return f"np.uint16({int(to_bfloat16(value).view(np.uint16))})"
    if dtype[0] != "f":
        return f"{numpy_type(dtype)}({int(value)})"
    number = float(value)
    text = repr(number)
    if number != number:
        text = "math.nan"
    elif number in (float("inf"), float("-inf")):
        text = text.replace("inf", "math.inf")
    return f"{numpy_type(dtype)}({text})"
