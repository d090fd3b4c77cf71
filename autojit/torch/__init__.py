"""PyTorch's define-by-run interface, on autojit's engine.

Operations compute at once with NumPy and record a graph; ``backward()`` runs the programs that
``ir/autodiff`` derives from the operations.  In autojit's transformations a tensor wraps a traced
array, and the traced program contains no tensors.

>>> from autojit import torch
>>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x**2).sum()
>>> y
tensor(14., grad_fn=<SumBackward0>)
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.spelling import MissingName

from . import amp, autograd, distributions, func, nn, optim, profiler, utils
from .compiling import compile
from .engine.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    numpy_dtype,
    set_default_dtype,
    uint8,
)
from .engine.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .engine.shapes import Device as device
from .engine.shapes import Size
from .engine.tensor import Tensor
from .functions.arguments import checked as _checked
from .functions.arranging import FACTORIES as _INDICES
from .functions.factories import FUNCTIONS as _FACTORIES
from .functions.factories import Generator, e, inf, nan, pi
from .functions.linalg import linalg
from .functions.shaping import broadcast_to
from .functions.transforms import fft, special
from .methods import FUNCTIONS as _FUNCTIONS
from .nn import utils as _nn_utils  # noqa: F401 - the import makes it an attribute of nn
from .saving import load, save

bool: dtype = bool_
double: dtype = float64
float: dtype = float32
half: dtype = float16
long: dtype = int64
int: dtype = int32
short: dtype = int16
cfloat: dtype = complex64
cdouble: dtype = complex128
globals().update({name: _checked(name, function) for name, function in _FUNCTIONS.items()})
for _table in (_FACTORIES, _INDICES):
    globals().update(
        {n: _checked(n, f) if isinstance(f, FunctionType) else f for n, f in _table.items()}
    )
for _name in ("dropout", "celu", "selu", "prelu", "threshold", "layer_norm", "batch_norm",
              "group_norm", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d",
              "cosine_similarity", "pairwise_distance", "bilinear", "instance_norm",
              "pixel_shuffle"):  # fmt: skip
    globals()[_name] = getattr(nn.functional, _name)
vmap = func.vmap
func.register(nn.Parameter)
func.register(nn.Buffer)
autocast = amp.autocast


class cuda:
    """``torch.cuda``: eager tensors are in CPU memory."""

    @staticmethod
    def is_available() -> Any:
        """Whether eager tensors can be on a GPU: always False."""
        return False

    @staticmethod
    def device_count() -> Any:
        """The number of GPUs for eager tensors: always 0."""
        return 0

    @staticmethod
    def empty_cache() -> None:
        """Do nothing: there is no GPU memory to release."""

    @staticmethod
    def synchronize(device: Any = None) -> None:
        """Do nothing: an operation returns only when its results are complete."""


def is_tensor(x: Any) -> Any:
    """Whether x is a tensor."""
    return isinstance(x, Tensor)


def numel(input: Tensor) -> Any:
    """The number of elements of a tensor."""
    return input._data.size


def is_floating_point(input: Tensor) -> Any:
    """Whether a tensor holds floats."""
    return kind_of(input._data.dtype) == "f"


def is_complex(input: Tensor) -> Any:
    """Whether a tensor holds complex numbers."""
    return input._data.dtype.kind == "c"


def finfo(type: dtype | None = None) -> Any:
    """The limits of a dtype of floats."""
    return np.finfo(numpy_dtype(type or get_default_dtype()))


def iinfo(type: dtype) -> Any:
    """The limits of a dtype of integers."""
    return np.iinfo(numpy_dtype(type))


def result_type(a: Any, b: Any) -> dtype:
    """The common dtype of two operands."""
    from .engine import dtypes

    return dtypes.of(dtypes.result_type([x._data if isinstance(x, Tensor) else x for x in (a, b)]))


def detach(input: Tensor) -> Tensor:
    """A tensor that shares memory with another, without recorded history."""
    return input.detach()


def set_printoptions(**_: Any) -> None:
    """Raise: PyTorch's print settings are not covered."""
    raise NotImplementedError("torch.set_printoptions is not covered; print x.numpy() instead.")


def __getattr__(name: str) -> Any:
    raise MissingName("torch", name, globals())


__all__ = [
    "Generator", "Size", "Tensor", "amp", "autograd", "bfloat16", "broadcast_to", "compile", "cuda",
    "device", "distributions", "dtype", "e", "enable_grad", "fft", "float16", "float32", "float64",
    "func",
    "get_default_dtype", "inf", "inference_mode", "int8", "int16", "is_grad_enabled",
    "is_inference_mode_enabled", "linalg", "load", "nan", "nn", "no_grad", "optim", "pi",
    "profiler", "save", "set_default_dtype", "set_grad_enabled", "special", "uint8", "utils",
]  # fmt: skip
