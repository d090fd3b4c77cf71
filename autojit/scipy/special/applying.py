"""Elementwise ops on traced and plain operands, and parameters that must be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.program import Value
from autojit.protocols.lifting import (
    common_shape,
    operand,
    operand_type,
    result_dtype,
    tracer,
)
from autojit.protocols.registry import must_be_known
from autojit.tracing.created_arrays import is_traced, with_values


def elementwise(op: Callable[..., Value], *operands: Any) -> Any:
    """Apply an op, or a formula of ops, to operands in their common float dtype."""
    dtype = result_dtype(*operands)
    type = operand_type(dtype if dtype.kind == "f" else np.dtype(float), common_shape(*operands))
    return tracer(op(*[operand(x, type) for x in operands]))


def known(function: str, name: str, value: Any) -> Any:
    """A parameter that determines what is computed, so that it cannot be traced."""
    value = with_values(value) if is_traced(value) else value
    if is_traced(value):
        raise must_be_known(f"scipy.special.{function}", name, value)
    return value
