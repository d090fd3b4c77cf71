"""``type``, ``isinstance`` and the like, answered for the values that traced ones stand for."""

from __future__ import annotations

import abc
import functools
import operator
import sys
import types
import typing
from collections import deque
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from autojit.capture.lists.deques import Deque
from autojit.capture.rewriting.callees import is_of_library, is_users_file
from autojit.capture.state.optional import Optional
from autojit.capture.values.choice import ChosenList
from autojit.capture.values.places import Places, PlacesAndElements
from autojit.capture.values.ranges import Enumerate, Reversed, TracedRange, Zip
from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import is_traced, truth
from autojit.capture.values.table import When, answers
from autojit.capture.values.type_tests import note_test
from autojit.session.frames import is_internal
from autojit.tracing.created_arrays import FreshArray, TracedArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.running.as_written import add_answer
from autojit.tracing.tracer import Tracer

#: The Python types that our own types stand for.
_STAND_INS = {
    ChosenList: list,
    Zip: zip,
    Enumerate: enumerate,
    Reversed: reversed,
    TracedRange: range,
    Places: np.ndindex,
    PlacesAndElements: np.ndenumerate,
    Deque: deque,
}

_ARRAYS = frozenset({FreshArray, TracedArray})
#: Types of objects that stand for objects of another type.
_OTHER = (Tracer, FreshArray, *_STAND_INS)


def type_of(x: Any) -> type:
    """``type(x)`` as the user would see it without a trace."""
    if not isinstance(x, Tracer):
        kind = type(x)
        return np.ndarray if kind in _ARRAYS else _STAND_INS.get(kind, kind)
    if x.weak is not None:
        return x.weak
    return x.dtype.type if x.is_scalar else np.ndarray


hooks.type_of = type_of


class _Methods:
    @functools.singledispatchmethod
    def method(self, x: Any) -> None: ...


_MADE: tuple[Any, ...] = (functools.singledispatch(lambda x: x), _Methods().method)
#: The code of all functions and methods made by `functools.singledispatch` and
#: `singledispatchmethod`.
DISPATCHING = frozenset(f.__code__ for f in _MADE)


def dispatches(f: Any) -> bool:
    """Whether a function is made by one of these."""
    return getattr(f, "__code__", None) in DISPATCHING


def dispatched(f: Any, x: Any) -> Any:
    """The implementation that such a function or method calls for its first argument."""
    if hasattr(f, "dispatch"):
        return f.dispatch(class_of(x))
    held = dict(zip(f.__code__.co_freevars, f.__closure__, strict=True))
    owner, self, cls = (held[name].cell_contents for name in ("self", "obj", "cls"))
    return owner.dispatcher.dispatch(class_of(x)).__get__(self, cls)


def class_of(x: Any) -> Any:
    """``x.__class__``."""
    if not isinstance(x, _OTHER):
        return x.__class__
    note_test(x, lambda kind: kind)
    return type_of(x)


#: The code that sees the types of Python: that of the user's files, `singledispatch`, and
#: `np.isscalar`. The other functions of libraries see the class of traced values.
_SEEING = frozenset(map(id, [*DISPATCHING, np.isscalar.__code__]))
#: Files whose functions ask on behalf of `isinstance`.
_ASKING = ("<frozen abc>", abc.__file__, typing.__file__)


def class_seen(x: Any) -> type:
    """``x.__class__`` for a traced value, which ``isinstance`` asks too, in code without a twin."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename in _ASKING:
        frame = frame.f_back
    code = frame and frame.f_code
    if code is None or not (_sees(code.co_filename) or id(code) in _SEEING):
        return type(x)
    found: type = class_of(x)
    return found


@functools.cache
def _sees(file: str) -> bool:
    """Whether the functions in a file are the user's."""
    return is_users_file(file) and not is_internal(file) and not is_of_library(file)


hooks.class_seen = class_seen


@answers(type, when=When.ALWAYS)
def type_(*args: Any, **kwargs: Any) -> Any:
    """``type(x)``; with three arguments, a new class."""
    if len(args) != 1 or not isinstance(args[0], _OTHER):
        return type(*args, **kwargs)
    return class_of(args[0])


