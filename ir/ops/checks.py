"""Values that are passed on if a condition holds, and raise otherwise.

Python integers have no bound, and division by zero raises; the int64 that represents one overflows
silently. So NumPy's operations compute on it, and their results pass through `ensure`. So does a
value guarded by a `raise` or an `assert` of the user's. A check belongs to its result: if nothing
reads the result, nothing is checked. A `whole_number` is checked for not being differentiated by.
"""

from __future__ import annotations

import builtins
import statistics
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import SingleResult, require
from autojit.ir.core.errors import no_derivative
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import Type

from .arithmetic import bitwise_not, bitwise_or
from .elementwise import FLOAT, Compare, Elementwise
from .move import broadcast
from .reduce import all_

#: The failures by name: the error, and its message.
FAILURES: dict[str, tuple[type[Exception], str]] = {
    "overflow": (
        OverflowError,
        "the result of arithmetic between Python integers does not fit into the 64 bits of "
        "traced integers: convert one of the operands to a float, float(n)",
    ),
    "zero_division": (ZeroDivisionError, "integer division or modulo by zero"),
    "negative_shift": (ValueError, "negative shift count"),
    "unequal_lengths": (
        ValueError,
        "operands could not be broadcast together: slices with traced bounds differ in length "
        "(a single element is not stretched; write x[i] for x[i:j])",
    ),
    "empty_maximum": (
        ValueError,
        "zero-size array to reduction operation maximum which has no identity",
    ),
    "empty_minimum": (
        ValueError,
        "zero-size array to reduction operation minimum which has no identity",
    ),
    "empty_argument": (ValueError, "attempt to get argmax or argmin of an empty sequence"),
    "part_out_of_range": (
        IndexError,
        "an index, or a slice such as x[i:i + 3], is out of range of a slice with traced bounds; "
        "traced slices of known length are not shortened at the ends",
    ),
}
#: A name in the table, or the name of a Python exception and its message.
Failure = str | tuple[str, str]

#: The exceptions that compiled code may raise besides builtin ones, by name.
LIBRARY_ERRORS: dict[str, type[Exception]] = {
    "StatisticsError": statistics.StatisticsError, "LinAlgError": np.linalg.LinAlgError,
}  # fmt: skip

#: How the word of a check begins, in the vocabulary of kernels.
_PREFIX = "ensure_"


def error_of(failure: Failure) -> Exception:
    """The error that a failure raises.

    >>> error_of(("ValueError", "n < 0"))
    ValueError('n < 0')
    """
    if isinstance(failure, str):
        kind, words = FAILURES[failure]
    else:
        name, words = failure
        kind = LIBRARY_ERRORS.get(name) or getattr(builtins, name)
    return kind(words) if words else kind()


def is_failure(failure: Any) -> bool:
    """Whether an object is a failure: a name in the table, or a Python exception with a message
    that compiled code can raise.

    >>> is_failure("overflow"), is_failure(("OSError", "")), is_failure(("int", "1"))
    (True, True, False)
    """
    if isinstance(failure, str):
        return failure in FAILURES
    if not (isinstance(failure, tuple) and len(failure) == 2):
        return False
    name, words = failure
    if not isinstance(name, str):
        return False
    kind = LIBRARY_ERRORS.get(name) or getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception) and kind.__name__ == name):
        return False
    return isinstance(words, str) and _is_text(words) and _takes(kind, words)


def _is_text(words: str) -> bool:
    """Whether a C string can hold the words."""
    return "\0" not in words and not any("\ud800" <= c <= "\udfff" for c in words)


def _takes(kind: type[Exception], words: str) -> bool:
    arguments = (words,) if words else ()
    try:
        return kind(*arguments).args == arguments
    except TypeError:  # UnicodeDecodeError takes five
        return False


def word_of(failure: Failure) -> str:
    """The word that kernels check with.

    >>> word_of("overflow"), word_of(("ValueError", "n < 0"))
    ('ensure_overflow', 'ensure_ValueError: n < 0')
    """
    return _PREFIX + (failure if isinstance(failure, str) else ": ".join(failure))


def failure_of(word: str) -> Failure | None:
    """The failure that a word of kernels checks for; None for other words.

    >>> failure_of("ensure_ValueError: n < 0"), failure_of("sin")
    (('ValueError', 'n < 0'), None)
    """
    if not word.startswith(_PREFIX):
        return None
    kind, mark, words = word.removeprefix(_PREFIX).partition(": ")
    return (kind, words) if mark else kind


