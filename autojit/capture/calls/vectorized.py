"""Functions of Numba's, and scalar functions that are applied to each element of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.protocols.lifting import as_tracer, common_shape, shape_of
from autojit.staging.numba_functions import numba_kind
from autojit.tracing.created_arrays import bare, is_traced, plain
from autojit.tracing.source import user_source
from autojit.transformations.batching import vmap

Call = Callable[..., Any]


def call_of_numba(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call) -> Any:
    """A call of a function that Numba has compiled: of its Python function, where an argument is
    traced."""
    if not is_traced((args, kwargs)):
        return f(*plain(args), **plain(kwargs))
    kind = numba_kind(type(f))
    if kind == "function":
        return call(f.py_func, *args, **kwargs)
    if kind == "ufunc" and not kwargs:
        return elementwise(f._dispatcher.py_func, args, call)
    raise UncoveredFunctionError(
        with_place(
            f"{f.__name__} is made by numba's @guvectorize, or called with keywords: it writes its "
            "results into its arguments, which autojit does not follow. Write it as a function "
            "that returns them:\n"
            "    @numba.njit\n"
            f"    def {f.__name__}(x): ...; return y",
            user_source(),
        )
    )


def call_vectorize(f: np.vectorize, args: tuple[Any, ...], call: Call) -> Any:
    """A call of what ``np.vectorize`` has made."""
    if not is_traced(args):
        return f(*plain(args))
    if f.signature is not None or f.excluded:
        raise UncoveredFunctionError(
            with_place(
                "np.vectorize with signature= or excluded= is not covered by autojit. "
                "Use autojit.vmap(f, in_axes=...).",
                user_source(),
            )
        )
    result = elementwise(f.pyfunc, args, call)
    return _cast(result, f.otypes) if f.otypes else result


def _cast(result: Any, types: str) -> Any:
    if isinstance(result, tuple):
        return tuple(as_tracer(r).astype(t) for r, t in zip(result, types, strict=True))
    return as_tracer(result).astype(types[0])


def elementwise(f: Callable[..., Any], args: tuple[Any, ...], call: Call) -> Any:
    """A function of scalars, for each element of the arguments, which broadcast."""
    operands = [as_tracer(bare(np.asarray(x) if isinstance(x, (list, tuple)) else x)) for x in args]
    shape = common_shape(*operands)
    if not shape:
        return call(f, *(x[()] for x in operands))
    axes = tuple(0 if shape_of(x) else None for x in operands)
    rows = [
        np.ravel(np.broadcast_to(x, shape)) if axis == 0 else x
        for x, axis in zip(operands, axes, strict=True)
    ]
    results = vmap(lambda *scalars: call(f, *scalars), in_axes=axes)(*rows)
    if isinstance(results, tuple):
        return tuple(np.reshape(r, shape) for r in results)
    return np.reshape(results, shape)
