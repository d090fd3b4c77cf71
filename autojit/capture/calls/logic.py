"""``and``, ``or``, ``not``, ``in``, ``any`` and ``all``, in Python's order of evaluation."""

from __future__ import annotations

import dis
import gc
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from types import CodeType, FunctionType, GeneratorType
from typing import Any

import numpy as np

from autojit.capture.lists import dicts, elements, hashed, views
from autojit.capture.state.maybe import has_optional
from autojit.capture.state.one_of import OneOf, resolved
from autojit.capture.state.optional import Facts, Optional, flag, implied
from autojit.capture.state.stretch import any_made, has_stretch
from autojit.capture.users.classes import special
from autojit.capture.values.ranges import TracedRange
from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import (
    any_traced,
    holds_traced,
    is_traced,
    is_undecided,
    settled,
    truth,
)
from autojit.ir.ops.arithmetic import bitwise_not, logical_or
from autojit.protocols.lifting import as_value, dtype_of, tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks

from . import tables

Thunk = Callable[[], Any]


def lazily(test: Any, then: Thunk, orelse: Thunk) -> Any:
    """``then() if test else orelse()`` for a bool, traced or not."""
    if not is_traced(test):
        return then() if test else orelse()
    return hooks.choose(test, then, orelse)


def and_(first: Any, *rest: Thunk) -> Any:
    """``first and rest() and …``: the first value that is false, or the last one."""
    value = first
    for k, thunk in enumerate(rest):
        if (any_made() and has_stretch(value)) or has_optional(value):
            return _after_list(value, thunk, rest[k + 1 :], and_)
        if is_undecided(value):
            return _and(value, thunk, rest[k + 1 :])
        if not value:
            return value
        value = thunk()
    return value


def _and(value: Any, thunk: Thunk, rest: tuple[Thunk, ...]) -> Any:
    test, inner = truth(value), _Asked()
    found = lazily(test, lambda: inner.kept(and_(thunk(), *rest)), lambda: value)
    return flag(found, inner.implies(test, True), ())


def or_(first: Any, *rest: Thunk) -> Any:
    """``first or rest() or …``: the first value that is true, or the last one."""
    value = first
    for k, thunk in enumerate(rest):
        if (any_made() and has_stretch(value)) or has_optional(value):
            return _after_list(value, thunk, rest[k + 1 :], or_)
        if is_undecided(value):
            return _or(value, thunk, rest[k + 1 :])
        if value:
            return value
        value = thunk()
    return value


def _or(value: Any, thunk: Thunk, rest: tuple[Thunk, ...]) -> Any:
    test, inner = truth(value), _Asked()
    found = lazily(test, lambda: value, lambda: inner.kept(or_(thunk(), *rest)))
    return flag(found, (), inner.implies(test, False))


def _after_list(items: Any, thunk: Thunk, rest: tuple[Thunk, ...], both: Any) -> Any:
    """``xs and rest``, or ``xs or rest``, as a condition, for a list of traced length or a dict
    with optional keys."""
    test = dicts.truth_of(items) if isinstance(items, dict) else elements.truth_of(items)
    found = both(test, thunk, *rest)
    is_bool = isinstance(found, bool) or (is_traced(found) and dtype_of(found) == np.dtype(bool))
    return found if is_bool else elements.refused()


class _Asked:
    """The second of two conditions, which is evaluated in a block."""

    value: Any = None

    def kept(self, value: Any) -> Any:
        self.value = value
        return value

    def implies(self, test: Any, holds: bool) -> Facts:
        """The facts that follow if both conditions hold, or if neither does."""
        inner = implied(self.value, holds)
        return implied(test, holds) + tuple((x, known) for x, known in inner if x.owner.open)


def is_equal(a: Any, b: Any) -> Any:
    """``a == b``."""
    if any_made() and (has_stretch(a) or has_stretch(b)):
        return elements.is_equal(a, b)
    if has_optional(a) or has_optional(b):
        dicts.refused()
    if type(a) is type(b) and type(a) in (tuple, list) and (holds_traced(a) or holds_traced(b)):
        return _are_equal(a, b)
    return a == b


def _are_equal(a: Any, b: Any) -> Any:
    """``a == b`` for two tuples or two lists: element by element, as Python compares them."""
    if len(a) != len(b):
        return False
    found: Any = True
    for x, y in zip(a, b, strict=True):
        if x is not y:
            found = and_(found, partial(_is_same, x, y))
    return found


