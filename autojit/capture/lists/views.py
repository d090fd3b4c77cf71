"""Methods and views of dicts at traced keys (see :mod:`.hashed`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autojit.capture.state.kinds import Elements
from autojit.capture.state.maybe import BUCKETS, DICTS, ENTRIES, has_optional
from autojit.capture.state.optional import known_flag
from autojit.capture.state.stretch import Stretch
from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_value, tracer
from autojit.staging import pytrees
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source

from . import library
from .hashed import (
    entries_of,
    entry,
    find,
    key_of,
    length,
    remove,
    set_item,
    take,
    value_at,
)
from .resumable import handed_on
from .watched import one_by_one

Call = Callable[..., Any]
_GIVEN: Any = object()


def refused() -> Any:
    """Raise CaptureError for a use that needs the keys during tracing."""
    raise CaptureError(with_place(_USE, user_source()))


_USE = (
    "Keys of this dict are traced values, so they are not known while the function is traced. Such "
    "a dict supports d[k], d[k] = x, del d[k], k in d, len(d), loops, get, pop, setdefault, "
    "update, keys, values and items:\n"
    "    total = sum(d.values())            # or: for k, v in d.items(): total += v"
)


def _get(call: Call, d: Any, key: Any, default: Any = None) -> Any:
    place, there = find(d, key)
    known = known_flag(there)
    if known is not None:
        return value_at(d, place) if known else default
    return hooks.choose(there, lambda: value_at(d, place), lambda: default)


def _pop(call: Call, d: Any, key: Any, default: Any = _GIVEN) -> Any:
    if default is _GIVEN:
        return take(d, key)
    found = _get(call, d, key, default)
    place, there = find(d, key)
    if known_flag(there) is not False:
        remove(d, place, there)
    return found


def _pop_item(call: Call, d: Any, last: bool = True) -> Any:
    count = length(d)
    hooks.fail_where(np.less_equal(count, 0), KeyError("popitem(): dictionary is empty"))
    place = np.maximum(count - 1, 0) if last else 0
    key, value, _ = entry(d, place)
    remove(d, place, True)
    return key, value


def _setdefault(call: Call, d: Any, key: Any, default: Any = None) -> Any:
    place, there = find(d, key)

    def made() -> Any:
        set_item(d, key, default)
        return default

    known = known_flag(there)
    if known is not None:
        return value_at(d, place) if known else made()
    return hooks.choose(there, lambda: value_at(d, place), made)


def _update(call: Call, d: Any, *others: Any, **named: Any) -> None:
    if named:
        refused()
    for other in others:
        if type(other) in DICTS and not has_optional(other):
            for key, value in list(other.items()):
                set_item(d, key, value)
        else:
            call(library.updated_from, d, call(other.items) if type(other) in DICTS else other)


def _clear(call: Call, d: Any) -> None:
    d[ENTRIES][:] = [entries_of(d).shortened(0)]
    d[BUCKETS] = tracer(as_value(np.full(np.shape(d[BUCKETS]), -1)))


def copied(d: dict[Any, Any]) -> Any:
    """``d.copy()``."""
    made = d.copy()
    made[ENTRIES] = list(d[ENTRIES])
    return made


METHODS: dict[str, Callable[..., Any]] = {
    "get": _get, "pop": _pop, "popitem": _pop_item, "setdefault": _setdefault, "update": _update,
    "clear": _clear, "copy": lambda call, d: copied(d),
    "keys": lambda call, d: View(d, "keys"), "values": lambda call, d: View(d, "values"),
    "items": lambda call, d: View(d, "items"),
}  # fmt: skip


class View:
    """``d.keys()``, ``d.values()`` or ``d.items()`` of a table."""

    __aj_internal__ = True

    def __init__(self, d: dict[Any, Any], kind: str) -> None:
        self.d, self.kind = d, kind

    def now(self) -> list[Any]:
        """The present keys, values or items, as a list of traced length."""
        s = entries_of(self.d)
        children, keys = s.elements.structure.children(), key_of(s)[1]
        first, stop = (0 if self.kind != "values" else keys), (keys if self.kind == "keys" else -1)
        key, value, _ = (pytrees.unflatten(c, [0] * c.num_leaves) for c in children)
        example = {"keys": key, "values": value}.get(self.kind, (key, value))
        structure = pytrees.flatten(example)[1]
        elements = Elements(structure, s.elements.types[first:stop])
        part = Stretch(elements, s.stored[first:stop], s.count, most=s.most,
                       is_limited=s.is_limited)  # fmt: skip
        return [part]

    def running(self) -> Iterator[Any]:
        """A generator that reads each element when it is asked for."""
        pick = {"keys": library.table_keys, "values": library.table_values}.get(self.kind)
        return handed_on(one_by_one, pick or library.table_items, (self.d, entry), always=True)

    def _refuse(self, *args: Any) -> Any:
        return refused()

    __iter__ = __len__ = __contains__ = _refuse
