"""The methods and operators of tensors, which call the functions of the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.halves import in_dtype as as_dtype
from autojit.ir.core.halves import is_bfloat16, kind_of
from autojit.scalar.drawn import Drawn
from autojit.session.tracebacks import fold

from .engine import dtypes
from .engine.modes import recording
from .engine.recording import counter_of, quiet, wrap
from .engine.shapes import Device, Size
from .engine.tensor import Tensor
from .engine.views import alias, assign, check_in_place, check_overlap, needs_gradient
from .functions import (
    arranging,
    factories,
    indexing,
    linalg,
    pointwise,
    reductions,
    shaping,
    statistics,
)  # fmt: skip
from .functions.arguments import check_flags, first_flag, flags_of, refusal
from .functions.making import NUMBERS, in_dtype
from .precision import lowered

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **pointwise.FUNCTIONS, **reductions.FUNCTIONS, **shaping.FUNCTIONS, **indexing.FUNCTIONS,
    **linalg.FUNCTIONS, **statistics.FUNCTIONS, **arranging.FUNCTIONS,
}  # fmt: skip
for _name in ("matmul", "mm", "bmm", "mv", "addmm", "baddbmm", "einsum"):
    FUNCTIONS[_name] = lowered(FUNCTIONS[_name])
#: The NumPy functions that compute the same if no option is given.
_UFUNCS = {"add": np.add, "sub": np.subtract, "div": np.true_divide}
#: Functions that are not methods.
_FREE = {
    "block_diag", "cartesian_prod", "combinations", "broadcast_tensors", "column_stack", "dstack",
    "row_stack", "isin", "chain_matmul", "unfold_", "cat", "stack", "concat", "concatenate",
    "hstack", "vstack", "meshgrid", "einsum", "where",
}  # fmt: skip
#: Functions with an in-place variant.
_IN_PLACE = [
    *pointwise.FUNCTIONS, "cumsum", "cumprod", "tril", "triu", "scatter", "scatter_add",
    "index_add", "index_copy", "index_fill", "index_put", "addmm", "baddbmm",
]  # fmt: skip


#: The types that operators accept beside a tensor.
_OPERANDS = (Tensor, *NUMBERS, np.generic, np.ndarray)


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Tensor, other: Any) -> Any:
        if other.__class__ is not Tensor and other.__class__ is not float:
            if not isinstance(other, _OPERANDS):
                return NotImplemented
            other = operand(other)
        try:
            return function(self, other)
        except AttributeError:  # a matrix product with a number
            if isinstance(other, Tensor):
                raise
            return NotImplemented

    return call


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Tensor, other: Any) -> Any:
        return function(operand(other), self) if isinstance(other, _OPERANDS) else NotImplemented

    return call


def operand(x: Any) -> Any:
    """An operand with NumPy scalars as Python numbers and arrays as tensors."""
    if isinstance(x, np.ndarray):
        return factories.from_numpy(x)
    return x.item() if isinstance(x, np.generic) else x


def _is_plain(x: Tensor, other: Any) -> bool:
    """Whether NumPy can compute in place: nothing is recorded, and the result has x's type."""
    if not isinstance(x._data, np.ndarray) or (recording() and x.requires_grad):
        return False
    if not isinstance(other, Tensor):
        return isinstance(other, (int, float)) and x._data.dtype.kind == "f"
    y = other._data
    if not isinstance(y, np.ndarray) or (recording() and other.requires_grad):
        return False
    same = y.dtype == x._data.dtype and not is_bfloat16(y.dtype)
    return same and y.shape in (x._data.shape, ())


def _in_place(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    ufunc = _UFUNCS.get(getattr(function, "__name__", ""), getattr(function, "ufunc", None))

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            check_in_place(self)
            check_overlap(self)
        except RuntimeError as error:
            fold(error)
            raise
        if ufunc is not None and not kwargs and len(args) == 1 and _is_plain(self, args[0]):
            other = args[0]._data if isinstance(args[0], Tensor) else args[0]
            with quiet():
                ufunc(self._data, other, out=self._data)
            counter_of(self)[0] += 1
            return self
        # The operation reads the tensor as it was before the change.
        before = alias(self) if recording() and needs_gradient(self, *args) else self
        try:
            new = function(before, *args, **kwargs)
        except AttributeError as error:
            raise refusal(name, function, error, (before, *args), kwargs) or error from None
        if (
            new.dtype is not self.dtype
            and self._data.dtype.kind in "biu"
            and new.dtype.is_floating_point
        ):
            raise RuntimeError(
                f"result type {new.dtype.name} can't be cast to the desired output type "
                f"{self.dtype.name}"
            )
        if tuple(new.shape) != tuple(self.shape):
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                f"{list(new.shape)}"
            )
        return assign(self, in_dtype(new, self._data.dtype))

    return call