def _is_same(x: Any, y: Any) -> Any:
    return truth(is_equal(x, y))


def is_unequal(a: Any, b: Any) -> Any:
    """``a != b``."""
    if any_made() and (has_stretch(a) or has_stretch(b)):
        return not_(elements.is_equal(a, b))
    if has_optional(a) or has_optional(b):
        dicts.refused()
    if isinstance(a, (tuple, list)) and (holds_traced(a) or holds_traced(b)):
        return not_(is_equal(a, b))
    own = special(a, "__eq__")
    if own is not None and type(a).__ne__ is object.__ne__:
        found = own(b)
        return a != b if found is NotImplemented else not_(found)
    return a != b


def not_(x: Any) -> Any:
    """``not x``."""
    if any_made() and has_stretch(x):
        x = elements.truth_of(x)
    elif has_optional(x):
        x = dicts.truth_of(x)
    held = truth(x) if is_undecided(x) else x
    if not is_traced(held):
        return not held
    negated = tracer(bitwise_not(as_value(held)), bool)
    return flag(negated, implied(held, False), implied(held, True))


hooks.negated = not_


_CONTAINERS = (list, tuple, set, frozenset, dict)


def in_(x: Any, container: Any) -> Any:
    """``x in container``."""
    if type(container) is views.View:
        container = container.now()
    if any_made() and has_stretch(container):
        return elements.contains(x, container)
    if has_optional(container):
        return dicts.contains(hashed.settled_key(x), container)
    if type(x) is OneOf:
        return x.__aj_where__(lambda known: in_(known, container))
    if type(container) is OneOf:
        return container.__aj_where__(lambda known: in_(x, known))
    if isinstance(container, (range, TracedRange)):
        return _in_range(x, container) if _needs_care(x, container) else x in container
    if is_traced(container) and bare(container).is_scalar:
        return x in container  # which is an error
    if is_traced(container) or (is_traced(x) and isinstance(container, np.ndarray)):
        return truth(np.any(np.equal(container, x)))
    return _in_container(x, container)


def _in_container(x: Any, container: Any) -> Any:
    if isinstance(container, dict) and isinstance(x, tuple) and hashed.is_key(x):
        return tables.contains(x, container)
    if not isinstance(container, _CONTAINERS):
        if is_traced(x) and isinstance(container, (str, bytes)):
            refuse("`in` with a traced number and a string", "Compare numbers with numbers.")
        own = special(container, "__contains__")
        return x in container if own is None else truth(own(x))
    if isinstance(container, _HASHED) and (type(x) in _UNHASHABLE or _is_array(x)):
        hash(x)  # which raises Python's TypeError
    if holds_traced(x) or holds_traced(tuple(container)):
        return _in_items(x, container)
    return x in container


#: Containers that find their elements by hashes, and types that have none.
_HASHED = (set, frozenset, dict)
_UNHASHABLE = frozenset({list, dict, set})


def _is_array(x: Any) -> bool:
    return is_traced(x) and not bare(x).is_scalar


def _needs_care(x: Any, container: Any) -> bool:
    return is_traced(x) or isinstance(container, TracedRange)


def _in_range(x: Any, r: range | TracedRange) -> Any:
    if np.shape(x):
        raise ValueError("a range holds integers, but `in` was given an array")
    start, step = r.start, r.step
    last = np.logical_and(np.greater_equal(x, start), np.less(x, r.stop))
    step = settled(step)
    if is_traced(step):
        refuse("`in` of a range with a traced step", "Compare with the bounds of the range.")
    if step < 0:
        last = np.logical_and(np.less_equal(x, start), np.greater(x, r.stop))
    if abs(step) == 1 and dtype_of(x).kind in "iub":
        return truth(last)
    at = np.equal(np.remainder(np.subtract(x, start), step), 0)
    return truth(np.logical_and(last, at))


def _in_items(x: Any, items: Iterable[Any]) -> Any:
    found: Any = False
    for item in items:
        if item is x:
            return True
        same = truth(is_equal(item, x))
        if is_traced(same):
            found = either(found, same)
        elif same:
            return True
    return found


