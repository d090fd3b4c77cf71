"""``f(*args, **kwargs)`` where values may be traced.

A call goes one of four ways: to the answer for a function that needs care (found by its identity),
to the twin of a Python function, to the handler of the callee's type, or straight to f.
"""

from __future__ import annotations

import functools
import io
import operator
import random
import re
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from autojit.capture.lists import dicts, hashed, stretches
from autojit.capture.lists.resumable import asks, generated
from autojit.capture.rewriting.callees import is_users
from autojit.capture.rewriting.twins import GENERATOR
from autojit.capture.state.maybe import any_optional
from autojit.capture.state.one_of import OneOf, any_one_of, each, len_of, resolved
from autojit.capture.state.optional import Optional, without_none
from autojit.capture.state.stretch import any_made
from autojit.capture.users.classes import watch
from autojit.capture.values import ranges
from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import TRACED, any_traced, holds_traced, settled
from autojit.capture.values.table import ANSWERS, METHODS, Answer, When, answers
from autojit.errors import AutojitError
from autojit.session.shown_text import Use, use_of_text
from autojit.staging.numba_functions import numba_kind
from autojit.tracing.array_methods import uncovered_of
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand
from autojit.tracing.running.asked import is_iterator, is_opaque, note_asked
from autojit.tracing.tracer import Tracer

from . import caches, heaps, iteration, type_queries, vectorized, warning_filters
from .clocks import is_clock, read
from .foreign import raise_explained
from .numbers import conversions, mathematics, methods, ordering, statistic, whole_numbers
from .randomness import Generator, RandomState, drawn
from .type_queries import DISPATCHING

Converted = Callable[[Any], Any]

for _dtype in "?bhilqBHILQfdFD":
    _kind = np.dtype(_dtype).type
    answers(_kind)(conversions.as_array_scalar(_kind))

#: Attributes of `numpy` that a twin calls through `call`.
NUMPY_NAMES = frozenset({
    "dtype", "frombuffer", "isscalar", "issubdtype", "iterable", "polynomial", "random", "testing",
    "vectorize",
    *(name for name, found in vars(np).items() if isinstance(found, type) and id(found) in ANSWERS),
})  # fmt: skip

_ALWAYS, _ELEMENTS = When.ALWAYS, When.ELEMENTS
_FUNCTION, _METHOD = types.FunctionType, types.MethodType
_BUILTIN = types.BuiltinFunctionType
_METHOD_OF_C = types.MethodWrapperType


def call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], converted: Converted) -> Any:
    """Call ``f(*args, **kwargs)``; ``converted(g)`` is the twin of a function g."""
    _note_asked(f, (*args, *kwargs.values()))
    try:
        if any_made() and stretches.concerns(f, args, kwargs) and stretches.is_answered(f):
            return stretches.watching(stretches.answer(_caller(converted), f, args, kwargs))
        if any_optional() and dicts.concerns(f, args, kwargs) and stretches.is_answered(f):
            return dicts.answer(_caller(converted), f, args, kwargs)
        found = ANSWERS.get(id(f))
        if type(f) is OneOf or (
            type(f) is not _FUNCTION and (any_one_of(args) or any_one_of(kwargs.values()))
        ):
            return _resolved(f, args, kwargs, converted)
        if found is not None:
            return _answered(found, args, kwargs, converted)
        kind = type(f)
        if kind is _FUNCTION:
            if f.__code__.co_flags & GENERATOR:
                return generated(f, args, kwargs)
            if f.__code__ in DISPATCHING and args:
                return call(type_queries.dispatched(f, args[0]), args, kwargs, converted)
            return converted(f)(*args, **kwargs)
        way = _ways.get(kind)
        if way is None:
            way = _ways[kind] = _way(kind)
        return way(f, args, kwargs, converted)
    except Exception as error:
        raise_explained(error, f, args, kwargs)
        raise


#: Functions that ask no iterator for its elements; `next` notes it itself.
_ASKS_NOT = frozenset(map(id, (isinstance, type, id, hasattr, callable, repr, print, next)))


def _note_asked(f: Any, args: tuple[Any, ...]) -> None:
    """Note the iterators that a function of Python's or a library's may ask for elements."""
    for x in args:
        if is_iterator(x) and id(f) not in _ASKS_NOT and not _runs_as_twin(f):
            asks(x)
    if type(f) is _METHOD_OF_C:
        asks(f.__self__)
        return
    owner = None if type(f) is _FUNCTION else getattr(f, "__self__", None)
    if owner is not None and is_opaque(type(owner)) and not isinstance(owner, io.IOBase):
        note_asked(owner)


