"""Programs converted to double precision, used for differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.errors import AutojitError
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type, TypeMismatch

_WIDE = {
    np.dtype(np.float16): np.dtype(np.float64),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(complex),
}


def is_narrow(dtype: np.dtype) -> bool:
    """Whether a dtype has fewer digits than double precision."""
    return dtype in _WIDE


def widened(program: Program) -> Program | None:
    """The program with float64 in place of shorter floats; None if that form does not exist."""
    try:
        return _widened(program)
    except (AutojitError, TypeMismatch, TypeError, ValueError):
        return None


def _widened(program: Program) -> Program:
    builder = Builder()
    inputs = [Value(_type(v.type)) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    with building(builder):
        for op in program.ops:
            params = {name: _param(value) for name, value in op.params.items()}
            with builder.at(op.source):
                made = builder.emit(op.kind, [env[v] for v in op.operands], params)
            env.update(zip(op.results, made, strict=True))
    captured = [
        in_dtype(c, v.dtype)
        for c, v in zip(
            program.captured, inputs[len(inputs) - len(program.captured) :], strict=True
        )
    ]
    outputs = [env[v] for v in program.outputs]
    if [v.type for v in outputs] != [_type(t) for t in program.out_types]:
        raise TypeMismatch("an operation has results of its own precision")
    return builder.finish(inputs, outputs, name=program.name, captured=captured)


def _type(type: Type) -> Type:
    return type.with_dtype(_WIDE.get(type.dtype, type.dtype))


def _param(value: Any) -> Any:
    if isinstance(value, Program):
        return _widened(value)
    if isinstance(value, np.dtype):
        return _WIDE.get(value, value)
    if isinstance(value, Type):
        return _type(value)
    if isinstance(value, tuple):
        return tuple(_param(v) for v in value)
    return value
