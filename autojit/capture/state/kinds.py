"""The elements of lists of traced length: numbers and arrays, None, and tuples of these.

An element that may be None is an `Optional`: its flag is one more column of numbers.

Such a list holds copies of its arrays, whereas Python's holds the arrays themselves. So an array
that is put into it, or read from it, may not be changed in place afterwards; that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import CaptureError, InPlaceError, raised, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.ops import move
from autojit.protocols.kinds import kinds_of, note_seen
from autojit.protocols.lifting import as_value, in_type, to_dtype, tracer
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import keep
from autojit.tracing.context import PYTHON_TYPES
from autojit.tracing.created_arrays import FreshArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .optional import Optional, inner, with_inner


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

    @property
    def may_be_none(self) -> bool:
        """Whether elements may be None themselves."""
        return self.structure.type is Optional

    @property
    def have_nones(self) -> bool:
        """Whether elements may be None, or parts of them."""
        return has_nones(self.structure)

    @property
    def present(self) -> Elements:
        """The elements that are not None, which have all columns but the last."""
        return Elements(self.structure.children()[0], self.types[:-1], self.is_ring)

    def of(self, leaves: Sequence[Value]) -> Any:
        """An element made of these numbers and arrays, none of which may change in place."""
        found = [tracer(v, t.weak) for v, t in zip(leaves, self.types, strict=True)]
        note_seen(found, [t.kinds for t in self.types])
        keep(found)
        return self.made(found)

    def made(self, leaves: Sequence[Any]) -> Any:
        """The same of traced numbers and arrays, which may change."""
        return _without_empty(pytrees.unflatten(self.structure, leaves))

    def given(self, x: Any) -> list[Any]:
        """The leaves of an element of such a list (see :func:`given`)."""
        return given(self.fitted(x, _zero, bool))

    def columns_of(self, columns: Any, room: int) -> list[Any]:
        """The columns of such elements, given the columns of other ones as an element."""

        def flags(held: bool) -> Tracer:
            return tracer(full(held, Type(np.dtype(bool), (room,))))

        return self.fitted(columns, lambda t: zeros(t, room), flags)

    def fitted(self, x: Any, zero: Callable[[LeafType], Any], flag: Callable[[bool], Any]) -> Any:
        """The leaves of an element, or columns of elements, in the order of these types.

        ``zero`` makes those that x lacks because it is None, and ``flag`` flags that x lacks.
        """
        return _fitted(x, self.structure, self.types, zero, flag)


class HasElements:
    """An object that stands in a list for several elements."""

    elements: Elements


def may_be_elements(items: Sequence[Any]) -> bool:
    """Whether the items are numbers, arrays, None, or tuples of them."""
    return all(isinstance(x, HasElements) or _may_be_element(x) for x in items)


def _may_be_element(x: Any) -> bool:
    if isinstance(x, tuple):
        return bool(x) and all(map(_may_be_element, x))
    if type(x) is Optional:
        return _may_be_element(inner(x))
    return x is None or pytrees.is_array(x)


def given(element: Any) -> list[Any]:
    """The numbers and arrays of an element that is put into a list; from now on its arrays may not
    change in place.

    Raises CaptureError for an array whose changes cannot be seen.
    """
    leaves = pytrees.flatten(element)[0]
    return [_kept(leaf) if np.shape(leaf) else leaf for leaf in leaves]


def _zero(kind: LeafType) -> Any:
    zeros = np.zeros(kind.type.shape, kind.type.dtype)
    zeros.flags.writeable = False
    return zeros if zeros.shape else zeros[()]


def _fitted(
    x: Any, structure: Any, types: Sequence[LeafType], zero: Callable[[LeafType], Any],
    flag: Callable[[bool], Any],
) -> list[Any]:  # fmt: skip
    if x is None and structure.type is not Optional:
        return [zero(t) for t in types]
    if structure.is_leaf():
        return [x]
    if structure.type is Optional:
        held = flag(x is not None)
        if type(x) is Optional:
            x, held = inner(x), x.__aj_held__
        return [*_fitted(x, structure.children()[0], types[:-1], zero, flag), held]
    found: list[Any] = []
    for part, child in zip(x, structure.children(), strict=True):
        own = types[len(found) : len(found) + child.num_leaves]
        found += _fitted(part, child, own, zero, flag)
    return found


def has_nones(structure: Any) -> bool:
    """Whether elements of this structure may be None, or parts of them."""
    return structure.type is Optional or any(map(has_nones, structure.children()))


def _without_empty(x: Any) -> Any:
    """An element with None for an object that is always None."""
    if type(x) is Optional:
        value = _without_empty(inner(x))
        return None if value is None else with_inner(x, value)
    if isinstance(x, tuple) and any(type(part) in (Optional, tuple) for part in x):
        return getattr(type(x), "_make", tuple)(map(_without_empty, x))
    return x


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
        if not _may_be_element(x):
            raise CaptureError(with_place(_ELEMENT, user_source()))
        leaves, structure = pytrees.flatten(_with_empty(x))
        found.append(Elements(structure, tuple(map(seen_type, leaves))))
    return joined_elements(found)


def _with_empty(x: Any) -> Any:
    """An element with an object that is always None for None, and flags of one type."""
    if isinstance(x, tuple):
        return getattr(type(x), "_make", tuple)(map(_with_empty, x))
    if x is None or type(x) is Optional:
        return Optional(None if x is None else _with_empty(inner(x)), True)
    return x


_ELEMENT = (
    "A traced value decides how many elements a list gets or loses, and its elements are not "
    "numbers, arrays, None or tuples of these. Append tuples:\n"
    "    points.append((x, y))              # not: points.append([x, y])"
)


def joined_elements(kinds: Sequence[Elements]) -> Elements:
    """One type for elements of several types."""
    first = kinds[0]
    for other in kinds[1:]:
        if other.structure == first.structure:
            types = tuple(map(_common, first.types, other.types))
            found = Elements(first.structure, types)
        else:
            trees = [_unflattened(each) for each in (first, other)]
            leaves, structure = pytrees.flatten(_joined(*trees))
            found = Elements(structure, tuple(leaf.kind for leaf in leaves))
        first = found._replace(is_ring=first.is_ring or other.is_ring)
    return first


class _Leaf:
    """A leaf of a tree of types."""

    def __init__(self, kind: LeafType) -> None:
        self.kind = kind


def _unflattened(kind: Elements) -> Any:
    return pytrees.unflatten(kind.structure, list(map(_Leaf, kind.types)))


def _joined(a: Any, b: Any) -> Any:
    """The tree of types for elements that have one of two; None has no types."""
    if a is None or b is None:
        return b if a is None else a
    if Optional in (type(a), type(b)):
        parts = [inner(x) if type(x) is Optional else x for x in (a, b)]
        return Optional(_joined(*parts), _Leaf(leaf_type(True)))
    if type(a) is not type(b) or (isinstance(a, tuple) and len(a) != len(b)):
        raise CaptureError(with_place(_DIFFERENT, user_source()))
    if type(a) is _Leaf:
        return _Leaf(_common(a.kind, b.kind))
    return getattr(type(a), "_make", tuple)(map(_joined, a, b))


_DIFFERENT = (
    "A traced value decides how many elements a list gets or loses, and its elements are not of "
    "one kind. Append only numbers, only tuples of one length, or only arrays of one shape, beside "
    "None:\n"
    "    found.append((x, 0.0))             # not: found.append(x), where others are pairs"
)


def seen_type(leaf: Any) -> LeafType:
    """The type of a leaf, with the types that the user may see."""
    found = leaf_type(leaf)
    return found if found.type.shape else found.seen_as(frozenset(kinds_of(leaf)))


def _common(a: LeafType, b: LeafType) -> LeafType:
    if a == b:
        return a
    if a.type.shape != b.type.shape:
        raise CaptureError(with_place(_DIFFERENT, user_source()))
    if a.weak and b.weak:
        weak = max(a.weak, b.weak, key=(bool, int, float, complex).index)
        found = LeafType(Type(PYTHON_TYPES[weak], ()), weak)
    else:
        parts = [t.weak(0) if t.weak else t.type.dtype for t in (a, b)]
        found = LeafType(Type(np.result_type(*parts), a.type.shape), None)
    return found.seen_as(a.seen | b.seen)


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
        found = LeafType(Type(dtype, b.type.shape), strongest)
        kinds.append(found.seen_as(a.seen | b.seen))
    return kinds


# -- columns ------------------------------------------------------------------------------


def column_of(numbers: Sequence[Any], t: LeafType, room: int) -> Tracer:
    """Numbers, or arrays, as one array with room for ``room`` of them."""
    shape = t.type.shape
    rows = [move.reshape(cast(x, t), shape=(1, *shape)) for x in numbers]
    rest = as_value(zeros(t, room - len(rows)))
    return tracer(move.concatenate(*rows, rest, axis=0) if rows else rest)


def zeros(t: LeafType, room: int) -> Tracer:
    """A column of zeros."""
    return tracer(full(0, Type(t.type.dtype, (room, *t.type.shape))))


def longer(column: Any, room: int) -> Tracer:
    """A column with zeros behind its rows, so that it has room for ``room`` of them."""
    value = as_value(column)
    more = full(0, Type(value.dtype, (room - value.shape[0], *value.shape[1:])))
    return tracer(move.concatenate(value, more, axis=0))


def cast(x: Any, t: LeafType) -> Value:
    """A number or array of the type of a column."""
    return in_type(x, t.type.dtype) if type(x) is int else to_dtype(as_value(x), t.type.dtype)
