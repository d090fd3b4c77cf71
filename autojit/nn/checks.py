"""Checks of arguments, whose errors name the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import DtypeError, ShapeError, with_place
from autojit.protocols.lifting import as_tracer
from autojit.staging.bodies import check_function
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer


def need_shape(fits: bool, message: str | Callable[[], str]) -> None:
    """Raise ShapeError, with the user's line, unless shapes fit; a function builds it lazily."""
    if not fits:
        text = message if isinstance(message, str) else message()
        raise ShapeError(with_place(text, user_source()))


def need_value(fits: bool, message: str) -> None:
    """Raise ValueError, with the user's line, for an unknown setting."""
    if not fits:
        raise ValueError(with_place(message, user_source()))


def given_function(f: Any, name: str, of: str) -> Any:
    """A user's function; during a trace, its control flow is captured."""
    return f if callable(f) and current_trace() is None else check_function(f, name, of)


def need_integers(x: Any, name: str) -> None:
    """Raise DtypeError unless an array has an integer dtype."""
    if np.dtype(x.dtype).kind not in "iu":
        raise DtypeError(
            with_place(
                f"{name} has dtype {x.dtype}; it needs integers: {name}.astype(np.int64)",
                user_source(),
            )
        )


def no_negative(indices: Any, size: int) -> Any:
    """Indices in which negative numbers are out of range instead of counting from the end."""
    return np.where(indices < 0, size, indices)


def rows_at(table: Any, indices: Any) -> Any:
    """The rows of a table at indices; either may be traced.

    >>> rows_at(np.array([10, 20]), np.array([1, 0]))
    array([20, 10])
    """
    return (as_tracer(table) if is_tracer(indices) else table)[indices]


def filled(shape: tuple[int, ...], value: Any, dtype: Any, *beside: Any) -> Any:
    """A new array of one value, to be changed in place by arrays of which some may be traced.

    >>> filled((2,), 1, float)
    array([1., 1.])
    """
    made = np.full(shape, value, dtype)
    return as_tracer(made) if any(map(is_tracer, beside)) else made


def pair(x: Any, count: int, name: str, least: int = 1) -> tuple[int, ...]:
    """A setting as a tuple of ``count`` integers, from one number or one per axis, at least
    ``least``.

    >>> pair(3, 2, "stride"), pair((1, 2), 2, "stride")
    ((3, 3), (1, 2))
    """
    numbers = tuple(x) if isinstance(x, (tuple, list)) else (x,) * count
    need_value(
        len(numbers) == count,
        f"{name}={x!r} has {len(numbers)} numbers; it needs one, or one for each of {count} axes",
    )
    need_value(
        all(isinstance(n, (int, np.integer)) and n >= least for n in numbers),
        f"{name}={x!r:.60}: it needs integers of at least {least}",
    )
    return numbers


def reduced(losses: Any, reduction: str) -> Any:
    """The mean or the sum of losses, or the losses themselves.

    >>> float(reduced(np.array([1.0, 2.0]), "mean"))
    1.5
    """
    need_value(
        reduction in ("mean", "sum", "none"),
        f"reduction={reduction!r} is not 'mean', 'sum' or 'none'",
    )
    if reduction == "none":
        return losses
    return np.mean(losses) if reduction == "mean" else np.sum(losses)
