"""The table of NumPy functions that answer through ``__array_function__``."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from autojit.errors import (
    AutojitError,
    ConcreteValueError,
    ShapeError,
    UncoveredFunctionError,
    with_place,
)
from autojit.ir.core.types import NoSuchAxis, TypeMismatch
from autojit.tracing.context import noting
from autojit.tracing.created_arrays import bare, is_traced, with_values
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .kinds import are_noted, note_call
from .lifting import as_scalars, boxed
from .way_out import offer

F = TypeVar("F", bound=Callable[..., Any])

#: NumPy function -> our implementation, with the same signature.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

#: Generalized ufuncs -> our implementation.
PRODUCTS: dict[Any, Callable[..., Any]] = {}

#: Names of the covered ufuncs, for messages.
UFUNCS: list[str] = []

#: NumPy function -> position and name of each parameter that decides about shapes.
KNOWN: dict[Any, tuple[tuple[int, str], ...]] = {}

#: NumPy function -> position of its parameter ``out``, or None if it is given by name only.
OUT: dict[Any, int | None] = {}


#: NumPy functions that return an array even where it has no axes. Others return a scalar then,
#: except `VIEWS`, whose implementations return the same of the two as NumPy.
ARRAYS = frozenset(
    {np.apply_along_axis, np.broadcast_to, np.cov, np.expand_dims, np.fft.fftn, np.fft.ifftn, np.i0,
     np.isin, np.linalg.tensordot, np.pad, np.piecewise, np.real_if_close, np.resize, np.roll,
     np.select, np.tensordot, np.where}
)  # fmt: skip
VIEWS = frozenset(
    {np.astype, np.broadcast_arrays, np.copy, np.diff, np.empty_like, np.full_like, np.imag,
     np.linalg.diagonal, np.linalg.matrix_transpose, np.matrix_transpose, np.moveaxis, np.ones_like,
     np.real, np.reshape, np.rollaxis, np.squeeze, np.swapaxes, np.transpose, np.zeros_like}
)  # fmt: skip
_QUANTILES = frozenset(
    {np.median, np.nanmedian, np.nanpercentile, np.nanquantile, np.percentile, np.quantile}
)


def implements(*functions: Any, known: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Register the implementation of NumPy functions.

    ``known`` are parameters that cannot be traced, because the shape of the result depends on them.
    A parameter ``out`` belongs to the signature only: `call_function` writes the result into it.
    """

    def register(implementation: F) -> F:
        parameters = inspect.signature(implementation).parameters
        names = list(parameters)
        for function in functions:
            FUNCTIONS[function] = implementation
            if "out" in parameters:
                by_name = parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY
                OUT[function] = None if by_name else names.index("out")
            if known:
                KNOWN[function] = tuple((names.index(name), name) for name in known)
        return implementation

    return register


def call_function(function: Any, args: Any, kwargs: Any) -> Any:
    """Answer a NumPy function called with a traced array among its arguments."""
    hooks.load()
    if function in OUT:
        out, args, kwargs = without_out(OUT[function], args, kwargs)
        if out is not None:
            result = call_function(function, args, kwargs)
            return hooks.write_result(_name_of(function), out, result)
    if any_bounded(args) or (kwargs and any_bounded(kwargs.values())):
        return hooks.bounded_function(function, args, kwargs)
    implementation = FUNCTIONS.get(function)
    if implementation is None:
        raise offer(uncovered(_name_of(function)), function, args, kwargs)
    parameters = KNOWN.get(function)
    if parameters is not None:
        args, kwargs = with_known(_name_of(function), parameters, args, kwargs)
    try:
        result = implementation(*bare(args), **bare(kwargs))
    except UncoveredFunctionError as error:
        offer(error, function, args, kwargs)
        raise
    except TypeMismatch as error:
        by_axis = isinstance(error, NoSuchAxis) and function not in _OF_SHAPES
        kind = _AxisError if by_axis else ShapeError
        raise kind(with_place(f"{_name_of(function)}: {error}", user_source())) from None
    if type(result) is Tracer and result.own.type.shape:
        return result
    result = _as_numpys(function, result, kwargs)
    if noting and are_noted(args):
        note_call(result, function, args, kwargs)
    return result


