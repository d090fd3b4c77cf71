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
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from autojit.capture.calls.caches import CACHED
from autojit.capture.groups.cycles import Cycles
from autojit.capture.groups.names import Reference, first_of, names_of, references_of
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

    function: FunctionType
    owner: Any

    def __hash__(self) -> int:
        return hash((id(self.function), id(self.owner)))

    def __eq__(self, other: Any) -> bool:
        return self.function is other.function and self.owner is other.owner


class _Local(threading.local):
    """The groups that one trace has found."""

    def __init__(self) -> None:
        self.of: Any = None
        self.groups = _Groups()


def leaving(function: FunctionType, owner: Any) -> frozenset[str]:
    """The names, with attributes, by which a function may lead back to itself."""
    trace = current_trace()
    groups = _Groups() if trace is None else _known(trace.unrolled)
    return groups.names_of(Member(function, owner))


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
    """The groups of the functions that have been asked for.

    They are found twice: by all names of a function, whatever these stand for in it, and then, for
    functions that seem to be in a group, by the names and attributes that it really reads.
    """

    def __init__(self) -> None:
        self._names: dict[Member, frozenset[str]] = {}
        self._likely = Cycles(_named)
        self._certain = Cycles(self._referred)

    def names_of(self, member: Member) -> frozenset[str]:
        known = self._names.get(member)
        if known is None:
            known = self._names[member] = self._found(member)
        return known

    def _found(self, member: Member) -> frozenset[str]:
        if not _is_followed(member.function):
            return _NOTHING
        group = self._likely.around(member)
        if len(group) == 1 and member not in _named(member):
            return _NOTHING
        group = self._certain.around(member)
        code = member.function.__code__
        return frozenset(".".join(found) for found in references_of(code)
                         if any(x in group for x in _targets(member, found)))  # fmt: skip

    def _referred(self, member: Member) -> Iterator[Member]:
        group = self._likely.around(member)
        for found in references_of(member.function.__code__):
            yield from (x for x in _targets(member, found) if x in group)


# -- from names to functions ---------------------------------------------------------------------


def _named(member: Member) -> list[Member]:
    """The functions that a function may refer to, by its names."""
    function, found = member.function, list[Member]()
    names = names_of(function.__code__)
    cells = _cells(function)
    for name in names:
        value = cells.get(name, function.__globals__.get(name))
        if value is None or type(value) in _PLAIN:
            continue
        found += _values(value, ())
        if _has_methods(value):
            found += (x for each in names for x in _values(value, (each,)))
    if member.owner is not None:
        found += (x for name in names for x in _of_class(member.owner, (name,)))
    return [x for x in found if _is_near(member, x)]


def _targets(member: Member, reference: Reference) -> list[Member]:
    """The functions that a reference of a function stands for now."""
    function, (first, *attributes) = member.function, reference
    cells = _cells(function)
    if first == first_of(function.__code__) and first not in cells:
        found = _of_class(member.owner, tuple(attributes))
    else:
        found = _values(cells.get(first, function.__globals__.get(first)), tuple(attributes))
    return [x for x in found if _is_near(member, x)]


def _cells(function: FunctionType) -> dict[str, Any]:
    """The variables of outer functions that are bound."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
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


def _is_near(member: Member, other: Member) -> bool:
    """Whether a function may lead back: it is the user's own, or of the same package."""
    if not _is_followed(other.function):
        return False
    a, b = member.function, other.function
    if not is_installed(b.__code__.co_filename):
        return True
    return _package(a) == _package(b)


def _package(function: FunctionType) -> str:
    return str(function.__globals__.get("__name__")).partition(".")[0]


_local = _Local()
