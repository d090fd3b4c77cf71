"""Cumulative sums, products and extremes (``cumsum`` and others), each a native loop.

A loop's derivative is a loop in the other direction, so the gradient of a running product needs no
division, and zeros among its factors do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.functions.manipulation import along_one_axis, moveaxis
from autojit.functions.mathematics import without_nan
from autojit.functions.reductions import accumulator_dtype
from autojit.protocols.lifting import as_tracer, dtype_of, shape_of
from autojit.protocols.registry import implements, reject, uncovered
from autojit.protocols.ufunc_plans import resolve
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source

#: The initial value of a running sum or product; other ufuncs begin with the first element.
_NEUTRAL = {np.add: 0, np.multiply: 1}
_OTHERS = (np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.hypot)


def _running(ufunc: Any, a: Any, axis: Any, dtype: Any) -> Any:
    """``ufunc.accumulate(a, axis, dtype)``; without an axis the array is flat."""
    from .control import scan

    a, axis = along_one_axis(a, axis)
    kind = np.dtype(dtype) if dtype else dtype_of(a)
    if dtype is None and ufunc in _NEUTRAL:
        kind = accumulator_dtype(kind)
    if ufunc not in _NEUTRAL:
        *_, kind = resolve(ufunc, (kind, kind), None)  # hypot of integers is a float
    rows = moveaxis(as_tracer(a).astype(kind), axis, 0)
    if not shape_of(rows)[0]:
        return moveaxis(rows, 0, axis)

    def step(total: Any, row: Any) -> tuple[Any, Any]:
        total = ufunc(total, row)
        return total, total

    if ufunc in _NEUTRAL:
        start = np.full(shape_of(rows)[1:], _NEUTRAL[ufunc], kind)
        result = scan(step, start, rows)[1]
    else:
        rest = scan(step, rows[0], rows[1:])[1]
        result = np.concatenate([rows[:1], rest])
    return moveaxis(result, 0, axis)


def _function(name: str, ufunc: Any) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        reject(f"np.{name}", out=out)
        return _running(ufunc, a, axis, dtype)

    function.__name__ = name
    return function


cumsum = implements(np.cumsum)(_function("cumsum", np.add))
cumprod = implements(np.cumprod)(_function("cumprod", np.multiply))


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    reject("np.nancumsum", out=out)
    return _running(np.add, without_nan(a, 0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    reject("np.nancumprod", out=out)
    return _running(np.multiply, without_nan(a, 1), axis, dtype)


def _cumulative(name: str, ufunc: Any) -> Callable[..., Any]:
    def function(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
        include_initial: bool = False,
    ) -> Any:  # fmt: skip
        reject(f"np.{name}", out=out)
        if axis is None:
            if len(shape_of(x)) > 1:
                words = f"np.{name} of an array of {len(shape_of(x))} axes needs axis="
                raise ShapeError(with_place(words, user_source()))
            axis = 0
        result = _running(ufunc, x, axis, dtype)
        if not include_initial:
            return result
        shape = list(shape_of(result))
        shape[axis] = 1
        first = np.full(shape, _NEUTRAL[ufunc], dtype_of(result))
        return np.concatenate([first, result], axis=axis)

    function.__name__ = name
    return function


for _name, _ufunc in (("cumulative_sum", np.add), ("cumulative_prod", np.multiply)):
    if hasattr(np, _name):  # since NumPy 2.1
        implements(getattr(np, _name))(_cumulative(_name, _ufunc))


def _repeats(ufunc: Any, kind: np.dtype) -> bool:
    """Whether a ufunc keeps the dtype of its results when it is applied to them."""
    if ufunc.nin != 2 or ufunc.nout != 1:
        return False
    *_, result = resolve(ufunc, (kind, kind), None)
    return resolve(ufunc, (result, result), None)[-1] == result


def accumulate_ufunc(
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``ufunc.accumulate``, whose axis is 0 unless given."""
    name = f"np.{ufunc.__name__}.accumulate"
    reject(name, out=out)
    if ufunc not in _NEUTRAL and ufunc not in _OTHERS and not _repeats(ufunc, dtype_of(array)):
        raise uncovered(name)
    return _running(ufunc, array, axis, dtype)


hooks.accumulate_ufunc = accumulate_ufunc
