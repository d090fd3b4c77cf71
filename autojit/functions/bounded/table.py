"""The table of NumPy's functions on bounded arrays, used by calls with a bounded argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import as_tracer
from autojit.protocols.lists import LISTS
from autojit.tracing.hooks import hooks

from . import products, reductions
from .alignment import elementwise
from .array import Bounded, refuse

#: NumPy's function -> its implementation for bounded arguments.
FUNCTIONS: dict[Any, Any] = {
    np.sum: reductions.sum, np.prod: reductions.prod, np.any: reductions.any_,
    np.all: reductions.all_, np.max: reductions.max, np.amax: reductions.max,
    np.min: reductions.min, np.amin: reductions.min, np.mean: reductions.mean,
    np.var: reductions.var, np.std: reductions.std, np.ptp: reductions.ptp,
    np.argmax: reductions.argmax, np.argmin: reductions.argmin, np.cumsum: reductions.cumsum,
    np.count_nonzero: reductions.count_nonzero, np.linalg.norm: reductions.norm,
    np.dot: products.matmul, np.vdot: products.vdot, np.inner: products.inner,
    np.outer: products.outer,
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
}  # fmt: skip

#: Elementwise functions, and how many of their arguments are operands.
_ELEMENTWISE = {
    np.where: 3, np.clip: 3, np.round: 1, np.around: 1, np.real: 1, np.imag: 1,
    np.nan_to_num: 1, np.isclose: 2, np.angle: 1, np.sinc: 1, np.isreal: 1,
    np.zeros_like: 1, np.ones_like: 1, np.empty_like: 1, np.full_like: 2, np.copy: 1,
}  # fmt: skip

#: The ufuncs themselves: while a function is traced, NumPy's names stand for wrappers.
_ADD, _MATMUL, _POWER = np.add, np.matmul, np.power

#: Ufuncs whose ``reduce`` and ``accumulate`` are covered.
_REDUCE = {
    np.add: reductions.sum, np.multiply: reductions.prod, np.maximum: reductions.max,
    np.minimum: reductions.min, np.logical_or: reductions.any_, np.logical_and: reductions.all_,
}  # fmt: skip


def _elementwise(function: Any, count: int) -> Any:
    def answer(*args: Any, **kwargs: Any) -> Any:
        operands, rest = args[:count], args[count:]
        given = [x for x in operands if x is not None]

        def call(*data: Any) -> Any:
            found = iter(data)
            whole = [None if x is None else next(found) for x in operands]
            return as_tracer(function(*whole, *rest, **kwargs))

        return elementwise(call, *given)

    return answer


FUNCTIONS.update({f: _elementwise(f, count) for f, count in _ELEMENTWISE.items()})


def _over_axes(function: Any, x: Bounded, *args: Any) -> Any:
    """Apply a function that moves axes: a view, whose bounded axes are found by their numbers."""
    numbers = np.empty([k + 2 for k in range(x.ndim)])
    extents = function(numbers, *args).shape
    ranges = tuple(None if n == 1 else x.ranges[n - 2] for n in extents)
    return Bounded(function(x.storage, *args), ranges, closed=x.closed)


def _moves_axes(function: Any) -> Any:
    def answer(a: Any, *args: Any, **kwargs: Any) -> Any:
        return _over_axes(lambda x, *rest: function(x, *rest, **kwargs), a, *args)

    return answer


for _function in (
    np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.atleast_2d,
    np.atleast_1d,
):  # fmt: skip
    FUNCTIONS[_function] = _moves_axes(_function)


def _reshape(a: Bounded, *args: Any, **kwargs: Any) -> Any:
    """Reshape a vector to a row, a column, or itself."""
    shape = args[0] if args else kwargs.get("shape", kwargs.get("newshape"))
    if a.ndim == 1:
        if shape == -1 or shape in ((-1,), [-1]):
            return a[:]
        if shape in ((-1, 1), [-1, 1]):
            return a[:, None]
        if shape in ((1, -1), [1, -1]):
            return a[None, :]
    refuse("np.reshape to other shapes than (-1, 1), (1, -1) and (-1,) of a vector")


def _ravel(a: Bounded, order: str = "C") -> Any:
    return a[:] if a.ndim == 1 else refuse("np.ravel of a matrix")


def _flip(m: Bounded, axis: Any = None) -> Any:
    axes = (
        range(m.ndim)
        if axis is None
        else [normalize_axis(k, m.ndim) for k in np.atleast_1d(axis).tolist()]
    )
    return m[tuple(slice(None, None, -1 if k in axes else None) for k in range(m.ndim))]


FUNCTIONS.update({np.reshape: _reshape, np.ravel: _ravel, np.flip: _flip})


def is_bounded(x: Any) -> bool:
    """Whether an argument is bounded, or is a list that contains a bounded array."""
    if type(x) is Bounded:
        return True
    return type(x) in LISTS and any(map(is_bounded, x))


def call_function(function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of NumPy's that has a bounded array among its arguments."""
    answer = FUNCTIONS.get(function)
    name = f"{getattr(function, '__module__', 'np')}.{function.__name__}".replace("numpy", "np", 1)
    if answer is None:
        refuse(name)
    operands = _ELEMENTWISE.get(function, 2)
    if any(is_bounded(x) for x in (*args[operands:], *kwargs.values())):
        refuse(f"{name} with such an argument")
    if any(type(x) in LISTS and is_bounded(x) for x in args):
        refuse(f"{name} of a list")
    return answer(*args, **kwargs)


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc that has a bounded array among its arguments."""
    if any(type(x) in LISTS and is_bounded(x) for x in inputs):
        refuse(f"np.{ufunc.__name__} of a list")
    if ufunc is _MATMUL and method == "__call__" and not any(kwargs.values()):
        return products.matmul(*inputs)
    if method == "reduce" and ufunc in _REDUCE:
        (x, *rest) = inputs
        axis = rest[0] if rest else kwargs.pop("axis", 0)
        return _REDUCE[ufunc](x, axis, **{k: v for k, v in kwargs.items() if v is not None})
    if method == "accumulate" and ufunc is _ADD:
        return reductions.cumsum(inputs[0], kwargs.get("axis", 0))
    if method != "__call__" or ufunc.signature is not None:
        refuse(f"np.{ufunc.__name__}.{method}")
    fails = ufunc is _POWER  # integers to negative powers
    return elementwise(lambda *data: ufunc(*data, **kwargs), *inputs, anew=fails)


def call_operator(ufunc: Any, *operands: Any) -> Any:
    """Apply an operator that has a bounded array among its operands."""
    if ufunc is _MATMUL:
        return products.matmul(*operands)
    call = hooks.call_operator if len(operands) == 2 else hooks.call_unary_operator
    return elementwise(lambda *data: call(ufunc, *data), *operands, anew=ufunc is _POWER)


hooks.bounded_function, hooks.bounded_ufunc = call_function, call_ufunc
hooks.bounded_operator = call_operator