class Ensure(Elementwise):
    """``ensure(x, holds, failure=f)``: x; raises where ``holds`` is false for any element.

    A tangent or cotangent passes through. With the flag ``derivatives`` it is checked too, so that
    a program that reads only the derivative fails as well.
    """

    moves = True
    parameters = ("failure",)
    flags = ("derivatives",)
    fallible = True

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        x, holds = types
        require(
            holds == x.with_dtype(bool) and is_failure(params["failure"]),
            f"ensure takes a value and a bool of its shape, and a failure that is one of "
            f"{', '.join(FAILURES)}, or the name of a builtin exception and its message; "
            f"got {x}, {holds}, {params['failure']!r}",
        )
        return (x,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x, holds = arrays
        if not np.all(holds):
            raise error_of(params["failure"])
        return x

    def may_fail(self, op: Op) -> bool:
        return True

    def harmless(self, op: Op, operands: Sequence[Value], wanted: Value) -> Sequence[Value] | None:
        x, holds = operands
        unwanted = broadcast(bitwise_not(wanted), shape=holds.shape, dims=())
        return [x, bitwise_or(holds, unwanted)]

    def fails_by(self, op: Op) -> Hashable | None:
        failure = op.params["failure"]  # of Python's integers none overflows
        unchecked = op.result.type.is_inexact and not op.params.get("derivatives")
        return None if unchecked or failure == "overflow" else (op.operands[1], failure)

    def failing_too(self, op: Op, value: Value) -> Value:
        holds = op.operands[1]
        if holds.shape:
            holds = all_(holds, axes=tuple(range(len(holds.shape))))
        if value.shape:
            holds = broadcast(holds, shape=value.shape, dims=())
        flags = {"derivatives": True} if value.type.is_inexact else {}
        return ensure(value, holds, failure=op.params["failure"], **flags)

    def raises(self, op: Op) -> frozenset[type[Exception]]:
        return frozenset({type(error_of(op.params["failure"]))})

    def may_raise(self, op: Op, error: Exception) -> bool:
        mine = error_of(op.params["failure"])
        return type(mine) is type(error) and mine.args == error.args


def _derivative(t: Value, y: Value, x: Value, holds: Value, **params: Any) -> Value:
    return ensure(t, holds, **params) if params.get("derivatives") else t


def _kernel(k: Any, x: Any, holds: Any, *, failure: Failure, **flags: bool) -> Any:
    return k(word_of(failure), holds, x)


def _complex_kernel(k: Any, x: Any, holds: Any, *, failure: Failure, **flags: bool) -> Any:
    return k.pair(k(word_of(failure), holds, x.re), k(word_of(failure), holds, x.im))


ensure = Ensure(
    "ensure", np.asarray, [_derivative, None], kernel=_kernel, complex_kernel=_complex_kernel
)


class Reported(SingleResult):
    """``reported(holds, values…, failure=f, form=m)``: ``holds``, beside values that the message of
    a failure names if it is false.

    ``holds`` has the axes of a batch, and each value has them in front of its own. ``form`` says
    how the arguments of the exception are made of the values (see ``autojit.session.messages``).
    Generated code has no such op: after a call has failed, the interpreter finds the values.
    """

    moves = True
    parameters = ("failure", "form")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        holds, *values = types
        rank = holds.ndim
        require(
            holds.dtype == np.bool_
            and all(t.shape[:rank] == holds.shape for t in values)
            and is_failure(params["failure"])
            and isinstance(params["form"], tuple),
            f"reported takes bools, values with their axes, a failure and a tuple; got "
            f"{', '.join(map(str, types))}, {params['failure']!r}, {params['form']!r}",
        )
        return (holds,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return arrays[0]

    def expand(self, op: Op) -> Program:
        inputs = [Value(v.type) for v in op.operands]
        return Program(inputs, (), inputs[:1])

    def work(self, op: Op) -> float:
        return 0

    def harmless(self, op: Op, operands: Sequence[Value], wanted: Value) -> Sequence[Value]:
        holds, *values = operands
        unwanted = broadcast(bitwise_not(wanted), shape=holds.shape, dims=())
        return [bitwise_or(holds, unwanted), *values]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(*(along(x, size) for x in operands), **op.params)


reported = Reported("reported")


def _no_derivative_by_whole(t: Value, y: Value, x: Value) -> Value:
    raise no_derivative(
        "A derivative is requested with respect to an argument that must be an integer (a count, "
        "an order), so it does not exist. Make the argument a constant or an array of integers, "
        "or stop its gradient:\n"
        "    k = autojit.stop_gradient(k)"
    )


#: A float that represents an integer: the number itself. A derivative by it is refused.
whole_number = Elementwise(
    "whole_number", np.positive, [_no_derivative_by_whole], kinds=FLOAT, kernel=lambda k, x: x
)

#: True for each element after it has been computed. A value that depends on another one's error,
#: but not on its number, reads this.
computed = Compare(
    "computed", lambda x: np.ones(np.shape(x), bool), [None],
    kernel=lambda k, x: k("or", k("eq", x, x), k("ne", x, x)),
    complex_kernel=lambda k, z: k("or", k("eq", z.re, z.re), k("ne", z.re, z.re)),
)  # fmt: skip
