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


def call_vectorize(
    f: np.vectorize, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call
) -> Any:
    """A call of what ``np.vectorize`` has made."""
    if not is_traced((args, kwargs)):
        return f(*plain(args), **plain(kwargs))
    function, taken = _without_excluded(f, args, kwargs)
    if f.signature is not None:
        result = by_signature(function, f.signature, taken, call)
    else:
        result = elementwise(function, taken, call)
    return _cast(result, f.otypes) if f.otypes else result


def _without_excluded(
    f: np.vectorize, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the arguments that are taken apart, and these: keywords come last."""
    places = [i for i in range(len(args)) if i not in f.excluded]
    names = [name for name in kwargs if name not in f.excluded]
    if len(places) == len(args) and not kwargs:
        return f.pyfunc, args

    def function(*taken: Any) -> Any:
        given, named = list(args), dict(kwargs)
        for i, x in zip(places, taken, strict=False):
            given[i] = x
        named.update(zip(names, taken[len(places) :], strict=True))
        return f.pyfunc(*given, **named)

    return function, (*(args[i] for i in places), *(kwargs[name] for name in names))


def by_signature(
    f: Callable[..., Any], signature: str, args: tuple[Any, ...], call: Call
) -> Any:  # fmt: skip
    """A function of arrays of the axes that a signature names, ``"(m,n),(n)->(m)"``, for all other
    axes, which broadcast."""
    inputs = signature.replace(" ", "").partition("->")[0]
    cores = [len([n for n in part.split(",") if n]) for part in inputs[1:-1].split("),(")]
    operands = [as_tracer(bare(np.asarray(x) if isinstance(x, (list, tuple)) else x)) for x in args]
    if len(operands) != len(cores):
        words = f"np.vectorize with the signature {signature!r} takes {len(cores)} arguments"
        raise TypeError(with_place(words, user_source()))
    split = [x.ndim - core for x, core in zip(operands, cores, strict=True)]
    pairs = list(zip(operands, split, strict=True))
    loop = np.broadcast_shapes(*(x.shape[:at] for x, at in pairs))
    if not loop:
        return call(f, *operands)
    rows = [
        np.reshape(np.broadcast_to(x, (*loop, *x.shape[at:])), (-1, *x.shape[at:]))
        for x, at in pairs
    ]
    results = vmap(lambda *cores: call(f, *cores))(*rows)
    if isinstance(results, tuple):
        return tuple(np.reshape(r, (*loop, *shape_of(r)[1:])) for r in results)
    return np.reshape(results, (*loop, *shape_of(results)[1:]))


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
