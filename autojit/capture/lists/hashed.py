"""Dicts at traced keys: tables of entries, which are found by their buckets.

If a traced integer, or a tuple of integers, becomes a new key of a dict, the dict holds a table in
place of its keys (see :func:`autojit.capture.state.resized.tabulate`). The entries are a list of
traced length, in the order in which Python's dict has the keys: tuples of a key, its value, and the
place of the entry before it in the same bucket, or -1. An array has the last entry of each bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.state.kinds import elements_of, may_be_elements
from autojit.capture.state.maybe import BUCKETS, DICTS, ENTRIES, Maybe, has_table
from autojit.capture.state.optional import assume, flag, known_flag
from autojit.capture.state.resized import bucket, tabulate
from autojit.capture.state.stretch import Stretch, stretch_in
from autojit.capture.values.scalars import is_traced, python_number, settled, truth
from autojit.control_flow.emission import emit_while
from autojit.errors import CaptureError, with_place
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import scatter
from autojit.protocols.lifting import as_value, dtype_of, tracer
from autojit.staging import pytrees
from autojit.tracing.blocks import is_around
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds
from autojit.tracing.source import user_source

Call = Callable[..., Any]
_INT = np.dtype(np.int64)
_GIVEN: Any = object()
#: The most entries that are compared with a key one by one.
FEW = 16


# -- keys ---------------------------------------------------------------------------------


def is_key(key: Any) -> bool:
    """Whether a key is a traced integer, or a tuple with one."""
    if isinstance(key, tuple):
        return any(map(is_key, key))
    return is_traced(key) and not np.shape(key)


def settled_key(key: Any) -> Any:
    """A key with plain numbers in place of known integers."""
    return tuple(map(settled_key, key)) if type(key) is tuple else settled(key)


def are_integers(key: Any) -> bool:
    """Whether a key is an integer, or a tuple of integers."""
    if isinstance(key, tuple):
        return bool(key) and all(map(are_integers, key))
    return isinstance(key, (bool, int, np.integer, np.bool_)) or (
        is_traced(key) and not np.shape(key) and _is_signed(dtype_of(key))
    )


def _is_signed(dtype: np.dtype) -> bool:
    return dtype.kind in "bi" or (dtype.kind == "u" and dtype.itemsize < 8)


def _numbers(key: Any) -> list[Any]:
    return [tracer(as_value(leaf, _INT)) for leaf in pytrees.flatten(key)[0]]


def is_table(x: Any, key: Any) -> bool:
    """Whether x is a dict that can be a table, and the key is traced."""
    return type(x) in DICTS and is_key(key)


def begin(d: dict[Any, Any], key: Any, value: Any) -> None:
    """Make a dict a table, if it is none, because it gets a traced key."""
    if has_table(d):
        return
    if not all(map(are_integers, (*d, key))):
        raise CaptureError(with_place(_KEY, user_source()))
    values = [v.value if type(v) is Maybe else v for v in d.values() if v is not UNBOUND]
    if not may_be_elements([*values, value]):
        raise CaptureError(with_place(_VALUE, user_source()))
    kinds = {pytrees.flatten(k)[1] for k in (*d, key)}
    if len(kinds) > 1:
        raise CaptureError(with_place(_KEY, user_source()))
    tabulate(d, elements_of([(key, value, -1)]))


_KEY = (
    "A dict gets a traced key, and its keys are not integers, or tuples of integers, of one form. "
    "Compiled code finds keys of one form:\n"
    "    memo[i, j] = x                     # not: memo[i] = y, where others are pairs\n"
    "    memo[int(x)] = y                   # not: memo[x] = y, for a float x"
)
_VALUE = (
    "A dict gets a traced key, and its values are not numbers, arrays, or tuples of these. Keep "
    "tuples:\n"
    "    memo[n] = (a, b)                   # not: memo[n] = [a, b]"
)


# -- entries --------------------------------------------------------------------------------


def entries_of(d: dict[Any, Any]) -> Stretch:
    return stretch_in(d[ENTRIES])


def key_of(s: Stretch) -> tuple[Any, int]:
    """The structure of the keys, and how many integers a key has."""
    structure = s.elements.structure.children()[0]
    return structure, structure.num_leaves


def find(d: dict[Any, Any], key: Any) -> tuple[Any, Any]:
    """The place of a key's entry, or some negative one, and whether there is one."""
    s = entries_of(d)
    structure, _ = key_of(s)
    if not are_integers(key):
        if is_key(key):
            raise CaptureError(with_place(_KEY, user_source()))
        hash(key)  # which raises Python's TypeError
        if isinstance(key, float) and key.is_integer():
            key = int(key)
    leaves, form = pytrees.flatten(key)
    if form != structure or not are_integers(key):
        return -1, False
    known = _looked_up(s, d[BUCKETS], leaves)
    if known is None:
        known = _searched(s, d[BUCKETS], _numbers(key))
        s.lookups.append((d[BUCKETS], leaves, known))
    return known


def _looked_up(s: Stretch, buckets: Any, leaves: Sequence[Any]) -> Any:
    """The result of an earlier search for the same key in the same table."""
    for mine, others, found in s.lookups:
        is_same = mine is buckets and all(map(_is_same, leaves, others))
        if is_same and is_around(found[0].owner.builder):
            return found
    return None


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (not is_traced(a) and not is_traced(b) and bool(a == b))


