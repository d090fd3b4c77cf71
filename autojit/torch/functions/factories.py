"""Functions that make tensors: from data, constants and random numbers."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.spelling import closest
from autojit.torch.engine import dtypes
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.shapes import Device
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.widening import cast, computable, plain
from autojit.tracing.tracer import Tracer

from .kinds_of_arguments import is_number, whole_sizes


def _finished(array: Any, dtype: Any, requires_grad: bool, device: Any = None) -> Tensor:
    if device is not None:
        Device(str(device))
    if dtype is not None:
        kind = dtypes.numpy_dtype(dtype)
        array = array if array.dtype == kind else cast(array, kind)
    made: Tensor = wrap(array)
    if requires_grad and kind_of(array.dtype) not in "fc":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_() if requires_grad else made


def _array(data: Any, dtype: Any) -> Any:
    """Data as an array in the dtype that PyTorch infers; unconverted if ``dtype`` is given."""
    if isinstance(data, Tensor):
        data = data._data
    if isinstance(data, Tracer):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        dtypes.of(data.dtype)
        return np.array(data)
    if isinstance(data, (list, tuple)) and data and not _is_plain(data):
        return np.stack([_array(x, dtype) for x in data])
    array = np.array(data)
    if array.dtype.kind in "OSUMm":
        raise TypeError(f"new(): data must be numbers or nested lists of numbers, not {data!r:.60}")
    if dtype is not None:
        return array
    real: np.dtype = dtypes.default.float.numpy
    if array.dtype.kind == "c":
        return array.astype(np.result_type(real, np.complex64))
    is_real = kind_of(array.dtype) == "f"
    return array.astype(real) if is_real or not array.size else array


def _is_plain(data: Any) -> bool:
    first = data[0]
    if isinstance(first, (list, tuple)):
        return not first or _is_plain(first)
    return not any(isinstance(x, (Tensor, np.ndarray, np.generic, Tracer)) for x in data)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of the data.

    >>> from autojit import torch
    >>> torch.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    return _finished(_array(data, dtype), dtype, requires_grad, device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor that shares memory with the data if possible."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        dtypes.of(data.dtype)
        return _finished(data, dtype, False, device)
    return tensor(data, dtype=dtype)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares memory with an array."""
    dtypes.of(ndarray.dtype)
    return _finished(ndarray, None, False)


#: Further parameters of PyTorch's factories, which have no effect here.
_IDLE = frozenset({"size", "out", "names", "layout", "pin_memory", "memory_format", "generator"})


def _check_names(given: Any) -> None:
    for name in given:
        if name not in _IDLE:
            close = closest(name, ("size", "dtype", "device", "requires_grad"))
            raise TypeError(f"argument {name!r} is none that it has.{close}")


def _factory(make: Callable[..., Any]) -> Callable[..., Tensor]:
    def call(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
             **_: Any) -> Tensor:  # fmt: skip
        _check_names(_)
        if "size" in _:
            size = (_["size"],)
        kind = dtypes.numpy_dtype(dtype or dtypes.default.float)
        return _finished(make(whole_sizes(size), computable(kind)), kind, requires_grad, device)

    return call


zeros: Callable[..., Tensor] = _factory(np.zeros)
ones: Callable[..., Tensor] = _factory(np.ones)
empty: Callable[..., Tensor] = _factory(np.zeros)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A tensor filled with one number."""
    _check_number(fill_value, "fill_value")
    kind = dtypes.result_type([fill_value]) if dtype is None else dtypes.numpy_dtype(dtype)
    return _finished(
        np.full(whole_sizes((size,)), fill_value, computable(kind)), kind, requires_grad, device
    )


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A number as a tensor without axes, in the default dtype."""
    made: Tensor = full((), s, dtype=dtype or dtypes.default.float, device=device,
                        requires_grad=requires_grad)  # fmt: skip
    return made


def _check_number(x: Any, name: str) -> None:
    if not is_number(x):
        raise TypeError(f"argument '{name}' must be Number, not {type(x).__name__}")


