"""Operations that autocasting runs in half precision."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from autojit.torch.engine.tensor import Tensor

from .half import to_half


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
