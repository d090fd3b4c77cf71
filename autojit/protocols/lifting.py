"""Moves values into and out of the current trace, with NumPy's promotion."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from autojit.codegen.cuda.foreign import is_foreign
from autojit.errors import ShapeError, TypeMismatch, with_place
from autojit.ir.core import shapes
from autojit.ir.core.declaration import full
from autojit.ir.core.halves import is_bfloat16
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type, canonical_dtype
from autojit.ir.ops.arithmetic import convert
from autojit.ir.ops.move import broadcast_to
from autojit.tracing.aliasing import Uncertain, View
from autojit.tracing.blocks import here
from autojit.tracing.context import PYTHON_TYPES, WEAK_TYPES, check_dtype, current_trace
from autojit.tracing.created_arrays import Uncounted
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import LARGEST, LEAST
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift


def tracer(value: Value, weak: type | None = None) -> Tracer:
    """A value of the current trace, as the user sees it."""
    trace = current_trace()
    assert trace is not None
    return Tracer(value, trace, weak)


def boxed(x: Tracer) -> Tracer:
    """A value of a function from which NumPy returns an array even without axes."""
    if x.shape or not x.is_scalar:
        return x
    made = tracer(as_value(x))
    made.boxed = True
    return made


def as_scalars(result: Any) -> Any:
    """The result of a function that returns scalars, not arrays without axes, also in a tuple."""
    if isinstance(result, Tracer):
        return result if result.shape or result.is_scalar else tracer(as_value(result))
    if isinstance(result, np.ndarray):
        return result if result.shape else result[()]
    if not isinstance(result, tuple):
        return result
    found = [as_scalars(x) for x in result]
    if all(a is b for a, b in zip(found, result, strict=True)):
        return result
    return result._make(found) if hasattr(result, "_make") else tuple(found)


def python_bool(found: Any) -> Any:
    """A bool as Python's. NumPy returns such a bool for questions about whole arrays."""
    return tracer(as_value(found), bool) if isinstance(found, Tracer) else bool(found)


def view(base: Tracer, how: View) -> Tracer:
    """A view: a value that shares memory with ``base`` in NumPy."""
    base = here(base)
    before = as_value(base)
    result = tracer(how.read(before))
    if not base.is_scalar:  # NumPy makes a new array from a scalar
        result.base, result.how, result.seen = base, how, base.value
        base.viewed = True
    elif base.weak is not None:  # which is made an array first
        result.boxed = True
    return result


def perhaps_view(base: Tracer, value: Value) -> Tracer:
    """A value that may be a view: NumPy decides that by the layout in memory."""
    base = here(base)
    result = tracer(value)
    if not base.is_scalar:
        result.base, result.how, result.seen = base, Uncertain(), base.value
        base.viewed = True
    return result


def kind_of(x: Any) -> Any:
    """The kind that decides about dtypes: Python's type of a number, else the dtype."""
    if isinstance(x, Tracer):
        return x.weak if x.weak in WEAK_TYPES else x.own.type.dtype
    kind = type(x)
    return kind if kind in WEAK_TYPES else np.asarray(x).dtype


def kind_and_shape(x: Any) -> tuple[Any, tuple[int, ...]]:
    """The kind and the shape of an operand, which decide all that is done with it."""
    if isinstance(x, Tracer):
        type = x.own.type
        return x.weak if x.weak in WEAK_TYPES else type.dtype, type.shape
    return kind_of(x), shape_of(x)


def weak_type(x: Any) -> type | None:
    """Python's type of a number; None for arrays and NumPy's numbers."""
    if isinstance(x, Tracer):
        return x.weak
    return type(x) if type(x) in PYTHON_TYPES else None


def dtype_of(x: Any) -> np.dtype:
    """The dtype of an operand; Python numbers have their default one."""
    if isinstance(x, Tracer):
        return x.dtype
    dtype = WEAK_TYPES.get(type(x))
    return dtype if dtype is not None else np.asarray(x).dtype


def as_tracer(x: Any) -> Tracer:
    """An array or number of the user's as a value of the trace."""
    return x if isinstance(x, Tracer) else tracer(as_value(x))


