"""Fresh arrays, and their views, become traced: their contents are known before, but not after."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autojit.errors import ConcreteValueError, InPlaceError, RefusedInPlaceError, with_place
from autojit.functions.indexing import getitem
from autojit.protocols.lifting import as_tracer, view
from autojit.tracing.aliasing import Mapped
from autojit.tracing.array_methods import OPERATORS
from autojit.tracing.blocks import is_around, where_made
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import FreshArray, Memory, TracedArray, plain
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .layout import shown, whole


def traced(x: Any) -> Tracer:
    """The tracer that holds an array's contents from now on."""
    if isinstance(x, Tracer):
        return x
    if not isinstance(x, TracedArray):
        memory = x.memory
        with where_made(memory and memory.maker):
            _become_traced(x)
    found: Tracer = x.tracer
    return found


def item_at_traced(x: FreshArray, index: Any) -> Any:
    """``x[index]`` with a traced index; if that is a view, it must be a view of a traced array."""
    copied: Tracer = getitem(as_tracer(x), index)
    if copied.base is None and not copied.is_bounded:
        return copied
    assert x.memory is not None
    if x.flags.writeable and is_around(x.memory.maker):
        return traced(x)[index]
    # An outer function's array, read in an inner one, stays as it is while that is traced.
    x.memory.lent = True
    for array in x.memory.living():
        array.setflags(write=False)
    if copied.is_bounded:
        return getitem(_read_only(as_tracer(x)), index)
    return _read_only(copied)


def _read_only(x: Tracer) -> Tracer:
    return view(x, Mapped(lambda value: value))


def _become_traced(x: FreshArray) -> None:
    memory = _checked(x)
    arrays = memory.sharing() if x.size else [x]
    root = whole(memory.block, ordered=not memory.vague)
    tracers = []
    for array in arrays:
        found = shown(root, memory.block, plain(array))
        if found is None:
            raise _refusal("it shares memory with an array that reads it as another dtype")
        found.boxed, found.ordered = True, array.flags.c_contiguous and not memory.vague
        tracers.append(found if array.flags.writeable or memory.lent else _read_only(found))
    for array, tracer in zip(arrays, tracers, strict=True):
        array.__class__ = TracedArray
        array.tracer = tracer  # type: ignore[attr-defined]
        state: Any = (1, (), np.dtype(object), False, [_REFUSAL])
        np.ndarray.__setstate__(array, state)
    if x.size:
        _spoil(memory.block)


def _spoil(block: np.ndarray) -> None:
    """Overwrite a block, so that nothing that still reads the memory takes it for the contents."""
    block.setflags(write=True)
    if block.dtype.kind in "fc":
        block.fill(np.nan)
    elif block.dtype.kind in "iu":
        block.fill(np.iinfo(block.dtype).max)


def _checked(x: FreshArray) -> Memory:
    """The memory of an array that may become traced."""
    memory = x.memory
    if memory is None or not x.counted:
        raise _refusal("it was created by code that autojit does not see")
    if not memory.is_of(current_trace()):
        raise _refusal("it was made by another traced function, or an outer one")
    if not (x.flags.writeable or memory.lent):
        raise _refusal("it is read-only, in NumPy too", InPlaceError)
    if any(array.exports for array in memory.sharing()):
        raise _refusal("a memoryview reads it")
    if not all(array.counted for array in memory.sharing()):
        raise _refusal("it has a view that was created by code that autojit does not see")
    if sys.getrefcount(memory.block) > memory.references() + 1:  # one is for this call
        raise _refusal("it has a view that is a plain array (was np.asarray imported by name?)")
    return memory


def _refusal(reason: str, kind: type[InPlaceError] = RefusedInPlaceError) -> InPlaceError:
    return kind(
        with_place(
            f"A traced value is assigned into an array that cannot become traced: {reason}.\n"
            "Assign into a copy that the traced function makes:\n"
            "    y = np.array(x); y[i] = value      # not: x[i] = value",
            user_source(),
        )
    )


class _Refusal:
    """The object that C code finds in the memory of an array that has become traced."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a traced array has no known elements, so no {name!r} of them")


def _attach() -> None:
    def refuse(self: _Refusal, *args: Any) -> Any:
        raise ConcreteValueError(
            with_place(
                "The elements of a traced array are read by code that NumPy does not dispatch: "
                "by a C extension, or by assignment into an ordinary array.\n"
                "Create the array that you assign to inside the traced function:\n"
                "    out = np.zeros(n); out[:] = x",
                user_source(),
            )
        )

    words = (*OPERATORS, *(f"__{word}__" for word in ("bool", "float", "int", "complex", "index")))
    for name in words:
        setattr(_Refusal, name, refuse)


_attach()
_REFUSAL = _Refusal()


hooks.traced, hooks.item_at_traced = traced, item_at_traced
