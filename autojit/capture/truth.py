"""The truth of traced values, as Python asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.capture.state.heap import check_length
from autojit.capture.state.maybe import has_optional
from autojit.capture.state.one_of import OneOf
from autojit.capture.state.optional import Optional
from autojit.capture.state.stretch import any_made, has_stretch
from autojit.ir.core.declaration import full
from autojit.ir.core.types import Type
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import ne
from autojit.protocols.lifting import tracer
from autojit.staging.pytrees import WRAPPERS
from autojit.tracing.created_arrays import bare
from autojit.tracing.known import value_of
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer, lift

from .lists import dicts, elements
from .values import scalars


def unknown(test: Any) -> Tracer | None:
    """A condition as a traced array if it is traced and its value is not known."""
    test = _own(test)
    if not is_tracer(test):
        array_of = WRAPPERS.get(type(test))
        if array_of is not None and hasattr(test, "__bool__"):  # else it is true as an object
            test = array_of(test)
        if not is_tracer(test):
            check_length(test)
            if has_optional(test):
                test = dicts.truth_of(test)
            elif any_made() and has_stretch(test):
                test = elements.truth_of(test)
            else:
                return None
            if not is_tracer(test):
                return None
    condition: Tracer = bare(test)
    return condition if value_of(condition) is None else None


def _own(test: Any) -> Any:
    """The truth of an object that stands for others, or has a method for it."""
    if type(test) is Optional:
        return test.__aj_truth__(scalars.truth)
    if type(test) is OneOf:
        return test.__aj_where__(bool)
    own = scalars.own_truth(test)
    return test if own is None else own()


def truth(test: Any) -> bool:
    """The truth of a condition that is known."""
    test = _own(test)
    if has_optional(test):
        test = dicts.truth_of(test)
    return bool(value_of(bare(test)) if is_tracer(test) else test)


def truth_of(x: Any) -> Tracer:
    """``bool(x)`` as a traced bool; raises NumPy's ValueError if x has many elements."""
    x = _own(x)
    if any_made() and has_stretch(x):
        x = elements.truth_of(x)
    elif has_optional(x):
        x = dicts.truth_of(x)
    value = lift(x)
    if value.type.size != 1:
        few = "an empty array" if not value.type.size else "an array with more than one element"
        raise ValueError(
            f"The truth value of {few} is ambiguous. Use a.any() or a.all(). Or choose element by "
            "element:\n"
            "    np.where(x > 0, x, 0)              # not: x if x > 0 else 0\n"
            "    (x > 0) & (x < 1)                  # not: x > 0 and x < 1, 0 < x < 1"
            if value.type.size
            else f"The truth value of {few} is ambiguous. Use `array.size > 0` to check that an "
            "array is not empty."
        )
    if value.shape:
        value = move.reshape(value, shape=())
    if value.dtype != np.dtype(bool):
        value = ne(value, full(0, Type(value.dtype, ())))
    return tracer(value)
