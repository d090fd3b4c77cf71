"""Makes functions of tensors from the functions of arrays in ``autojit.nn``: one operation each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.ir.core.halves import kind_of
from autojit.torch.engine import dtypes
from autojit.torch.engine.recording import record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.making import in_dtype


class _Here:
    """A placeholder for a tensor among the arguments."""

    def __repr__(self) -> str:
        return "HERE"


HERE = _Here()


def shell(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors and settings, recorded as one operation.

    Args:
        name: the name of its nodes.
        function: a function of arrays and settings, in any order; arguments are passed by position,
            and those that are not tensors must be hashable.
    """

    def impl(*arguments: Any) -> Any:
        *arrays, form = arguments
        given = iter(arrays)
        return function(*[next(given) if a is HERE else a for a in form])

    operation = Operation(name, impl)

    def call(*arguments: Any) -> Any:
        operands = [a for a in arguments if isinstance(a, Tensor)]
        form = tuple([HERE if isinstance(a, Tensor) else a for a in arguments])
        return record(operation, operands, (form,))

    return call


def together(*operands: Any) -> tuple[Any, ...]:
    """Tensors in their common dtype; None stays None."""
    given = [x for x in operands if x is not None]
    first = given[0]._data.dtype
    if all(x._data.dtype == first for x in given):
        return operands
    dtype = dtypes.result_type([x._data for x in given])
    return tuple(None if x is None else in_dtype(x, dtype) for x in operands)


def floats(x: Tensor) -> Tensor:
    """A tensor with integers converted to the default dtype."""
    return x if kind_of(x._data.dtype) in "fc" else in_dtype(x, dtypes.default.float.numpy)


def settings(x: Any) -> Any:
    """A setting of one or several numbers; several become a tuple."""
    return tuple(x) if isinstance(x, (list, tuple)) else x


def in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of one tensor that overwrites the tensor if called with ``inplace=True``."""
    from autojit.torch.engine.views import alias, assign, check_in_place

    def call(input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
        if not inplace:
            return function(input, *args, **kwargs)
        check_in_place(input)
        before = alias(input) if input.requires_grad else input
        return assign(input, function(before, *args, **kwargs))

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


_NAMES = {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "bool": "Bool"}


def spoken(x: Tensor) -> str:
    """The dtype of a tensor by its name in PyTorch's messages."""
    return _NAMES.get(x.dtype.name, x.dtype.name.title())


def same_dtype(a: Tensor, b: Tensor) -> None:
    """Raise if two matrices have different dtypes."""
    if a._data.dtype != b._data.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {spoken(a)} and {spoken(b)}. Convert "
            "the first:\n"
            f"    x.to(torch.{b.dtype.name})"
        )
