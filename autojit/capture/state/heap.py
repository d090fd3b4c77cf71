"""Objects that a block may change: lists, dicts and attributes, compared before and after it."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.users.classes import users_classes, watch
from autojit.errors import CaptureError, with_place
from autojit.ir.core.program import Source
from autojit.staging.numba_functions import numba_kind
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import FreshArray
from autojit.tracing.hooks import hooks
from autojit.tracing.running.arguments import Argument
from autojit.tracing.running.asked import ASKED, is_iterator
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .holders import (
    Attributes,
    Names,
    contents,
    has_contents,
    is_object,
    name_of,
    of_function,
    put_back,
    same_state,
    set_content,
    state_of,
    values_of,
)
from .maybe import DICTS, Maybe, has_optional, has_table, note_mixed, possible_keys, reorder
from .one_of import OneOf, alternatives
from .optional import Optional, inner
from .stretch import has_stretch, is_list, put_together
from .unread import UNREAD, Lost, Unread

#: Types of objects that hold nothing that can be changed, or that are found by other means.
_LEAVES = (
    np.generic, Tracer, FreshArray, Argument, str, bytes, int, float, complex, bool, type(None),
    ModuleType, range, slice, np.dtype, np.ufunc, frozenset,
)  # fmt: skip
#: The most containers that are followed; a block that reaches more is refused if it changes any.
MOST = 10_000


class _Local(threading.local):
    def __init__(self) -> None:
        self.reached: list[Any] = []


_local = _Local()


def reached() -> list[Any]:
    """Our own containers that each construct looks at."""
    return _local.reached


@contextmanager
def also_reached(container: Any) -> Iterator[None]:
    """A context in which each construct also looks at one of our own containers."""
    _local.reached.append(container)
    try:
        yield
    finally:
        _local.reached.pop()


class Place(NamedTuple):
    """An element of a list, a value of a dict, an attribute, or a name."""

    container: Any
    key: Any

    @property
    def name(self) -> str:
        return name_of(self.container, self.key)

    def get(self) -> Any:
        if isinstance(self.container, (list, dict)):
            return self.container[self.key]
        return contents(self.container)[self.key]

    def set(self, value: Any) -> None:
        """Set the value; an element after a list's last one is appended."""
        if isinstance(self.container, list) and self.key == len(self.container):
            self.container.append(value)
        else:
            set_content(self.container, self.key, value)


#: Dicts, each with the keys that it may have, in their order, by identity.
Orders = dict[int, tuple[dict[Any, Any], list[Any]]]


