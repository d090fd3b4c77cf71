"""ndarray methods without a corresponding NumPy function (see ``array_methods``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import DtypeError, with_place
from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.protocols.registry import uncovered
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .assignment import setitem
from .indexing import getitem
from .sorting import sort_in_place
from .writing import fill


def astype(x: Tracer, dtype: Any, *args: Any, **kwargs: Any) -> Tracer:
    """``x.astype(dtype)``."""
    if kwargs.get("copy") is False and x.dtype == np.dtype(dtype):
        return x
    result = tracer(to_dtype(as_value(x), np.dtype(dtype)))
    result.boxed = not x.is_scalar
    return result


def view(x: Tracer, dtype: Any = None, type: Any = None) -> Any:
    """``x.view()``; reinterpreting the bytes as another dtype is not supported."""
    if isinstance(dtype, (int, tuple)) and not isinstance(dtype, bool):
        words = "x.view takes a dtype. With a shape it is a method of PyTorch's tensors; here:"
        code = "    x.reshape(-1, 1)                   # not: x.view(-1, 1)"
        raise DtypeError(with_place(f"{words}\n{code}", user_source()))
    if type is not None or (dtype is not None and np.dtype(dtype) != x.dtype):
        raise uncovered("x.view", " with another dtype or type")
    return x[...]


def copy(x: Tracer, order: str = "C") -> Any:
    """``x.copy()``."""
    result = np.copy(x, order)  # type: ignore[call-overload]
    result.boxed = not x.is_scalar
    return result


hooks.getitem = getitem
hooks.setitem = setitem
hooks.astype = astype
hooks.copy = copy
hooks.fill = fill
hooks.sort = sort_in_place
hooks.view = view
