"""``collections.deque`` in traced code: a list that has a deque's methods."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import optree

from autojit.capture.state.holders import is_same_content
from autojit.capture.state.stretch import has_stretch, stretch_in
from autojit.capture.values.table import When, answers
from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_value
from autojit.staging import pytrees
from autojit.tracing.context import current_trace
from autojit.tracing.known import arguments_are_known
from autojit.tracing.source import user_source

from . import elements
from .arrays import refused

Call = Callable[..., Any]


class Deque(list[Any]):
    """The stand-in for ``deque(…)`` while a function is traced; in results it is a deque again."""

    __aj_internal__ = True
    __slots__ = ("maxlen",)

    def __init__(self, iterable: Iterable[Any] = (), maxlen: int | None = None) -> None:
        if maxlen is not None and maxlen < 0:
            raise ValueError("maxlen must be non-negative")
        found = list(iterable)
        super().__init__(found if maxlen is None else found[max(len(found) - maxlen, 0) :])
        self.maxlen = maxlen

    def __repr__(self) -> str:
        return repr(deque(self, self.maxlen))

    def __iter__(self) -> Iterator[Any]:
        size = len(self)
        for x in list.__iter__(self):
            yield x
            if len(self) != size:
                raise RuntimeError("deque mutated during iteration")

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError:
            raise IndexError("deque index out of range") from None

    def __add__(self, other: Any) -> Any:
        return Deque([*self, *other], self.maxlen)

    def copy(self) -> Any:
        return self.with_elements(list.__iter__(self))

    def with_elements(self, items: Iterable[Any]) -> Deque:
        """A deque with the same ``maxlen`` and other elements, or stretches of them."""
        made = Deque((), self.maxlen)
        list.extend(made, items)
        return made

    def append(self, x: Any) -> None:
        super().append(x)
        if self.maxlen is not None and len(self) > self.maxlen:
            del self[0]

    def appendleft(self, x: Any) -> None:
        super().insert(0, x)
        if self.maxlen is not None and len(self) > self.maxlen:
            del self[-1]

    def extend(self, more: Iterable[Any]) -> None:
        for x in list(more):
            self.append(x)

    def __iadd__(self, more: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(more)
        return self

    def extendleft(self, more: Iterable[Any]) -> None:
        for x in list(more):
            self.appendleft(x)

    def insert(self, index: Any, x: Any) -> None:
        if self.maxlen is not None and len(self) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        super().insert(index, x)

    def pop(self) -> Any:  # type: ignore[override]
        if not self:
            raise IndexError("pop from an empty deque")
        return super().pop()

    def popleft(self) -> Any:
        if not self:
            raise IndexError("pop from an empty deque")
        return super().pop(0)

    def rotate(self, steps: int = 1) -> None:
        if self:
            steps = -steps % len(self)
            self[:] = [*list.__getitem__(self, slice(steps, None)),
                       *list.__getitem__(self, slice(None, steps))]  # fmt: skip


def watched(it: Any, body: Callable[[], Any]) -> tuple[Any, Callable[[], Any]]:
    """The iterable and the body of a loop. If the iterable is a deque, the body refuses to change
    it, because Python raises an exception then."""
    if type(it) is not Deque:
        return it, body
    held = list(list.__iter__(it))

    def checked() -> None:
        body()
        if not is_same_content(it, held):
            raise CaptureError(with_place(_CHANGED, user_source()))

    return list(held), checked


_CHANGED = (
    "A loop over a deque changes the deque. Python raises a RuntimeError for this unless the "
    "loop ends there. Loop over a copy:\n"
    "    for x in list(queue):              # not: for x in queue"
)


@answers(deque, when=When.ALWAYS)
def made(*args: Any, **kwargs: Any) -> Any:
    """``deque(iterable, maxlen)``."""
    in_trace = current_trace() is not None and not arguments_are_known()
    return (Deque if in_trace else deque)(*args, **kwargs)


def _flattened(x: Any) -> tuple[Any, Any]:
    return tuple(list.__iter__(x)), x.maxlen


def _unflattened(maxlen: Any, children: Any) -> Any:
    return (deque if current_trace() is None else Deque)(children, maxlen)


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Deque
optree.register_pytree_node(_CLASS, _flattened, _unflattened, namespace=pytrees.NAMESPACE)


# -- deques of traced length --------------------------------------------------------------


def of_stretch(call: Call, items: Any, maxlen: Any = None) -> Any:
    """``deque(xs)`` for a list of traced length."""
    return Deque(items) if maxlen is None and isinstance(items, list) else refused()


def _append(call: Call, q: Deque, x: Any) -> None:
    longer = stretch_in(q).appended(x)
    q[:] = [longer if q.maxlen is None else longer.without_first(q.maxlen)]


def _append_left(call: Call, q: Deque, x: Any) -> None:
    longer = stretch_in(q).prepended(x)
    q[:] = [longer if q.maxlen is None else longer.shortened_to(q.maxlen)]


def _each(one: Callable[[Call, Deque, Any], None]) -> Callable[[Call, Deque, Any], None]:
    def extend(call: Call, q: Deque, more: Any) -> None:
        if has_stretch(more):
            refused()
        for x in list(more):
            one(call, q, x)

    return extend


def _pop(call: Call, q: Deque) -> Any:
    return elements.pop(q, -1, "pop from an empty deque")


def _pop_left(call: Call, q: Deque) -> Any:
    return elements.pop(q, 0, "pop from an empty deque")


def _rotate(call: Call, q: Deque, steps: Any = 1) -> None:
    s = stretch_in(q)
    count = np.maximum(s.count, 1)
    places = np.remainder(np.arange(s.room) - steps, count)
    q[:] = [s.picked(as_value(places, np.dtype(np.int64)), s.count, s.most)]


def _copy(call: Call, q: Deque) -> Deque:
    return q.copy()


def _insert(call: Call, q: Deque, index: Any, x: Any) -> None:
    if q.maxlen is not None:
        refused()
    elements.insert(call, q, index, x)


#: The methods that lists do not have, or that differ from those of lists.
METHODS: dict[str, Callable[..., Any]] = {
    "append": _append, "appendleft": _append_left, "extend": _each(_append),
    "extendleft": _each(_append_left), "pop": _pop, "popleft": _pop_left, "rotate": _rotate,
    "copy": _copy, "insert": _insert,
}  # fmt: skip
