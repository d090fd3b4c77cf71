"""Functions compiled by Numba, and scalar functions that are applied to each element of arrays."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.types import Type
from autojit.protocols.kinds import note_several
from autojit.protocols.lifting import as_tracer, boxed, common_shape, shape_of, tracer
from autojit.staging.numba_functions import numba_kind
from autojit.tracing.created_arrays import bare, is_traced, plain
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.transformations.batching import vmap

Call = Callable[..., Any]


def call_of_numba(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call) -> Any:
    """Call a function that Numba has compiled; call its Python function if an argument is traced,
    or if it is a generator function, since loops cannot carry Numba's generators."""
    kind = numba_kind(type(f))
    is_generator = kind == "function" and inspect.isgeneratorfunction(f.py_func)
    if not is_generator and not is_traced((args, kwargs)):
        return f(*plain(args), **plain(kwargs))
    if kind == "function":
        return call(f.py_func, *args, **kwargs)
    if kind == "ufunc" and not kwargs:
        return elementwise(f._dispatcher.py_func, args, call)
    if kind == "gufunc" and not kwargs and len(args) == f.nin and f.gufunc_builder._sigs:
        return _gufunc(f, args, call)
    raise UncoveredFunctionError(
        with_place(
            f"{f.__name__} is called with keywords, or it was made by numba's @guvectorize "
            "without types and is called with an array for its result. Declare the types, and "
            "use the returned result:\n"
            '    @guvectorize(["(float64[:], float64[:])"], "(n)->(n)")\n'
            f"    y = {f.__name__}(x)",
            user_source(),
        )
    )


def _gufunc(f: Any, args: tuple[Any, ...], call: Call) -> Any:
    """Call a function made by `@guvectorize`: its Python function gets arrays for its results.

    Raises UncoveredFunctionError for a result with an axis that no argument has, and if the
    function changes an argument.
    """
    operands = [as_tracer(bare(np.asarray(x) if isinstance(x, (list, tuple)) else x)) for x in args]
    builder = f.gufunc_builder
    types = _types_of(builder._sigs, [x.dtype for x in operands])
    takes, gives = builder.sin, builder.sout
    results = [np.dtype(str(t.dtype)) for t in types[len(takes) :]]

    def function(*cores: Any) -> Any:
        sizes = {n: size for names, x in zip(takes, cores, strict=True)
                 for n, size in zip(names, shape_of(x), strict=True)}  # fmt: skip
        unknown = {n for names in gives for n in names} - sizes.keys()
        if unknown:
            words = (
                f"{f.__name__} returns a result with the axis {min(unknown)}, which no argument "
                "has."
            )
            raise UncoveredFunctionError(with_place(words, user_source()))
        given: list[Any] = [
            x if names or not hasattr(t, "dtype") else np.reshape(x, (1,))
            for names, x, t in zip(takes, cores, types, strict=False)
        ]
        outs = [
            _zeros(tuple(sizes[n] for n in names) or (1,), dtype)
            for names, dtype in zip(gives, results, strict=True)
        ]
        before = [x.own for x in given]
        call(builder.py_func, *given, *outs)
        if any(x.own is not own for x, own in zip(given, before, strict=True)):
            words = f"{f.__name__} changes an argument that is not a result. Change a copy instead."
            raise UncoveredFunctionError(with_place(words, user_source()))
        found = [x if names else x[0] for names, x in zip(gives, outs, strict=True)]
        return found[0] if len(found) == 1 else tuple(found)

    cast = [x.astype(_number(t)) if x.dtype != _number(t) else x
            for x, t in zip(operands, types, strict=False)]  # fmt: skip
    return by_signature(function, builder.signature, tuple(cast), call)


def _number(t: Any) -> np.dtype:
    """The dtype of a Numba type, of an array or of a number."""
    return np.dtype(str(getattr(t, "dtype", t)))


def _types_of(signatures: Sequence[Any], given: Sequence[np.dtype]) -> tuple[Any, ...]:
    """The types of the first signature that accepts arguments of given dtypes, as NumPy chooses."""
    for each in signatures:
        pairs = zip(given, each.args, strict=False)
        if all(np.can_cast(dtype, _number(t), "safe") for dtype, t in pairs):
            found: tuple[Any, ...] = each.args
            return found
    raise TypeError(with_place("no signature of the function takes these dtypes", user_source()))


