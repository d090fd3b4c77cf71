"""Dicts with integer keys at traced keys: their values become choices, like those of lists.

The keys of a dict are known while the function is traced, so a traced key is one of them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from autojit.capture.values.choice import choose, choose_nth
from autojit.capture.values.scalars import is_traced, settled
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.protocols.lifting import as_value, dtype_of, tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks

_INT = np.dtype(np.int64)


def is_table(x: Any, key: Any) -> bool:
    """Whether x is a dict with integer keys and the key is a traced integer."""
    if type(x) not in (dict, OrderedDict) or not is_traced(key) or np.shape(key):
        return False
    return bool(x) and dtype_of(key).kind in "iu" and all(type(k) is int for k in x)


def item(x: dict[int, Any], key: Any) -> Any:
    """``x[key]``."""
    return _at(x, _place(x, key, KeyError("a traced key that the dict does not have")))


def get(x: dict[int, Any], key: Any, default: Any = None) -> Any:
    """``x.get(key, default)``."""
    same = _same(x, key)
    place = np.argmax(same)
    return hooks.choose(np.any(same), lambda: _at(x, as_value(place, _INT)), lambda: default)


def set_item(x: dict[int, Any], key: Any, value: Any) -> None:
    """``x[key] = value`` for a key that the dict has."""
    place = _place(x, key, KeyError(_NEW))
    for number, k in enumerate(x):
        x[k] = choose(tracer(arithmetic.eq(place, number)), value, x[k])


def _at(x: dict[int, Any], place: Value) -> Any:
    return choose_nth(place, list(x.values()), "A dict at a traced key")


def _same(x: dict[int, Any], key: Any) -> Any:
    """A mask of the dict's keys that equal the traced one."""
    return np.equal(np.array(list(x), _INT), bare(settled(key)))


def _place(x: dict[int, Any], key: Any, error: KeyError) -> Value:
    """The number of the dict's key that the traced one equals; if none does, compiled code
    raises the error."""
    same = _same(x, key)
    hooks.fail_where(np.logical_not(np.any(same)), error)
    return as_value(np.argmax(same), _INT)


_NEW = (
    "a compiled function sets a new key of a dict. All keys must be known when the function is "
    "traced: create them first, with d = dict.fromkeys(range(n), 0.0)"
)
