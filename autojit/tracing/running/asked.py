"""Python's iterators that a traced function asks for elements.

Few iterators show how far they have got, so the trace counts how often each one is asked. A branch
or loop that asks one from outside is refused, since the iterator cannot be put back. After a loop
that a traced condition ends, nobody knows where its iterator is.
"""

from __future__ import annotations

from types import FunctionType, MethodDescriptorType
from typing import Any
from weakref import WeakKeyDictionary

from autojit.tracing.context import current_trace

ASKED = (
    "An iterator of type {} from outside a branch or loop is asked for elements in it, and a "
    "traced value decides whether or how often. Compiled code cannot put such an iterator back. "
    "Let the branch or loop ask an iterator over a list, which keeps its place there:\n"
    "    steps = iter(list(steps))          # then next(steps)"
)


class Asked:
    """What is known about an iterator; it is kept alive, so that its id stays its own."""

    def __init__(self, iterator: Any) -> None:
        self.iterator, self.times, self.is_lost = iterator, 0, False


def is_iterator(x: Any) -> bool:
    return hasattr(type(x), "__next__")


def note_asked(x: Any) -> None:
    """Note that an iterator gets another one of its elements, or several."""
    trace = current_trace()
    if trace is not None:
        trace.asked.setdefault(id(x), Asked(x)).times += 1


def times_asked(x: Any) -> int:
    trace = current_trace()
    found = None if trace is None else trace.asked.get(id(x))
    return 0 if found is None else found.times


def lose(x: Any) -> None:
    """Note that an iterator may be anywhere."""
    trace = current_trace()
    if trace is not None:
        trace.asked.setdefault(id(x), Asked(x)).is_lost = True


def is_lost(x: Any) -> bool:
    trace = current_trace()
    found = None if trace is None else trace.asked.get(id(x))
    return found is not None and found.is_lost


# -- objects that show nothing ------------------------------------------------------------


def is_opaque(kind: type) -> bool:
    """Whether the objects of a class in C may change, and show nothing of it: those that are equal
    only to themselves, such as a queue."""
    found = _opaque.get(kind)
    if found is None:
        found = _opaque[kind] = _is_opaque(kind)
    return found


_opaque: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def _is_opaque(kind: type) -> bool:
    if kind.__module__.partition(".")[0] in _KNOWN_LIBRARIES or kind.__eq__ is not object.__eq__:
        return False
    parts = [part for cls in kind.__mro__[:-1] for part in vars(cls).values()]
    return MethodDescriptorType in map(type, parts) and FunctionType not in map(type, parts)


#: Libraries in C whose objects have a state of their own above, never change, or are locks.
_KNOWN_LIBRARIES = (
    "numpy", "scipy", "autojit", "numba", "builtins", "re", "functools", "operator", "_operator",
    "_struct", "_thread", "_contextvars", "decimal", "_decimal",
)  # fmt: skip