def _runs_as_twin(f: Any) -> bool:
    return type(f) in (_FUNCTION, _METHOD) and is_users(getattr(f, "__func__", f))


def _resolved(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], converted: Converted) -> Any:
    """Call f where f is one of several functions, or where f is not the user's code and an argument
    is one of several objects."""
    if type(f) is OneOf:
        return each(f, lambda known: call(known, args, kwargs, converted))
    if f is len and type(args[0]) is OneOf:
        return len_of(args[0])
    if isinstance(f, (type, types.MethodType)) and _is_users(f):
        return _ways.setdefault(type(f), _way(type(f)))(f, args, kwargs, converted)
    if f in (list.append, print) or getattr(f, "__name__", "") in _STORE:
        return f(*args, **kwargs)

    def known(*values: Any) -> Any:
        named = zip(kwargs, values[len(args) :], strict=True)
        return call(f, values[: len(args)], dict(named), converted)

    return resolved([*args, *kwargs.values()], known)


def _is_users(f: Any) -> bool:
    """Whether a class or a method is written in Python."""
    code = vars(f).get("__init__") if isinstance(f, type) else f.__func__
    return isinstance(code, _FUNCTION) or hasattr(f, "_fields")


#: Methods of containers that store their arguments.
_STORE = frozenset({"append", "appendleft", "insert", "extend"})


#: Functions whose answers accept None.
_TAKE_NONE = frozenset(map(id, (isinstance, type, operator.not_, operator.truth, reversed, print)))


