"""Values of the current trace: how arrays, numbers and outer traced values enter it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import DeviceArray
from autojit.errors import NotArrayError, with_place
from autojit.ir.autodiff.kept_errors import Applied
from autojit.ir.core.declaration import full
from autojit.ir.core.halves import converted, in_dtype, is_bfloat16, to_float32
from autojit.ir.core.program import Program, Value
from autojit.ir.core.types import Type, canonical_dtype
from autojit.ir.ops.arithmetic import convert
from autojit.session.devices import Request, device_of, is_on_card, ordinal

from .blocks import here
from .context import Trace, check_dtype, check_not_leaked, current_trace, require
from .created_arrays import FreshArray, TracedArray, bare, plain
from .source import user_source
from .tracer import Tracer

#: How many numbers are compared at a time.
PART = 1 << 14


def numbers_in(x: Any, dtype: np.dtype) -> np.ndarray:
    """Numbers as an array of a dtype; raises OverflowError with the user's line."""
    try:
        return in_dtype(x, dtype)
    except OverflowError as error:
        raise OverflowError(with_place(str(error), user_source())) from None


def lift(x: Any, dtype: np.dtype | None = None) -> Value:
    """The value of a tracer, an array or a number in the current trace."""
    trace, x = current_trace(), bare(x)
    if isinstance(x, Tracer):
        check_not_leaked(x)
        x = here(x)
        if trace is x.owner:
            return x.value
        assert trace is not None
        return trace.capture(x, x.type)
    assert trace is not None
    if isinstance(x, FreshArray):
        return _lift_fresh(x, dtype, trace)
    if is_on_card(x):
        return _lift_on_card(x, dtype, trace)
    if is_special_array(x):
        raise NotArrayError(with_place(SPECIAL.format(type(x).__name__), user_source()))
    if x is None:  # which NumPy makes NaN of where a dtype is asked for
        raise NotArrayError(with_place(NONE, user_source()))
    array = np.asarray(x)
    if dtype is not None and array.dtype != dtype:
        halves = is_bfloat16(dtype) or is_bfloat16(array.dtype)
        array = converted(array, dtype) if halves else numbers_in(x, dtype)
    if array.dtype.kind == "O" and type(x) is int:
        array = numbers_in(x, np.dtype(np.int64))  # which raises
    check_dtype(array.dtype)
    if array.ndim == 0:
        number = to_float32(array).item() if is_bfloat16(array.dtype) else array[()]
        return full(number, Type(canonical_dtype(array.dtype), ()))
    found = trace.capture_part(array) if array is x else None
    return found or trace.capture(
        x if array is x else array, Type(canonical_dtype(array.dtype), array.shape)
    )


def _lift_on_card(x: Any, dtype: np.dtype | None, trace: Trace) -> Value:
    """An array on a GPU, which stays there; another library's array with its present contents."""
    if not isinstance(x, DeviceArray):
        from autojit.codegen.cuda.driver.cards import card
        from autojit.codegen.cuda.foreign import taken

        x = taken(x, card(ordinal(device_of(x) or "")), copy=True)[0]
    words = f"an array that the function uses lies on {x.device!r}"
    require([Request(x.device, words, user_source(), is_array=True)])
    value = trace.capture(x, x.type)
    if dtype is not None and x.dtype != dtype:
        value = convert(value, dtype=dtype)
    return value


def _lift_fresh(x: FreshArray, dtype: np.dtype | None, trace: Trace) -> Value:
    """An array that the function has created."""
    array = plain(x)
    if dtype is not None and array.dtype != dtype:
        array = x = converted(array, dtype)
    return known(array, x, trace)


def known(array: np.ndarray, thing: Any, trace: Trace) -> Value:
    """The contents of an array as a value: a constant, or a captured thing that has them."""
    found = uniform(array)
    if found is None:
        found = trace.capture(thing, Type(canonical_dtype(array.dtype), array.shape))
    return found


def uniform(array: np.ndarray) -> Value | None:
    """The contents of an array as a constant, if all elements have the same bytes."""
    words = np.ascontiguousarray(array).reshape(-1, 1).view(_word(array.itemsize))
    if not len(words) or not _are_equal(words):
        return None
    return full(array.flat[0], Type(canonical_dtype(array.dtype), array.shape))


def _word(size: int) -> np.dtype:
    """The longest unsigned integer that divides an element of this many bytes."""
    return np.dtype(f"u{next(n for n in (8, 4, 2, 1) if not size % n)}")


def _are_equal(words: np.ndarray) -> bool:
    """Whether all rows are equal; a part at a time, which stays in the cache."""
    parts = range(0, len(words), PART)
    return all(bool((words[k : k + PART] == words[0]).all()) for k in parts)


NONE = (
    "None is used where an array or a number is needed. A function without `return` returns "
    "None, and so does a method that changes its object, such as list.sort."
)
SPECIAL = (
    "{} is a subclass of np.ndarray with its own arithmetic, which autojit would not follow. "
    "Pass its data and its other attributes as plain arrays:\n"
    "    np.asarray(x)                      # and for masked arrays x.data, x.mask"
)


def is_special_array(x: Any) -> bool:
    """Whether x is an array of a subclass that may compute in another way (masks, units)."""
    known = (np.ndarray, np.memmap)
    return isinstance(x, np.ndarray) and type(x) not in known and not isinstance(x, FreshArray)


def inline(program: Program, arguments: Sequence[Any]) -> list[Tracer]:
    """Apply a program, captured things included, inside the current trace."""
    trace = current_trace()
    assert trace is not None
    values = [
        lift(a, t.dtype)
        for a, t in zip((*arguments, *program.captured), program.in_types, strict=True)
    ]
    if program.irregular:
        trace.builder.irregular.append(program.irregular)
    start = len(trace.builder.ops)
    results = trace.builder.inline(program, values)
    if program.may_fail:
        trace.builder.applied.append(Applied(start, len(trace.builder.ops), results))
    return [Tracer(v, trace) for v in results]


def is_tracer(x: Any) -> bool:
    return isinstance(x, (Tracer, TracedArray))
