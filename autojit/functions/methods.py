"""ndarray's methods and attributes on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.protocols.registry import uncovered
from autojit.tracing.tracer import Tracer

from .assignment import setitem
from .indexing import getitem
from .sorting import sort_in_place
from .writing import fill


def _shape_arguments(shape: tuple[Any, ...]) -> Any:
    return shape[0] if len(shape) == 1 else shape


def _astype(self: Tracer, dtype: Any, *args: Any, **kwargs: Any) -> Tracer:
    if kwargs.get("copy") is False and self.dtype == np.dtype(dtype):
        return self
    result = tracer(to_dtype(as_value(self), np.dtype(dtype)))
    result.boxed = not self.is_scalar
    return result


def _view(self: Tracer, dtype: Any = None, type: Any = None) -> Any:
    if type is not None or (dtype is not None and np.dtype(dtype) != self.dtype):
        raise uncovered("x.view", " with another dtype or type")
    return self[...]


def _copy(self: Tracer, order: str = "C") -> Any:
    result = np.copy(self, order)  # type: ignore[call-overload]
    result.boxed = not self.is_scalar
    return result


def _transpose(self: Tracer, *axes: Any) -> Any:
    if not axes or axes == (None,):
        return np.transpose(self)
    return np.transpose(self, _shape_arguments(axes))


def _reshape(self: Tracer, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return np.reshape(self, _shape_arguments(shape), order)  # type: ignore[call-overload]


_DELEGATED = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "any": np.any,
    "all": np.all,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "dot": np.dot,
    "ravel": np.ravel,
    "squeeze": np.squeeze,
    "swapaxes": np.swapaxes,
    "repeat": np.repeat,
    "take": np.take,
    "trace": np.trace,
    "diagonal": np.diagonal,
    "clip": np.clip,
    "conj": np.conj,
    "conjugate": np.conj,
    "ptp": np.ptp,
    "put": np.put,
    "round": np.round,
    "argsort": np.argsort,
    "searchsorted": np.searchsorted,
}


def _attach() -> None:
    def delegate(function: Any) -> Any:
        return lambda self, *args, **kwargs: function(self, *args, **kwargs)

    for name, function in _DELEGATED.items():
        setattr(Tracer, name, delegate(function))
    attributes: dict[str, Any] = {
        "__getitem__": getitem,
        "__setitem__": setitem,
        "fill": fill,
        "sort": sort_in_place,
        "astype": _astype,
        "view": _view,
        "copy": _copy,
        "__copy__": _copy,
        "__deepcopy__": lambda self, memo: _copy(self),
        "transpose": _transpose,
        "reshape": _reshape,
        "flatten": lambda self, order="C": np.copy(np.ravel(self, order), "C"),
        "T": property(delegate(np.transpose)),
        "mT": property(delegate(np.matrix_transpose)),
        "real": property(delegate(np.real), lambda self, v: setitem(np.real(self), ..., v)),
        "imag": property(delegate(np.imag), lambda self, v: setitem(np.imag(self), ..., v)),
    }
    for name, attribute in attributes.items():
        setattr(Tracer, name, attribute)


_attach()
