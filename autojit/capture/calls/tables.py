"""Dicts whose keys are integers, at traced keys: their values are choices, as those of lists are.

Which keys a dict has is known while the function is traced, so a traced key is one of them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from autojit.capture.values.choice import choose, choose_nth
from autojit.capture.values.scalars import is_traced, settled
from autojit.functions.checks import ensured
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.protocols.lifting import as_value, dtype_of, tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks

_INT = np.dtype(np.int64)


def is_table(x: Any, key: Any) -> bool:
    """Whether that is a dict of integers, and a traced key for it."""
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
    """``x[key] = value``, where there is such a key."""
    place = _place(x, key, KeyError(_NEW))
    for number, k in enumerate(x):
        x[k] = choose(tracer(arithmetic.eq(place, number)), value, x[k])


def _at(x: dict[int, Any], place: Value) -> Any:
    return choose_nth(place, list(x.values()), "A dict at a traced key")


def _same(x: dict[int, Any], key: Any) -> Any:
    """Which key of a dict is the traced one."""
    return np.equal(np.array(list(x), _INT), bare(settled(key)))


def _place(x: dict[int, Any], key: Any, error: KeyError) -> Value:
    """Which of a dict's keys the traced one is; the compiled code raises an error if it is none."""
    same = _same(x, key)
    return as_value(ensured(np.argmax(same), np.any(same), error), _INT)


_NEW = (
    "a compiled function sets a new key of a dict, whose keys are known when it is traced: set "
    "them all before, d = dict.fromkeys(range(n), 0.0)"
)
