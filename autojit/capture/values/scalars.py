"""Traced numbers as Python sees them: their truth, and conversions with Python's results."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.capture.state.one_of import OneOf
from autojit.capture.state.optional import Flag, Optional
from autojit.capture.users.classes import special
from autojit.errors import with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import le, ne
from autojit.ir.ops.checks import ensure
from autojit.protocols.kinds import definite
from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.tracing.context import PYTHON_TYPES
from autojit.tracing.created_arrays import TracedArray, bare
from autojit.tracing.known import at_hand, depends, value_of
from autojit.tracing.protocol import LARGEST, LEAST, Bounds, with_bounds
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

TRACED = (Tracer, TracedArray)
#: Python's types of numbers, by the dtypes that represent them.
WEAK_KINDS = {dtype: kind for kind, dtype in PYTHON_TYPES.items()}

_AMBIGUOUS = (
    "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all(). "
    "Or choose element by element:\n"
    "    np.where(x > 0, x, 0)              # not: x if x > 0 else 0\n"
    "    (x > 0) & (x < 1)                  # not: x > 0 and x < 1, 0 < x < 1"
)
_EMPTY = (
    "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array "
    "is not empty."
)
_ONE = "only 0-dimensional arrays can be converted to Python scalars"
_ELEMENTS = (
    "Use NumPy's function for all of its elements, or pick one:\n"
    "    np.sin(x)                          # not: math.sin(x)\n"
    "    x.astype(float)                    # not: float(x)\n"
    "    float(x[0])"
)


def is_traced(x: Any) -> bool:
    """Whether a value is a traced array or number."""
    return isinstance(x, TRACED)


def is_undecided(x: Any) -> bool:
    """Whether the truth of a value may be unknown."""
    return isinstance(x, (*TRACED, Optional, OneOf)) or own_truth(x) is not None


def own_truth(x: Any) -> Any:
    """The method that decides the truth of an object of the user's class; else None."""
    return special(x, "__bool__") or special(x, "__len__")


def any_traced(xs: Any) -> bool:
    """Whether any of some values is a traced array or number."""
    for x in xs:  # noqa: SIM110 - a generator costs more than the rest of a call
        if isinstance(x, TRACED):
            return True
    return False


def holds_traced(x: Any) -> bool:
    """Whether a value is traced, or may be None, or is a tuple or list that holds such a value."""
    if isinstance(x, (tuple, list)):
        return any(map(holds_traced, x))
    return isinstance(x, (*TRACED, Optional))


def truth(x: Any) -> Any:
    """``bool(x)``: a bool if x is known, else a traced one."""
    if type(x) is Optional:
        return x.__aj_truth__(truth)
    if type(x) is OneOf:
        return x.__aj_where__(bool)
    if type(x) is Flag:
        return x
    if not isinstance(x, TRACED):
        own = own_truth(x)
        return bool(x) if own is None else truth(own())
    x = bare(x)
    if x.size != 1:
        raise ValueError(_AMBIGUOUS if x.size else _EMPTY)
    known = value_of(x)
    if known is not None:
        return bool(known)
    value = as_value(x)
    if value.dtype.kind != "b":
        value = ne(value, 0)
    return tracer(move.reshape(value, shape=()) if value.shape else value, bool)


def settled(x: Any) -> Any:
    """An integer or bool of known value as a plain number, which loses no derivative; anything else
    unchanged."""
    if not isinstance(x, TRACED) or x.ndim or x.dtype.kind not in "iub":
        return x
    x = bare(x)
    known = value_of(x)
    if known is None:
        return x
    return int(known) if x.weak is int else np.asarray(known)[()]


def without_loss(x: Tracer) -> Any:
    """The Python value of a traced number, if it is available and no derivative is lost; else
    None."""
    return None if depends(x) else at_hand(x)


def scalar_value(x: Any) -> Value:
    """The value of a traced number; raises NumPy's TypeError for an array with axes."""
    if np.shape(x):
        words = f"{_ONE}; this one has shape {np.shape(x)}. {_ELEMENTS}"
        raise TypeError(with_place(words, user_source()))
    return as_value(bare(x))


def is_integer(x: Any) -> bool:
    """Whether a traced value is an integer without axes."""
    return not np.shape(x) and x.dtype.kind in "iu"


def python_number(value: Value, kind: type) -> Tracer:
    """A value of the trace as a Python number of a given type."""
    if kind is int and value.dtype == np.uint64:
        value = ensure(value, le(value, full(LARGEST, value.type)), failure="overflow")
    number = tracer(to_dtype(definite(value), PYTHON_TYPES[kind]), kind)
    if kind is int and value.dtype != number.dtype:
        return with_bounds(number, _limits(value.dtype))
    return number


def float_of(x: Any) -> Tracer:
    """A result of NumPy as a Python float."""
    return python_number(as_value(x), float)


def _limits(dtype: np.dtype) -> Bounds:
    """The least and the greatest integer of a dtype that fit into 64 bits."""
    if dtype.kind == "b":
        return 0, 1
    limits = np.iinfo(dtype)
    return max(int(limits.min), LEAST), min(int(limits.max), LARGEST)


def as_float(x: Any) -> Any:
    """``float(x)``, with x's derivative; known numbers are converted by Python."""
    if not isinstance(x, TRACED):
        return float(x)
    value = scalar_value(x)
    if value.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    known = without_loss(bare(x))
    if known is not None:
        return float(known)
    return python_number(value, float)


def as_item(x: Tracer) -> Any:
    """``x.item()`` of a number: a Python number with its derivative."""
    known = without_loss(x)
    if known is not None:
        return np.asarray(known).item()
    kind = {"f": float, "c": complex, "i": int, "u": int}.get(x.dtype.kind)
    return tracer(as_value(x)) if kind is None else python_number(as_value(x), kind)
