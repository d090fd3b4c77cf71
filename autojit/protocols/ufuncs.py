"""Ufuncs on traced arrays: calls, methods and ``out=``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import (
    DtypeError,
    MissingDtypeError,
    ShapeError,
    TypeMismatch,
    UncoveredFunctionError,
    with_place,
)
from autojit.ir.core.declaration import ANSWERS
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import current_builder
from autojit.tracing.context import PYTHON_TYPES, noting
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .composites import COMPOSITES
from .kinds import are_noted, note_call
from .lifting import (
    as_scalars,
    as_value,
    common_shape_of,
    dtype_of,
    kind_and_shape,
    operand,
    operand_type,
    to_dtype,
    tracer,
    weak_type,
)
from .lists import as_arrays
from .registry import PRODUCTS, UFUNCS, any_bounded, uncovered
from .ufunc_plans import find_answer, name_of, plan, real_loop, resolve
from .way_out import offer

_NO_OUT = " with where= and without out= (use np.where on the result)"
#: The keywords that products of vectors accept.
_AXIS = {"axis"}
#: Ufuncs with two results, which are computed one by one.
_OF_TWO_RESULTS = (np.divmod, np.modf)


def is_covered(ufunc: Any) -> bool:
    """Whether a ufunc takes traced arrays."""
    return ufunc in PRODUCTS or ufunc in _OF_TWO_RESULTS or find_answer(ufunc) is not None


def covered_ufuncs() -> list[str]:
    """Names of the covered ufuncs, for messages."""
    return [u if isinstance(u, str) else name_of(u) for u in (*ANSWERS, *COMPOSITES)]


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer ``ufunc.method(*inputs, **kwargs)`` with a traced array among the inputs."""
    if method == "at":
        return _at(ufunc, *bare(inputs))
    inputs = as_arrays(inputs)
    if any_bounded(inputs):
        return _of_bounded(ufunc, method, inputs, kwargs)
    if method == "__call__" and not kwargs and ufunc.signature is None and ufunc.nout == 1:
        inputs = bare(inputs)
        return _elementwise(ufunc, inputs) if noting else apply(ufunc, inputs)
    out = kwargs.get("out")
    if out is not None and method == "__call__":
        return _call_with_out(ufunc, inputs, kwargs, out)
    inputs = bare(inputs)
    others = kwargs.keys() - _AXIS
    if ufunc in PRODUCTS and method == "__call__" and not any(map(kwargs.get, others)):
        return as_scalars(PRODUCTS[ufunc](*inputs, **{k: kwargs[k] for k in kwargs.keys() & _AXIS}))
    if method in ("reduce", "accumulate", "reduceat"):
        return _along_an_axis(ufunc, method, inputs, kwargs)
    if method == "outer" and not kwargs:
        a, b = inputs
        column = np.reshape(a, np.shape(a) + (1,) * np.ndim(b))
        return call_ufunc(ufunc, "__call__", (column, b), {})
    if method != "__call__":
        raise offer(uncovered(f"{name_of(ufunc)}.{method}"), getattr(ufunc, method), inputs, kwargs)
    dtype = _asked_dtype(ufunc, **kwargs)
    if ufunc.nout > 1:
        found = _several_results(ufunc, inputs, None if dtype is None else np.dtype(dtype))
        return as_scalars(found)
    return apply(ufunc, inputs, None if dtype is None else np.dtype(dtype))


def _elementwise(ufunc: Any, inputs: tuple[Any, ...]) -> Tracer:
    result = apply(ufunc, inputs)
    if not result.own.type.shape and are_noted(inputs):
        note_call(result, ufunc, inputs, {})
    return result


