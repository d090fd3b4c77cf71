"""The words for computing scalars, as the text of loops writes them."""

from __future__ import annotations

from typing import Any

from .nodes import Compute, Constant, Finish, Gather, InRange, Load

#: Floats of 16 bits. They are only loaded, stored, selected, converted to and from float32, and
#: converted from float64 to float16; no other word takes or returns them.
HALVES = ("f16", "bf16")
#: Words that are written between their operands.
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
#: Ways to combine a value with the stored one.
COMBINES = ("add", "mul", "maximum", "minimum", "and", "or")
#: Words whose result is a bool.
PREDICATES = {"eq", "ne", "lt", "le", "gt", "ge"}


def _words(unary: str, binary: str) -> dict[str, int]:
    return {**dict.fromkeys(unary.split(), 1), **dict.fromkeys(binary.split(), 2)}


_INTEGERS = _words(
    "neg abs sign not floor ceil trunc",
    "add sub mul pow floor_divide remainder fmod maximum minimum fmax fmin and or xor "
    "shift_left shift_right",
)
#: The words of floats, integers (`i` and `u`) and bools, and how many operands they have: every
#: target has all of them.  Besides, operands of any dtype have the predicates, `select` and
#: `convert`; those of `ensure_…` are in `errors.py`, and `special: NAME` calls a function of
#: `scipy.special` (`ir/special/external.py`), for which a target may have no code.  They mean what
#: NumPy's functions mean (see `loop_text/words.py`).
WORDS = {
    "f": _words(
        "neg abs sign floor ceil trunc rint sqrt cbrt exp exp2 expm1 log log2 log10 log1p "
        "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc ndtr sigmoid "
        "softplus",
        "add sub mul div pow floor_divide remainder fmod maximum minimum fmax fmin copysign "
        "hypot atan2 logaddexp",
    ),
    "i": _INTEGERS,
    "u": _INTEGERS,
    "b": _words("not abs", "and or xor add mul maximum minimum fmax fmin"),
}


def dtype_of_value(value: Any) -> str:
    """The default dtype of a literal.

    >>> dtype_of_value(True), dtype_of_value(2), dtype_of_value(2.0)
    ('bool', 'i64', 'f64')
    """
    return "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"


def usual_dtype(s: Any) -> str:
    """The dtype of a statement's result if none is written."""
    if isinstance(s, Compute):
        return "bool" if s.name in PREDICATES else s.args[-1].dtype if s.args else ""
    if isinstance(s, Constant):
        return dtype_of_value(s.value)
    if isinstance(s, Finish):
        return s.accumulator.dtype
    if isinstance(s, (Load, Gather)):
        return s.buffer.dtype
    return "bool" if isinstance(s, InRange) else ""
