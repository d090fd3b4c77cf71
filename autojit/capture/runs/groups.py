"""The group of a function: the functions that it leads to and that lead back to it.

Functions are found by the names in them: globals, variables of outer functions, attributes of
modules, classes and objects, and the methods of the object of a method. Names may be bound anew, so
the groups are found once in each trace, and a call is compared with what it has called when it is
made. The bytecode of each function is read once.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.calls.caches import CACHED
from autojit.capture.groups.cycles import Cycles
from autojit.capture.groups.names import (
    Reference,
    first_of,
    has_references,
    names_of,
    references_of,
)
from autojit.capture.rewriting.callees import LIBRARIES, is_installed, is_users
from autojit.capture.rewriting.twins import is_twin_code
from autojit.dispatch.compiled import CompiledFunction
from autojit.staging.numba_functions import numba_kind, python_function
from autojit.tracing.context import current_trace

_NOTHING = frozenset[str]()
#: The flags of generator functions and coroutines.
_LATER = 0x20 | 0x80 | 0x100 | 0x200


class Member(NamedTuple):
    """A function, and the class of its object if it is a method."""

    function: Any
    owner: Any


#: A member by the identities of its parts.
_Key = tuple[int, int]


class _Local(threading.local):
    """The groups that one trace has found."""

    def __init__(self) -> None:
        self.of: Any = None
        self.groups = _Groups()


def leaving(function: FunctionType, owner: Any) -> frozenset[str]:
    """The names, with attributes, by which a function may lead back to itself."""
    trace = current_trace()
    groups = _Groups() if trace is None else _known(trace.unrolled)
    known = groups.names.get((id(function), id(owner)))
    return groups.found(Member(function, owner)) if known is None else known


def _known(key: Any) -> _Groups:
    """The groups of a trace, which a set of its own stands for."""
    if _local.of is None or _local.of() is not key:
        _local.of, _local.groups = weakref.ref(key), _Groups()
    return _local.groups


def undecorated(f: Any) -> Any:
    """The function under `jit` or `njit`, whose name it uses to call itself."""
    if isinstance(f, CompiledFunction):
        has_settings = f.static.given or f.static.names or f.asked is not None
        return f if has_settings else undecorated(f.function)
    return python_function(f)


class _Groups:
    """The groups of the functions that have been asked for."""

    def __init__(self) -> None:
        #: The names by which each function may lead back to itself.
        self.names: dict[_Key, frozenset[str]] = {}
        #: The functions that a search has come to, until it ends; then only references that forget
        #: a function when it is gone, since another one may get its identity.
        self._members: dict[_Key, Member] = {}
        self._alive: dict[_Key, list[weakref.ref[Any]]] = {}
        #: The functions that the references of each one stand for.
        self._targets: dict[_Key, list[tuple[Reference, _Key]]] = {}
        self._cycles = Cycles(self._following)

    def found(self, member: Member) -> frozenset[str]:
        """The names of a function that has not been asked for."""
        key = self._key(member)
        names = _NOTHING
        if _is_followed(member.function):
            group = self._cycles.around(key)
            names = frozenset(".".join(name) for name, x in self._targets[key] if x in group)
        self.names[key] = names
        for each, found in self._members.items():
            forget = partial(self._forget, each)
            parts = [x for x in found if x is not None]
            self._alive[each] = [weakref.ref(x, forget) for x in parts]
        self._members.clear()
        return names

    def _forget(self, key: _Key, _: Any) -> None:
        for known in (self.names, self._targets, self._alive):
            known.pop(key, None)
        self._cycles.forget(key)

    def _key(self, member: Member) -> _Key:
        key = id(member.function), id(member.owner)
        self._members[key] = member
        return key

    def _following(self, key: _Key) -> list[_Key]:
        found = self._targets[key] = [
            (name, self._key(x)) for name, x in _targets(self._members[key])
        ]
        return [x for _, x in found]


# -- from names to functions ---------------------------------------------------------------------


def _targets(member: Member) -> Iterator[tuple[Reference, Member]]:
    """The functions that the references of a function stand for now."""
    function = member.function
    code, space, cells = function.__code__, function.__globals__, _cells(function)
    if not (has_references(code) or member.owner is not None or _may_refer(code, space, cells)):
        return
    first = first_of(code)
    for reference in references_of(code):
        name = reference[0]
        if name == first and name not in cells:
            found = _of_class(member.owner, reference[1:])
        else:
            value = cells[name] if name in cells else space.get(name)
            if value is None or type(value) in _PLAIN or value is np:
                continue
            found = _values(value, reference[1:])
        for x in found:
            if _is_near(function, x.function):
                yield reference, x


def _may_refer(code: CodeType, space: dict[str, Any], cells: dict[str, Any]) -> bool:
    """Whether a name of a function stands for something that may lead to a function."""
    values = [space.get(name) for name in names_of(code)]
    return any(type(x) not in _PLAIN and x is not np for x in (*values, *cells.values()))


def _cells(function: FunctionType) -> dict[str, Any]:
    """The variables of outer functions that are bound."""
    found = dict[str, Any]()
    if function.__closure__ is None:
        return found
    for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the outer function has not come to it yet
            found[name] = None
    return found


#: Types of values that lead to no function.
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), type(len)))


def _values(value: Any, attributes: tuple[str, ...]) -> Iterator[Member]:
    """The functions that a value, or an attribute of it, leads to."""
    kind = type(value)
    if kind in _PLAIN:
        return
    if not attributes:
        yield from _called(value)
    elif not _has_methods(value):
        return
    elif kind is ModuleType:
        yield from _values(vars(value).get(attributes[0]), attributes[1:])
    elif issubclass(kind, type):
        yield from _of_class(value, attributes)
    else:
        yield from _of_class(kind, attributes)
        yield from _values(_attributes(value).get(attributes[0]), attributes[1:])


def _has_methods(value: Any) -> bool:
    """Whether a value is a module, a class or an object of the user's."""
    kind = type(value)
    if kind is ModuleType:
        return value.__name__.partition(".")[0] not in LIBRARIES
    if kind in (FunctionType, MethodType):
        return False
    module = (value if issubclass(kind, type) else kind).__module__
    return not isinstance(module, str) or module.partition(".")[0] not in _NO_USERS


