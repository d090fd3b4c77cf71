"""Python's operators on traced arrays: ufuncs that keep Python numbers weak."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.ops import arithmetic
from autojit.tracing.context import WEAK_TYPES, check_not_leaked, current_trace, noting
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from .kinds import note_operator
from .lifting import as_value, by_values, may_be_none, to_dtype, tracer, weak_type
from .lists import LISTS, as_arrays
from .python_integers import EXACT
from .registry import any_bounded
from .ufuncs import KINDS_OF_NUMBERS, ORDERED, apply, call_ufunc, weak_as


def call_operator(ufunc: Any, left: Any, right: Any) -> Any:
    """Apply a Python operator: like its ufunc, but Python numbers stay weak among themselves."""
    if not (_is_operand(left) and _is_operand(right)):
        left, right = _operands(ufunc, left, right)
        if not (_is_operand(left) and _is_operand(right)):
            return NotImplemented
    if type(left) in LISTS or type(right) in LISTS:
        result = _of_list(ufunc, left, right)
        if result is not None:
            return result
    left, right = _without_lists(left, right)
    left, right = _counted(ufunc, left, right)
    are_pythons = weak_type(left) is not None and weak_type(right) is not None
    if are_pythons:
        _check_zero(ufunc, left, right)  # first: the result belongs to the way without exception
    result = _by_rule(ufunc, left, right)
    if result is None:
        if ufunc.signature is not None:
            return _product(ufunc, left, right)
        result = apply(ufunc, (left, right))
        if are_pythons:
            result.weak = KINDS_OF_NUMBERS.get(result.dtype)
    if noting:
        note_operator(result, ufunc, (left, right))
    return result


#: Operators that give a bool for two of them; the others take them as 0 and 1.
_OF_BOOLS = frozenset({
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.equal, np.not_equal, np.less, np.less_equal,
    np.greater, np.greater_equal,
})  # fmt: skip


def _counted(ufunc: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The operands with Python's bools as integers, as its operators take them: ``True + True`` is
    2. NumPy's are bools: ``np.True_ + np.True_`` is True."""
    kinds = weak_type(left), weak_type(right)
    if bool not in kinds or None in kinds or (kinds == (bool, bool) and ufunc in _OF_BOOLS):
        return left, right
    return _as_integer(left), _as_integer(right)


def _as_integer(x: Any) -> Any:
    """A Python bool as an integer; any other number unchanged."""
    if weak_type(x) is not bool:
        return x
    if not isinstance(x, Tracer):
        return int(x)
    return with_bounds(tracer(to_dtype(as_value(x), WEAK_TYPES[int]), int), (0, 1))


#: Ufuncs that raise ZeroDivisionError between Python numbers.
_DIVISIONS = frozenset({np.true_divide, np.floor_divide, np.remainder})


def _check_zero(ufunc: Any, left: Any, right: Any) -> None:
    """If the user's code handles ZeroDivisionError, raise it for a divisor that is known to be
    zero, and for a negative power of zero, or where the compiled code finds them. Otherwise the
    result is infinite or NaN."""
    trace = current_trace()
    if trace is None:
        check_not_leaked(left if isinstance(left, Tracer) else right)
        return
    if not (ufunc in _DIVISIONS or ufunc is _POWER) or not trace.builder.handles(ZeroDivisionError):
        return
    zero: Any = np.equal(left if ufunc is _POWER else right, 0)
    if ufunc is _POWER:
        zero = np.logical_and(zero, np.less(right, 0))
    known = at_hand(zero) if isinstance(zero, Tracer) else zero
    power = "0.0 cannot be raised to a negative power"
    error = ZeroDivisionError(power if ufunc is _POWER else "division by zero")
    if known is None:
        hooks.fail_where(zero, error)
    elif known:
        raise error


def _by_rule(ufunc: Any, left: Any, right: Any) -> Any:
    """The result for bounded arrays, for Python integers, and for powers whose exponent is a
    number; else None."""
    if any_bounded((left, right)):
        return hooks.bounded_operator(ufunc, left, right)
    exact = EXACT.get(ufunc) if _is_integer(left) and _is_integer(right) else None
    if exact is not None:
        return exact(left, right)
    if ufunc in ORDERED:
        _check_order(weak_type(left), weak_type(right))
    if ufunc is _POWER and type(right) in (int, float):
        return _power_of_number(left, right)
    return None