def shape_of(x: Any) -> tuple[int, ...]:
    if isinstance(x, Tracer):
        return x.own.type.shape
    return () if type(x) in WEAK_TYPES else np.shape(x)


def may_be_none(x: Any) -> bool:
    """Whether a value may be None, which is known only when the compiled code runs."""
    return hasattr(type(x), "__aj_may_be_none__")


def by_values(x: Any) -> Any:
    """A Series, a DataFrame or another array of pandas as the array of its values, and an array of
    another library on a GPU as a traced one; anything else unchanged."""
    if isinstance(x, (Tracer, np.ndarray)):
        return x
    if may_be_none(x):
        return x.__aj_present__("unsupported operand type(s): one operand is None")
    if is_foreign(x):
        return as_tracer(x)
    return np.asarray(x) if hasattr(type(x), "__pandas_priority__") else x


def as_value(x: Any, dtype: np.dtype | None = None) -> Value:
    """A value of the current trace in a dtype."""
    if isinstance(x, Tracer):
        value = x.value if x.owner is current_trace() else lift(x)
    elif contains_tracer(x):
        value = lift(hooks.stack_nested(x))
    else:
        value = lift(x, dtype)
    return value if dtype is None or value.type.dtype is dtype else to_dtype(value, dtype)


def operand(x: Any, type: Type) -> Value:
    """A value of the current trace in a dtype, broadcast to a shape."""
    if not isinstance(x, Tracer) and x.__class__ in WEAK_TYPES:
        try:
            return full(x, type)
        except OverflowError as error:
            raise OverflowError(with_place(str(error), user_source())) from None
    value = as_value(x, type.dtype)
    if value.type is type or value.type.shape == type.shape:
        return value
    return broadcast_to(value, type.shape)


@lru_cache(maxsize=256)
def operand_type(dtype: np.dtype, shape: tuple[int, ...]) -> Type:
    """The type of an operand, or DtypeError."""
    check_dtype(dtype)
    return Type(canonical_dtype(dtype), shape)


def to_dtype(value: Value, dtype: np.dtype | type) -> Value:
    """The value converted to a dtype, unless it has it."""
    if value.type.dtype == dtype:
        return value
    dtype = np.dtype(dtype)
    if is_bfloat16(dtype) and is_bfloat16(value.type.dtype):
        return value
    check_dtype(dtype)
    return convert(value, dtype=canonical_dtype(dtype))


def in_type(x: Any, dtype: np.dtype) -> Value:
    """A leaf in a dtype; raises OverflowError for a Python integer that does not fit, which NumPy
    would make an unsigned one."""
    is_large = type(x) is int and not LEAST <= x <= LARGEST
    return to_dtype(lift(x, dtype if is_large else None), dtype)


def contains_tracer(x: Any) -> bool:
    """Whether a value is traced, or is a nested list with traced values in it."""
    if isinstance(x, (Tracer, Uncounted)):
        return True
    return isinstance(x, (list, tuple)) and any(map(contains_tracer, x))


def common_shape(*operands: Any) -> tuple[int, ...]:
    """The broadcast shape, or ShapeError with the user's line."""
    return common_shape_of(map(shape_of, operands))


def common_shape_of(given: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The same for operands of these shapes."""
    try:
        return shapes.broadcast_shapes(*given)
    except TypeMismatch as error:
        raise ShapeError(
            with_place(
                f"{error}.\nAxes align at the right; insert one with x[:, None], or check "
                "which operand should be transposed. A sum or a mean can keep its axis:\n"
                "    np.mean(x, axis=1, keepdims=True)",
                user_source(),
            )
        ) from None


def result_dtype(*operands: Any) -> np.dtype:
    """The dtype of the operands by NumPy's promotion."""
    weak = [weak_type(x) for x in operands]
    if all(w is not None for w in weak):
        return np.result_type(*map(dtype_of, operands))
    return np.result_type(
        *(w(0) if w is not None else dtype_of(x) for w, x in zip(weak, operands, strict=True))
    )


def promoted(*operands: Any) -> list[Value]:
    """The operands in their common dtype, not broadcast."""
    dtype = result_dtype(*operands)
    return [as_value(x, dtype) for x in operands]


hooks.as_tracer = as_tracer
