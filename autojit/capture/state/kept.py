"""Lists and dicts at the end of a block, with their contents at that time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from autojit.capture.rewriting.plain import UNBOUND

from .maybe import Maybe
from .optional import Optional, inner, with_inner


class Kept(NamedTuple):
    """A list or dict from before a block, or one that holds such a container, with its contents at
    the block's end."""

    container: Any
    copied: Any


def thawed(values: Sequence[Any]) -> list[Any]:
    """The values of one name on several ways, unfrozen. A list that is part of all of them stays
    that list, whose elements are places of their own; any other list becomes its contents."""
    whole = [v for v in values if v is not UNBOUND and v is not None]
    shared = set.intersection(*(set(_kept(v)) for v in whole)) if whole else set()
    return [_thawed(v, shared) for v in values]


def like(items: list[Any], elements: Iterable[Any]) -> list[Any]:
    """A list, or a deque, of the same kind as another one."""
    if not hasattr(items, "__aj_internal__"):
        return list(elements)
    made: list[Any] = items.with_elements(elements)  # type: ignore[attr-defined]
    return made


def like_dict(x: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the same kind as another one, such as a defaultdict."""
    if type(x) is dict:
        return items
    made = x.copy()
    made.clear()
    made.update(items)
    return made


def _kept(value: Any) -> list[int]:
    if type(value) in (Kept, Same):
        return [id(value.container)]
    if type(value) in (Maybe, Optional):
        return _kept(inner(value))
    return [k for x in value for k in _kept(x)] if type(value) is tuple else []


def _thawed(value: Any, shared: set[int]) -> Any:
    if type(value) is Kept:
        if id(value.container) in shared:
            return Same(value.container)
        copied = value.copied
        if isinstance(copied, dict):
            return like_dict(copied, {k: _thawed(x, shared) for k, x in copied.items()})
        return like(copied, [_thawed(x, shared) for x in copied])
    if type(value) in (Maybe, Optional):
        return with_inner(value, _thawed(inner(value), shared))
    return tuple(_thawed(x, shared) for x in value) if type(value) is tuple else value


class Same:
    """A list or dict that is the same object on all ways; it is a leaf."""

    __aj_internal__ = True

    def __init__(self, container: Any) -> None:
        self.container = container

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Same) and other.container is self.container

    __hash__ = None  # type: ignore[assignment]