class _AxisError(ShapeError, np.exceptions.AxisError):
    """A ShapeError that handlers of NumPy's AxisError, and so of IndexError, catch too."""

    def __str__(self) -> str:
        return str(self.args[0])


#: Functions that raise ValueError for arrays with too few axes.
_OF_SHAPES = frozenset({np.concatenate, np.diff, np.transpose})
_AxisError.__name__ = _AxisError.__qualname__ = ShapeError.__name__
_AxisError.__module__ = ShapeError.__module__


def _as_numpys(function: Any, result: Any, kwargs: Any) -> Any:
    """The result with arrays without axes, or scalars, where NumPy's has them."""
    if function in VIEWS:
        return result
    is_array = function in ARRAYS
    if function in _QUANTILES:
        is_array = kwargs.get("keepdims") is True or kwargs.get("weights") is not None
    return boxed(result) if is_array and isinstance(result, Tracer) else as_scalars(result)


def without_out(position: int | None, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The argument ``out`` of a function, and its other arguments."""
    if position is not None and len(args) > position:
        if args[position] is None:
            return None, args, kwargs
        return args[position], (*args[:position], None, *args[position + 1 :]), kwargs
    return kwargs.get("out"), args, {k: x for k, x in kwargs.items() if k != "out"}


def with_known(
    function: str, parameters: Iterable[tuple[int, str]], args: Any, kwargs: Any
) -> tuple[Any, Any]:
    """Arguments of a function, with the values of parameters that decide about shapes, which are
    given by position and name. Raises an error if a value is not known."""
    for position, name in parameters:
        given = args[position] if position < len(args) else kwargs.get(name)
        if not is_traced(given):
            continue
        value = with_values(given)
        if is_traced(value):
            raise must_be_known(function, name, given)
        if isinstance(value, np.ndarray) and value.ndim:  # a tuple with traced values in it
            value = tuple(value.tolist())
        if position < len(args):
            args = (*args[:position], value, *args[position + 1 :])
        else:
            kwargs = {**kwargs, name: value}
    return args, kwargs


def any_bounded(args: Any) -> bool:
    """Whether one of some arguments, or of the items of a list, is a bounded array."""
    for x in args:
        kind = type(x)
        if (kind is list or kind is tuple) and any_bounded(x):
            return True
        if issubclass(kind, Tracer) and kind.is_bounded:
            return True
    return False


def must_be_known(function: str, argument: str, given: Any) -> AutojitError:
    """The error for a traced value that decides about a shape."""
    parts = given if isinstance(given, (tuple, list)) else (given,)
    found = next((x for x in parts if isinstance(x, Tracer)), None)
    static = "jit(f, static_argnums=1)" if found is None else found.as_static()
    return ConcreteValueError(
        with_place(
            f"{function}: the shape of the result depends on {argument}, which is traced and must "
            "be known when the function is traced. Make it a static argument, or close over it:\n"
            f"    {static}\n"
            "    grad(lambda x: f(x, n))(x)         # n is a Python integer here\n"
            "or create an array that is long enough, and slice it:\n"
            "    np.zeros(100)[:n]                  # not: np.zeros(n)",
            user_source(),
        )
    )


def _name_of(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{function.__name__}".replace("numpy.", "np.", 1)


def uncovered(name: str, detail: str = "") -> AutojitError:
    """The error for a function that is not covered."""
    known = {_name_of(f) for f in FUNCTIONS} | set(UFUNCS)
    close = [] if detail else difflib.get_close_matches(name, known, n=3, cutoff=0.75)
    hint = f" Covered and similar: {', '.join(close)}." if close else ""
    return UncoveredFunctionError(
        with_place(
            f"{name}{detail} is not covered by autojit.{hint}\n"
            "Write it with covered functions, or apply it outside the traced function "
            "if its arguments do not depend on the traced ones.",
            user_source(),
        )
    )


def reject(name: str, **unsupported: Any) -> None:
    """Raise an error for keyword arguments that are given but not supported."""
    for keyword, value in unsupported.items():
        if value is not None and value is not np._NoValue and value is not True:
            raise uncovered(name, f" with {keyword}=")


hooks.call_function = call_function
