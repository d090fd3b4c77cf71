"""The elements of lists of traced length: numbers and arrays, and tuples of them.

Such a list holds copies of its arrays, whereas Python's holds the arrays themselves. So an array
that is put into it, or read from it, may not be changed in place afterwards; that is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import CaptureError, InPlaceError, raised, with_place
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.protocols.lifting import tracer
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import keep
from autojit.tracing.context import PYTHON_TYPES
from autojit.tracing.created_arrays import FreshArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer


class Elements(NamedTuple):
    """The type of each element of a list: numbers and arrays of given types, or tuples of them."""

    structure: Any
    types: tuple[LeafType, ...]
    #: Whether elements are also taken from the front, so that the first one may lie anywhere.
    is_ring: bool = False

    @property
    def are_numbers(self) -> bool:
        return self.structure.is_leaf() and not self.types[0].type.shape

    @property
    def have_arrays(self) -> bool:
        return any(t.type.shape for t in self.types)

    def of(self, leaves: Sequence[Value]) -> Any:
        """An element made of these numbers and arrays, none of which may change in place."""
        found = [tracer(v, t.weak) for v, t in zip(leaves, self.types, strict=True)]
        keep(found)
        return pytrees.unflatten(self.structure, found)


class HasElements:
    """An object that stands in a list for several elements."""

    elements: Elements


def may_be_elements(items: Sequence[Any]) -> bool:
    """Whether the items are numbers, arrays, or tuples of them."""
    return all(
        isinstance(x, HasElements)
        or pytrees.is_array(x)
        or (isinstance(x, tuple) and bool(x) and may_be_elements(x))
        for x in items
    )


def given(element: Any) -> list[Any]:
    """The numbers and arrays of an element that is put into a list; from now on its arrays may not
    change in place.

    Raises CaptureError for an array whose changes cannot be seen.
    """
    leaves = pytrees.flatten(element)[0]
    return [_kept(leaf) if np.shape(leaf) else leaf for leaf in leaves]


def _kept(leaf: Any) -> Any:
    if type(leaf) is FreshArray:
        mark = len(raised.errors or ())
        try:
            leaf = hooks.traced(leaf)
        except InPlaceError:
            del (raised.errors or [])[mark:]
            raise CaptureError(with_place(_FROM_OUTSIDE, user_source())) from None
    leaf = bare(leaf)
    if isinstance(leaf, Tracer):
        keep([leaf])
    elif isinstance(leaf, np.ndarray) and leaf.flags.writeable:
        raise CaptureError(with_place(_FROM_OUTSIDE, user_source()))
    return leaf


_FROM_OUTSIDE = (
    "A list whose length depends on a traced value holds copies of its arrays. This array comes "
    "from outside the traced function, or something else refers to it, so autojit cannot see its "
    "changes. Append a copy that the function makes:\n"
    "    rows.append(np.array(table))       # not: rows.append(table)"
)


def elements_of(items: Sequence[Any]) -> Elements:
    """The common type of some elements."""
    found = []
    for x in items:
        if isinstance(x, HasElements):
            found.append(x.elements)
            continue
        _check_element(x)
        leaves, structure = pytrees.flatten(x)
        found.append(Elements(structure, tuple(map(leaf_type, leaves))))
    return joined_elements(found)


def _check_element(x: Any) -> None:
    if isinstance(x, tuple) and x:
        for part in x:
            _check_element(part)
    elif not pytrees.is_array(x):
        raise CaptureError(with_place(_ELEMENT, user_source()))


_ELEMENT = (
    "A traced value decides how many elements a list gets or loses, and its elements are not "
    "numbers, arrays or tuples of these. Append tuples:\n"
    "    points.append((x, y))              # not: points.append([x, y])"
)


def joined_elements(kinds: Sequence[Elements]) -> Elements:
    """One type for elements of several types."""
    first = kinds[0]
    for other in kinds[1:]:
        if other.structure != first.structure:
            raise CaptureError(with_place(_DIFFERENT, user_source()))
        types = zip(first.types, other.types, strict=True)
        common = tuple(_common(a, b) for a, b in types)
        first = Elements(first.structure, common, first.is_ring or other.is_ring)
    return first


_DIFFERENT = (
    "A traced value decides how many elements a list gets or loses, and its elements are not of "
    "one kind. Append only numbers, only tuples of one length, or only arrays of one shape:\n"
    "    found.append((x, 0.0))             # not: found.append(x), where others are pairs"
)


def _common(a: LeafType, b: LeafType) -> LeafType:
    if a == b:
        return a
    if a.type.shape != b.type.shape:
        raise CaptureError(with_place(_DIFFERENT, user_source()))
    if a.weak and b.weak:
        weak = max(a.weak, b.weak, key=(bool, int, float, complex).index)
        return LeafType(Type(PYTHON_TYPES[weak], ()), weak)
    parts = [t.weak(0) if t.weak else t.type.dtype for t in (a, b)]
    return LeafType(Type(np.result_type(*parts), a.type.shape), None)


def no_narrower(old: Sequence[LeafType], new: Sequence[LeafType]) -> list[LeafType]:
    """The types of values that had the old types, and have the new ones; of one shape."""
    kinds = []
    for a, b in zip(old, new, strict=True):
        if a == b or a.type.shape != b.type.shape:
            kinds.append(b)
            continue
        weak = [x for x in (a, b) if x.weak is not None]
        dtype = np.result_type(*(x.weak(0) if x in weak else x.type.dtype for x in (a, b)))
        is_weak = len(weak) == 2
        strongest = (
            max((x.weak for x in weak), key=(bool, int, float, complex).index) if is_weak else None
        )
        kinds.append(LeafType(Type(dtype, b.type.shape), strongest))
    return kinds
