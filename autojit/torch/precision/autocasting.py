"""Operations that autocasting runs in half precision."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from autojit.torch.engine import dtypes
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.making import in_dtype


class _Casting(threading.local):
    #: The half-precision dtype of the active autocast context; None outside one.
    dtype: Any = None


casting = _Casting()


def _lowered(x: Any, kind: Any) -> Any:
    """A tensor of floats in half precision; float64 tensors and other objects unchanged."""
    if not isinstance(x, Tensor) or x.dtype not in (dtypes.float32, *dtypes.HALVES):
        return x
    return in_dtype(x, kind.numpy)


def lowered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices that reads and returns half precision in an autocast context."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kind = casting.dtype
        if kind is None:
            return function(*args, **kwargs)
        given = [_lowered(a, kind) for a in args]
        return function(*given, **{k: _lowered(v, kind) for k, v in kwargs.items()})

    return call


def raised(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that autocast computes in float32 from half precision."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if casting.dtype is None:
            return function(*args, **kwargs)
        given = [_raised(a) for a in args]
        return function(*given, **{k: _raised(v) for k, v in kwargs.items()})

    return call


def _raised(x: Any) -> Any:
    is_half = isinstance(x, Tensor) and x.dtype in dtypes.HALVES
    return in_dtype(x, dtypes.float32.numpy) if is_half else x
