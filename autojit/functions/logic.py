"""Comparison of whole arrays, tests of elements, and sinc."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer, python_bool
from autojit.protocols.registry import implements


@implements(np.isclose)
def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    b = as_tracer(b)
    b = b.astype(np.result_type(b.dtype, 1.0))  # integers may overflow when subtracted
    near = np.abs(a - b) <= atol + rtol * np.abs(b)
    result = np.where(np.isfinite(a) & np.isfinite(b), near, np.equal(a, b))
    return result | (np.isnan(a) & np.isnan(b)) if equal_nan else result


@implements(np.allclose)
def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    return python_bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if np.shape(a1) != np.shape(a2):
        return False
    same = np.equal(a1, a2)
    return python_bool(np.all(same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same))


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    return x == np.inf


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    return x == -np.inf


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return np.imag(x) != 0


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return np.imag(x) == 0


@implements(np.sinc)
def sinc(x: Any) -> Any:
    # Near 0, the series 1 - (pi x)^2 / 6 has the right value and first two derivatives.
    y = np.pi * x
    small = np.abs(y) < 1e-4
    safe = np.where(small, y.dtype.type(1), y)
    series = 1 - y * y / 6 * (1 - y * y / 20)
    return np.where(small, series, np.sin(safe) / safe)
