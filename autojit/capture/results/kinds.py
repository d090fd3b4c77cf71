"""The parts of a result that are put together after the call, and the arrays they are made of."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from autojit.capture.lists.deques import Deque
from autojit.capture.state.kinds import Elements, has_nones
from autojit.capture.state.maybe import Maybe, keys_of
from autojit.capture.state.one_of import recoded
from autojit.capture.state.optional import Optional
from autojit.capture.state.stretch import Stretch
from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_value, tracer
from autojit.staging import pytrees
from autojit.staging.pytrees import NAMESPACE
from autojit.tracing.known import at_hand
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer


class Late:
    """A part of a result: ``kind.made(parts)`` after a call, ``kind.traced(parts)`` if the call is
    traced. The traced part is Python's own object where the values are at hand."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: Any, parts: Sequence[Any]) -> None:
        self.kind, self.parts = kind, list(parts)


def _taken_apart(x: Any) -> tuple[list[Any], Any]:
    return x.parts, x.kind


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Late
optree.register_pytree_node(_CLASS, _taken_apart, _CLASS, namespace=NAMESPACE)


def put_together(structure: Any, is_traced: bool) -> Callable[[Sequence[Any]], Any]:
    """A function that makes the result of a call, which is traced or not, from its arrays."""
    return _maker(pytrees.unflatten(structure, range(structure.num_leaves)), is_traced)


def _maker(tree: Any, is_traced: bool) -> Callable[[Sequence[Any]], Any]:
    """The same for a part of the result, whose leaves are the numbers of arrays."""
    if type(tree) is int:
        return operator.itemgetter(tree)
    if type(tree) is Late:
        make = tree.kind.traced if is_traced else tree.kind.made
        parts = [_maker(part, is_traced) for part in tree.parts]
        return lambda arrays: make([part(arrays) for part in parts])
    leaves, outer = optree.tree_flatten(tree, is_leaf=is_late, namespace=NAMESPACE)
    makers = [_maker(leaf, is_traced) for leaf in leaves]
    return lambda arrays: pytrees.unflatten(outer, [each(arrays) for each in makers])


def has_late(tree: Any) -> bool:
    """Whether a tree has such nodes."""
    return any(map(is_late, optree.tree_leaves(tree, is_leaf=is_late, namespace=NAMESPACE)))


def is_late(x: Any) -> bool:
    return type(x) is Late


# -- the kinds ------------------------------------------------------------------------------


class ListOf(NamedTuple):
    """A list: columns with room for all elements, and the number of elements."""

    elements: Elements
    is_limited: bool
    #: None for a list; else a tuple of the longest length of a deque.
    deque: tuple[Any] | None = None

    def made(self, parts: list[Any]) -> Any:
        *columns, count = parts
        found = _elements(self.elements.structure, columns, int(count))
        return found if self.deque is None else collections.deque(found, *self.deque)

    def traced(self, parts: list[Any]) -> Any:
        *columns, count = parts
        known = _known(count)
        if known is not None:
            found = _traced_elements(self.elements, columns, known)
            return found if self.deque is None else collections.deque(found, *self.deque)
        items = [Stretch(self.elements, columns, count, is_limited=self.is_limited)]
        return items if self.deque is None else Deque(items, *self.deque)


def _known(x: Any) -> Any:
    """A count, code or flag, if it is known during the trace; else None."""
    return at_hand(x) if isinstance(x, Tracer) else x


def _traced_elements(elements: Elements, columns: Sequence[Any], count: int) -> list[Any]:
    """The elements of a list of which the length is known."""
    pairs = list(zip(columns, (kind.weak for kind in elements.types), strict=True))
    rows = ([tracer(as_value(c[k]), weak) for c, weak in pairs] for k in range(int(count)))
    return [_settled(elements.made(row)) for row in rows]


def _elements(structure: Any, columns: Sequence[Any], count: int) -> list[Any]:
    """The elements of a list, whose arrays own their memory."""
    rows = [np.asarray(column)[:count] for column in columns]
    parts = [list(c if c.ndim == 1 else map(np.copy, c)) for c in rows]
    if structure.is_leaf():
        return parts[0]
    found = [pytrees.unflatten(structure, each) for each in zip(*parts, strict=True)]
    return list(map(_settled, found)) if has_nones(structure) else found


def _settled(x: Any) -> Any:
    """An element with None where the flag of a value is known not to hold."""
    if isinstance(x, tuple):
        return getattr(type(x), "_make", tuple)(map(_settled, x))
    if type(x) is not Optional:
        return x
    known = _known(x.__aj_held__)
    return x if known is None else _settled(x.__aj_value__) if known else None


