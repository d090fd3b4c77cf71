"""The standard's functions that make arrays: traced ones in a trace, NumPy's elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.functions.creation import converted
from autojit.functions.creation import full as full_of_traced
from autojit.protocols.lifting import as_tracer, dtype_of, shape_of
from autojit.tracing.array_methods import check_device
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare, is_traced


def in_trace(array: Any) -> Any:
    """A new NumPy array, which becomes traced inside a trace, so that arrays created by foreign
    code have the namespace of its arguments. A traced array is returned unchanged.
    """
    if current_trace() is None or is_traced(array):
        return array
    result = as_tracer(array)
    result.boxed = result.ordered = True
    return result


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    check_device(device)
    x = bare(obj)
    if not is_traced(x):
        made = np.array(x, dtype, copy=copy)
        return made if current_trace() is None else in_trace(made)
    dtype = None if dtype is None else np.dtype(dtype)
    if copy is False and (not hasattr(x, "dtype") or dtype not in (None, x.dtype)):
        raise ValueError("asarray(x, copy=False) cannot convert x without a copy. Allow one:\n"
                         "    xp.asarray(x, dtype=dtype)         # not: copy=False")  # fmt: skip
    return converted("asarray", x, dtype, copy=bool(copy))


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    check_device(device)
    first, last = (0, start) if stop is None else (start, stop)
    return in_trace(np.arange(first, last, step, dtype))  # type: ignore[call-overload]


def eye(
    n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    check_device(device)
    return in_trace(np.eye(n_rows, n_cols, k, dtype or float))


def linspace(
    start: Any, stop: Any, /, num: Any, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Any:  # fmt: skip
    check_device(device)
    return in_trace(np.linspace(start, stop, num, endpoint, dtype=dtype))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return in_trace(np.zeros(shape, dtype or float))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return in_trace(np.ones(shape, dtype or float))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    if is_traced(fill_value):
        return full_of_traced(shape, bare(fill_value), dtype)
    return in_trace(np.full(shape, fill_value, dtype))


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    return zeros(shape_of(bare(x)), dtype=dtype or dtype_of(bare(x)), device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    return ones(shape_of(bare(x)), dtype=dtype or dtype_of(bare(x)), device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return full(shape_of(bare(x)), fill_value, dtype=dtype or dtype_of(bare(x)), device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros, since arbitrary contents would become part of a program."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    return zeros_like(x, dtype=dtype, device=device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    check_device(device)
    if is_traced(x):
        x.__dlpack__()  # raises an error that says why not
    return in_trace(np.from_dlpack(x, copy=copy))


def meshgrid(*arrays: Any, indexing: Any = "xy") -> list[Any]:
    return list(np.meshgrid(*arrays, indexing=indexing))


def tril(x: Any, /, *, k: int = 0) -> Any:
    return np.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    return np.triu(x, k)


def _frequencies(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def frequencies(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        check_device(device)
        if dtype is not None and np.dtype(dtype).kind != "f":
            raise ValueError(
                f"the dtype of {numpys.__name__} must be real floating, not {np.dtype(dtype)}"
            )
        found = in_trace(numpys(n, d))
        return found if dtype is None else found.astype(dtype)

    frequencies.__name__ = numpys.__name__
    return frequencies


fftfreq = _frequencies(np.fft.fftfreq)
rfftfreq = _frequencies(np.fft.rfftfreq)
