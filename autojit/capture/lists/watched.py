"""Loops through dicts whose keys a traced condition may add or delete meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.state.maybe import DICTS, Maybe, has_table
from autojit.errors import CaptureError, with_place
from autojit.tracing.source import user_source


def refused() -> NoReturn:
    """Raise CaptureError for a use that needs the keys during tracing."""
    raise CaptureError(with_place(_KEYS, user_source()))


_KEYS = (
    "A traced condition adds keys to this dict, or deletes some, so its keys are not known while "
    "the function is traced. Such a dict supports d[k], d[k] = x, del d[k], k in d, len(d), loops, "
    "get, pop, setdefault, update, keys, values and items:\n"
    "    a = d.get('a', 0.0)                # or: if 'a' in d: a = d['a']\n"
    "For other uses set all keys before the `if` or the loop:\n"
    "    d = {'a': 0.0, 'b': 0.0}           # not: d = {}"
)


class State:
    """The keys that a dict has when a loop through it begins."""

    __aj_internal__ = True

    def __init__(self, d: dict[Any, Any]) -> None:
        self._keys = _flags(d)

    def is_as_before(self, d: dict[Any, Any]) -> bool:
        """Whether the dict certainly has the same keys; refuse if it may have them in another
        order."""
        now = _flags(d)
        if [key for key, _ in now] != [key for key, _ in self._keys]:
            refused()
        return all(a is b for (_, a), (_, b) in zip(now, self._keys, strict=True))


def _flags(d: dict[Any, Any]) -> list[tuple[Any, Any]]:
    items = d.items()
    return [(k, x.held if type(x) is Maybe else x is not UNBOUND) for k, x in items]


def state_of(d: dict[Any, Any]) -> State:
    """The keys that a dict has now."""
    return State(d)


def one_by_one() -> Iterator[Any]:
    refused()
    yield None


class Watched:
    """A dict without optional keys, or a view of one, that a loop runs through."""

    __aj_internal__ = True

    def __init__(self, x: Any) -> None:
        self._x, self._dict = x, x if type(x) in DICTS else x.mapping

    def __len__(self) -> int:
        return len(self._x)

    def __iter__(self) -> Iterator[Any]:
        return _Finite(self._run(), len(self._x))

    def _run(self) -> Iterator[Any]:
        kind, found = type(self._x), self._dict
        keys = list(found.keys())
        for key in keys:
            yield key if kind in _OF_KEYS else found[key] if kind is _VALUES else (key, found[key])
            if found.keys() != set(keys):
                if has_table(found) or any(
                    type(x) is Maybe or x is UNBOUND for x in found.values()
                ):
                    refused()
                raise RuntimeError("dictionary changed size during iteration")


class _Finite(Iterator[Any]):
    """An iterator that is known to end."""

    __aj_internal__ = True

    def __init__(self, plain: Iterator[Any], length: int) -> None:
        self._plain, self._length = plain, length

    def __next__(self) -> Any:
        return next(self._plain)

    def __length_hint__(self) -> int:
        return self._length


_VALUES: type = type({}.values())
_OF_KEYS: frozenset[type] = frozenset({*DICTS, type({}.keys())})
