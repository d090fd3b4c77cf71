"""The elements of lists of traced length as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.capture.state.stretch import Stretch, stretch_in
from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_tracer
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source


def refused() -> Any:
    """Raise CaptureError for a use that needs the list's length during tracing."""
    raise CaptureError(with_place(Stretch.words, user_source()))


def as_array(items: list[Any]) -> Any:
    """The elements as an array of traced length."""
    if not isinstance(items, list):
        return refused()
    s = stretch_in(present(items, _NO_NUMBERS))
    columns = [as_tracer(c) for c in s.columns]
    if len(columns) == 1 and s.elements.structure.is_leaf():
        if s.elements.have_arrays:
            hooks.fail_where(np.less_equal(s.count, 0), ValueError(_NO_ROWS))
        return columns[0][: s.count]
    is_flat = all(child.is_leaf() for child in s.elements.structure.children())
    if not is_flat or s.elements.have_arrays:
        return refused()
    return np.stack(columns, axis=1)[: s.count]


_NO_NUMBERS = "a compiled function makes numbers of a list in which an element is None"
_NO_ROWS = (
    "a compiled function converts an empty list of arrays to an array. In NumPy, the result "
    "would lack the axes of the elements. Test the length first: if rows: a = np.array(rows)"
)

hooks.elements_as_array = as_array


def numbers(items: list[Any]) -> Any:
    """The elements as an array, if they are numbers."""
    if not stretch_in(present(items, _NO_NUMBERS)).elements.are_numbers:
        return refused()
    return as_array(items)


def present(items: list[Any], words: str) -> list[Any]:
    """The elements for a use in which None raises a TypeError."""
    s = stretch_in(items)
    if not s.elements.may_be_none:
        return items
    missing = np.logical_and(matter(s), np.logical_not(as_tracer(s.columns[-1])))
    hooks.fail_where(np.any(missing), TypeError(words))
    return [s.without_nones()]


def matter(s: Stretch) -> Any:
    """A mask of the elements, in columns that have room for more."""
    return np.arange(s.room) < s.count


def truths(items: list[Any]) -> Any:
    """The truth of each element; None is false."""
    s = stretch_in(items)
    if not s.elements.may_be_none:
        return numbers(items)
    found = s.without_nones()
    if not found.elements.are_numbers:
        return refused()
    holds = np.logical_and(as_tracer(s.columns[-1]), np.not_equal(as_tracer(found.columns[0]), 0))
    return holds[: s.count]
