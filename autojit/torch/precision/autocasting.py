"""Operations that autocasting runs in half precision."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from autojit.torch.engine.tensor import Tensor

from .half import to_half, to_single


class _Casting(threading.local):
    #: The dtype of half precision in an open context of autocast, or None.
    dtype: Any = None


casting = _Casting()


def lowered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices that reads and returns half precision where autocast says so."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kind = casting.dtype
        if kind is None:
            return function(*args, **kwargs)
        given = [to_half(a, kind) if isinstance(a, Tensor) else a for a in args]
        named = {k: to_half(v, kind) if isinstance(v, Tensor) else v for k, v in kwargs.items()}
        return to_half(function(*given, **named), kind)

    return call


def raised(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that reads float32 where autocast might give half precision."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if casting.dtype is None:
            return function(*args, **kwargs)
        return function(
            *[to_single(a) if isinstance(a, Tensor) else a for a in args],
            **{k: to_single(v) if isinstance(v, Tensor) else v for k, v in kwargs.items()},
        )

    return call