def either(a: Any, b: Any) -> Any:
    """``a or b`` of bools, both evaluated."""
    if is_traced(a) and is_traced(b):
        return tracer(logical_or(as_value(a), as_value(b)), bool)
    known, other = (b, a) if is_traced(a) else (a, b)
    return True if known else other


_END = object()


def any_(iterable: Any) -> Any:
    """``any(iterable)``; elements that Python would not ask for are not computed."""
    return _search(iterable, True)


def all_(iterable: Any) -> Any:
    """``all(iterable)``, likewise."""
    return not_(_search(iterable, False))


def _search(iterable: Any, wanted: bool) -> Any:
    """Whether some element has the wanted truth value."""
    if is_traced(iterable) and iterable.ndim == 1:
        hit = iterable if wanted else np.logical_not(iterable)
        return truth(np.any(hit))
    found: Any = False
    elements, held = _Elements(iter(iterable)), _held_by(iterable)
    while True:
        seen = _Element()

        def look(seen: _Element = seen) -> Any:
            if seen.is_fetched:  # the block is traced again, and the element is gone
                refuse(
                    "any() or all() of a generator whose code lengthens a list",
                    "Write the loop:\n    found = False\n    for v in xs:\n"
                    "        log.append(v)\n        if v > 1:\n            found = True\n"
                    "            break",
                )
            seen.is_fetched = True
            return seen.of(elements.following(held), wanted)

        found = lazily(found, lambda: True, look)
        if seen.ended or found is True:
            return found
        if seen.certain:
            return True


class _Elements:
    """The elements of an iterator, each fetched once."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator

    def following(self, held: tuple[Any, ...]) -> Any:
        """The next element. ``held`` has the objects that fetching it may change, so that the block
        around the call looks for changes in them."""
        return next(self._iterator, _END)


def _held_by(iterable: Any) -> tuple[Any, ...]:
    """The objects that a generator's code may change, except the iterators that it runs through;
    also the variables around it that it assigns by ``:=``."""
    if type(iterable) is not GeneratorType or iterable.gi_frame is None:
        return ()
    held = [x for name, x in iterable.gi_frame.f_locals.items() if not name.startswith(".")]
    names = _assigned(iterable.gi_code)
    functions = gc.get_referents(iterable) if names else ()
    for f in functions:
        if isinstance(f, FunctionType) and f.__code__ is iterable.gi_code:
            cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
            held += [cell for name, cell in cells if name in names]
    return tuple(held)


@lru_cache(maxsize=512)
def _assigned(code: CodeType) -> frozenset[str]:
    """The variables of outer functions that a function assigns."""
    steps = dis.get_instructions(code)
    return frozenset(
        str(step.argval) for step in steps
        if step.opname == "STORE_DEREF" and step.argval in code.co_freevars
    )  # fmt: skip


class _Element:
    """The facts about an element after it has been fetched."""

    ended = certain = is_fetched = False

    def of(self, item: Any, wanted: bool) -> Any:
        if item is _END:
            self.ended = True
            return False
        hit = truth(item) if wanted else not_(truth(item))
        self.certain = hit is True
        return hit


# -- tests of objects ---------------------------------------------------------------------


def is_one_of(a: Any, b: Any) -> Any:
    """``a is b`` for two objects, each of which may be one of several."""
    one, other = (a, b) if type(a) is OneOf else (b, a)
    if type(other) is OneOf:
        return resolved([one, other], operator.is_)
    return one.__aj_where__(lambda x: x is other)


def is_optional(a: Any, b: Any) -> Any:
    """``a is b`` for two objects, one of which may be None."""
    one, other = (a, b) if type(a) is Optional else (b, a)
    if other is None:
        return one.__aj_is_none__()
    refuse(
        "`is` between a value that may be None and another object",
        "Test for None first:\n    if best is not None and best == x: ...",
    )


def _elements(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def check_subject(value: Any) -> Any:
    """The subject of a ``match``; ConcreteValueError if it is traced or holds a traced value."""
    if any_made() and has_stretch(value):
        elements.refused()
    if is_traced(value) or any_traced(_elements(value)):
        refuse(
            "This `match` on a traced value, whose patterns test for True, False or a class,",
            "Bind the value to a name in the pattern, and test it in a guard:\n"
            "    case {'u': u} if u > 0: ...        # not: case {'u': float()}",
        )
    return value