#: The modules whose classes have no methods of the user's.
_NO_USERS = LIBRARIES | {"builtins", "functools", "collections"}


def _attributes(value: Any) -> dict[str, Any]:
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


_FUNCTIONS = frozenset((FunctionType, MethodType, CACHED))


def _called(value: Any) -> Iterator[Member]:
    """The function that a call of a value runs; for a list or dict, those of its elements."""
    kind = type(value)
    if kind is FunctionType:
        yield Member(value, None)
    elif kind is MethodType and type(value.__func__) is FunctionType:
        yield Member(value.__func__, owner_of(value))
    elif kind is CACHED:
        yield from _called(value.__wrapped__)
    elif isinstance(value, CompiledFunction) or numba_kind(kind) == "function":
        inner = undecorated(value)
        yield from _called(inner) if inner is not value else ()
    elif kind in (list, tuple, dict):
        elements = value.values() if kind is dict else value
        yield from (x for each in elements if type(each) in _FUNCTIONS for x in _called(each))


def _of_class(cls: Any, attributes: tuple[str, ...]) -> Iterator[Member]:
    """The method of a class, as its objects call it."""
    if cls is None or len(attributes) != 1:
        return
    (name,) = attributes
    found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
    if type(found) is staticmethod:
        yield from _called(found.__func__)
    else:
        found = found.__func__ if type(found) is classmethod else found
        yield from (Member(x.function, cls) for x in _called(found))


def owner_of(method: MethodType) -> Any:
    """The class whose methods the object of a method has."""
    owner = method.__self__
    return owner if isinstance(owner, type) else type(owner)


def _is_followed(function: FunctionType) -> bool:
    code = function.__code__
    return not code.co_flags & _LATER and is_users(function) and not is_twin_code(code)


def _is_near(a: FunctionType, b: FunctionType) -> bool:
    """Whether the second function may lead back to the first one: it is the user's own, or of the
    same package."""
    if not _is_followed(b):
        return False
    return not is_installed(b.__code__.co_filename) or _package(a) == _package(b)


def _package(function: FunctionType) -> str:
    return str(function.__globals__.get("__name__")).partition(".")[0]


_local = _Local()
