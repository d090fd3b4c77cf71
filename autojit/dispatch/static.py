"""Static arguments: settings of a compiled function, compiled separately for each value."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Number
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from autojit.errors import NotArrayError, TracingError, UnhashableStaticError
from autojit.staging import pytrees
from autojit.staging.settings import argument_numbers, check_static

from .calls import MISS, NativeCalls

#: The static arguments of a call, by position or name.
Static = tuple[tuple[Any, Any], ...]

#: Types whose equal values are the same setting.
_EQUAL = frozenset({bool, bytes, int, str, type(None)})


class StaticArguments:
    """The static arguments of a function."""

    def __init__(
        self, function: Callable[..., Any], numbers: Sequence[int], names: Sequence[str]
    ) -> None:
        self.function = function
        by = "jit(f, static_argnums={})"
        self.given: tuple[int, ...] = argument_numbers(function, numbers, "static_argnums", by)
        check_static(function, self.given, names)
        self.numbers: set[int] = _numbers_of(function, names)
        self.names: set[str] = set(names) | _names_of(function, numbers)
        #: Positions and names where calls have passed settings; an argument there is static if it
        #: is a setting.
        self.found: set[int] = set()
        self.found_names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self.given or self.names or self.found or self.found_names)

    def find_settings(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[int]:
        """Note which arguments are settings; return the positions that had none before."""
        known = self.positions(len(args)) | self.found
        new = {i for i, a in enumerate(args) if i not in known and is_setting(a)}
        self.found |= new
        self.found_names.update(name for name, a in kwargs.items() if is_setting(a))
        return new

    def positions(self, n: int) -> set[int]:
        """The static positions among the first ``n`` arguments, and beyond."""
        return {i % n if -n <= i < n else i for i in self.given} | self.numbers

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Static, Any]:
        """The static arguments (hashable), and the others as (positional, by name)."""
        n = len(args)
        numbers, names = self.positions(n), self.names
        if self.found or self.found_names:
            numbers = numbers | {i for i in self.found if i < n and is_setting(args[i])}
            more = {k for k in self.found_names if k in kwargs and is_setting(kwargs[k])}
            names = names | more
        static: list[tuple[Any, Any]] = []
        for i in sorted(numbers):
            if i < n:
                self._check_hashable(args[i], f"argument {i}")
                static.append((i, args[i]))
        for name in sorted(names):
            if name in kwargs:
                self._check_hashable(kwargs[name], f"argument {name!r}")
                static.append((name, kwargs[name]))
        positional = tuple(None if i in numbers else a for i, a in enumerate(args))
        by_name = {k: v for k, v in sorted(kwargs.items()) if k not in names}
        return tuple(static), (positional, by_name)

    def _check_hashable(self, value: Any, what: str) -> None:
        try:
            hash(value)
        except (TypeError, ValueError):  # a memoryview's
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise UnhashableStaticError(
                f"{what} of {name} is static, so it must be hashable; "
                f"got {value!r:.60} of type {type(value).__name__}.\n"
                "Pass a tuple for a list, a frozenset for a set, a frozen dataclass for a dict, "
                "or leave the argument traced if it is an array:\n"
                f"    {_hashable_form(value)}"
            ) from None


def together(static: Static, dynamic: Any) -> tuple[list[Any], dict[str, Any]]:
    """Put all arguments back in place: (positional, by name)."""
    positional, by_name = list(dynamic[0]), dict(dynamic[1])
    for where, value in static:
        if isinstance(where, int):
            positional[where] = value
        else:
            by_name[where] = value
    return positional, by_name


def caller(static: Static, structure: Any) -> Callable[[Callable[..., Any], Sequence[Any]], Any]:
    """What calls a function with its static arguments, and others of a structure with leaves."""

    def call(function: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        positional, by_name = together(static, pytrees.arguments(structure, leaves))
        with _named_in_errors(static):
            return function(*positional, **by_name)

    return call


@contextmanager
def _named_in_errors(static: Static) -> Iterator[None]:
    """A context in which a function is traced. Where Python refuses to combine one of its static
    arguments with a traced value, the error names the argument."""
    try:
        yield
    except TypeError as error:
        words = str(error)
        if isinstance(error, TracingError) or not any(f"'{kind}'" in words for kind in _TRACED):
            raise
        for where, value in static:
            kind = type(value)
            if f"'{kind.__name__}'" in words or f"'{kind.__module__}.{kind.__name__}'" in words:
                way = pytrees.as_numbers(value)
                raise NotArrayError(
                    f"argument {where!r} is {pytrees.kind_of(value)}, which is a static setting "
                    "and not a number. Python refuses to combine it with a traced value: "
                    f"{words}." + (f" Pass its number:\n    {way}" if way else "")
                ).with_traceback(error.__traceback__) from None
        raise


_TRACED = ("Argument", "Tracer")


def exact(static: Static) -> Any:
    """A key of static arguments. It distinguishes settings that are equal, such as 1 and True."""
    return tuple([(where, _exactly(value)) for where, value in static])


def key_of(values: Sequence[Any]) -> Any:
    """The key of values alone, computed fast for plain ones."""
    types = tuple(map(type, values))
    if not _EQUAL.issuperset(types):
        return tuple(map(_exactly, values))
    return (*values, types)


def _exactly(value: Any) -> Any:
    """A key that is equal only for the same setting, also in tuples, and for 0.0 and -0.0."""
    kind = type(value)
    if kind in _EQUAL:
        return value, kind
    if issubclass(kind, (float, complex, np.inexact)):
        return repr(value), kind
    if issubclass(kind, (tuple, frozenset)):
        parts = map(_exactly, value)
        return frozenset(parts) if issubclass(kind, frozenset) else tuple(parts), kind
    return value, kind


def _hashable_form(value: Any) -> str:
    if isinstance(value, list):
        return f"f({tuple(value)!r:.60})"
    if isinstance(value, set):
        return f"f(frozenset({value!r:.40}))"
    if isinstance(value, np.ndarray):
        return "jit(f)                             # not: jit(f, static_argnums=...)"
    return "f(...)"


#: Attributes by which NumPy, or another library, recognises an array.
_ARRAYS = ("__array__", "__array_interface__", "__dlpack__", "__cuda_array_interface__")
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc, type)


def is_setting(value: Any) -> bool:
    """Whether an argument is static automatically: a string, an enum, a function, a class, or
    another hashable object that compares by value and is neither a number nor an array. Objects
    that compare only by identity are not static, because they may change unnoticed.

    >>> [is_setting(x) for x in ("mode", np.sin, 1.0, np.ones(3), [1], object())]
    [True, True, False, False, False, False]
    """
    kind = type(value)
    found = _settings.get(kind)
    if found is None:
        found = _settings[kind] = _is_setting(kind)
    return found


_settings: dict[type, bool] = {}


def _is_setting(kind: type) -> bool:
    if kind.__hash__ is None or issubclass(kind, (tuple, Number, np.generic, type(None))):
        return False
    if issubclass(kind, memoryview):  # its numbers may change
        return False
    if dataclasses.is_dataclass(kind) or any(hasattr(kind, name) for name in _ARRAYS):
        return False
    return issubclass(kind, _FUNCTIONS) or kind.__hash__ is not object.__hash__


class StaticCalls:
    """Native functions by static arguments, for calls with the other arguments by position."""

    def __init__(self, static: StaticArguments) -> None:
        self.static = static
        #: Forms by the number of positional arguments, followed by the names of the others if there
        #: are any.
        self._forms: dict[Any, _Form] = {}

    def add(self, static: Static, count: int, calls: NativeCalls, is_flat: bool) -> None:
        """Add the functions for calls with ``count`` positional arguments, which are leaves or
        trees.
        """
        names = sorted(where for where, _ in static if isinstance(where, str))
        key = (count, *names) if names else count
        form = self._forms.setdefault(key, _Form(self.static, count, names))
        form.natives[key_of([value for _, value in static])] = calls, is_flat
        form.last = _NEVER, None

    def forget(self, positions: set[int]) -> None:
        """Remove calls with arguments at these positions, which may be settings now."""
        for key, form in list(self._forms.items()):
            if any(i < form.count for i in positions):
                del self._forms[key]

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result, or MISS if there is no function for the call."""
        form = self._forms.get((len(args), *kwargs) if kwargs else len(args))
        if form is None:
            form = self._forms.get((len(args), *sorted(kwargs)))
            if form is None:
                return MISS
            self._forms[(len(args), *kwargs)] = form
        known, found = form.last
        if known is not form.single(args, kwargs):
            values = [args[i] for i in form.static]
            if kwargs:
                values += [kwargs[name] for name in form.names]
            try:
                found = form.natives.get(key_of(values))
            except TypeError:  # not hashable, as is said elsewhere
                return MISS
            if found is None:
                return MISS
            form.keep(values, found)
        calls, is_flat = found
        if is_flat:
            return calls.call([args[i] for i in form.rest])
        leaves = calls.leaves((form.without_static(args), {}))
        return MISS if leaves is None else calls.call(leaves)