def _present(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function for which Python raises an error on None, checked for None."""
    if Optional not in map(type, args) and Optional not in map(type, kwargs.values()):
        return args, kwargs
    words = f"{getattr(f, '__name__', f)}() is given None"
    return (
        tuple([without_none(x, words) for x in args]),
        {name: without_none(x, words) for name, x in kwargs.items()},
    )


def _answered(
    found: Answer, args: tuple[Any, ...], kwargs: dict[str, Any], converted: Converted
) -> Any:
    original, answer, when, calls = found
    if id(original) not in _TAKE_NONE:
        args, kwargs = _present(original, args, kwargs)
    if when is not _ALWAYS and not (when is _ELEMENTS and (len(args) == 1 or kwargs)):
        for x in args:
            if isinstance(x, TRACED):
                break
        else:
            if not kwargs or not any_traced(kwargs.values()):
                return original(*args, **kwargs)
    if calls:
        return answer(_caller(converted), *args, **kwargs)
    return answer(*args, **kwargs)


def _caller(converted: Converted) -> Callable[..., Any]:
    return lambda g, *args, **kwargs: call(g, args, kwargs, converted)


# -- by the type of the callee ---------------------------------------------------------

Way = Callable[[Any, tuple[Any, ...], dict[str, Any], Converted], Any]


def _straight(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    return f(*args, **kwargs)


def _twin(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    return converted(f)(*args, **kwargs)


def _bound_method(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    if isinstance(f.__self__, Tracer):
        answer = _OF_ARRAYS.get(f.__func__.__name__)
        return f(*args, **kwargs) if answer is None else answer(f.__self__, *args, **kwargs)
    if type(f.__self__) in _GENERATORS:
        return drawn(f, args, kwargs)
    watch(type(f.__self__))
    if type(f.__func__) is caches.CACHED:
        return _cached(f.__func__, (f.__self__, *args), kwargs, converted)
    if type(f.__func__) is _FUNCTION and f.__func__.__code__.co_flags & GENERATOR:
        return generated(f.__func__, (f.__self__, *args), kwargs)
    return converted(f)(*args, **kwargs)


_GENERATORS = frozenset({Generator, RandomState, random.Random})
_OF_ARRAYS = {"item": conversions.item, "tolist": conversions.tolist}


def _builtin(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    """Call a function written in C, or a method of one of Python's containers."""
    owner = f.__self__
    found = METHODS.get((type(owner), f.__name__))
    if found is None:
        if type(owner) in _GENERATORS:
            return drawn(f, args, kwargs)
        return read(f, args, kwargs) if is_clock(f) else converted(f)(*args, **kwargs)
    if f.__name__ in _BY_ELEMENTS and (holds_traced(owner) or kwargs.get("key")):
        return found(_caller(converted), owner, *args, **kwargs)
    if any_traced(args):
        args = tuple(map(settled, args))
    is_by_key = isinstance(owner, dict) and bool(args) and hashed.is_key(args[0])
    if any_traced(args) or is_by_key:
        return found(_caller(converted), owner, *args, **kwargs)
    return f(*args, **kwargs)


#: Methods that compare elements, so that traced elements count as well as traced arguments.
_BY_ELEMENTS = frozenset({"sort", "index", "count", "remove"})


def _partial(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    return call(f.func, (*f.args, *args), {**f.keywords, **kwargs}, converted)


def _of_numba(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    return vectorized.call_of_numba(f, args, kwargs, _caller(converted))


def _vectorize(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    return vectorized.call_vectorize(f, args, kwargs, _caller(converted))


def _cached(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    made = converted(f) if caches.is_uncached(f, args, kwargs) else f
    if made is not f:
        return made(*args, **kwargs)
    return caches.called(f, args, kwargs, _caller(converted))


def _class(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    if f.__name__ == "prange" and f.__module__.startswith("numba."):
        return ranges.range_(*args)
    watch(f)
    return converted(f)(*args, **kwargs)


def _of_jax(f: Any, args: Any, kwargs: Any, converted: Converted) -> Any:
    if any_traced(args) or any_traced(kwargs.values()):
        raise uncovered_of(f"jax.numpy.{getattr(f, '__name__', f)}", "JAX", "jnp.sin(x)")
    return f(*args, **kwargs)


def _way(kind: type) -> Way:
    if kind.__module__.partition(".")[0] in ("jax", "jaxlib"):
        return _of_jax
    if issubclass(kind, type):
        return _class
    return _of_numba if numba_kind(kind) else _twin


def call_as(original: Any, answer: Callable[..., Any]) -> None:
    """Answer a NumPy function with ``answer``, by whatever name the user calls it."""
    if id(original) not in ANSWERS:
        answers(original, when=When.ALWAYS)(answer)


def calls_of(kind: type) -> Callable[[Way], Way]:
    """Register how objects of a type are called."""

    def register(way: Way) -> Way:
        _ways[kind] = way
        return way

    return register


_ways: WeakKeyDictionary[type, Way] = WeakKeyDictionary(
    {
        np.ufunc: _straight,
        type(np.sum): _straight,
        _METHOD: _bound_method,
        _BUILTIN: _builtin,
        functools.partial: _partial,
        caches.CACHED: _cached,
        np.vectorize: _vectorize,
        type(str.join): _straight,
        type(list.__add__): _straight,
    }
)

#: Modules that register their answers.
_tables = (
    heaps, iteration, mathematics, methods, ordering, statistic, type_queries, warning_filters,
    whole_numbers,
)  # fmt: skip


def formatted(text: Any, values: Any) -> Any:
    """``text % values``; in the message of an exception, traced values may be formatted as
    numbers."""
    if type(text) is not str:
        return text % values
    given = values if isinstance(values, tuple) else (values,)
    places = list(_CONVERSIONS.finditer(text))
    fits = len(places) == len(given) and not any(found["stars"] for found in places)
    if not (fits and any(map(_is_unknown, given)) and use_of_text() is Use.RAISED):
        return _native(text, given) if any_traced(given) else text % values
    made, end = [], 0
    for found, x in zip(places, given, strict=True):
        made.append(text[end : found.start()] % ())
        made.append(hooks.named(x, found[0]) if _is_unknown(x) else found[0] % (x,))
        end = found.end()
    return "".join([*made, text[end:] % ()])


def _native(text: str, given: tuple[Any, ...]) -> str:
    """The text with numbers in place of known traced values. The formats of numbers, like `%d`,
    look at the type of a value, so an unknown one is refused."""
    known = tuple([at_hand(x) if isinstance(x, Tracer) else x for x in given])
    unknown = [x for x in given if isinstance(x, Tracer) and _is_unknown(x)]
    try:
        return text % tuple([x if k is None else k for x, k in zip(given, known, strict=True)])
    except TypeError as error:
        if unknown and not isinstance(error, AutojitError):
            fix = f"Format the result, where the function is called:\n    print({text!r} % f(x))"
            refuse(f"A traced value in {text!r} % x", fix)
        raise


#: The conversions of values in a text with `%`.
_CONVERSIONS = re.compile(
    r"%(?P<flags>[#0 +-]*)(?P<stars>\*|\d*\.\*|\(.*?\))?[\d.]*[hlL]?[diouxXeEfFgGcrsa]"
)


def _is_unknown(x: Any) -> bool:
    return isinstance(x, Tracer) and at_hand(x) is None