def _of_bounded(ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """The same with a bounded array among the inputs."""
    out = kwargs.get("out")
    if out is not None and method == "__call__":
        return _call_with_out(ufunc, inputs, kwargs, out)
    given = {name: x for name, x in kwargs.items() if x is not None}
    return hooks.bounded_ufunc(ufunc, method, bare(inputs), given)


def _at(ufunc: Any, x: Any, index: Any, *values: Any) -> Any:
    """``ufunc.at``, for which a tuple is an index."""
    if ufunc not in (np.add, np.subtract):
        return hooks.update_at(ufunc, x, index, *as_arrays(values))
    (value,) = as_arrays(values)
    return hooks.add_at(x, index, value if ufunc == np.add else np.negative(value))


def _along_an_axis(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = kwargs.get("out")
    if given is not None:
        others = {name: x for name, x in kwargs.items() if name != "out"}
        result = _along_an_axis(ufunc, method, inputs, others)
        (out,) = given if isinstance(given, tuple) else (given,)
        return hooks.write_result(f"{name_of(ufunc)}.{method}", out, result)
    answers = {
        "reduce": hooks.reduce_ufunc,
        "accumulate": hooks.accumulate_ufunc,
        "reduceat": hooks.reduce_at,
    }
    try:
        return as_scalars(answers[method](ufunc, *inputs, **kwargs))
    except TypeMismatch as error:
        words = f"{name_of(ufunc)}.{method}: {error}"
        raise ShapeError(with_place(words, user_source())) from None


def _call_with_out(
    ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any], out: tuple[Any, ...]
) -> Any:
    """Call a ufunc with ``out=`` arrays; with ``where=``, into some of their elements."""
    where = kwargs.get("where", True)
    others = {name: x for name, x in kwargs.items() if name not in ("out", "where")}
    found = call_ufunc(ufunc, "__call__", inputs, others)
    results = found if ufunc.nout > 1 else (found,)
    if where is not True:
        results = _where(ufunc, where, results, out)
    written = tuple(
        result if into is None else hooks.write_out(name_of(ufunc), into, result)
        for into, result in zip(out, results, strict=True)
    )
    return written if ufunc.nout > 1 else written[0]


def _where(
    ufunc: Any, where: Any, results: tuple[Any, ...], out: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The results where a mask is true, else the contents of ``out``."""
    if any(into is None for into in out):
        raise uncovered(name_of(ufunc), _NO_OUT)
    if dtype_of(where).kind != "b":
        raise DtypeError(
            with_place(
                f"where= of {name_of(ufunc)} must be a mask, not of dtype {dtype_of(where)}: "
                "where=mask != 0",
                user_source(),
            )
        )
    return tuple([np.where(where, *pair) for pair in zip(results, out, strict=True)])


def _asked_dtype(
    ufunc: Any, dtype: Any = None, where: Any = True, casting: str = "same_kind", **others: Any
) -> Any:
    """The keyword ``dtype``, if no other keyword asks for anything."""
    if where is not True:
        raise uncovered(name_of(ufunc), _NO_OUT)
    if casting != "same_kind":
        raise uncovered(name_of(ufunc), " with casting=")
    for keyword, value in others.items():
        if value is not None:
            raise uncovered(name_of(ufunc), f" with {keyword}=")
    return dtype


def _two_results(ufunc: Any, *inputs: Any) -> Any:
    if ufunc == np.divmod:
        return np.floor_divide(*inputs), np.remainder(*inputs)
    (x,) = inputs
    whole = np.trunc(x)
    return np.where(np.isinf(x), np.copysign(x.dtype.type(0), x), x - whole), whole


def _several_results(ufunc: Any, inputs: tuple[Any, ...], dtype: np.dtype | None) -> Any:
    """A tuple of results: formulas for NumPy's ufuncs, one op each for SciPy's."""
    if ufunc in _OF_TWO_RESULTS:
        return _two_results(ufunc, *inputs)
    answers = find_answer(ufunc)
    if answers is None:
        raise uncovered(name_of(ufunc))
    loop = real_loop(ufunc, resolve(ufunc, tuple([kind_and_shape(x)[0] for x in inputs]), dtype))
    shape = common_shape_of([kind_and_shape(x)[1] for x in inputs])
    values = [operand(x, operand_type(d, shape)) for x, d in zip(inputs, loop, strict=False)]
    return tuple([tracer(answer(*values)) for answer in answers])


ORDERED = {np.less, np.less_equal, np.greater, np.greater_equal}
_COMPARISONS = {np.equal, np.not_equal, *ORDERED}


def _by_value(x: Any, other: Any) -> Any:
    """An operand of a comparison. A Python integer is compared by its value, even if the dtype of
    the other operand cannot hold it."""
    if weak_type(x) is not int or dtype_of(other).kind not in "iu":
        return x
    if isinstance(x, Tracer):
        return x if weak_type(other) is int else tracer(as_value(x))
    for dtype in (dtype_of(other), np.dtype(np.int64), np.dtype(np.uint64)):
        limits = np.iinfo(dtype)
        if limits.min <= x <= limits.max:
            return x if dtype == dtype_of(other) else dtype.type(x)
    return np.copysign(np.inf, x)


#: NumPy's own ufuncs, also while its names are patched.
_POWER, _SQRT = np.power, np.sqrt
#: The type of Python number that each dtype stands for.
KINDS_OF_NUMBERS = {dtype: kind for kind, dtype in PYTHON_TYPES.items()}


def weak_as(x: Tracer, result: Tracer) -> Tracer:
    """The result, which is a Python number if the operand was one."""
    if x.weak is not None:
        result.weak = KINDS_OF_NUMBERS.get(result.dtype)
    return result


def apply(ufunc: Any, inputs: tuple[Any, ...], dtype: np.dtype | None = None) -> Tracer:
    """Apply the op or formula of a ufunc to operands of NumPy's dtypes."""
    if ufunc is _POWER and type(inputs[1]) is float and dtype is None:
        base, exponent = inputs
        if exponent == 0.5 and kind_of(base.dtype) in "fc":
            return weak_as(base, apply(_SQRT, (base,)))
    if ufunc in _COMPARISONS:
        a, b = inputs
        inputs = _by_value(a, b), _by_value(b, a)
    try:
        chosen = plan(ufunc, dtype, *map(kind_and_shape, inputs))
    except UncoveredFunctionError as error:
        raise offer(error, ufunc, inputs, {}) from None
    values = list(map(operand, inputs, chosen.operands))
    if chosen.result is not None:
        (result,) = current_builder().add(chosen.answer, values, {}, (chosen.result,))
        return tracer(result)
    try:
        result = chosen.answer(*values)
    except TypeMismatch as error:
        words = f"{name_of(ufunc)}: {error}"
        raise MissingDtypeError(with_place(words, user_source())) from None
    return tracer(to_dtype(result, chosen.dtype))


hooks.call_ufunc = call_ufunc
UFUNCS += covered_ufuncs()
