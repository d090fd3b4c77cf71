"""The values that a function reads from outside, if its code shows that it depends on nothing else.

Legal where the instructions of the function, and of each function that it reads, are in no list
below, and where every name from outside stands for a number, a text, an array, a tuple, list or
dict of these, another such function, or a function without a state that is named here. All else is
refused: random draws, clocks, files, attributes of objects, variables that the function sets. The
values are compared bit for bit.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

#: The most values, and the most bytes of all arrays, that are compared.
MOST_VALUES, MOST_BYTES = 10_000, 1 << 22

#: Modules whose functions compute their results from their arguments, with the names that do not:
#: they read or set a state, look at memory, or use files.
_MODULES = {
    "numpy": "save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex "
    "memmap errstate seterr geterr seterrcall geterrcall setbufsize getbufsize printoptions "
    "set_printoptions get_printoptions array2string array_repr array_str show_config "
    "show_runtime info test get_include shares_memory may_share_memory frompyfunc vectorize "
    "from_dlpack",
    "numpy.linalg": "test",
    "numpy.fft": "test",
    "math": "",
    "cmath": "",
    "scipy.linalg": "test",
    "scipy.special": "test errstate seterr geterr",
}
_BUILTINS = (
    abs, all, any, bool, complex, dict, divmod, enumerate, filter, float, int, isinstance, len,
    list, map, max, min, pow, range, reversed, round, slice, sorted, str, sum, tuple, zip,
    ArithmeticError, AssertionError, IndexError, KeyError, OverflowError, RuntimeError, TypeError,
    ValueError, ZeroDivisionError,
)  # fmt: skip
#: Instructions that set variables of other scopes or attributes, import, make classes, sets or
#: texts of values, or enter contexts.
_REFUSED = frozenset({
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "IMPORT_FROM",
    "LOAD_BUILD_CLASS", "LOAD_NAME", "STORE_NAME", "LOAD_LOCALS", "LOAD_SUPER_ATTR",
    "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF", "BUILD_SET", "SET_ADD", "SET_UPDATE",
    "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BEFORE_WITH",
    "BEFORE_ASYNC_WITH", "LOAD_SPECIAL", "GET_AWAITABLE", "GET_AITER",
})  # fmt: skip
#: Attributes of arrays that write files, set a state, or look at memory.
_ATTRIBUTES = frozenset({"tofile", "dump", "setflags", "ctypes", "data", "base"})
_SCALARS = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis)})
_ITEMS = frozenset({tuple, list, dict})


class Leaf(NamedTuple):
    """One value: an object that is itself, or what tells a number or an array from others."""

    kind: Any
    value: Any

    def is_same(self, other: Leaf) -> bool:
        if self.kind is _ITSELF:
            return other.kind is _ITSELF and self.value is other.value
        return self == other


_ITSELF = object()


class _Unclear(Exception):
    """The function may depend on something that is not compared, or change something."""


def outer_values(function: Any, given: Any) -> list[Leaf] | None:
    """The values that a function reads from outside, and those of ``given``, a tree of arguments;
    None if the function may depend on anything else.

    >>> rates = np.array([0.5, 2.0])
    >>> f = lambda x: np.sum(rates * x)
    >>> before = outer_values(f, ())
    >>> are_same(before, outer_values(f, ()))
    True
    >>> rates[0] = 1.0
    >>> are_same(before, outer_values(f, ()))
    False
    >>> outer_values(lambda x: x * np.random.random(), ()) is None
    True
    """
    walk = _Walk()
    try:
        if type(function) is not types.FunctionType:
            return None
        walk.take(given)
        walk.take(function)
    except _Unclear:
        return None
    return walk.found


def are_same(a: list[Leaf] | None, b: list[Leaf] | None) -> bool:
    """Whether two lists of values are known, and the same."""
    if a is None or b is None or len(a) != len(b):
        return False
    return all(x.is_same(y) for x, y in zip(a, b, strict=True))


def is_plain(x: Any) -> bool:
    """Whether a tree consists of tuples, lists and dicts of NumPy's arrays and numbers.

    >>> is_plain({"w": [np.ones(2), 1.0]}), is_plain(np.ma.masked_array([1.0]))
    (True, False)
    """
    if type(x) in _ITEMS:
        return all(map(is_plain, x.values() if type(x) is dict else x))
    return type(x) is np.ndarray or type(x) in _SCALARS or isinstance(x, np.generic)


class _Walk:
    def __init__(self) -> None:
        self.found: list[Leaf] = []
        #: The arrays, containers and functions, by their identities, each with its number.
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no two have the same identity
        self._bytes = 0

    def take(self, x: Any) -> None:
        """Add a value, and the values in it."""
        kind = type(x)
        if kind in _SCALARS:
            self._add(kind, repr(x))
        elif isinstance(x, np.generic):
            self._add(x.dtype, x.tobytes())
        elif id(x) in _known():
            self._add(_ITSELF, x)
        elif id(x) in self._numbers:  # a second name of the same object
            self._add("again", self._numbers[id(x)])
        else:
            self._numbers[id(x)] = len(self._numbers)
            self._alive.append(x)
            self._open(x, kind)

    def _open(self, x: Any, kind: type) -> None:
        if kind is np.ndarray:
            self._take_array(x)
        elif kind in _ITEMS:
            self._add(kind, len(x))
            for each in (y for pair in x.items() for y in pair) if kind is dict else x:
                self.take(each)
        elif kind is types.FunctionType:
            self._take_function(x)
        else:
            raise _Unclear

    def _add(self, kind: Any, value: Any) -> None:
        self.found.append(Leaf(kind, value))
        if len(self.found) > MOST_VALUES:
            raise _Unclear

    def _take_array(self, x: np.ndarray) -> None:
        self._bytes += x.nbytes
        if x.dtype.kind not in "biufc" or self._bytes > MOST_BYTES:
            raise _Unclear
        self._add((x.dtype, x.shape, x.strides, x.flags.writeable), x.tobytes())

    def _take_function(self, f: types.FunctionType) -> None:
        reads = _reads(f.__code__)
        if reads is None or f.__dict__:
            raise _Unclear
        self._add(_ITSELF, f.__code__)
        self.take(f.__defaults__ or ())
        self.take(f.__kwdefaults__ or {})
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        for name, *attributes in reads:
            if name in cells:
                found = _contents(cells[name])
            elif name in f.__globals__:
                found = f.__globals__[name]
            elif name in f.__builtins__:
                found = f.__builtins__[name]
            else:
                raise _Unclear
            self.take(_member(found, attributes))


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        raise _Unclear from None


def _member(found: Any, attributes: list[str]) -> Any:
    """The object that is read from a module, and perhaps from a module in it."""
    for attribute in attributes:
        if not isinstance(found, types.ModuleType):
            break
        if sys.modules.get(found.__name__) is not found or found.__name__ not in _MODULES:
            raise _Unclear
        found = getattr(found, attribute, found)
    return found


def _known() -> dict[int, Any]:
    """The functions that may be called, by their identities."""
    return _known_of(tuple(name for name in _MODULES if name in sys.modules))


@lru_cache(maxsize=8)
def _known_of(modules: tuple[str, ...]) -> dict[int, Any]:
    found: dict[int, Any] = {id(x): x for x in (*_BUILTINS, np.ndarray, np.dtype)}
    for name in modules:
        refused = _MODULES[name].split()
        for attribute, x in vars(sys.modules[name]).items():
            if callable(x) and attribute not in refused and not attribute.startswith("_"):
                found[id(x)] = x
    return found


@lru_cache(maxsize=4096)
def _reads(code: types.CodeType) -> list[tuple[str, ...]] | None:
    """The names from outside that code reads, each with the attributes that follow it; None if it
    does something that is refused."""
    found: dict[tuple[str, ...], None] = {}
    for each in _with_inner(code):
        steps = [s for s in dis.get_instructions(each) if s.opname != "EXTENDED_ARG"]
        for place, step in enumerate(steps):
            name = step.opname
            if name in _REFUSED or _is_refused_attribute(step):
                return None
            if name in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
                return None
            is_outer = name == "LOAD_DEREF" and step.argval in code.co_freevars
            if name == "LOAD_GLOBAL" or is_outer:
                found.setdefault((step.argval, *_attributes(islice(steps, place + 1, None))))
    return list(found)


def _is_refused_attribute(step: dis.Instruction) -> bool:
    if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
        return False
    return step.argval in _ATTRIBUTES or step.argval.startswith("__")


def _attributes(steps: Iterable[dis.Instruction]) -> Iterator[str]:
    for step in steps:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return
        yield step.argval


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _with_inner(each)
