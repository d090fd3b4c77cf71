"""Tensors whose numbers are those of float16 or bfloat16.

Programs have no such dtype: the numbers lie in float32, rounded, and operations compute from them
in float32.  Autocasting rounds what its operations read and return, and cotangents on their way
back, so that what overflows in half precision overflows here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.torch.autograd.function import Function
from autojit.torch.engine import dtypes
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.making import in_dtype


def _float16(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)


def _bfloat16(x: np.ndarray) -> np.ndarray:
    """The upper halves of float32, to the nearest, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    kept = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(
        0xFFFF0000
    )
    return np.where(np.isnan(x), x, kept.view(np.float32)).astype(np.float32)


#: The dtypes of half precision, and how numbers are rounded to them.
HALVES: dict[Any, Callable[[np.ndarray], np.ndarray]] = {
    dtypes.float16: _float16, dtypes.bfloat16: _bfloat16,
}  # fmt: skip


class HalfTensor(Tensor):
    """A tensor with numbers of half precision."""

    __slots__ = ("kind",)
    kind: Any

    @property
    def dtype(self) -> Any:
        return self.kind

    def float(self) -> Tensor:
        """The same numbers as float32, of which operations are float32's."""
        return to_single(self)

    def double(self) -> Tensor:
        """The same numbers as float64."""
        made: Tensor = in_dtype(to_single(self), np.dtype(np.float64))
        return made

    def to(self, *args: Any, dtype: Any = None, **options: Any) -> Any:
        """In another dtype."""
        wanted = next((a for a in args if isinstance(a, dtypes.dtype)), dtype)
        if wanted is None or wanted is self.kind:
            return self
        single = to_single(self)
        return (
            to_half(single, wanted)
            if wanted in HALVES
            else in_dtype(single, dtypes.numpy_dtype(wanted))
        )

    def detach(self) -> HalfTensor:
        """The same numbers, of which nothing is recorded."""
        return _half(self._data, self.kind)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The numbers, as float16; those of bfloat16, which NumPy lacks, as float32."""
        made = super().numpy(force=force)
        return made.astype(np.float16) if self.kind is dtypes.float16 else made

    def element_size(self) -> int:
        """Bytes of a number of its dtype."""
        return 2


def _half(array: np.ndarray, kind: Any) -> HalfTensor:
    made: HalfTensor = object.__new__(HalfTensor)
    fresh = wrap(array)
    for name in ("_data", "_needs", "_edge", "grad", "_counter", "_base", "_accumulate_ref",
                 "_hooks"):  # fmt: skip
        setattr(made, name, getattr(fresh, name))
    made.kind = kind
    return made


class ToCopy(Function):
    """Rounding to half precision, which rounds cotangents as well."""

    @staticmethod
    def forward(ctx: Any, x: Any, kind: Any) -> Any:
        ctx.kind = kind
        return _half(HALVES[kind](_arrays(x)), kind)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (g,) = grad_outputs
        return _Rounded.apply(g, ctx.kind), None


class _Rounded(Function):
    """Rounding of cotangents; where it is recorded, it passes theirs on."""

    @staticmethod
    def forward(ctx: Any, g: Any, kind: Any) -> Any:
        return wrap(HALVES[kind](_arrays(g)))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return grad_outputs[0], None


def _arrays(x: Any) -> np.ndarray:
    if not isinstance(x._data, np.ndarray):
        raise NotImplementedError(
            "half precision is not covered where functions are traced: torch.compile, torch.func. "
            "Call the function as it is under autocast."
        )
    return x._data


def to_half(x: Tensor, kind: Any) -> Any:
    """Floats in half precision; all else as it is."""
    if x._data.dtype.kind != "f" or (isinstance(x, HalfTensor) and x.kind is kind):
        return x
    return ToCopy.apply(x if x._data.dtype == np.float32 else x.float(), kind)


class Raise(Function):
    """Numbers of half precision as float32."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return wrap(x._data.copy())

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return grad_outputs[0]


def to_single(x: Tensor) -> Any:
    """Numbers of half precision as float32; all else as it is."""
    return Raise.apply(x) if isinstance(x, HalfTensor) else x
