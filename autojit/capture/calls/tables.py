"""Dicts of known keys at traced keys: their values become choices, like those of lists.

A key is an integer or a tuple of integers. If the key may be a new one, the dict becomes a table
(see `capture.lists.hashed`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.lists import dicts, hashed, library, views
from autojit.capture.values.choice import choose, choose_nth
from autojit.capture.values.scalars import is_traced
from autojit.capture.values.table import When, answers
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.protocols.lifting import as_value, dtype_of, tracer
from autojit.staging import pytrees
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import bounds_of

_INT = np.dtype(np.int64)
Keys = dict[Any, Any]


def is_table(x: Any, key: Any) -> bool:
    """Whether x is a dict and the key is a traced integer, or a tuple with one."""
    return hashed.is_table(x, key) and hashed.are_integers(key)


@answers(Counter, when=When.ALWAYS, calls=True)
def counter(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``collections.Counter``; traced integers are counted one by one."""
    if len(args) == 1 and not kwargs and (is_traced(args[0]) or isinstance(args[0], (list, tuple))):
        return call(library.count_up, Counter(), args[0])
    return Counter(*args, **kwargs)


def item(x: Keys, key: Any) -> Any:
    """``x[key]``."""
    factory = x.default_factory if isinstance(x, defaultdict) else None
    if factory is not None or type(x) is Counter:
        hashed.begin(x, key, 0 if factory is None else factory())
        return dicts.item(x, key)
    return _at(x, key, _place(x, key, _same(x, key)))


def contains(key: Any, x: Keys) -> Any:
    """``key in x``."""
    key = hashed.settled_key(key)
    if not is_table(x, key):
        return key in x
    same = _same(x, key)
    return False if same is None else tracer(as_value(np.any(same)), bool)


def get(x: Keys, key: Any, default: Any = None) -> Any:
    """``x.get(key, default)``."""
    same = _same(x, key)
    if same is None:
        return default
    place = np.argmax(same)
    return hooks.choose(np.any(same), lambda: _at(x, key, as_value(place, _INT)), lambda: default)


def set_item(x: Keys, key: Any, value: Any, has_key: bool = False) -> None:
    """``x[key] = value``; ``has_key`` says that the dict certainly has the key."""
    same = _same(x, key)
    if same is None or not (has_key or _is_among(key, x)):
        hashed.set_item(x, key, value)
        return
    place = _place(x, key, same)
    for number, k in enumerate(_candidates(x, key)):
        x[k] = choose(tracer(arithmetic.eq(place, number)), value, x[k])


def method(call: Callable[..., Any], name: str, x: Keys, key: Any, *args: Any) -> Any:
    """``x.setdefault(key, …)``, or ``x.pop(key, …)``."""
    if name == "pop" and _same(x, key) is None:
        nothing: Keys = {}
        return nothing.pop(hashed.NO_KEY, *args)
    default = next(iter(x.values())) if name == "pop" else args[0] if args else None
    hashed.begin(x, key, default)
    return views.METHODS[name](call, x, key, *args)


def delete(x: Keys, key: Any) -> None:
    """``del x[key]``."""
    if _same(x, key) is None:
        raise KeyError(hashed.NO_KEY)
    hashed.begin(x, key, next(iter(x.values())))
    hashed.take(x, key)


def _is_among(key: Any, x: Keys) -> bool:
    """Whether a traced integer is certainly a key of the dict, by its bounds."""
    if isinstance(key, tuple) or dtype_of(key).kind not in "iu":
        return False
    low, high = bounds_of(key)
    return high - low < len(x) and all(k in x for k in range(low, high + 1))


def _candidates(x: Keys, key: Any) -> list[Any]:
    """The keys of the dict that have the form of a key."""
    form = pytrees.flatten(key)[1]
    return [k for k in x if hashed.are_integers(k) and pytrees.flatten(k)[1] == form]


def _at(x: Keys, key: Any, place: Value) -> Any:
    values = [x[k] for k in _candidates(x, key)]
    return choose_nth(place, values, "A dict at a traced key")


def _same(x: Keys, key: Any) -> Any:
    """A mask of the dict's keys that equal the traced one; None if it has no such key."""
    every = _candidates(x, key)
    if not every:
        return None
    leaves = np.array([pytrees.flatten(k)[0] for k in every], _INT)
    same: Any = True
    for column, number in zip(leaves.T, pytrees.flatten(key)[0], strict=True):
        same = np.logical_and(same, np.equal(column, tracer(as_value(number, _INT))))
    return same


def _place(x: Keys, key: Any, same: Any) -> Value:
    """The number of the dict's key that the traced one equals; if none does, compiled code
    raises KeyError."""
    if same is None:
        raise KeyError(hashed.NO_KEY)
    hooks.fail_where(np.logical_not(np.any(same)), KeyError(hashed.NO_KEY))
    return as_value(np.argmax(same), _INT)