def _operators() -> None:
    f = FUNCTIONS
    pairs = {
        "add": f["add"], "sub": f["sub"], "mul": f["mul"], "truediv": f["div"], "pow": f["pow"],
        "mod": f["remainder"], "floordiv": f["floor_divide"], "matmul": f["matmul"],
        "and": f["bitwise_and"], "or": f["bitwise_or"], "xor": f["bitwise_xor"],
    }  # fmt: skip
    for name, f2 in pairs.items():
        setattr(Tensor, f"__{name}__", _operator(f2))
        setattr(Tensor, f"__r{name}__", _reflected(f2))
        setattr(Tensor, f"__i{name}__", _in_place(f"__i{name}__", f2))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", _compared(f[name]))
    for name, function in (("neg", f["neg"]), ("pos", f["positive"]), ("abs", f["abs"]),
                           ("invert", f["bitwise_not"])):  # fmt: skip
        setattr(Tensor, f"__{name}__", _alone(function))
    for name, function in (("getitem", indexing.getitem), ("setitem", indexing.setitem)):
        setattr(Tensor, f"__{name}__", function)


def _alone(function: Callable[..., Any]) -> Callable[[Tensor], Any]:
    return lambda self: function(self)


def _compared(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Tensor, other: Any) -> Any:
        return function(self, operand(other)) if isinstance(other, _OPERANDS) else NotImplemented

    return call


def _set(name: str) -> Callable[[Any], Any]:
    def put(function: Any) -> Any:
        setattr(Tensor, name, function)
        return function

    return put


def _methods() -> None:
    for name, function in {**FUNCTIONS, **shaping.METHODS}.items():
        if name not in _FREE and not hasattr(Tensor, name):
            setattr(Tensor, name, _method(name, function))
    for name in _IN_PLACE:
        if name not in _FREE and name not in ("clone", "equal", "allclose", "isclose"):
            setattr(Tensor, f"{name}_", _in_place(f"{name}_", FUNCTIONS[name]))
    for name, kind in dtypes.ALIASES.items():
        if not hasattr(Tensor, name):
            setattr(Tensor, name, _to(kind))
    _set("bool")(_to(dtypes.bool_))


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    bools = flags_of(function)
    first = first_flag(bools) - 1

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if (kwargs and not bools.keys().isdisjoint(kwargs)) or len(args) > first:
            check_flags(name, bools, (self, *args), kwargs)
        try:
            return function(self, *args, **kwargs)
        except Exception as error:
            found = refusal(name, function, error, (self, *args), kwargs)
            if found is None:
                raise
            raise found from None

    call.__doc__ = function.__doc__
    return call


def _to(kind: dtypes.dtype) -> Callable[[Tensor], Tensor]:
    return lambda self: in_dtype(self, dtypes.numpy_dtype(kind))