class PartOfArray(NamedTuple):
    """A part of an array: a mask for each of some axes, and whether it is read backwards."""

    axes: tuple[tuple[int, bool], ...]

    def made(self, parts: list[Any]) -> Any:
        x, *masks = map(np.asarray, parts)
        for (axis, is_reversed), mask in zip(self.axes, masks, strict=True):
            x, mask = (np.flip(x, axis), mask[::-1]) if is_reversed else (x, mask)
            x = np.compress(mask, x, axis)
        return x

    def traced(self, parts: list[Any]) -> Any:
        x, *masks = parts
        for (axis, is_reversed), mask in zip(self.axes, masks, strict=True):
            x, mask = (np.flip(x, axis), mask[::-1]) if is_reversed else (x, mask)
            x = x[(*(slice(None),) * axis, mask)]
        return x


class OrNone(NamedTuple):
    """A value, or None: a tree and a flag."""

    def made(self, parts: list[Any]) -> Any:
        value, held = parts
        return value if held else None

    def traced(self, parts: list[Any]) -> Any:
        return _settled(Optional(*parts))


class Object(NamedTuple):
    """One of several objects that never change, by a code."""

    codes: tuple[int, ...]
    objects: tuple[Any, ...]

    def made(self, parts: list[Any]) -> Any:
        code = int(parts[0])
        found = dict(zip(self.codes, self.objects, strict=True))
        return found.get(code)  # a variant that does not count may have another code

    def traced(self, parts: list[Any]) -> Any:
        if _known(parts[0]) is not None:
            return self.made([_known(parts[0])])
        return recoded(parts[0], tuple(zip(self.codes, self.objects, strict=True)))


class Known(NamedTuple):
    """An object that never changes."""

    value: Any

    def made(self, _: list[Any]) -> Any:
        return self.value

    def traced(self, _: list[Any]) -> Any:
        return self.value


class DictOf(NamedTuple):
    """A dict: the value of each key that it may have, and a flag for each that may be missing."""

    empty: Callable[..., Any]
    keys: tuple[Any, ...]
    optional: tuple[int, ...]

    def made(self, parts: list[Any]) -> Any:
        flags = dict(zip(self.optional, parts[len(self.keys) :], strict=True))
        made = self.empty()
        for number, key in enumerate(self.keys):
            if flags.get(number, True):
                made[key] = parts[number]
        return made

    def traced(self, parts: list[Any]) -> Any:
        known = [_known(held) for held in parts[len(self.keys) :]]
        if None not in known:
            return self.made([*parts[: len(self.keys)], *known])
        flags = dict(zip(self.optional, parts[len(self.keys) :], strict=True))
        made = self.empty()
        keys_of(made)
        for number, key in enumerate(self.keys):
            value = parts[number]
            made[key] = Maybe(value, flags[number]) if number in flags else value
        return made


class Table(NamedTuple):
    """A dict with traced keys: columns of its keys and values, and their number."""

    empty: Callable[..., Any]
    elements: Elements

    def made(self, parts: list[Any]) -> Any:
        *columns, count = parts
        made = self.empty()
        for key, value in _elements(self.elements.structure, columns, int(count)):
            made[_number(key)] = value
        return made

    def traced(self, parts: list[Any]) -> Any:
        *columns, count = parts
        known, made = _known(count), self.empty()
        if known is None:
            raise CaptureError(with_place(_TABLE_INSIDE, user_source()))
        for key, value in _traced_elements(self.elements, columns, known):
            made[_number(key)] = value
        return made


_TABLE_INSIDE = (
    "A function under `jit` returns a dict with traced keys to another traced function. Call the "
    "function without `jit` there, since the outer one compiles it as well:\n"
    "    jit(lambda x: count(x)[0])         # not: jit(lambda x: jit(count)(x)[0])"
)


def _number(key: Any) -> Any:
    """A key as a number or a tuple of numbers; a traced one is at hand."""
    if isinstance(key, tuple):
        return tuple(map(_number, key))
    return np.asarray(_known(key)).item()


class Variant(NamedTuple):
    """One of several trees, by a code."""

    def made(self, parts: list[Any]) -> Any:
        *forms, code = parts
        return forms[int(code)]

    def traced(self, parts: list[Any]) -> Any:
        *forms, code = parts
        known = _known(code)
        if known is None:
            raise CaptureError(with_place(_VARIANT_INSIDE, user_source()))
        return forms[int(known)]


_VARIANT_INSIDE = (
    "A function under `jit` returns results of different structure to another traced function, as "
    "a traced condition decides. Return one structure, with a number for what is missing:\n"
    "    return {'a': x, 'b': np.nan}       # not: {'a': x} or [x], as a condition decides"
)


class Checked(NamedTuple):
    """A result without numbers, and a number whose computation raises the function's exceptions."""

    def made(self, parts: list[Any]) -> Any:
        return parts[0]

    def traced(self, parts: list[Any]) -> Any:
        return parts[0]


class Empty(NamedTuple):
    """Makes an empty dict of some type."""

    kind: type
    arguments: tuple[Any, ...] = ()

    def __call__(self) -> Any:
        return self.kind(*self.arguments)
