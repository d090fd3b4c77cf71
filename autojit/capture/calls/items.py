"""``x[i]``, ``x[i] = v`` and ``x[i] += v`` where any part is traced."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.lists import dicts, elements, hashed
from autojit.capture.state.maybe import has_optional
from autojit.capture.state.stretch import any_made, has_stretch, is_list
from autojit.capture.values.choice import ChosenList, choose, choose_nth
from autojit.capture.values.ranges import TracedRange, arange_of
from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import is_traced, python_number, settled
from autojit.capture.values.trying import is_inside_try
from autojit.errors import CaptureError, ConcreteValueError, with_place
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.index import gather
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.session.advice import ASSIGNMENT_FIX, STORED
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import FreshArray, bare, with_values
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand, lost_derivative
from autojit.tracing.protocol import bounds_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from . import tables

_INT = np.dtype(np.int64)


def item(x: Any, index: Any) -> Any:
    """``x[index]``."""
    special = _special(x)
    if special is not None:
        return special.item(x, _settled(index) if special is dicts else index)
    if not _has_traced(index):
        return x[index]
    kind = type(x)
    if kind is np.ndarray:
        return _item_of_array(as_tracer(x), index)
    if kind in _BUILTIN and not _has_traced(index := _settled(index)):
        return x[index]
    if is_traced(x) or isinstance(x, FreshArray):
        return _item_of_array(x, index)
    if tables.is_table(x, index):
        return tables.item(x, index)
    if kind is list and type(index) is slice and elements.are_numbers(x):
        return elements.part(x, index)
    if isinstance(x, (list, tuple)) and not isinstance(index, (tuple, slice)):
        return choose_nth(_place(x, index), x, f"A {kind.__name__} at a traced index")
    if kind is range and not isinstance(index, (tuple, slice)):
        return python_number(gather(arange_of(x), _place(x, index), axes=(0,)), int)
    return _refuse_or_ask(x, index)


def _special(x: Any) -> Any:
    """The module for a list of traced length, or for a dict with optional keys. TypeError for a
    number of Python's, which has no items."""
    if isinstance(x, Tracer) and x.weak is not None:
        raise TypeError(f"'{x.weak.__name__}' object is not subscriptable")
    if any_made() and has_stretch(x):
        return elements
    return dicts if has_optional(x) else None


def _item_of_array(x: Tracer, index: Any) -> Any:
    if is_inside_try():
        _check_bounds(x, index)
    return x[index]


def _check_bounds(x: Tracer, index: Any) -> None:
    """Inside a ``try`` that handles IndexError, make the compiled code go to the handler where an
    index of an array is out of bounds."""
    trace = current_trace()
    if trace is None or not trace.builder.handles(IndexError):
        return
    parts = index if type(index) is tuple else (index,)
    if any(type(i) is slice or i is None or i is Ellipsis or np.ndim(i) for i in parts):
        return
    for axis, (i, extent) in enumerate(zip(parts, x.shape, strict=False)):
        if is_traced(i) and i.dtype.kind in "iu":
            outside = np.logical_or(np.less(i, -extent), np.greater_equal(i, extent))
            words = f"index is out of bounds for axis {axis} with size {extent}"
            hooks.fail_where(outside, IndexError(words))


_BUILTIN = frozenset({list, tuple, dict, str, bytes, range})


def _settled(index: Any) -> Any:
    if type(index) is slice:
        return slice(*map(settled, (index.start, index.stop, index.step)))
    return hashed.settled_key(index)


def _has_traced(index: Any) -> bool:
    if type(index) is tuple:
        return any(map(_has_traced, index))
    if type(index) is slice:
        return any(map(is_traced, (index.start, index.stop, index.step)))
    return is_traced(index)


def _has_traced_slice(index: Any) -> bool:
    several = index if type(index) is tuple else (index,)
    return any(type(each) is slice and _has_traced(each) for each in several)


def _refuse_or_ask(x: Any, index: Any) -> Any:
    _check_container(x, index)
    return x[index]


def _check_container(x: Any, index: Any) -> None:
    """Raise an error for a Python container that a traced index cannot index."""
    if isinstance(x, dict):
        check_key(index)
    grids = type(np.mgrid), type(np.ogrid), type(np.r_)
    if isinstance(x, grids) and _has_traced_slice(index):
        refuse(
            "The length of a grid with a traced bound",
            "Make the longest grid that you may need, and mask the rest:\n"
            "    k = np.arange(100)                  # not: np.mgrid[0:n]\n"
            "    np.sum(np.where(k < n, k * x, 0.0))",
        )
    if isinstance(x, (str, bytes)):
        refuse(
            f"A {type(x).__name__} at a traced index",
            "Keep codes of the characters in an array:\n"
            "    codes = np.frombuffer(text.encode(), np.uint8); codes[i]",
        )
    if isinstance(x, TracedRange):
        refuse("A range with traced bounds at an index", "Compute it: start + i * step.")
    if isinstance(x, (list, tuple, range)):
        refuse(
            f"A slice of a {type(x).__name__} with traced bounds",
            "Make it an array first:\n    np.array(xs)[i:i + n]",
        )


def check_key(key: Any) -> None:
    """Raise an error for a traced key that is no integer, or of a dict of the user's class, unless
    its value is known."""
    parts = [bare(part) for part in (key if type(key) is tuple else (key,)) if is_traced(part)]
    for part in parts:
        if not part.is_scalar:
            hash(part)  # which raises Python's TypeError
    if all(at_hand(part) is not None for part in parts):
        return
    refuse(
        "A dict with a traced key that is not an integer or a tuple of integers",
        "Keep the values in an array, and index it:\n    table = np.array([0.1, 0.2]); table[i]",
    )