@_set("to")
def _to_any(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    """The tensor in another dtype."""
    for a in args:
        if isinstance(a, Tensor):
            dtype = a.dtype
        elif isinstance(a, dtypes.dtype):
            dtype = a
        elif isinstance(a, (str, Device)):
            device = a
        elif a is not None and not isinstance(a, bool):
            raise TypeError(f"to(): argument 1 must be torch.dtype, str or Tensor, not {a!r:.40}")
    if device is not None:
        Device(str(device))
    return self if dtype is None else in_dtype(self, dtypes.numpy_dtype(dtype))


@_set("type")
def _type(self: Tensor, dtype: Any = None) -> Any:
    """The tensor in another dtype, or the name of its type if no dtype is given."""
    name = {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int"}
    word = name.get(self.dtype.name, self.dtype.name.title())
    return f"torch.{word}Tensor" if dtype is None else _to_any(self, dtype)


@_set("__init__")
def _begin(self: Tensor, data: Any = ()) -> None:
    """Initialize a tensor from data, in the default dtype."""
    made = factories.tensor(data, dtype=dtypes.default.float)
    for name in (
        "_data",
        "_needs",
        "_edge",
        "_grad",
        "_counter",
        "_base",
        "_accumulate_ref",
        "_hooks",
    ):
        setattr(self, name, getattr(made, name))


@_set("size")
def _size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one axis."""
    return self.shape if dim is None else self.shape[dim]


@_set("masked_fill_")
def _masked_fill_in_place(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    return assign(self, pointwise.masked_fill(self, mask, value))


@_set("fill_diagonal_")
def _fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Fill the diagonal with a number, in place."""
    n = min(self.shape)
    k = np.arange(n)
    self[tuple([factories.from_numpy(k)] * self.ndim)] = fill_value
    return self


@_set("copy_")
def _copy(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copy the values of another tensor into this one."""
    new = in_dtype(src, self._data.dtype)
    return assign(self, shaping.expand(new, *self.shape) if new.shape != self.shape else new)


def _constant(value: Callable[..., Any]) -> Callable[..., Tensor]:
    def call(self: Tensor, *args: Any) -> Tensor:
        return assign(self, wrap(as_dtype(value(*args), self._data.dtype)))

    return call


def _drawn(draw: Callable[..., Any]) -> Callable[..., Tensor]:
    def call(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        source = (generator or factories.default_generator).numbers
        drawn = draw(source, self._data.shape, *args, **named)
        return assign(self, wrap(as_dtype(drawn, self._data.dtype)))

    return call


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _uniform(source: Any, shape: Any, low: float = 0.0, high: float = 1.0, **named: float) -> Any:
    low = named.get("a", named.get("from", low))
    return source.uniform(low, named.get("b", named.get("to", high)), shape)


_set("fill_")(_constant(_number))
_set("zero_")(_constant(lambda: 0))
_set("uniform_")(_drawn(_uniform))
_set("normal_")(_drawn(lambda g, shape, mean=0.0, std=1.0: g.normal(mean, std, shape)))
_set("exponential_")(_drawn(lambda g, shape, lambd=1.0: g.exponential(1 / lambd, shape)))
_set("random_")(_drawn(lambda g, shape, low=0, high=2**24: g.integers(low, high, shape)))
_set("bernoulli_")(_drawn(lambda g, shape, p=0.5: g.random(shape) < p))


@_set("item_size")
def _element_size(self: Tensor) -> int:
    return int(self._data.dtype.itemsize)


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row-major order, else a copy in that order."""
    array = self._data
    in_order = not isinstance(array, np.ndarray) or array.flags.c_contiguous
    return self if in_order else pointwise.clone(self)


def _simple() -> None:
    simple: dict[str, Callable[..., Any]] = {
        "dim": lambda self: self.ndim, "numel": lambda self: self._data.size,
        "nelement": lambda self: self._data.size, "element_size": _element_size,
        "ndimension": lambda self: self.ndim,
        "contiguous": _contiguous, "cpu": lambda self: self,
        "is_contiguous": lambda self: bool(self._data.flags.c_contiguous),
        "is_floating_point": lambda self: kind_of(self._data.dtype) == "f",
        "is_complex": lambda self: self._data.dtype.kind == "c",
        "stride": lambda self: tuple(s // self._data.itemsize for s in self._data.strides),
        "storage_offset": lambda self: 0,
        "data_ptr": lambda self: self._data.ctypes.data,
        "new_tensor": lambda self, data, **o: factories.tensor(data, **{"dtype": self.dtype, **o}),
        "new_zeros": lambda self, *s, **o: factories.zeros(*s, **{"dtype": self.dtype, **o}),
        "new_ones": lambda self, *s, **o: factories.ones(*s, **{"dtype": self.dtype, **o}),
        "new_empty": lambda self, *s, **o: factories.empty(*s, **{"dtype": self.dtype, **o}),
        "new_full": lambda self, s, v, **o: factories.full(s, v, **{"dtype": self.dtype, **o}),
        "where": lambda self, condition, other: pointwise.where(condition, self, other),
        "requires_grad_": Tensor.requires_grad_,
        "type_as": lambda self, other: _to_any(self, other),
        "is_same_size": lambda self, other: self.shape == other.shape,
        "sum_to_size": _sum_to_size,
    }  # fmt: skip
    for name, function in simple.items():
        setattr(Tensor, name, function)
    for name, function in {
        "T": lambda self: shaping.permute(self, *range(self.ndim)[::-1]),
        "mT": lambda self: shaping.transpose(self, -2, -1),
        "H": lambda self: FUNCTIONS["conj"](shaping.transpose(self, 0, 1)),
        "real": lambda self: FUNCTIONS["real"](self),
        "imag": lambda self: FUNCTIONS["imag"](self),
        "itemsize": _element_size,
        "nbytes": lambda self: int(self._data.nbytes),
        "mH": lambda self: FUNCTIONS["adjoint"](self),
        "is_view": lambda self: self._base is not None,
    }.items():
        setattr(Tensor, name, property(function))


def _sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the axes along which ``size`` was broadcast."""
    target = Size(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)
    extra = self.ndim - len(target)
    dims = [*range(extra)]
    dims += [k + extra for k, n in enumerate(target) if n == 1 and self.shape[k + extra] != 1]
    if not dims:
        return self
    return shaping.reshape(reductions.sum(self, tuple(dims), True), *target)


_operators()
_simple()
_methods()


for _name in ("_repr_svg_", "_repr_html_"):
    setattr(Tensor, _name, vars(Drawn)[_name])
