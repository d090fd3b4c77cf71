"""Writes elementwise ops, and functions of `scipy.special`, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.codegen.export.text.expressions import ATOM, Expression, binary, call, power, unary
from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import stop_gradient
from autojit.ir.ops.checks import error_of, whole_number
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.special.external import External

from .writer import Writer, dtype_text

#: Python's operators, by NumPy's functions.
_BINARY = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.floor_divide: "//",
    np.remainder: "%", np.equal: "==", np.not_equal: "!=", np.less: "<", np.less_equal: "<=",
    np.greater: ">", np.greater_equal: ">=", np.bitwise_and: "&", np.bitwise_or: "|",
    np.bitwise_xor: "^", np.left_shift: "<<", np.right_shift: ">>", np.power: "**",
}  # fmt: skip
_UNARY = {np.negative: "-", np.invert: "~"}
_SHORT = {"absolute": "abs", "conjugate": "conj"}
#: Ops that matter only to derivatives; their value is their operand.
THEMSELVES = (stop_gradient, whole_number)
#: The dtypes that NumPy gives to Python numbers.
_PYTHONS = ("float64", "int64", "complex128", "bool")


def elementwise(w: Writer, op: Op) -> Expression:
    """Write a function of NumPy, or an operator."""
    operands = aligned(w, op, op.operands)
    assert isinstance(op.kind, Elementwise)
    if op.kind in THEMSELVES:
        return w.array(op.operands[0])
    function = op.kind.numpy
    if function in _BINARY:
        a, b = operands
        symbol = _BINARY[function]
        made = power(a, b.at(ATOM)) if symbol == "**" else binary(symbol, a, b)
    elif function in _UNARY:
        made = unary(_UNARY[function], *operands)
    elif function is np.real or function is np.imag:
        return Expression(f"{operands[0].at(ATOM)}.{function.__name__}")
    else:
        made = call(function_name(w, function), *(x.text for x in operands))
    return made


def function_name(w: Writer, function: object) -> str:
    """Return ``np.sin``, or ``special.erf``."""
    name = str(getattr(function, "__name__", ""))
    if getattr(function, "__module__", "") == "scipy.special":
        return f"{w.need('special')}.{name}"
    return f"np.{_SHORT.get(name, name)}"


def aligned(w: Writer, op: Op, values: Sequence[Value]) -> list[Expression]:
    """Return the operands such that together they have the shape and dtype of the result."""
    found = [w.expression(v) for v in values]
    shapes = [
        () if x.literal else v.shape if x.shape is None else x.shape
        for x, v in zip(found, values, strict=True)
    ]
    arrays = [k for k, x in enumerate(found) if not x.literal]
    if np.broadcast_shapes(*shapes) != op.results[0].shape or not arrays:
        first = arrays[0] if arrays else 0
        found[first] = w.array(values[first])
    return found


def select(w: Writer, op: Op) -> Expression:
    condition, a, b = aligned(w, op, op.operands)
    dtype = op.result.dtype
    if a.literal and b.literal and dtype.name not in _PYTHONS:
        a = call(dtype_text(dtype), a.text)
    return call("np.where", condition.text, a.text, b.text)


def convert(w: Writer, op: Op) -> Expression:
    (x,), dtype = op.operands, op.params["dtype"]
    found = w.array(x)
    if x.dtype == dtype:
        return found
    text = found.at(ATOM)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        text += ".real"
    return Expression(f"{text}.astype({dtype_text(dtype)})")


def integer_power(w: Writer, op: Op) -> Expression:
    (x,) = aligned(w, op, op.operands)
    exponent = op.params["exponent"]
    return power(x, str(exponent) if exponent >= 0 else f"({exponent})")


def make_complex(w: Writer, op: Op) -> Expression:
    re, im = (w.text(v, 0) for v in op.operands)
    return call(w.need("_complex"), re, im)


def ensure(w: Writer, op: Op) -> Expression:
    x, holds = (w.text(v, 0) for v in op.operands)
    error = error_of(op.params["failure"])
    raised = f"{type(error).__name__}({', '.join(map(repr, error.args))})"
    return call(w.need("_ensure"), x, holds, raised)


def reported(w: Writer, op: Op) -> Expression:
    """Write the bools alone: the messages of a module show types in place of values."""
    (holds,) = aligned(w, op, op.operands[:1])
    return holds


def external(w: Writer, op: Op) -> Expression:
    """Write a function of scipy.special, one of its results, or a part of a complex result."""
    kind = op.kind
    assert isinstance(kind, External)
    function = kind.function
    module = w.need("special")
    if not _is_public(function):
        module = f"{module}._ufuncs"
    made = call(f"{module}.{function}", *_operands(w, op, kind)).text
    given, _, back = kind.loop.partition("->")
    if "D" in back:
        place, part = divmod(kind.result, 2)
        several = len(back) > 1
        made += f"[{place}]" * several + (".imag" if part else ".real")
    elif kind.results > 1:
        made += f"[{kind.result}]"
    if op.result.dtype != np.float64 and (kind.whole or "l" in given or kind.loop):
        made = f"np.asarray({made}, {dtype_text(op.result.dtype)})"
    return Expression(made)


def _is_public(function: str) -> bool:
    import scipy.special

    return hasattr(scipy.special, function)


def _operands(w: Writer, op: Op, kind: External) -> list[str]:
    found = []
    values = iter(op.operands)
    for i, letter in enumerate(kind.loop.partition("-")[0] or "d" * len(op.operands)):
        x = w.array(next(values))
        if letter == "D":
            found.append(call(w.need("_complex"), x.text, w.text(next(values), 0)).text)
        elif letter == "l" or i in kind.whole:
            found.append(f"{x.at(ATOM)}.astype(np.int64)")
        else:
            found.append(x.text)
    return found