def arange(
    *bounds: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers in equal steps."""
    for bound in bounds:
        _check_number(bound, "end")
    kind = dtype or (float if any(isinstance(b, (float, np.floating)) for b in bounds) else int)
    return _finished(
        np.arange(*bounds, dtype=computable(dtypes.numpy_dtype(kind))), kind, requires_grad, device
    )


def linspace(start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Evenly spaced numbers, including both ends."""
    _check_number(start, "start")
    _check_number(end, "end")
    kind = dtypes.numpy_dtype(dtype or dtypes.default.float)
    return _finished(
        np.linspace(start, end, steps, dtype=computable(kind)), kind, requires_grad, device
    )


def logspace(start: float, end: float, steps: int, base: float = 10.0, **options: Any) -> Tensor:
    """Powers of a base with evenly spaced exponents."""
    kind = dtypes.numpy_dtype(options.pop("dtype", None) or dtypes.default.float)
    return _finished(np.logspace(start, end, steps, base=base, dtype=computable(kind)), kind, False)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The identity matrix."""
    kind = dtypes.numpy_dtype(dtype or dtypes.default.float)
    return _finished(np.eye(n, m, dtype=computable(kind)), kind, requires_grad, device)


class Generator:
    """An independent source of random numbers."""

    def __init__(self, device: Any = "cpu") -> None:
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        """Restart from a seed."""
        self._seed = int(seed)
        self.numbers = np.random.Generator(np.random.PCG64(self._seed % 2**63))
        return self

    def initial_seed(self) -> int:
        """The seed from which it was last started."""
        return self._seed

    def get_state(self) -> Any:
        """The current state."""
        return self.numbers.bit_generator.state

    def set_state(self, state: Any) -> None:
        """Continue from a state."""
        self.numbers.bit_generator.state = state


default_generator: Generator = Generator()
default_generator.manual_seed(secrets.randbits(62))


def manual_seed(seed: int) -> Generator:
    """Restart the default generator from a seed; its numbers differ from PyTorch's."""
    return default_generator.manual_seed(seed)


def _random(draw: Callable[..., Any], part: float) -> Callable[..., Tensor]:
    """A function that draws a tensor of given sizes; the real and imaginary parts of complex
    numbers are drawn numbers times ``part``."""

    def call(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
        source = (generator or default_generator).numbers
        kind = dtypes.numpy_dtype(dtype or dtypes.default.float)
        if kind.kind == "c":
            wide = np.dtype(f"f{kind.itemsize // 2}")
            parts = [draw(source, whole_sizes(size), wide) for _ in range(2)]
            drawn = np.asarray(parts[0] + 1j * parts[1], kind) * kind.type(part)
        else:
            wide = kind if kind.itemsize in (4, 8) else np.dtype(np.float32)
            drawn = np.asarray(draw(source, whole_sizes(size), wide), wide)
        return _finished(drawn, kind, requires_grad, device)

    return call


rand: Callable[..., Tensor] = _random(lambda g, size, d: g.random(size, d), 1.0)
randn: Callable[..., Tensor] = _random(lambda g, size, d: g.standard_normal(size, d), 0.5**0.5)


def randint(*arguments: Any, generator: Generator | None = None, dtype: Any = None,
            device: Any = None, requires_grad: bool = False, **named: Any) -> Tensor:  # fmt: skip
    """Random integers from ``low`` (0) to below ``high``: ``randint(low, high, size)``."""
    *bounds, size = arguments if "size" not in named else (*arguments, named["size"])
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    source = (generator or default_generator).numbers
    drawn = np.asarray(source.integers(low, high, tuple(size)))
    return _finished(drawn, dtype, requires_grad, device)


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None,
             device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:  # fmt: skip
    """The integers below n in random order."""
    drawn = (generator or default_generator).numbers.permutation(n)
    return _finished(drawn, dtype, requires_grad, device)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *,
           generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Normal random numbers."""
    m, s = (x._data if isinstance(x, Tensor) else x for x in (mean, std))
    source = (generator or default_generator).numbers
    shape = np.broadcast_shapes(np.shape(m), np.shape(s)) if size is None else tuple(size)
    return _finished(
        np.asarray(m + s * source.standard_normal(shape), dtypes.default.float.numpy), None, False
    )


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the given probabilities, else 0."""
    source = (generator or default_generator).numbers
    drawn = source.random(input._data.shape) < plain(input._data)
    return _finished(np.asarray(drawn), input._data.dtype, False)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Indices, drawn with probabilities proportional to the weights in each row."""
    source = (generator or default_generator).numbers
    rows = np.atleast_2d(input._data).astype(float)
    drawn = [source.choice(len(r), num_samples, replacement, r / r.sum()) for r in rows]
    return _finished(np.asarray(drawn[0] if input.ndim == 1 else drawn), None, False)


def _like(factory: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(input: Tensor, *more: Any, dtype: Any = None, **options: Any) -> Tensor:
        options.pop("memory_format", None)
        return factory(*more, tuple(input._data.shape), dtype=dtype or input.dtype, **options)

    return call


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """A tensor filled with one number, with the shape and dtype of another tensor."""
    return full(tuple(input._data.shape), fill_value, dtype=dtype or input.dtype, **options)


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their parts."""
    from .pointwise import add, mul

    return add(real, mul(imag, 1j))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tensor": tensor, "as_tensor": as_tensor, "asarray": as_tensor, "from_numpy": from_numpy,
    "zeros": zeros, "ones": ones, "empty": empty, "full": full, "arange": arange,
    "linspace": linspace, "logspace": logspace, "eye": eye, "rand": rand, "randn": randn,
    "randint": randint, "randperm": randperm, "normal": normal, "bernoulli": bernoulli,
    "multinomial": multinomial, "manual_seed": manual_seed, "zeros_like": _like(zeros),
    "ones_like": _like(ones), "empty_like": _like(empty), "full_like": full_like,
    "rand_like": _like(rand), "randn_like": _like(randn), "randint_like": _like(randint),
    "complex": complex, "scalar_tensor": scalar_tensor,
}  # fmt: skip
pi: float = math.pi
inf: float = math.inf
nan: float = math.nan
e: float = math.e
