"""The words that scalars are computed by, as the text of loops writes them."""

from __future__ import annotations

from typing import Any

from .nodes import Compute, Constant, Finish, Gather, InRange, Load

#: Words that are written between their operands.
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
#: Ways to combine a value with what is there.
COMBINES = ("add", "mul", "maximum", "minimum", "and", "or")
#: Words whose result is a bool.
PREDICATES = {"eq", "ne", "lt", "le", "gt", "ge"}


def dtype_of_value(value: Any) -> str:
    """The dtype of a number that is written without one.

    >>> dtype_of_value(True), dtype_of_value(2), dtype_of_value(2.0)
    ('bool', 'i64', 'f64')
    """
    return "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"


def usual_dtype(s: Any) -> str:
    """The dtype of a statement's result, where nothing else is written."""
    if isinstance(s, Compute):
        return "bool" if s.name in PREDICATES else s.args[-1].dtype if s.args else ""
    if isinstance(s, Constant):
        return dtype_of_value(s.value)
    if isinstance(s, Finish):
        return s.accumulator.dtype
    if isinstance(s, (Load, Gather)):
        return s.buffer.dtype
    return "bool" if isinstance(s, InRange) else ""