def _searched(s: Stretch, buckets: Any, numbers: Sequence[Any]) -> tuple[Any, Any]:
    """The place of a key, and whether it has one."""
    columns, links = s.stored[: len(numbers)], s.stored[-1]
    if s.room <= FEW:
        same = np.arange(s.room) < s.count
        for column, number in zip(columns, numbers, strict=True):
            same = np.logical_and(same, np.equal(column, number))
        there = truth(np.any(same))
        return python_number(as_value(np.argmax(same)), int), there

    def goes_on(place: Any) -> Any:
        differs: Any = False
        for column, number in zip(columns, numbers, strict=True):
            differs = np.logical_or(differs, np.not_equal(_at(column, place), number))
        return np.logical_and(place >= 0, differs)

    first = _at(buckets, bucket(numbers))
    place = python_number(
        as_value(emit_while(goes_on, lambda place: _at(links, place), first)), int
    )
    return place, truth(np.greater_equal(place, 0))


def _at(column: Any, place: Any) -> Any:
    inside = np.minimum(np.maximum(place, 0), np.shape(column)[0] - 1)
    return tracer(gather(as_value(column), as_value(inside, _INT), axes=(0,)))


def value_at(d: dict[Any, Any], place: Any) -> Any:
    """The value of the entry at a place; any value for a negative one."""
    return entry(d, place)[1]


def entry(d: dict[Any, Any], place: Any) -> Any:
    s = entries_of(d)
    inside = np.minimum(np.maximum(place, 0), s.room - 1)
    return s.at(with_bounds(python_number(as_value(inside), int), (0, s.room - 1)))


# -- one key --------------------------------------------------------------------------------


def contains(key: Any, d: dict[Any, Any]) -> Any:
    """``key in d``."""
    _, there = find(d, key)
    known = known_flag(there)
    if known is not None:
        return known
    return flag(tracer(as_value(there), bool), ((there, True),), ((there, False),))


def item(d: dict[Any, Any], key: Any, made: Callable[[], Any] | None) -> Any:
    """``d[key]``; ``made`` makes the value of a missing key."""
    place, there = find(d, key)
    known = known_flag(there)
    if known is False:
        if made is None:
            raise KeyError(key if not is_key(key) else NO_KEY)
        return made()
    if known:
        return value_at(d, place)
    if made is not None:
        return hooks.choose(there, lambda: value_at(d, place), made)
    _check(there, key)
    return value_at(d, place)


NO_KEY = "a traced key that the dict does not have"


def _check(there: Any, key: Any) -> None:
    """Make the compiled code raise KeyError unless a key is there."""
    hooks.fail_where(np.logical_not(there), KeyError(NO_KEY if is_key(key) else key))
    assume([(there, True)])


def set_item(d: dict[Any, Any], key: Any, value: Any) -> None:
    """``d[key] = value``. A new key becomes the last one."""
    begin(d, key, value)
    s, buckets = entries_of(d), d[BUCKETS]
    if not (are_integers(key) and pytrees.flatten(key)[1] == key_of(s)[0]):
        raise CaptureError(with_place(_KEY, user_source()))
    if not may_be_elements([value]):
        raise CaptureError(with_place(_VALUE, user_source()))
    place, there = find(d, key)
    if known_flag(there):
        old = entry(d, place)
        d[ENTRIES][:] = [s.replaced(_clipped(place, s), (old[0], value, old[2]))]
        return
    where = np.where(there, place, s.count)
    here = bucket(_numbers(key))
    last = _at(buckets, here)
    link = np.where(there, _at(s.stored[-1], place), last)
    more = python_number(as_value(np.logical_not(there)), int)
    element = key, value, python_number(as_value(link), int)
    d[ENTRIES][:] = [s.entered(python_number(as_value(where), int), element, more)]
    value = as_value(np.where(there, last, s.count), _INT)
    d[BUCKETS] = tracer(scatter(as_value(buckets), value, as_value(here, _INT), axes=(0,)))


def _clipped(place: Any, s: Stretch) -> Any:
    inside = np.minimum(np.maximum(place, 0), s.room - 1)
    return with_bounds(python_number(as_value(inside), int), (0, s.room - 1))


def take(d: dict[Any, Any], key: Any) -> Any:
    """The value of a key, which is deleted."""
    place, there = find(d, key)
    if known_flag(there) is False:
        raise KeyError(key if not is_key(key) else NO_KEY)
    if known_flag(there) is None:
        _check(there, key)
    found = value_at(d, place)
    remove(d, place, there)
    return found


def remove(d: dict[Any, Any], place: Any, there: Any) -> None:
    """Delete the entry at a place, if it is there. The later ones move up, and so do the places in
    links and buckets; an entry behind the deleted one gets its link."""
    s = entries_of(d)
    at = np.where(there, place, s.room)
    link = _at(s.stored[-1], at)
    places = tracer(s.places())
    moved = as_value(places + (places >= at).astype(_INT))
    less = python_number(as_value(there), int)
    found = s.picked(moved, np.maximum(s.count - less, 0), s.most)

    def relinked(x: Any) -> Any:
        x = np.where(np.equal(x, at), link, x)
        return tracer(as_value(x - (x > at).astype(_INT)))

    found.stored[-1] = relinked(found.stored[-1])
    d[ENTRIES][:] = [found]
    d[BUCKETS] = relinked(d[BUCKETS])


def length(d: dict[Any, Any]) -> Any:
    """``len(d)``."""
    return entries_of(d).count