def _zeros(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """A traced array that the function may change."""
    made = tracer(full(0, Type(dtype, shape)))
    made.boxed = True
    return made


def call_vectorize(
    f: np.vectorize, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call
) -> Any:
    """Call a function made by ``np.vectorize``."""
    if not is_traced((args, kwargs)):
        return f(*plain(args), **plain(kwargs))
    function, taken = _without_excluded(f, args, kwargs)
    if f.signature is not None:
        result = by_signature(function, f.signature, taken, call)
    else:
        result = elementwise(function, taken, call)
    result = _cast(result, f.otypes) if f.otypes else result
    return tuple(map(_array, result)) if isinstance(result, tuple) else _array(result)


def _array(x: Any) -> Any:
    return x if shape_of(x) else boxed(as_tracer(x))


def _without_excluded(
    f: np.vectorize, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the vectorized arguments alone, and these arguments; keywords come last."""
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
    """Apply a function to arrays with the axes that a signature names, ``"(m,n),(n)->(m)"``; the
    other axes broadcast."""
    cores, made = map(_axes, signature.replace(" ", "").split("->"))
    operands = [as_tracer(bare(np.asarray(x) if isinstance(x, (list, tuple)) else x)) for x in args]
    if len(operands) != len(cores):
        words = f"np.vectorize with the signature {signature!r} takes {len(cores)} arguments"
        raise TypeError(with_place(words, user_source()))
    sizes: dict[str, int] = {}
    for x, names in zip(operands, cores, strict=True):
        _check_core(shape_of(x), names, sizes)
    split = [x.ndim - len(core) for x, core in zip(operands, cores, strict=True)]
    pairs = list(zip(operands, split, strict=True))
    loop = np.broadcast_shapes(*(x.shape[:at] for x, at in pairs))

    def checked(*cores: Any) -> Any:
        results = call(f, *cores)
        several = results if isinstance(results, tuple) else (results,)
        if len(several) != len(made):
            words = (
                f"the function returns {len(several)} results, and {signature!r} names {len(made)}"
            )
            raise ValueError(with_place(words, user_source()))
        for result, names in zip(several, made, strict=True):
            _check_core(shape_of(result), names, sizes)
            if len(shape_of(result)) > len(names):
                words = (
                    f"a result of shape {shape_of(result)} has more axes than {signature!r} names"
                )
                raise ValueError(with_place(words, user_source()))
        return results

    if not loop:
        return checked(*operands)
    count = math.prod(loop)
    rows = [
        np.reshape(np.broadcast_to(x, (*loop, *x.shape[at:])), (count, *x.shape[at:]))
        for x, at in pairs
    ]
    results = vmap(checked)(*rows)
    if isinstance(results, tuple):
        return tuple(np.reshape(r, (*loop, *shape_of(r)[1:])) for r in results)
    return np.reshape(results, (*loop, *shape_of(results)[1:]))


def _axes(part: str) -> list[list[str]]:
    """The names of the axes of each argument: ``"(m,n),()"`` is ``[["m", "n"], []]``."""
    return [[n for n in names.split(",") if n] for names in part[1:-1].split("),(")]


def _check_core(shape: tuple[int, ...], names: list[str], sizes: dict[str, int]) -> None:
    """Note the sizes of the last axes; raise ValueError if axes are missing or sizes differ."""
    if len(shape) < len(names):
        words = f"an array of shape {shape} does not have the axes ({','.join(names)})"
        raise ValueError(with_place(words, user_source()))
    for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
        if sizes.setdefault(name, size) != size:
            words = f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}"
            raise ValueError(with_place(words, user_source()))


def _cast(result: Any, types: str) -> Any:
    if isinstance(result, tuple):
        return tuple(as_tracer(r).astype(t) for r, t in zip(result, types, strict=True))
    return as_tracer(result).astype(types[0])


def _element(x: Any) -> Any:
    """An element that NumPy passes to a Python function: the first one as it is, to find the dtypes
    of the results, and all as Python numbers."""
    if isinstance(x, Tracer):
        note_several(x, {x.dtype.type, type(x.dtype.type(0).item())})
    return x


def elementwise(f: Callable[..., Any], args: tuple[Any, ...], call: Call) -> Any:
    """Apply a function of scalars to each element of the arguments, which broadcast."""
    operands = [as_tracer(bare(np.asarray(x) if isinstance(x, (list, tuple)) else x)) for x in args]
    shape = common_shape(*operands)
    if not shape:
        return call(f, *(_element(x[()]) for x in operands))
    axes = tuple(0 if shape_of(x) else None for x in operands)
    rows = [
        np.ravel(np.broadcast_to(x, shape)) if axis == 0 else x
        for x, axis in zip(operands, axes, strict=True)
    ]
    results = vmap(lambda *scalars: call(f, *map(_element, scalars)), in_axes=axes)(*rows)
    if isinstance(results, tuple):
        return tuple(np.reshape(r, shape) for r in results)
    return np.reshape(results, shape)
