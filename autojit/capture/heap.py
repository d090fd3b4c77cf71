"""Objects that a block may change: lists, dicts and attributes, compared before and after it."""

from __future__ import annotations

from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import CaptureError, with_place
from autojit.ir.core.program import Source
from autojit.tracing.array_methods import OPERATORS
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Argument, Tracer

#: What holds nothing that can be changed, or is found by other means.
_LEAVES = (
    np.ndarray, np.generic, Tracer, Argument, str, bytes, int, float, complex, bool, type(None),
    type, ModuleType, FunctionType, BuiltinFunctionType, range, slice, np.dtype, np.ufunc,
)  # fmt: skip
#: Containers that are followed; a block that reaches more of them is refused if it changes any.
MOST = 10_000


class Place(NamedTuple):
    """An element of a list, a value of a dict, or an attribute."""

    container: Any
    key: Any

    @property
    def name(self) -> str:
        if isinstance(self.container, (list, dict)):
            return f"[{self.key!r}] of a {type(self.container).__name__}"
        return f"the attribute `{self.key}` of a {type(self.container).__name__}"

    def get(self) -> Any:
        if isinstance(self.container, (list, dict)):
            return self.container[self.key]
        return self.container.__dict__[self.key]

    def set(self, value: Any) -> None:
        """An element behind a list's last one is appended to it."""
        if isinstance(self.container, list) and self.key == len(self.container):
            self.container.append(value)
        elif isinstance(self.container, (list, dict)):
            self.container[self.key] = value
        else:
            self.container.__dict__[self.key] = value


class Heap:
    """The containers that are reachable from some values, and what they hold now."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.held: dict[int, tuple[Any, Any]] = {}
        #: What lists hold as a step begins whose elements it may not read.
        self.emptied: dict[int, list[Any]] = {}
        left = list(roots)
        while left and len(self.held) < MOST:
            x = left.pop()
            if isinstance(x, _LEAVES) or id(x) in self.held:
                continue
            left.extend(self._note(x))

    def _note(self, x: Any) -> Iterable[Any]:
        """Remember what a container holds."""
        kind = type(x)
        if kind is tuple or isinstance(x, tuple):
            return x
        if kind is list:
            self.held[id(x)] = x, list(x)
            return list(x)
        if kind is dict:
            self.held[id(x)] = x, dict(x)
            return list(x.values())
        if kind is set:
            self.held[id(x)] = x, set(x)
            return ()
        if isinstance(x, MethodType):
            return (x.__self__,)
        space = getattr(x, "__dict__", None)
        if type(space) is dict and not kind.__module__.startswith(("numpy", "autojit")):
            self.held[id(x)] = x, dict(space)
            return list(space.values())
        return ()

    def grown(self) -> dict[int, tuple[list[Any], list[Any]]]:
        """The lists that have got elements at their end, with these elements."""
        return {
            id(x): (x, x[len(before) :])
            for x, before in self.held.values()
            if isinstance(x, list) and len(x) > len(before)
        }

    def changes(self, source: Source | None, *, grow: bool) -> dict[tuple[int, Any], Place]:
        """The places that hold another object than before; raises where a container has got or
        lost elements, but for lists that have grown at their end if they may."""
        found: dict[tuple[int, Any], Place] = {}
        for x, before in self.held.values():
            now = _now(x)
            if grow and isinstance(now, list) and len(now) > len(before):
                now = now[: len(before)]
                before = self.emptied.get(id(x), before)
            if isinstance(now, set):
                if now != before:
                    raise grown_error(x, source)
                continue
            pairs = dict(enumerate(before)) if isinstance(before, list) else before
            if len(now) != len(before) or (isinstance(now, dict) and now.keys() != before.keys()):
                raise grown_error(x, source)
            for key, old in pairs.items():
                if now[key] is not old:
                    if id(x) in self.emptied:
                        raise CaptureError(with_place(_UNREAD, source))
                    found[id(x), key] = Place(x, key)
        return found

    def empty(self, number: int) -> None:
        """A list whose elements nobody may read: as many as it had, without their values."""
        x, before = self.held[number]
        x[:] = [Unread() for _ in before]

    def begin(self, numbers: Iterable[int]) -> None:
        """A step begins: what lists of these numbers hold is what they held before it."""
        self.emptied = {number: list(self.held[number][0]) for number in numbers}

    def restore(self) -> None:
        """Everything as it was."""
        for x, before in self.held.values():
            now = _now(x)
            if isinstance(now, list):
                now[:] = before
            else:
                now.clear()
                now.update(before)


class Unread:
    """An element of a list that grows in a loop: which one it is differs from step to step."""

    def __getattr__(self, name: str) -> Any:
        raise CaptureError(with_place(_UNREAD, user_source()))

    def _refuse(self, *args: Any) -> Any:
        raise CaptureError(with_place(_UNREAD, user_source()))

    __array_ufunc__ = None


for _name in (*OPERATORS, *(f"__{word}__" for word in (
    "bool", "float", "int", "complex", "index", "array", "len", "iter", "getitem", "call",
))):  # fmt: skip
    setattr(Unread, _name, Unread._refuse)


_UNREAD = (
    "This element of a list is read or set in a loop that appends to the list, so it is another "
    "one in each step. Keep what the next step needs in a variable:\n"
    "    xs.append(x); last = x             # and last, not xs[-2]"
)


def _now(x: Any) -> Any:
    return x if isinstance(x, (list, dict, set)) else x.__dict__


def grown_error(x: Any, source: Source | None) -> CaptureError:
    """A container that gets or loses elements, which is refused."""
    kind = type(x).__name__
    words, fix = _GROWN.get(type(x), (f"An object of the class {kind} gets or loses attributes",
                                      _ATTRIBUTES))  # fmt: skip
    return CaptureError(
        with_place(
            f"{words} where a traced value decides whether, or how often. How many it has would "
            f"be known only when the compiled code runs.\n{fix}",
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