def _place(x: Any, index: Any) -> Value:
    """A traced index of a sequence, from 0 on. If it is out of range, the compiled code raises
    IndexError, even where nothing reads the element."""
    index = bare(index)
    if np.shape(index) or index.dtype.kind not in "iub":
        name = "float" if index.weak is float else f"traced {index.type}"
        raise TypeError(f"{type(x).__name__} indices must be integers or slices, not {name}")
    if not len(x):
        raise IndexError(f"{type(x).__name__} index out of range")
    given, (low, high) = to_dtype(as_value(index), _INT), bounds_of(index)
    place = arithmetic.select(arithmetic.lt(given, 0), given + len(x), given)
    if low < -len(x) or high >= len(x):
        at: Any = tracer(place)
        outside = np.logical_or(np.less(at, 0), np.greater_equal(at, len(x)))
        hooks.fail_where(outside, IndexError(f"{type(x).__name__} index out of range"))
    return place


def set_item(x: Any, index: Any, value: Any, has_key: bool = False) -> None:
    """``x[index] = value``; ``has_key`` says that a dict certainly has the key."""
    special = _special(x)
    if special is not None:
        special.set_item(x, _settled(index) if special is dicts else index, value)
        return
    if type(x) is np.ndarray:
        if is_traced(value) or _has_traced(index):
            index, value = _numbers(index), _numbers(value)
        if is_traced(value) or _has_traced(index):
            _refuse_assignment(value)
    elif _has_traced(index) and not (is_traced(x) or isinstance(x, FreshArray)):
        index = _settled(index)
        if not _has_traced(index):
            x[index] = value
            return
        if is_list(x) and not isinstance(index, (tuple, slice)):
            _set_nth(x, index, value)
            return
        if tables.is_table(x, index):
            tables.set_item(x, index, value, has_key)
            return
        _check_container(x, index)
    if is_inside_try() and is_traced(x):
        _check_bounds(x, index)
    _check_names(x, index)
    x[index] = value


def _check_names(x: Any, name: Any) -> None:
    """Raise CaptureError in a branch or a loop that sets a name of a module by ``globals()``."""
    trace = current_trace()
    is_space = type(x) is dict and "__builtins__" in x
    if is_space and trace is not None and trace.around is not None:
        raise CaptureError(with_place(_GLOBALS.format(name=name), user_source()))


_GLOBALS = (
    "A branch or a loop sets the global name `{name}` by `globals()`, and a traced value decides "
    "whether or how often. Return the value, and set the name where the function is called:\n"
    "    y, {name} = f(x)                   # where f ends with: return y, {name}"
)


def delete_item(x: Any, index: Any) -> None:
    """``del x[index]``."""
    if any_made() and has_stretch(x):
        elements.delete(x, index)
        return
    if dicts.is_optional(x):
        dicts.delete(x, _settled(index))
        return
    if isinstance(x, dict) and _has_traced(index):
        index = _settled(index)
        if tables.is_table(x, index):
            tables.delete(x, index)
            return
        if _has_traced(index):
            check_key(index)
    if is_list(x) and _has_traced(index):
        index = _settled(index)
        if _has_traced(index):
            refuse(
                "Deleting from a list at a traced index",
                "Keep the elements in an array, with a mask of the ones that are still there.",
            )
    del x[index]


def _numbers(x: Any) -> Any:
    """The argument with plain numbers in place of known values without derivatives, in the bounds
    of slices too."""
    if type(x) is tuple:
        return tuple([_numbers(each) for each in x])
    return _settled(x) if type(x) is slice else with_values(x)


def _refuse_assignment(value: Any) -> None:
    if is_traced(value) and at_hand(bare(value)) is not None:
        raise lost_derivative(bare(value), STORED, ASSIGNMENT_FIX)
    raise ConcreteValueError(
        with_place(
            "Assigning a traced value to an ordinary array, or assigning at a traced index, "
            "needs values. While a function is traced, only types are known.\n"
            f"{ASSIGNMENT_FIX}",
            user_source(),
        )
    )


def _set_nth(items: list[Any], index: Any, value: Any) -> None:
    """Assign to the element of a list at a traced index; all elements become choices."""
    if any(isinstance(x, ChosenList) for x in (value, *items)):
        raise CaptureError(with_place(_OF_LISTS, user_source()))
    place = _place(items, index)
    every = as_value(np.arange(len(items)))
    here = gather(every, place, axes=(0,))  # which raises IndexError if it is out of range
    items[:] = [choose(tracer(arithmetic.eq(here, k)), value, old) for k, old in enumerate(items)]


_OF_LISTS = (
    "A list that a traced index has chosen is put into a list of lists, so compiled code would not "
    "know which list is where. Keep the rows in one array:\n"
    "    rows = np.array(rows)              # before\n"
    "    rows[[i, k]] = rows[[k, i]]        # not: rows[i], rows[k] = rows[k], rows[i]"
)


def update_item(x: Any, index: Any, name: str, value: Callable[[], Any]) -> None:
    """``x[index] += value()``; ``name`` is the operator's function in `operator`."""
    old = item(x, index)
    if name == "ior":
        dicts.whole(old)
        set_item(x, index, operator.ior(old, dicts.whole(value())))
        return
    set_item(x, index, getattr(operator, name)(old, value()), has_key=True)