@answers(isinstance, when=When.ALWAYS)
def isinstance_(x: Any, kinds: Any) -> Any:
    """``isinstance(x, kinds)``."""
    if type(x) is Optional:
        if isinstance_(x.__aj_value__, kinds):
            return isinstance(None, kinds) or x.__aj_truth__(_true)
        return isinstance(None, kinds) and x.__aj_is_none__()
    if not isinstance(x, _OTHER):
        return isinstance(x, kinds)
    kind = type_of(x)
    note_test(x, lambda kind: _is_kind(kind, kinds))
    if kind is not np.bool_:
        return _is_kind(kind, kinds)
    # A traced bool may be Python's or NumPy's.
    found = {_is_kind(kind, kinds), _is_kind(bool, kinds)}
    if len(found) > 1:
        refuse(
            "Distinguishing a Python bool from a NumPy bool",
            "Test for both:\n    isinstance(x, (bool, np.bool_))",
        )
    return found.pop()


def _true(x: Any) -> bool:
    return True


def _is_kind(kind: type, kinds: Any) -> bool:
    if isinstance(kinds, tuple):
        return any(_is_kind(kind, k) for k in kinds)
    if isinstance(kinds, types.UnionType):
        return any(_is_kind(kind, k) for k in kinds.__args__)
    if getattr(kinds, "_is_protocol", False):  # issubclass refuses protocols with data members
        return isinstance(np.empty(0) if kind is np.ndarray else kind(), kinds)
    return issubclass(kind, kinds)


def is_singleton(a: Any, b: Any) -> Any:
    """``a is b`` for a traced value and True or False. Only a bool of Python's is one of these."""
    one, other = (a, b) if type(b) is bool else (b, a)
    if type(other) is not bool or not is_traced(one):
        return False
    note_test(one, lambda kind: kind is bool)
    if type_of(one) is np.bool_:  # which may be Python's
        refuse(
            "`is True` or `is False`, or a pattern that tests this, on a traced bool of NumPy's",
            "A bool of NumPy's is never the object True. Test the value itself:\n"
            "    if found: ...                      # not: if found is True\n"
            "    case (a, b) if a and not b: ...    # not: case (True, False)",
        )
    if type_of(one) is not bool:
        return False
    return truth(one) == other


@answers(np.isscalar)
def isscalar(x: Any) -> bool:
    """``np.isscalar(x)``."""
    found = bare(x)
    note_test(found, lambda kind: kind is not np.ndarray)
    return found.is_scalar


@answers(np.iterable)
def iterable(x: Any) -> bool:
    """``np.iterable(x)``."""
    return bool(np.shape(x))


@answers(hasattr)
def hasattr_(x: Any, name: str) -> bool:
    """``hasattr(x, name)``, answered for the type of the value."""
    if not is_traced(x):
        return hasattr(x, name)
    note_test(bare(x), lambda kind: hasattr(kind, name))
    return hasattr(type_of(x), name)


def attribute(x: Any, name: str) -> Any:
    """``x.name``, which is missing if the type of the value has no such attribute."""
    if is_traced(x) and not hasattr_(x, name) and hasattr(x, name):
        raise AttributeError(_MISSING.format(type_of(x).__name__, name), name=name, obj=x)
    return getattr(x, name)


@answers(getattr)
def getattr_(x: Any, name: str, *default: Any) -> Any:
    """``getattr(x, name, default)``, answered for the type of the value."""
    if not is_traced(x):
        return getattr(x, name, *default)
    return attribute(x, name) if not default or hasattr_(x, name) else default[0]


@answers(setattr)
def setattr_(x: Any, name: str, value: Any) -> None:
    """``setattr(x, name, value)``, answered for the type of the value."""
    if is_traced(x) and not hasattr_(x, name):
        raise AttributeError(_MISSING.format(type_of(x).__name__, name), name=name, obj=x)
    setattr(x, name, value)


@answers(operator.concat)
def concat(a: Any, b: Any) -> NoReturn:
    """``operator.concat(a, b)``, which numbers and arrays do not have."""
    raise TypeError(f"'{type_of(a).__name__}' object can't be concatenated")


@answers(np.dtype)
def dtype(x: Any, *args: Any, **kwargs: Any) -> np.dtype:
    """``np.dtype(x)``: a number of NumPy's has a dtype, and an array is none."""
    if not is_traced(x):
        return np.dtype(x, *args, **kwargs)
    note_test(bare(x), lambda kind: issubclass(kind, np.generic))
    if not issubclass(type_of(x), np.generic):
        raise TypeError("a number of Python's, or an array, is no data type: np.dtype(x.dtype)")
    return x.dtype


@answers(np.issubdtype)
def issubdtype(x: Any, kind: Any) -> bool:
    """``np.issubdtype(x, kind)``."""
    return np.issubdtype(dtype(x), kind)


_MISSING = "{!r} object has no attribute {!r}"

add_answer("type", type_)
add_answer("hasattr", hasattr_)


@answers(callable)
def callable_(x: Any) -> bool:
    """``callable(x)``."""
    return False
