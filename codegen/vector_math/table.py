"""The available functions, and their formulas, which are loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from .scalar import Value

Formula = TypeVar("Formula", bound="Callable[..., Value]")

#: The functions of each module: loading all takes as long as a fifth of a loop's compilation.
MODULES = {
    "error_function": ("erf", "erfc", "ndtr"),
    "exponential": ("exp", "exp2", "expm1", "sigmoid"),
    "hyperbolic": ("tanh", "sinh", "cosh", "asinh", "acosh", "atanh"),
    "inverse_trigonometric": ("asin", "acos", "atan", "atan2"),
    "log_sum": ("softplus", "logaddexp"),
    "logarithm": ("log", "log2", "log10", "log1p"),
    "power": ("pow", "cbrt", "hypot"),
    "trigonometric": ("sin", "cos", "tan"),
}
#: The functions that are called rather than inlined (see ``called``).
CALLED = frozenset(("sin", "cos", "tan"))

_MODULE_OF = {name: module for module, names in MODULES.items() for name in names}
NAMES = frozenset(_MODULE_OF)


class Moderate(NamedTuple):
    """A much shorter formula, for arguments up to a limit in magnitude."""

    formula: Callable[[Value], Value]
    limit: float


class Entry(NamedTuple):
    formula: Callable[..., Value]
    arity: int
    moderate: Moderate | None = None


class _Table(dict[str, Entry]):
    def __missing__(self, name: str) -> Entry:
        import_module(f".{_MODULE_OF[name]}", __package__)
        return self[name]


TABLE = _Table()


def vector_function(
    name: str, arity: int = 1, moderate: Moderate | None = None
) -> Callable[[Formula], Formula]:
    """Register the formula below under this name."""

    def add(formula: Formula) -> Formula:
        TABLE[name] = Entry(formula, arity, moderate)
        return formula

    return add
