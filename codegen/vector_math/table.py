"""The functions that exist: filled by the modules of formulas, read by the package's interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .scalar import Value

Formula = TypeVar("Formula", bound=Callable[..., Value])


class Moderate(NamedTuple):
    """A formula that is much shorter, for arguments up to a limit in magnitude."""

    formula: Callable[[Value], Value]
    limit: float


class Entry(NamedTuple):
    formula: Callable[..., Value]
    arity: int
    moderate: Moderate | None = None


TABLE: dict[str, Entry] = {}


def vector_function(
    name: str, arity: int = 1, moderate: Moderate | None = None
) -> Callable[[Formula], Formula]:
    """Offer the formula below under this name."""

    def add(formula: Formula) -> Formula:
        TABLE[name] = Entry(formula, arity, moderate)
        return formula

    return add
