"""An array as its individual numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autojit.ir.core.program import Value
from autojit.ir.ops.move import concatenate, reshape, slice_axis


def columns_of(v: Value, lead: tuple[int, ...]) -> list[Value]:
    """The numbers of an array, each as a value with the leading axes."""
    if v.shape == lead:
        return [v]
    flat = reshape(v, shape=(*lead, prod(v.shape[len(lead) :])))
    axis = len(lead)
    return [reshape(slice_axis(flat, axis, k, k + 1), shape=lead) for k in range(flat.shape[axis])]


def array_of(columns: Sequence[Value], shape: tuple[int, ...]) -> Value:
    """The array with these columns."""
    lead = columns[0].shape
    parts = [reshape(v, shape=(*lead, 1)) for v in columns]
    whole = concatenate(*parts, axis=len(lead)) if len(parts) > 1 else parts[0]
    return reshape(whole, shape=shape)


def in_shape(values: Sequence[Value], shape: tuple[int, ...]) -> Any:
    """A NumPy array of values."""
    made = np.empty(len(values), object)
    made[:] = list(values)
    return made.reshape(shape)