class Heap:
    """The containers that are reachable from some values, and their contents now.

    ``apart`` are cells, and ``names`` are names of modules, as ``(space, name)``; these are not
    places of the heap.
    """

    def __init__(
        self, roots: Iterable[Any], apart: Iterable[Any] = (), names: Iterable[Any] = ()
    ) -> None:
        self.held: dict[int, tuple[Any, Any]] = {}
        #: Objects of which only the state is known.
        self.states: dict[int, tuple[Any, Any]] = {}
        #: The contents, when a step begins, of lists whose elements it may not read.
        self.emptied: dict[int, list[Any]] = {}
        self._apart = {id(x) for x in apart}
        self._names = {(id(space), name) for space, name in names}
        self._spaces: dict[int, set[str]] = {}
        self.seen: set[int] = set()  # the identities of all objects that were reachable
        self._alive: list[Any] = []
        left = list(roots)
        while left and len(self.held) < MOST:
            x = left.pop()
            if isinstance(x, _LEAVES) or id(x) in self.seen:
                continue
            self.seen.add(id(x))
            self._alive.append(x)
            left.extend(self._note(x))

    def _note(self, x: Any) -> Iterable[Any]:
        """Remember the contents of an object; return the objects that it refers to."""
        kind = type(x)
        if isinstance(x, tuple):
            return x
        if kind in (Maybe, Optional, OneOf):
            return alternatives(x) if kind is OneOf else (inner(x),)
        if numba_kind(kind):
            return ()  # compiled code changes none of Python's containers
        if kind is FunctionType:
            return of_function(x)
        if isinstance(x, (MethodType, BuiltinFunctionType)):
            return (x.__self__, getattr(x, "__func__", None))
        if kind in (property, staticmethod, classmethod, partial):
            names = ("fget", "fset", "fdel", "__func__", "func", "args", "keywords")
            return [getattr(x, name, None) for name in names]
        if isinstance(x, type):
            return self._hold(x) if x in users_classes(x) else ()
        if kind is CellType and id(x) in self._apart:
            return ()
        if kind is Names:
            return self._hold_names(x)
        return self._note_object(x)

    def _note_object(self, x: Any) -> Iterable[Any]:
        state = state_of(x)
        if state is not None:
            self.states[id(x)] = x, state.take(x)
        if not (isinstance(x, (list, dict, set, CellType)) or has_contents(x)):
            return ()
        more: list[Any] = [*watch(type(x))]
        if isinstance(x, (list, dict, set)) and has_contents(x) and hasattr(x, "__dict__"):
            more.append(Attributes(x.__dict__))
        return [*more, *self._hold(x)]

    def _hold(self, x: Any) -> Iterable[Any]:
        if isinstance(x, list):
            put_together(x)  # now, because reading an element in the block would do it
        found = contents(x)
        self.held[id(x)] = x, found
        return list(values_of(found)) if not isinstance(found, set) else ()

    def _hold_names(self, x: Names) -> Iterable[Any]:
        known = self._spaces.setdefault(id(x.space), set())
        x.names = [n for n in x.names if n not in known and (id(x.space), n) not in self._names]
        known.update(x.names)
        return self._hold(x)

    def can_be_restored(self) -> bool:
        """Whether everything that is reachable can be put back; iterators and files cannot."""
        found = (state_of(x) for x, _ in self.states.values())
        return len(self.held) < MOST and all(state is None or state.put for state in found)

    def grown(self) -> dict[int, tuple[list[Any], list[Any]]]:
        """The lists that have grown at their end, with the new elements."""
        lists = [(x, self.emptied.get(id(x), held)) for x, held in self.held.values()]
        return {
            id(x): (x, x[len(before) :])
            for x, before in lists
            if isinstance(x, list) and len(x) > len(before)
        }

    def resized(self, *, grow: bool) -> list[list[Any]]:
        """The lists that have another length than before, or may have. With ``grow``, lists that
        have only grown at their end do not count."""
        found = []
        for x, held in self.held.values():
            if not is_list(x) or is_lost(x):
                continue
            before = self.emptied.get(id(x), held)
            if has_stretch(x) or has_stretch(before):
                put_together(x)
                if not (has_stretch(x) and has_stretch(before)):
                    found.append(x)
            elif len(x) < len(before) or (len(x) > len(before) and not grow):
                found.append(x)
        return found

    def rekeyed(self) -> list[tuple[dict[Any, Any], list[Any], list[Any]]]:
        """The dicts that have got or lost keys, with these keys."""
        found = []
        for x, before in self.held.values():
            is_table = has_table(x) or is_lost(x)
            if type(x) in DICTS and not (is_table or x.keys() == before.keys()):
                more = [key for key in x if key not in before]
                fewer = [key for key in before if key not in x]
                found.append((x, more, fewer))
        return found

    def tabulated(self) -> list[dict[Any, Any]]:
        """The dicts that have become tables."""
        return [x for x, before in self.held.values() if has_table(x) and not has_table(before)]

    def orders(self) -> Orders:
        """The dicts with optional keys, or with keys in another order than before."""
        dicts = [(x, before) for x, before in self.held.values() if type(x) in DICTS]
        return {
            id(x): (x, possible_keys(x))
            for x, before in dicts
            if any(map(has_optional, (x, before))) or list(x.keys()) != list(before)
        }

    def order_keys(self, ends: Sequence[Orders]) -> None:
        """Give dicts an order of keys that is right at several ends of the block."""
        for k, x in {k: x for orders in ends for k, (x, _) in orders.items()}.items():
            first = possible_keys(self.held[k][1])
            reorder(x, [orders[k][1] if k in orders else first for orders in ends])

    def check_order(self) -> None:
        """Note the dicts whose keys a step of a loop leaves in another order."""
        for k, (x, order) in self.orders().items():
            if [key for key in self.held[k][1] if key in set(order)] != order:
                note_mixed(x)

    def changes(self, source: Source | None, *, grow: bool) -> dict[tuple[int, Any], Place]:
        """The places that hold another object than before. Raises an error if a container has got
        or lost elements; with ``grow``, lists may have grown at their end."""
        found: dict[tuple[int, Any], Place] = {}
        for x, held in self.held.values():
            now = contents(x)
            if not is_lost(now):
                found |= self._changed(x, self.emptied.get(id(x), held), now, source, grow=grow)
        for x, state in self.states.values():
            if not same_state(state, _state(x)):
                raise _changed(x, source)
        return found

    def _changed(
        self, x: Any, before: Any, now: Any, source: Source | None, *, grow: bool
    ) -> dict[tuple[int, Any], Place]:
        """The places of one container that hold another object than before."""
        if grow and isinstance(now, list):
            now = now[: len(before)]
        if not _are_alike(now, before):
            raise grown_error(x, source)
        if isinstance(now, set):
            return {}
        items = enumerate(before) if isinstance(before, list) else before.items()
        found = {(id(x), key): Place(x, key) for key, old in items if now[key] is not old}
        if found and id(x) in self.emptied:
            raise CaptureError(with_place(UNREAD, source))
        return found

    def empty(self, number: int) -> None:
        """Make the elements of a list unreadable, and add one more, for the last appended one."""
        x, before = self.held[number]
        x[:] = [Unread() for _ in (*before, None)]

    def begin(self, numbers: Iterable[int]) -> None:
        """Begin a step: the present contents of the lists of these numbers count as unchanged."""
        self.emptied = {number: list(self.held[number][0]) for number in numbers}

    def restore(self) -> None:
        """Restore everything; raises an error if that is impossible."""
        for x, before in self.held.values():
            put_back(x, before)
        trace = current_trace()
        for mine in trace.containers.values() if trace is not None else ():
            if is_lost(mine.container):
                put_back(mine.container, mine.held)
        for x, state in self.states.values():
            if same_state(state, _state(x)):
                continue
            found = state_of(x)
            if found is None or found.put is None:
                raise Spent(str(_changed(x, user_source())))
            found.put(x, state)


