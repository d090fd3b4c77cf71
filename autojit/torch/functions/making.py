"""Makes functions of tensors from functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.torch.engine import dtypes
from autojit.torch.engine.recording import Kind, compute, constant, record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.widening import cast

NUMBERS = (bool, int, float, complex)
_CAST = Operation("ToCopy", cast)
_CAST.takes_halves = True


def in_dtype(x: Any, dtype: np.dtype) -> Tensor:
    """A tensor or number as a tensor of a dtype."""
    if isinstance(x, Tensor):
        return x if x._data.dtype == dtype else record(_CAST, (x,), (dtype,))
    made: Tensor = constant(x, dtype)
    return made


def tensors(*operands: Any) -> tuple[Tensor, ...]:
    """Operands as tensors of their common dtype."""
    first, *rest = operands
    if all(x.__class__ is Tensor for x in operands):
        d = first._data.dtype
        if all(x._data.dtype == d for x in rest):
            return operands
    dtype = dtypes.result_type([x._data if isinstance(x, Tensor) else x for x in operands])
    return tuple(in_dtype(x, dtype) for x in operands)


def floating(x: Any) -> Tensor:
    """A tensor of floats or complex numbers; integers are converted to the default dtype."""
    if not isinstance(x, Tensor):
        return in_dtype(x, dtypes.default.float.numpy)
    return x if kind_of(x._data.dtype) in "fc" else in_dtype(x, dtypes.default.float.numpy)


def unary(name: str, impl: Callable[..., Any], *, floats: bool = True) -> Callable[..., Tensor]:
    """A function of one tensor."""
    operation = Operation(name, impl)
    if floats:
        return lambda input: record(operation, (floating(input),))
    return lambda input: record(operation, (input,))


#: Tensors of numbers, by number and dtype: they are only operands, so they cannot be changed.
_operands: dict[tuple[float, np.dtype], Any] = {}
_MOST = 256


def _operand(number: float, dtype: np.dtype) -> Any:
    """A number as a tensor that is used only as an operand."""
    if number == 0.0 or Kind.tracing:  # 0 and -0 are equal keys; a trace collects new tensors
        return constant(number, dtype)
    found = _operands.get((number, dtype))
    if found is None:
        if len(_operands) >= _MOST:
            _operands.clear()
        found = _operands[number, dtype] = constant(number, dtype)
    return found


def binary(
    name: str, impl: Callable[..., Any], *, floats: bool = False, operation: Operation | None = None
) -> Callable[..., Tensor]:
    """A function of two tensors or numbers; it records ``operation`` if given."""
    operation = operation or Operation(name, impl)

    def call(input: Any, other: Any) -> Tensor:
        if input.__class__ is Tensor and other.__class__ is float:
            d = input._data.dtype
            operands = (input, _operand(other, d)) if d.kind == "f" else tensors(input, other)
        else:
            operands = tensors(input, other)
        if floats and operands[0]._data.dtype.kind in "biu":
            operands = tuple(map(floating, operands))
        try:
            made: Tensor = record(operation, operands)
        except ValueError as error:
            raise _shapes_differ(*operands) or error from None
        return made

    ufunc = impl if isinstance(impl, np.ufunc) and not floats else None
    call.__dict__["ufunc"] = ufunc
    return call


def _shapes_differ(a: Tensor, b: Tensor) -> RuntimeError | None:
    """PyTorch's error for shapes that do not broadcast; None if they do."""
    left, right = a._data.shape, b._data.shape
    n = max(len(left), len(right))
    pairs = zip((1,) * (n - len(left)) + left, (1,) * (n - len(right)) + right, strict=True)
    wrong = [(k, p, q) for k, (p, q) in enumerate(pairs) if p != q and 1 not in (p, q)]
    if not wrong:
        return None
    k, p, q = wrong[-1]
    return RuntimeError(
        f"The size of tensor a ({p}) must match the size of tensor b ({q}) at non-singleton "
        f"dimension {k}"
    )


def comparison(impl: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of two tensors or numbers that has no derivative."""
    operation = Operation("Comparison", impl)

    def call(input: Any, other: Any) -> Tensor:
        made: Tensor = compute(operation, tensors(input, other))
        return made

    return call


def question(impl: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of one tensor that has no derivative."""
    operation = Operation("Question", impl)
    return lambda input: compute(operation, (input,))


def function(name: str, impl: Callable[..., Any]) -> Callable[..., Any]:
    """``call(tensors, *static)``."""
    operation = Operation(name, impl)
    return lambda operands, *static: record(operation, operands, static)


def axes(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes that a number, several numbers or None stand for; None for all axes."""
    if dim is None or dim == () or dim == []:
        return None
    named = tuple(axis(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    return named if ndim else ()  # PyTorch allows the axes 0 and -1 of a scalar, NumPy allows none


def axis(dim: int, ndim: int) -> int:
    """An axis as a nonnegative number."""
    most = max(ndim, 1)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got "
            f"{dim})"
        )
    return int(dim) % most