#: No call passes this object.
_NEVER: Any = object()


class _Form:
    """Calls with a certain number of positional arguments, and static arguments by name."""

    def __init__(self, static: StaticArguments, count: int, names: list[str]) -> None:
        positions = static.positions(count) | static.found
        self.count = count
        self.names = names
        self.static = sorted(positions.intersection(range(count)))
        self.rest = [i for i in range(count) if i not in positions]
        self.natives: dict[Any, tuple[NativeCalls, bool]] = {}
        #: The only static argument of a call, or None; and its last value, if that cannot change,
        #: with what ``natives`` has for it.
        self.single = _single(self.static, names)
        self.last: tuple[Any, Any] = _NEVER, None

    def keep(self, values: list[Any], found: tuple[NativeCalls, bool]) -> None:
        """Let calls with the same object as the only static argument skip the search."""
        if len(values) == 1 and type(values[0]) in _EQUAL:
            self.last = values[0], found

    def without_static(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """All arguments, with None for static ones, as in :meth:`StaticArguments.split`."""
        return tuple([None if i in self.static else a for i, a in enumerate(args)])


def _single(positions: list[int], names: list[str]) -> Callable[[Any, Any], Any]:
    """A function that takes the only static argument from a call, if there is just one."""
    if len(positions) + len(names) != 1:
        return lambda args, kwargs: None
    if names:
        (name,) = names
        return lambda args, kwargs: kwargs[name]
    (position,) = positions
    return lambda args, kwargs: args[position]


@functools.lru_cache(maxsize=512)
def _parameters(f: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return ()


def _names_of(f: Callable[..., Any], numbers: Sequence[int]) -> set[str]:
    if not numbers:
        return set()
    names = _parameters(f)
    return {names[i] for i in numbers if -len(names) <= i < len(names)}


def _numbers_of(f: Callable[..., Any], names: Sequence[str]) -> set[int]:
    return {i for i, name in enumerate(_parameters(f)) if name in names} if names else set()