def check_length(x: Any) -> None:
    """Raise CaptureError for the length, or the truth, of a list that grows in a loop, or of a list
    or dict that is lost."""
    if is_lost(x):
        raise CaptureError(with_place(Lost.words, user_source()))
    if type(x) is list and x and type(x[0]) is Unread:
        raise CaptureError(with_place(_LENGTH, user_source()))


def is_lost(x: Any) -> bool:
    """Whether the contents of a list, dict or object are no longer known."""
    if is_object(x):
        x = contents(x)
    if isinstance(x, dict):
        return bool(x) and type(next(iter(x.values()))) is Lost
    return isinstance(x, list) and bool(x) and type(x[0]) is Lost


_LENGTH = (
    "A loop that appends to a list uses the length of the list, which differs in each step. "
    "Count the steps, or keep a flag: for i, x in enumerate(xs)."
)


def _are_alike(now: Any, before: Any) -> bool:
    """Whether a container has the same elements (a set), the same keys in order, or as many."""
    if isinstance(now, set):
        return bool(now == before)
    return len(now) == len(before) and (isinstance(now, list) or now.keys() == before.keys())


def _state(x: Any) -> Any:
    found = state_of(x)
    return None if found is None else found.take(x)


class Spent(CaptureError):
    """Something is used up and cannot be put back, so there is no other way to go on."""


def grown_error(x: Any, source: Source | None) -> CaptureError:
    """The error for a container that gets or loses elements."""
    kind = type(x).__name__
    others = f"An object of the class {kind} gets or loses attributes", _ATTRIBUTES
    words, fix = next((_GROWN[each] for each in _GROWN if isinstance(x, each)), others)
    return CaptureError(
        with_place(
            f"{words}, and a traced value decides whether or how often. Their number would be "
            "known only when the compiled code runs.\n"
            f"{fix}",
            source,
        )
    )


_ATTRIBUTES = (
    "Set them before the `if` or the loop:\n    self.last = 0.0                    # in __init__"
)
_GROWN: dict[type, tuple[str, str]] = {
    list: (
        "A list gets or loses elements",
        "Keep an array of a fixed size and count what is in it:\n"
        "    found = np.zeros(n); count = 0     # before\n"
        "    found[count] = x; count += 1       # not: found.append(x)",
    ),
    dict: (
        "A dict gets or loses keys",
        "Set all of its keys before the `if` or the loop:\n"
        "    d = {'a': 0.0, 'b': 0.0}           # not: d = {}",
    ),
    set: (
        "A set gets or loses elements",
        "Keep a mask of the numbers that are in it:\n"
        "    seen = np.zeros(n, bool)           # before\n"
        "    seen[i] = True                     # not: seen.add(i)",
    ),
}


def _changed(x: Any, source: Source | None) -> CaptureError:
    what = type(x).__name__
    if is_iterator(x) and not isinstance(x, io.IOBase):
        return CaptureError(with_place(ASKED.format(what), source))
    return CaptureError(
        with_place(
            f"An object of type {what} from outside is changed, and a traced value decides "
            "whether or how often. The change would happen once, during tracing, whatever the "
            "value is. Change it before the `if` or the loop, keep an array that the function "
            "makes, or pass the drawn or read values as an argument:\n"
            "    y = np.array(table); y[i] = x      # not: table[i] = x, for a table from outside\n"
            "    noise = rng.normal(size=n)         # before, and noise[i] in the loop",
            source,
        )
    )


hooks.check_length = check_length
