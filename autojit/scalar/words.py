"""The scalar vocabulary as Python expressions, for numbers and for traced numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.vocabulary import SYMBOLS, WORDS
from autojit.errors import SettingError, with_place
from autojit.tracing.source import user_source


class Expression:
    """The text of a Python expression."""

    def __init__(self, text: str, is_atom: bool = True) -> None:
        self.text = text
        self.is_atom = is_atom

    def __str__(self) -> str:
        return self.text

    def inner(self) -> str:
        """The text as an operand of another expression."""
        return self.text if self.is_atom else f"({self.text})"

    def __add__(self, other: Any) -> Expression:
        return joined("+", self, other)

    def __sub__(self, other: Any) -> Expression:
        return joined("-", self, other)

    def __mul__(self, other: Any) -> Expression:
        return joined("*", self, other)

    def __truediv__(self, other: Any) -> Expression:
        return joined("/", self, other)

    def __neg__(self) -> Expression:
        return Expression(f"-{self.inner()}", False)


def joined(symbol: str, left: Any, right: Any) -> Expression:
    """Two expressions with an operator between them."""
    return Expression(f"{_made(left).inner()} {symbol} {_made(right).inner()}", False)


def _made(x: Any) -> Expression:
    return x if isinstance(x, Expression) else Expression(repr(x))


class Words:
    """The vocabulary with which the kernels of operations are written."""

    def __call__(self, word: str, *operands: Any) -> Expression:
        if word == "pow":
            return joined("**", *operands)
        if word == "neg":
            return -_made(operands[0])
        if word in SYMBOLS:
            return joined(SYMBOLS[word], *operands)
        return Expression(f"{word}_({', '.join(str(_made(x)) for x in operands)})")

    def like(self, number: Any, model: Any) -> Expression:
        """A constant of the dtype of another scalar."""
        return Expression(repr(float(number)))


def _choose(condition: Any, x: Any, y: Any) -> Any:
    if condition.__class__ is bool:
        return x if condition else y
    return np.where(condition, x, y)


def either(word: str, name: str) -> Callable[..., Any]:
    """A function that uses Python's `math` for floats, and NumPy for everything else."""
    quick, general = getattr(math, word, None), getattr(np, name)
    if quick is None:
        return lambda *x: float(general(*x)) if x[0].__class__ is float else general(*x)
    return lambda x, *more: (quick if x.__class__ is float else general)(x, *more)


def _sigmoid(x: Any) -> Any:
    if x.__class__ is float:  # use the exponential that does not overflow
        power = math.exp(-abs(x))
        return (1.0 if x >= 0 else power) / (1.0 + power)
    from scipy.special import expit

    return expit(x)


def sigmoid(x: Any) -> Any:
    """The logistic function 1 / (1 + e**-x)."""
    return _sigmoid(float(x) if x.__class__ is int else x)


def no_number(x: Any, what: str) -> SettingError:
    """The error about an object that is not a number, with the user's line."""
    return SettingError(with_place(f"{what} must be a number, not {x!r:.60}", user_source()))


#: NumPy's names that differ from the words.
_NUMPY = {f"a{f}": f"arc{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
#: The functions that printed code calls, by name: the words with an underscore.
NAMES: dict[str, Any] = {"select_": _choose, "sigmoid_": _sigmoid, "inf": math.inf, "nan": math.nan}
NAMES.update({
    f"{word}_": either(word, _NUMPY.get(word, word))
    for word, arity in WORDS["f"].items()
    if arity == 1 and word not in ("neg", "sigmoid") and hasattr(np, _NUMPY.get(word, word))
})  # fmt: skip
