"""Attributes that Python's and NumPy's numbers have and arrays do not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import python_number
from autojit.protocols.lifting import as_value, tracer
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer


def bit_length(n: Any) -> Any:
    """``n.bit_length()``: the bits of the number with ones in all places below its highest one."""
    v = np.abs(n).astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        v = v | (v >> np.uint64(shift))
    return python_number(as_value(np.bitwise_count(v)), int)


def bit_count(n: Any) -> Any:
    """``n.bit_count()``."""
    return python_number(as_value(np.bitwise_count(n)), int)


def is_integer(x: Any) -> Any:
    """``x.is_integer()``."""
    if x.dtype.kind in "iub":
        return True
    return tracer(as_value(np.logical_and(np.isfinite(x), np.trunc(x) == x)), bool)


def as_integer_ratio(x: Any) -> Any:
    """Refused: the numbers of the ratio need not fit into 64 bits."""
    refuse(
        "x.as_integer_ratio(), whose numbers may exceed 64 bits,",
        "Compute with the float itself, or with its mantissa and exponent:\n"
        "    mantissa, exponent = math.frexp(x)",
    )


_METHODS: dict[str, Callable[[Any], Any]] = {
    "as_integer_ratio": as_integer_ratio, "bit_count": bit_count, "bit_length": bit_length,
    "is_integer": is_integer,
}  # fmt: skip


def attribute_of(x: Tracer, name: str) -> Any:
    """An attribute of a number whose type has it; None if it is not covered."""
    if name in _METHODS:
        return functools.partial(_METHODS[name], x)
    if name == "denominator":
        return 1
    return +x if name == "numerator" else None


hooks.attribute_of_number = attribute_of
