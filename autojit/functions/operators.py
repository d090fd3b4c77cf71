"""NumPy's protocols and Python's operators on traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import InPlaceError, with_place
from autojit.protocols.registry import call_function
from autojit.protocols.ufuncs import call_operator, call_ufunc, call_unary_operator
from autojit.tracing.aliasing import assign
from autojit.tracing.source import user_source
from autojit.tracing.tracer import BINARY, COMPARISONS, UNARY, Tracer


def _array_ufunc(self: Tracer, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    return call_ufunc(ufunc, method, inputs, kwargs)


def _array_function(self: Tracer, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return call_function(func, args, kwargs)


def _binary(ufunc: Any) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    def forward(self: Tracer, other: Any) -> Any:
        return call_operator(ufunc, self, other)

    def backward(self: Tracer, other: Any) -> Any:
        return call_operator(ufunc, other, self)

    def in_place(self: Tracer, other: Any) -> Any:
        result = forward(self, other)
        if result is NotImplemented or self.is_scalar:
            return result  # NumPy scalars are immutable: the name is bound anew
        if result.shape != self.shape or not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise InPlaceError(
                with_place(
                    f"The result {result.type} does not fit into the array {self.type} in place. "
                    "Write it out:\n    x = x + y                          # not: x += y",
                    user_source(),
                )
            )
        assign(self, result.astype(self.dtype).value)
        return self

    return forward, backward, in_place


def _unary(ufunc: Any) -> Callable[..., Any]:
    def operator(self: Tracer) -> Any:
        return call_unary_operator(ufunc, self)

    return operator


def _attach() -> None:
    for name, ufunc in BINARY.items():
        forward, backward, in_place = _binary(ufunc)
        setattr(Tracer, f"__{name}__", forward)
        setattr(Tracer, f"__r{name}__", backward)
        setattr(Tracer, f"__i{name}__", in_place)
    for name, ufunc in COMPARISONS.items():
        setattr(Tracer, f"__{name}__", _binary(ufunc)[0])
    for name, ufunc in UNARY.items():
        setattr(Tracer, f"__{name}__", _unary(ufunc))
    others = {
        "__divmod__": lambda self, other: (self // other, self % other),
        "__rdivmod__": lambda self, other: (other // self, other % self),
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
    }
    for name, function in others.items():
        setattr(Tracer, name, function)


_attach()
