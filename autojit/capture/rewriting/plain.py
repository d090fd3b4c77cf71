"""A runtime with Python's own semantics: every runtime has these where conditions are known."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .callees import converted
from .context import Site


class Unbound:
    """The value of a name that is not bound."""

    __aj_internal__ = True

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND = Unbound()


class Left:
    """The value of a name that nobody reads, since the function has been left."""

    __aj_internal__ = True

    def __repr__(self) -> str:
        return "<left>"


LEFT = Left()
#: Stands for an element that a comprehension leaves out.
ABSENT = object()

_Thunk = Callable[[], Any]
_Put = Callable[[tuple[Any, ...]], None]


#: Classes whose pattern takes the whole value as its argument.
_WHOLE = frozenset((bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple))


def _match_name(kind: Any, number: int, count: int) -> str:
    names: tuple[str, ...] = getattr(kind, "__match_args__", ())
    if len(names) < count:
        raise TypeError(
            f"{kind.__name__}() accepts {len(names)} positional sub-pattern"
            f"{'' if len(names) == 1 else 's'} ({count} given)"
        )
    return names[number]


class PlainRuntime:
    """The methods that twins call, for values that Python can decide on."""

    #: The value of names that are not bound, and the result of a function that has been left.
    unbound, left = UNBOUND, LEFT
    #: Attributes of `numpy` whose calls go through the runtime.
    numpy_names: frozenset[str] = frozenset()
    slice = slice
    lt, le, gt, ge = operator.lt, operator.le, operator.gt, operator.ge

    def __init__(self, sites: tuple[Site, ...]) -> None:
        self.sites = sites

    # -- statements

    def own(self, x: Any) -> Any:
        """A value that is about to get a name."""
        return x

    def notice(self) -> None:
        """Note that a list or dict may have been changed in place."""

    def branch(
        self, site: int, test: Any, then: _Thunk, orelse: _Thunk | None,
        get: _Thunk, put: _Put, seen: _Thunk,
    ) -> None:  # fmt: skip
        if test:
            then()
        elif orelse is not None:
            orelse()

    def loop_while(
        self, site: int, test: _Thunk, body: _Thunk, get: _Thunk, put: _Put, seen: _Thunk
    ) -> None:
        while test():
            body()

    def loop_for(
        self, site: int, iterable: Iterable[Any], item: Callable[[Any], None],
        go_on: _Thunk | None, body: _Thunk, get: _Thunk, put: _Put, seen: _Thunk,
    ) -> None:  # fmt: skip
        for value in iterable:
            item(value)
            body()
            if go_on is not None and not go_on():
                break

    def try_(self, site: int, body: _Thunk, get: _Thunk, put: _Put, seen: _Thunk) -> None:
        body()

    def part(self, number: int, block: _Thunk) -> None:
        """Run a block of a ``try``."""
        block()

    def passing(self) -> None:
        """Raise the exception that is being handled if it is none of Python's, but one of ours that
        ends a trace. A handler of all exceptions begins with this."""
        error = sys.exception()
        is_pythons = error is None or isinstance(error, Exception)
        if not is_pythons and type(error).__module__.startswith("autojit."):
            raise error  # type: ignore[misc]

    def assert_(self, site: int, test: Any, message: _Thunk | None) -> None:
        if not test:
            raise AssertionError if message is None else AssertionError(message())

    # -- names

    def bound(self, value: Any, name: str, free: bool = False) -> Any:
        """The value of a name; raises Python's error if the name is unbound."""
        if value is not UNBOUND:
            return value
        if free:
            raise NameError(
                f"cannot access free variable '{name}' where it is not associated with a value "
                "in enclosing scope",
                name=name,
            )
        raise UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        )

    def peek(self, value: _Thunk) -> Any:
        """The value of a name of the module or of an outer function, or ``unbound``."""
        try:
            return value()
        except NameError:
            return UNBOUND

    # -- expressions

    def and_(self, value: Any, *others: _Thunk) -> Any:
        for other in others:
            if not value:
                return value
            value = other()
        return value

    def or_(self, value: Any, *others: _Thunk) -> Any:
        for other in others:
            if value:
                return value
            value = other()
        return value

    def not_(self, value: Any) -> Any:
        return not value

    def choose(self, site: int, test: Any, body: _Thunk, orelse: _Thunk) -> Any:
        return body() if test else orelse()

    def kept(self, test: Any, value: _Thunk, neutral: Any) -> Any:
        """An element of a comprehension if a condition holds, else ABSENT."""
        return value() if test else ABSENT

    def generator(self, function: Any, pushed: Any, resumed: Any) -> None:
        """Note that a generator function inside a twin has other forms."""

    def unpacked(self, x: Any, count: int) -> Any:
        """The value to assign to ``count`` targets; -1 if one of them is starred."""
        return x

    def perhaps(self, test: Any, value: _Thunk) -> Any:
        """An element of a comprehension, or ABSENT if it is left out."""
        return value() if test else ABSENT

    def chosen(self, is_dict: bool, elements: Any) -> Any:
        """A set or dict of the elements whose tests hold; they come as functions."""
        found = [element() for test, element in elements if test]
        return dict(found) if is_dict else set(found)

    def elements(
        self, s: int, made: Callable[[Any], Any], it: Any, is_list: bool, is_filter: bool
    ) -> Any:
        """The result of a comprehension that is a function of its iterable."""
        found = made(it)
        if not is_filter:
            return found
        return [x for x in found if x is not ABSENT] if is_list else self.present(found)

    def present(self, values: Any) -> Any:
        """The elements of a comprehension for which its conditions hold."""
        found = (x for x in values if x is not ABSENT)
        return list(found) if isinstance(values, list) else found

    def joined(self, a: Any, b: Any) -> Any:
        return a | b

    def repeated(self, a: Any, b: Any) -> Any:
        """``a * b`` where one operand is a list display."""
        return a * b

    @staticmethod
    def formatted(text: Any, values: Any) -> Any:
        """``text % values``."""
        return text % values

    def result(self, x: Any, may_change: bool) -> Any:
        """What a function returns, if it has more than one ``return``; ``may_change`` says whether
        it may change that object before it ends."""
        return x

    def whole(self, x: Any) -> Any:
        """A list or dict whose elements or keys Python takes out."""
        return x

    def in_(self, value: Any, container: Any) -> Any:
        return value in container

    def is_(self, a: Any, b: Any) -> bool:
        return a is b

    def class_of(self, x: Any) -> Any:
        return x.__class__

    def attribute(self, x: Any, name: str) -> Any:
        return getattr(x, name)

    def is_sequence(self, value: Any, least: int, more: bool) -> bool:
        """Whether a pattern of ``least`` elements, or of more if ``more``, fits a value."""
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
            return False
        return len(value) >= least if more else len(value) == least

    def has_part(self, value: Any, kind: Any, number: int, count: int) -> bool:
        """Whether a value has what the pattern of a class takes as its argument of this number."""
        if kind in _WHOLE:
            return count == 1
        return hasattr(value, _match_name(kind, number, count))

    def part_of(self, value: Any, kind: Any, number: int, count: int) -> Any:
        """That argument."""
        return value if kind in _WHOLE else getattr(value, _match_name(kind, number, count))

    def has_keys(self, value: Any, keys: tuple[Any, ...]) -> bool:
        """Whether a pattern with these keys fits a value."""
        return isinstance(value, Mapping) and all(key in value for key in keys)

    def matched(self, value: Any) -> Any:
        """The subject of a ``match`` whose patterns test for True, False or a class of numbers."""
        return value

    def item(self, array: Any, index: Any) -> Any:
        return array[index]

    def equal(self, a: Any, b: Any) -> Any:
        return a == b

    def unequal(self, a: Any, b: Any) -> Any:
        return a != b

    def ordered(self, compare: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """``a < b`` or the like, which compares the elements of tuples."""
        return compare(a, b)

    def iterable(self, x: Any) -> Any:
        """The iterable of a comprehension."""
        return x

    def delete_item(self, x: Any, index: Any) -> None:
        del x[index]

    def set_item(self, array: Any, index: Any, value: Any) -> None:
        array[index] = value

    def update_item(self, array: Any, index: Any, name: str, value: _Thunk) -> None:
        array[index] = getattr(operator, name)(array[index], value())

    # -- calls of the function itself: without a run of it (see `capture.frames`), plain calls

    @staticmethod
    def leaving(function: Any, owner: Any) -> frozenset[str]:
        """The names, with attributes, by which a function may lead back to itself through others;
        ``owner`` is the class of its object if it is a method."""
        return frozenset()

    def begin(self, site: int, get: _Thunk, put: _Put) -> None:
        """The beginning of a function with such calls; ``get`` returns, and ``put`` sets, the
        names that are read after a call."""

    def live(self) -> bool:
        """Whether the statements here run; a run that continues at a call skips those before
        it."""
        return True

    def enters(self, first: int, end: int) -> bool:
        """Whether a statement with the calls of these numbers runs, or has the call at which a run
        continues."""
        return True

    def leads(self, first: int, end: int) -> bool:
        """Whether a run continues at a call of these numbers."""
        return False

    def is_at(self, number: int) -> bool:
        """Whether a run continues at a call."""
        return False

    def answer(self, number: int) -> Any:
        """The result of the call at which a run continues."""

    def is_left(self, function: int) -> Any:
        """Whether the function of a number has been left at a call, to be continued later."""
        return False

    def managed(self, kind: Any, manager: Any) -> Any:
        """The manager of a ``with`` with recursive calls, which a run that continues at one enters
        again; ``kind`` is the function that has made it, if the ``with`` calls one."""
        return manager

    def suspended(self) -> bool:
        """Whether the function has just been left at a call, to be continued later."""
        return False

    def call_self(self, site: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function in its own body."""
        return self.call(function, *args, **kwargs)

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return converted(function, type(self))(*args, **kwargs)
