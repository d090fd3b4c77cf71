"""Names that are bound, and keys that a dict has, on one way through a block but not on another.

A traced condition that sets a new key of a dict makes the key optional. The dict then has all keys
that it may get; the value of each is bound, unbound, or a :class:`Maybe`, as for names. The dict's
own order is the order of the keys that are there, unless conditions decide that too.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import optree

from autojit.capture.rewriting.plain import UNBOUND
from autojit.errors import CaptureError, with_place
from autojit.staging.pytrees import NAMESPACE
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source


class Maybe:
    """The value of a name that is bound if ``held`` is true."""

    __slots__ = ("held", "value")

    def __init__(self, value: Any, held: Any) -> None:
        self.value = value
        self.held = held


def _taken_apart(x: Any) -> tuple[list[Any], None, list[str]]:
    return [x.value, x.held], None, ["value", "held"]


def _put_together(_: Any, children: Any) -> Any:
    return Maybe(*children)


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Maybe
optree.register_pytree_node(_CLASS, _taken_apart, _put_together, namespace=NAMESPACE)


# -- dicts ----------------------------------------------------------------------------------

#: Types of dicts whose keys may be optional.
DICTS = frozenset({dict, OrderedDict, defaultdict, Counter})
#: The keys of a dict at traced keys under which its entries and its buckets are.
ENTRIES, BUCKETS = "__aj_entries__", "__aj_buckets__"
#: Views of dicts. Python's views do not know which keys are optional.
VIEWS = frozenset({type({}.keys()), type({}.values()), type({}.items())})


class _Local(threading.local):
    made = False


_local = _Local()


class Keys:
    """Facts about the keys of a dict in this trace."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items
        #: Keys that stay in the dict, unbound, when they are deleted.
        self.staying: set[Any] = set()
        #: Whether the order of the keys was used, and whether traced conditions decide it.
        self.in_order = self.is_mixed = False
        #: The keys and values that the dict had before it became a table.
        self.first: dict[Any, Any] | None = None

    def end(self) -> None:
        """Remove the keys that are not there, since the trace ends. A table leaves one of its
        arrays in the dict, by which a dict from outside the traced function is found."""
        if self.first is not None:
            found = self.items.get(BUCKETS)
            self.undo()
            self.items[ENTRIES] = found
        for key in [k for k, value in self.items.items() if value is UNBOUND]:
            del self.items[key]

    def undo(self) -> None:
        """Restore a dict that has become a table."""
        if self.first is not None:
            self.items.clear()
            self.items.update(self.first)


def any_optional() -> bool:
    """Whether there may be a dict with optional keys anywhere."""
    return _local.made


def has_table(x: Any) -> bool:
    """Whether a dict holds a table of entries (see `capture.lists.hashed`) in place of its keys."""
    return _local.made and type(x) in DICTS and ENTRIES in x


def known_keys(x: Any) -> Keys | None:
    """The facts about a dict's keys, if there are any."""
    trace = current_trace()
    if trace is None or not _local.made:
        return None
    return next((known for known in trace.optional_keys if known.items is x), None)


def keys_of(x: Any) -> Keys:
    """The facts about a dict's keys."""
    found, trace = known_keys(x), current_trace()
    if found is None:
        assert trace is not None
        _local.made = True
        found = Keys(x)
        trace.optional_keys.append(found)
    return found


def has_optional(x: Any) -> bool:
    """Whether a dict, or the dict of a view, has optional keys, keys in an order that traced
    conditions decide, or a table."""
    if not _local.made:
        return False
    if type(x) in VIEWS:
        return any(map(_is_optional, x.mapping.values())) or _is_of_mixed(x.mapping)
    if type(x) not in DICTS:
        return False
    return ENTRIES in x or any(map(_is_optional, x.values())) or is_mixed(x)


def is_mixed(x: Any) -> bool:
    """Whether traced conditions decide the order of a dict's keys."""
    found = known_keys(x)
    return found is not None and found.is_mixed


def _is_of_mixed(mapping: Any) -> bool:
    """Whether the dict of a view may be one whose order traced conditions decide."""
    trace = current_trace()
    return any(
        known.is_mixed and mapping.keys() == known.items.keys()
        for known in (trace.optional_keys if trace is not None else ())
    )


def _is_optional(value: Any) -> bool:
    return value is UNBOUND or type(value) is Maybe


def add_optional(x: dict[Any, Any], more: Iterable[Any], fewer: Iterable[Any]) -> None:
    """Make keys optional that a block adds to a dict, or deletes from it."""
    keys_of(x).staying.update(fewer)
    for key in more:
        keys_of(x)
        x.setdefault(key, UNBOUND)


def possible_keys(x: dict[Any, Any]) -> list[Any]:
    """The keys that a dict has or may have, in its order."""
    return [key for key, value in x.items() if value is not UNBOUND]


def note_mixed(x: dict[Any, Any]) -> None:
    """Note that traced conditions decide the order of a dict's keys; refuse if it was used."""
    found = keys_of(x)
    found.is_mixed = True
    if found.in_order:
        refuse_order()


def refuse_order() -> None:
    """Raise CaptureError for a use of an order that traced conditions decide."""
    raise CaptureError(with_place(_ORDER, user_source()))


_ORDER = (
    "Traced conditions decide in which order this dict got its keys, and a loop, a conversion or a "
    "function uses that order. Look up the keys by name, in an order of your own:\n"
    "    for name in ('a', 'b'):            # not: for name in d\n"
    "        if name in d: total += d[name]"
)


def only_present(x: dict[Any, Any]) -> Any:
    """A dict as a result of the traced function, without the keys that are not there."""
    if has_table(x):
        raise CaptureError(with_place(_RESULT_TABLE, user_source()))
    if is_mixed(x) or any(type(value) is Maybe for value in x.values()):
        raise CaptureError(with_place(_RESULT, user_source()))
    made = x.copy()
    for key in [k for k, value in x.items() if value is UNBOUND]:
        del made[key]
    return made


_RESULT = (
    "The function returns a dict whose keys, or their order, depend on a traced condition. Under "
    "`jit` alone the keys may, but not their order, and derivatives and batches need the same keys "
    "always. Return a value for each of them:\n"
    "    return {'a': d.get('a', np.nan)}   # not: return d"
)


_RESULT_TABLE = (
    "The function returns a dict with traced keys. Under `jit` alone it may, but derivatives and "
    "batches need the same keys always. Return what you need of it:\n"
    "    return d.get(0, 0.0), sum(d.values())  # not: return d"
)


def reorder(x: dict[Any, Any], orders: Sequence[Sequence[Any]]) -> None:
    """Give the keys of a dict an order that agrees with all orders of some of them, or note that
    there is none."""
    merged = _merged([list(order) for order in orders])
    if merged is None:
        note_mixed(x)
        return
    rest = [key for key in x if key not in set(merged)]
    if [*merged, *rest] == list(x.keys()):
        return
    held = dict(x.items())
    x.clear()
    for key in (*merged, *rest):
        x[key] = held[key]


def _merged(orders: list[list[Any]]) -> list[Any] | None:
    found: list[Any] = []
    while any(orders):
        heads = [order[0] for order in orders if order]
        free = next((k for k in heads if not any(k in order[1:] for order in orders)), _NOTHING)
        if free is _NOTHING:
            return None
        found.append(free)
        orders = [[key for key in order if key != free] for order in orders]
    return found


_NOTHING = object()
