"""Conversions and checks of arguments of SciPy's functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.errors import (
    AutojitError,
    ConcreteValueError,
    NotArrayError,
    UncoveredFunctionError,
    with_place,
)
from autojit.protocols.lifting import as_tracer
from autojit.spelling import closest
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import is_traced, plain, with_values
from autojit.tracing.source import user_source


def floating(x: Any) -> Any:
    """A traced array of floats or complex numbers; integers become float64."""
    array = as_tracer(x)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def known(x: Any, what: str, of: str) -> Any:
    """An argument that the trace must know; ConcreteValueError if it depends on traced values."""
    found = plain(with_values(x))
    if not is_traced(found):
        return found
    raise ConcreteValueError(
        with_place(
            f"{what} of {of} determines what is computed, so it must be known when the function "
            "is traced. Pass a plain number or array, or make the argument static:\n"
            "    jit(f, static_argnums=1)",
            user_source(),
        )
    )


def known_integer(x: Any, what: str, of: str) -> int:
    """An integer argument that the trace must know, as in :func:`known`."""
    return int(np.asarray(known(x, what, of)).item())


def values_of(x: Any, of: str, instead: str) -> Any:
    """Plain numbers in the place of traced ones, also in tuples, lists and dicts: the values that
    decide the shape of a result.

    Raises:
        UncoveredFunctionError: under ``jit`` and ``vmap``, where they are not known. ``instead``
            says what to write.
    """
    numbers = plain(with_values(x, lost=True))
    if not is_traced(numbers):
        return numbers
    raise UncoveredFunctionError(
        with_place(
            f"{of} of a traced array, on whose values the shape of the result depends, is not "
            f"covered by autojit under jit or vmap. {instead}",
            user_source(),
        )
    )


def floats(x: Any) -> np.ndarray:
    """Known numbers as float64; TypeError for None, which NumPy would convert to NaN."""
    array = np.asarray(x)
    if array.dtype.kind in "OSUMm":
        words = f"an array or a number is needed, not {x!r:.60}"
        raise NotArrayError(with_place(words, user_source()))
    return array.astype(np.float64)


def check_method(method: Any, known: tuple[str, ...], of: str) -> None:
    """Raise ValueError for a method that SciPy's function lacks; otherwise it has no effect."""
    if method is None or callable(method):
        return
    if not isinstance(method, str) or method.lower() not in known:
        close = closest(str(method).lower(), known)
        words = f"{of}: unknown solver {method!r:.60}.{close}\nSolvers: {', '.join(known)}"
        raise ValueError(with_place(words, user_source()))


def refused(of: str, why: str) -> AutojitError:
    """The error for a use of a function that is not covered for traced values.

    ``why`` gives the reason, and tells what to write instead.
    """
    return UncoveredFunctionError(with_place(f"{of} of traced values: {why}", user_source()))


def last(x: Any, axis: int) -> Any:
    """The array with an axis moved to the end."""
    return np.moveaxis(x, axis, -1)


def unlast(x: Any, axis: int) -> Any:
    """The array with its last axis moved back to its place."""
    return np.moveaxis(x, -1, axis)


def zeros(x: Any, *shape: int) -> Any:
    """Known zeros in the dtype of an array."""
    return np.zeros(shape, x.dtype)


def size(shape: Any) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)


def either(x: Any) -> Any:
    """An array of floats or complex numbers: traced during a trace, else NumPy's own."""
    if current_trace() is not None:
        return floating(x)
    array = np.asarray(x)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def at_hand(x: Any) -> np.ndarray | None:
    """A known array of numbers, for checks; None if it is traced."""
    return None if is_traced(x) else np.asarray(plain(x), float)


def pad(x: Any, widths: Any, mode: str, fill: Any = 0.0) -> Any:
    """Call ``np.pad``, with the fill value only for the constant mode."""
    how: Any = np.pad
    return how(x, widths, mode=mode, **({"constant_values": fill} if mode == "constant" else {}))