def _check_order(left: Any, right: Any) -> None:
    """Raise TypeError for Python's complex numbers, which have no order; NumPy's have one."""
    if left is not None and right is not None and complex in (left, right):
        names = f"{left.__name__!r} and {right.__name__!r}"
        raise TypeError(f"an order is not supported between instances of {names}")


def _of_list(ufunc: Any, left: Any, right: Any) -> Any:
    """The result for a list and a number: ``[0.0] * n``, where n must be known, repeats the list.
    None if the list counts as an array, as for NumPy's numbers unless they multiply."""
    items, number = (left, right) if type(left) in LISTS else (right, left)
    is_product = ufunc is _MULTIPLY or ufunc is _MATMUL
    if not isinstance(number, Tracer) or not (number.weak or (is_product and number.is_scalar)):
        return None
    if ufunc is not _MULTIPLY:
        return NotImplemented
    if number.dtype.kind in "iu" or number.weak is bool:
        return items * number.__index__()
    kind = hooks.type_of(number).__name__
    raise TypeError(f"can't multiply sequence by non-int of type {kind!r}")


def _product(ufunc: Any, left: Any, right: Any) -> Any:
    """``left @ right``, which is not defined for two numbers."""
    numbers = (x.is_scalar if isinstance(x, Tracer) else np.isscalar(x) for x in (left, right))
    return NotImplemented if all(numbers) else call_ufunc(ufunc, "__call__", (left, right), {})


def _without_lists(left: Any, right: Any) -> tuple[Any, Any]:
    if type(left) in LISTS or type(right) in LISTS:
        left, right = as_arrays((left, right))
    return bare(left), bare(right)


_POWER, _MULTIPLY, _MATMUL, _SQRT = np.power, np.multiply, np.matmul, np.sqrt


def call_unary_operator(ufunc: Any, x: Tracer) -> Tracer:
    """``-x``, ``+x``, ``~x`` and ``abs(x)``: a Python number stays weak."""
    if x.is_bounded:
        return hooks.bounded_operator(ufunc, x)
    whole = _as_integer(x)
    is_exact = whole.weak is int and ufunc in EXACT
    result = EXACT[ufunc](whole) if is_exact else weak_as(whole, ufunc(whole))
    if noting:
        note_operator(result, ufunc, (x,))
    return result


def _is_integer(x: Any) -> bool:
    """Whether an operand is a Python integer, traced or not."""
    return x.weak is int if isinstance(x, Tracer) else isinstance(x, int)


def _operands(ufunc: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The operands, with the values of other libraries' arrays, and checked not to be None. For
    `==` an operand that may be None answers itself, since None is equal to no number."""
    if ufunc in _EQUALITY and (may_be_none(left) or may_be_none(right)):
        return left, right
    return by_values(left), by_values(right)


_EQUALITY = frozenset({np.equal, np.not_equal})


def _is_operand(x: Any) -> bool:
    return isinstance(x, (Tracer, np.ndarray, np.generic, int, float, complex, list, tuple))


def _power_of_number(base: Tracer, exponent: float) -> Tracer | None:
    """A power with a known exponent, as NumPy's operator computes it; None if that is
    `np.power`."""
    kind = base.dtype.kind
    if type(exponent) is float:
        return call_unary_operator(_SQRT, base) if exponent == 0.5 and kind in "fc" else None
    if kind == "b":
        return apply(np.multiply, (base.astype(np.int8), base)) if exponent == 2 else None
    if kind == "c" and exponent == -1:
        return call_unary_operator(np.reciprocal, base)
    if abs(exponent) > 64 or (kind in "iu" and exponent < 0):
        return None  # NumPy's own rules and errors apply
    value = arithmetic.integer_power(as_value(base), exponent=int(exponent))
    return tracer(value, base.weak)


hooks.call_operator, hooks.call_unary_operator = call_operator, call_unary_operator
