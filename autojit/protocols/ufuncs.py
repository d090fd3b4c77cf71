"""Ufuncs on traced arrays.  NumPy itself chooses the dtypes (``ufunc.resolve_dtypes``)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import (
    DtypeError,
    MissingDtypeError,
    ShapeError,
    TypeMismatch,
    UncoveredFunctionError,
    with_place,
)
from autojit.ir.core.declaration import ANSWERS, Declaration, full
from autojit.ir.core.program import Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.special.external import External, several
from autojit.ir.special.holomorphic import COMPLEX
from autojit.tracing.context import WEAK_TYPES, current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .composites import COMPOSITES, OF_COMPLEX
from .lifting import (
    as_value,
    by_values,
    common_shape_of,
    dtype_of,
    kind_and_shape,
    operand,
    operand_type,
    to_dtype,
    tracer,
    weak_type,
)
from .lists import LISTS, as_arrays
from .python_integers import EXACT
from .registry import PRODUCTS, UFUNCS, any_bounded, uncovered
from .way_out import offer


@lru_cache(maxsize=1)
def _special_ufuncs(imported: bool) -> dict[Any, Any]:
    """The ufuncs of scipy.special that are covered, once the user has imported it."""
    if not imported:
        return {}
    import scipy.special

    found: dict[Any, Any] = {}
    for table in (ANSWERS, COMPOSITES, several()):
        for key, answer in table.items():
            if isinstance(key, str):
                ufunc = getattr(scipy.special, key.rpartition(".")[2], None)
                ufunc = getattr(ufunc, "__wrapped__", ufunc)  # if SCIPY_ARRAY_API is set
                if ufunc is not None:  # which an older SciPy may lack
                    found[ufunc] = answer
    return found


def find_answer(ufunc: Any) -> Any:
    """The op or formula that answers for a ufunc."""
    answer = COMPOSITES.get(ufunc) or ANSWERS.get(ufunc)
    if answer is None:
        answer = _special_ufuncs("scipy.special" in sys.modules).get(ufunc)
    return answer


#: What products of vectors may be asked for.
_AXIS = {"axis"}
#: Ufuncs of two results, which are computed one by one.
_OF_TWO_RESULTS = (np.divmod, np.modf)


def is_covered(ufunc: Any) -> bool:
    """Whether a ufunc takes traced arrays."""
    return ufunc in PRODUCTS or ufunc in _OF_TWO_RESULTS or find_answer(ufunc) is not None


def covered_ufuncs() -> list[str]:
    """Names of the covered ufuncs, for messages."""
    return [u if isinstance(u, str) else name_of(u) for u in (*ANSWERS, *COMPOSITES)]


def name_of(ufunc: Any) -> str:
    """As the user writes it."""
    name: str = ufunc.__name__
    package = "np" if getattr(np, name, None) is not None else "scipy.special"
    return f"{package}.{name}"


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer ``ufunc.method(*inputs, **kwargs)`` with a traced array among the inputs."""
    if method == "at":
        return _at(ufunc, *bare(inputs))
    inputs = as_arrays(inputs)
    if any_bounded(inputs):
        return _of_bounded(ufunc, method, inputs, kwargs)
    if method == "__call__" and not kwargs and ufunc.signature is None and ufunc.nout == 1:
        return _apply(ufunc, bare(inputs))
    out = kwargs.get("out")
    if out is not None and method == "__call__":
        return _call_with_out(ufunc, inputs, kwargs, out)
    inputs = bare(inputs)
    others = kwargs.keys() - _AXIS
    if ufunc in PRODUCTS and method == "__call__" and not any(map(kwargs.get, others)):
        return PRODUCTS[ufunc](*inputs, **{k: kwargs[k] for k in kwargs.keys() & _AXIS})
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
        return _several_results(ufunc, inputs, None if dtype is None else np.dtype(dtype))
    return _apply(ufunc, inputs, None if dtype is None else np.dtype(dtype))


def _of_bounded(ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """The same with a bounded array among the inputs."""
    out = kwargs.get("out")
    if out is not None and method == "__call__":
        return _call_with_out(ufunc, inputs, kwargs, out)
    given = {name: x for name, x in kwargs.items() if x is not None}
    return hooks.bounded_ufunc(ufunc, method, bare(inputs), given)


def _at(ufunc: Any, x: Any, index: Any, *values: Any) -> Any:
    """``ufunc.at``, where a tuple is an index."""
    if ufunc not in (np.add, np.subtract):
        return hooks.update_at(ufunc, x, index, *as_arrays(values))
    (value,) = as_arrays(values)
    return hooks.add_at(x, index, value if ufunc == np.add else np.negative(value))


def _along_an_axis(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    answers = {
        "reduce": hooks.reduce_ufunc,
        "accumulate": hooks.accumulate_ufunc,
        "reduceat": hooks.reduce_at,
    }
    try:
        return answers[method](ufunc, *inputs, **kwargs)
    except TypeMismatch as error:
        words = f"{name_of(ufunc)}.{method}: {error}"
        raise ShapeError(with_place(words, user_source())) from None


def _call_with_out(
    ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any], out: tuple[Any, ...]
) -> Any:
    """A ufunc whose results go into arrays."""
    results = call_ufunc(ufunc, "__call__", inputs, {**kwargs, "out": None})
    pairs = zip(out, results if ufunc.nout > 1 else (results,), strict=True)
    written = tuple(
        result if into is None else hooks.write_out(name_of(ufunc), into, result)
        for into, result in pairs
    )
    return written if ufunc.nout > 1 else written[0]


def _asked_dtype(
    ufunc: Any, dtype: Any = None, where: Any = True, casting: str = "same_kind", **others: Any
) -> Any:
    """The keyword ``dtype``, once no other keyword asks for anything."""
    if where is not True:
        raise uncovered(name_of(ufunc), " with where= (use np.where on the result)")
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
    """A tuple of results: formulas of NumPy's, or for SciPy's an op each."""
    if ufunc in _OF_TWO_RESULTS:
        return _two_results(ufunc, *inputs)
    answers = find_answer(ufunc)
    if answers is None:
        raise uncovered(name_of(ufunc))
    loop = _real_loop(ufunc, resolve(ufunc, tuple([kind_and_shape(x)[0] for x in inputs]), dtype))
    shape = common_shape_of([kind_and_shape(x)[1] for x in inputs])
    values = [operand(x, operand_type(d, shape)) for x, d in zip(inputs, loop, strict=False)]
    return tuple([tracer(answer(*values)) for answer in answers])


_WEAK_KINDS = {dtype: kind for kind, dtype in WEAK_TYPES.items()}


def call_operator(ufunc: Any, left: Any, right: Any) -> Any:
    """A Python operator: as the ufunc, but Python's numbers stay weak among themselves."""
    if not (_is_operand(left) and _is_operand(right)):
        left, right = by_values(left), by_values(right)
        if not (_is_operand(left) and _is_operand(right)):
            return NotImplemented
    if left.__class__ in LISTS or right.__class__ in LISTS:
        repeated = _repeated(ufunc, left, right)
        if repeated is not None:
            return repeated
    left, right = _without_lists(left, right)
    if any_bounded((left, right)):
        return hooks.bounded_operator(ufunc, left, right)
    by_rule = _by_rule(ufunc, left, right)
    if by_rule is not None:
        return by_rule
    if ufunc.signature is not None:
        return call_ufunc(ufunc, "__call__", (left, right), {})
    result = _apply(ufunc, (left, right))
    if weak_type(left) is not None and weak_type(right) is not None:
        result.weak = _WEAK_KINDS.get(result.dtype)
        if ufunc in _DIVISIONS and isinstance(right, Tracer):
            _check_division(right)
    return result


#: What raises ZeroDivisionError between Python's numbers.
_DIVISIONS = frozenset({np.true_divide, np.floor_divide, np.remainder})


def _check_division(divisor: Tracer) -> None:
    """Where the user's code handles ZeroDivisionError: raise it for a divisor that is known to be
    zero, and refuse one that is not known.  Elsewhere the quotient is infinite or NaN."""
    trace = current_trace()
    assert trace is not None
    if not trace.builder.handles(ZeroDivisionError):
        return
    known = at_hand(divisor)
    if known is None:
        words = "A division of Python's numbers"
        trace.builder.check_raise(ZeroDivisionError, user_source(), words)
    elif not known:
        raise ZeroDivisionError("division by zero")


def _by_rule(ufunc: Any, left: Any, right: Any) -> Any:
    """Integers of Python's, and powers of which the exponent is a number; None for all else."""
    exact = EXACT.get(ufunc) if _is_integer(left) and _is_integer(right) else None
    if exact is not None:
        return exact(left, right)
    if ufunc in _ORDERED:
        _check_order(weak_type(left), weak_type(right))
    if ufunc is _POWER and type(right) in (int, float):
        return _power_of_number(left, right)
    return None


def _check_order(left: Any, right: Any) -> None:
    """Python's complex numbers have no order; NumPy's have one."""
    if left is not None and right is not None and complex in (left, right):
        names = f"{left.__name__!r} and {right.__name__!r}"
        raise TypeError(f"an order is not supported between instances of {names}")


def _repeated(ufunc: Any, left: Any, right: Any) -> Any:
    """``[0.0] * n``: an integer repeats a list, and must be known; None for all else."""
    items, count = (left, right) if left.__class__ in LISTS else (right, left)
    if ufunc is not _MULTIPLY or not isinstance(count, Tracer) or not count.is_scalar:
        return None
    return items * count.__index__() if count.dtype.kind in "iu" else None


def _without_lists(left: Any, right: Any) -> tuple[Any, Any]:
    if left.__class__ in LISTS or right.__class__ in LISTS:
        left, right = as_arrays((left, right))
    return bare(left), bare(right)


_POWER, _MULTIPLY = np.power, np.multiply


def call_unary_operator(ufunc: Any, x: Tracer) -> Tracer:
    """``-x``, ``+x``, ``~x`` and ``abs(x)``: a Python number stays weak."""
    if x.is_bounded:
        return hooks.bounded_operator(ufunc, x)
    if x.weak is int and ufunc in EXACT:
        return EXACT[ufunc](x)
    result: Tracer = ufunc(x)
    if x.weak is not None:
        result.weak = _WEAK_KINDS.get(result.dtype)
    return result


def _is_integer(x: Any) -> bool:
    """Whether an operand is a Python integer, traced or not."""
    return x.weak is int if isinstance(x, Tracer) else isinstance(x, int)


def _is_operand(x: Any) -> bool:
    return isinstance(x, (Tracer, np.ndarray, np.generic, int, float, complex, list, tuple))


def _power_of_number(base: Tracer, exponent: float) -> Tracer | None:
    """A power with a known exponent, as NumPy's operator has it; None where that is `np.power`."""
    kind = base.dtype.kind
    if type(exponent) is float:
        return call_unary_operator(np.sqrt, base) if exponent == 0.5 and kind in "fc" else None
    if kind == "b":
        return _apply(np.multiply, (base.astype(np.int8), base)) if exponent == 2 else None
    if kind == "c" and exponent == -1:
        return call_unary_operator(np.reciprocal, base)
    if abs(exponent) > 64 or (kind in "iu" and exponent < 0):
        return None  # NumPy's own rules and errors apply
    value = arithmetic.integer_power(as_value(base), exponent=int(exponent))
    return tracer(value, base.weak)


_ORDERED = {np.less, np.less_equal, np.greater, np.greater_equal}
_COMPARISONS = {np.equal, np.not_equal, *_ORDERED}


def _by_value(x: Any, other: Any) -> Any:
    """An operand of a comparison: a Python integer is compared by its value, whatever the dtype of
    what it meets can hold."""
    if weak_type(x) is not int or dtype_of(other).kind not in "iu":
        return x
    if isinstance(x, Tracer):
        return x if weak_type(other) is int else tracer(as_value(x))
    for dtype in (dtype_of(other), np.dtype(np.int64), np.dtype(np.uint64)):
        limits = np.iinfo(dtype)
        if limits.min <= x <= limits.max:
            return x if dtype == dtype_of(other) else dtype.type(x)
    return np.copysign(np.inf, x)


def _apply(ufunc: Any, inputs: tuple[Any, ...], dtype: np.dtype | None = None) -> Tracer:
    if ufunc is _POWER and inputs[1].__class__ is float and dtype is None:
        root = _power_of_number(*inputs)
        if root is not None:
            return root
    if ufunc in _COMPARISONS:
        a, b = inputs
        inputs = _by_value(a, b), _by_value(b, a)
    try:
        plan = _plan(ufunc, dtype, *map(kind_and_shape, inputs))
    except UncoveredFunctionError as error:
        raise offer(error, ufunc, inputs, {}) from None
    values = list(map(operand, inputs, plan.operands))
    if plan.result is not None:
        (result,) = current_builder().add(plan.answer, values, {}, (plan.result,))
        return tracer(result)
    try:
        result = plan.answer(*values)
    except TypeMismatch as error:
        words = f"{name_of(ufunc)}: {error}"
        raise MissingDtypeError(with_place(words, user_source())) from None
    return tracer(to_dtype(result, plan.dtype))


class _Plan(NamedTuple):
    """What is done with operands of some kinds and shapes."""

    #: The op or formula.
    answer: Any
    #: What the operands become.
    operands: tuple[Type, ...]
    #: What NumPy's loop gives.
    dtype: np.dtype
    #: Where the answer is an op that gives that: the type of its result.
    result: Type | None


@lru_cache(maxsize=4096)
def _plan(ufunc: Any, dtype: np.dtype | None, *inputs: tuple[Any, tuple[int, ...]]) -> _Plan:
    answer, loop = _answer_for(ufunc, tuple([kind for kind, _ in inputs]), dtype)
    shape = common_shape_of([shape for _, shape in inputs])
    operands = tuple([operand_type(d, shape) for d in loop[: len(inputs)]])
    result = None
    if isinstance(answer, Elementwise):
        with suppress(TypeMismatch):  # which is told by what applies it
            (result,) = answer.infer(*operands)
    fits = result is not None and result.dtype == loop[len(inputs)]
    return _Plan(answer, operands, loop[len(inputs)], result if fits else None)


@lru_cache(maxsize=4096)
def _answer_for(
    ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None
) -> tuple[Callable[..., Value], tuple[np.dtype, ...]]:
    """The op or formula for operands of these kinds, and the dtypes of NumPy's loop."""
    answer = find_answer(ufunc)
    if answer is None:
        raise uncovered(name_of(ufunc))
    loop = resolve(ufunc, kinds, dtype)
    if any(d.kind == "c" for d in loop) and ufunc.__name__ in COMPLEX:
        return COMPLEX[ufunc.__name__], loop
    if isinstance(answer, External):
        loop = _real_loop(ufunc, loop)
    if loop[0].kind == "c":
        answer = _complex_answer(ufunc, answer)
    elif loop[0].kind == "b":
        answer = _bool_answer(ufunc, answer)
    if len(kinds) == 2 and loop[0] != loop[1] and {loop[0].kind, loop[1].kind} == {"i", "u"}:
        answer = _across_signs(answer)
    return answer, loop


def _real_loop(ufunc: Any, loop: tuple[np.dtype, ...]) -> tuple[np.dtype, ...]:
    """A loop of SciPy's where whole orders are floats, too."""
    if any(d.kind == "c" for d in loop):
        raise _without_complex(ufunc)
    return (loop[-1],) * len(loop) if loop[-1].kind == "f" else loop


def _across_signs(compare: Any) -> Any:
    """NumPy compares signed with unsigned integers by value, without a common dtype."""

    def answer(a: Value, b: Value) -> Value:
        signed, unsigned = (a, b) if a.dtype.kind == "i" else (b, a)
        negative = arithmetic.lt(signed, 0)
        same = [to_dtype(x, unsigned.dtype) for x in (a, b)]
        # Below zero, the answer is that for -1 and 0.
        extremes = [full(-1 if x is signed else 0, signed.type) for x in (a, b)]
        return arithmetic.select(negative, compare(*extremes), compare(*same))

    return answer


def _bool_answer(ufunc: Any, answer: Any) -> Any:
    """NumPy's loops on bool: + and maximum are or, * and minimum are and."""
    swaps = {
        np.add: arithmetic.bitwise_or,
        np.maximum: arithmetic.bitwise_or,
        np.fmax: arithmetic.bitwise_or,
        np.multiply: arithmetic.bitwise_and,
        np.minimum: arithmetic.bitwise_and,
        np.fmin: arithmetic.bitwise_and,
    }
    return swaps.get(ufunc, answer)


def _complex_answer(ufunc: Any, answer: Any) -> Any:
    if ufunc == np.absolute:
        return arithmetic.magnitude
    if ufunc in OF_COMPLEX:
        return OF_COMPLEX[ufunc]
    if isinstance(answer, Declaration) and "c" not in getattr(answer, "kinds", "c"):
        raise _without_complex(ufunc)
    return answer


def _without_complex(ufunc: Any) -> Exception:
    words = (
        f"{name_of(ufunc)} of complex operands is not covered by autojit. "
        "Apply it to x.real and x.imag."
    )
    return MissingDtypeError(with_place(words, user_source()))


def resolve(ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None) -> tuple[np.dtype, ...]:
    """The dtypes of NumPy's loop, results last.

    The kind of an operand is its dtype, or Python's type of a number, which adapts to the
    others.
    """
    dtypes = tuple([WEAK_TYPES.get(kind, kind) for kind in kinds])
    asked = dtypes if all(kind in WEAK_TYPES for kind in kinds) else kinds
    signature = None if dtype is None else (None,) * len(kinds) + (dtype,) * ufunc.nout
    kwargs = {} if signature is None else {"signature": signature}
    try:
        loop: tuple[np.dtype, ...] = ufunc.resolve_dtypes(asked + (None,) * ufunc.nout, **kwargs)
    except TypeError as error:
        words = f"{name_of(ufunc)} does not take operands of dtype {_listed(dtypes)}: {error}"
        raise DtypeError(with_place(words, user_source())) from None
    if loop[-1] != np.float16:  # half precision on the way to a truth value: any float does
        loop = tuple(np.dtype(np.float32) if d == np.float16 else d for d in loop)
    else:
        words = (
            f"{name_of(ufunc)} of {_listed(dtypes)} is float16 in NumPy, which autojit does not "
            f"have. Convert first:\n    {name_of(ufunc)}(x.astype(float))"
        )
        raise MissingDtypeError(with_place(words, user_source()))
    return tuple(np.dtype(d) for d in loop)


def _listed(dtypes: tuple[np.dtype, ...]) -> str:
    return ", ".join(d.name for d in dtypes)


hooks.call_ufunc = call_ufunc
hooks.call_operator, hooks.call_unary_operator = call_operator, call_unary_operator
UFUNCS += covered_ufuncs()
