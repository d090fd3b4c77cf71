"""The class of arrays on a card, and their copies to and from the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autojit.ir.core.halves import BFLOAT16, converted, shown
from autojit.ir.core.types import Type

if TYPE_CHECKING:
    from .driver.card import Card
    from .driver.failures import Calls
    from .driver.memory import Memory

_types: dict[Type, Type] = {}


def interned(type: Type) -> Type:
    """One object for all equal types, so that types can be compared by identity."""
    return _types.setdefault(type, type)


class Operations:
    """The compiled operations of arrays on a card.

    The layer that has ``jit`` sets them; ``load`` imports it.
    """

    load: Callable[[], Any]
    #: ``(ufunc, method, inputs, kwargs)``, ``(function, args, kwargs)`` and ``(array, index)``.
    call_ufunc: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
    call_function: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    getitem: Callable[[Any, Any], Any]
    #: A method or attribute that this class lacks: NumPy's function of that name, compiled.
    attribute: Callable[[Any, str], Any]
    #: Restores a pickled array from its numbers and its device.
    restore: Callable[[np.ndarray, str], Any]


def _operations() -> type[Operations]:
    if not hasattr(Operations, "call_ufunc"):
        Operations.load()
    return Operations


class DeviceArray:
    """An array in the memory of a GPU.

    ``autojit.device_put`` makes one, and compiled functions return them if an argument is one.  It
    cannot be written to: each operation makes a new array.  Its numbers are copied to the host when
    they are needed: by ``np.asarray(x)``, ``autojit.device_get(x)``, ``float(x)``, ``print(x)``.
    An error on the GPU is raised then, not at the launch.
    """

    __slots__ = ("__weakref__", "calls", "card", "memory", "pointer", "type")

    def __init__(self, type: Type, memory: Memory, calls: Calls | None = None) -> None:
        #: A type from :func:`interned`.
        self.type = type
        self.memory = memory
        self.pointer: int = memory.pointer
        self.card: Card = memory.card
        #: The calls that include the one that made this array, if that one may fail.
        self.calls = calls

    # -- attributes ---------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return self.type.ndim

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def itemsize(self) -> int:
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.type.nbytes

    @property
    def device(self) -> str:
        """The name of the device, for example ``"cuda:0"``."""
        return self.card.name

    # -- to the host --------------------------------------------------------

    def host(self) -> np.ndarray:
        """A copy as a NumPy array; raises the error if the computation has failed."""
        made = np.empty(self.shape, self.dtype)
        self.card.read(self.pointer, made)
        self.card.synchronize()
        self.check()
        return shown(made) if self.dtype is BFLOAT16 else made

    def check(self) -> None:
        """Raise the error of the calls that made this array, if one is known."""
        if self.calls is not None and self.calls.error is not None:
            raise self.calls.error

    def block_until_ready(self) -> DeviceArray:
        """Wait until the array is computed, for measurements, and return it; raises errors."""
        self.card.synchronize()
        self.check()
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                f"an array on {self.device} cannot be one of NumPy's without a copy:\n"
                "    np.asarray(x)                      # not: np.asarray(x, copy=False)"
            )
        made = self.host()
        return made if dtype is None or made.dtype == dtype else converted(made, np.dtype(dtype))

    def item(self, *index: Any) -> Any:
        return self.host().item(*index)

    def tolist(self) -> Any:
        return self.host().tolist()

    def __float__(self) -> float:
        return float(self.host())

    def __int__(self) -> int:
        return int(self.host())

    def __complex__(self) -> complex:
        return complex(self.host())

    def __bool__(self) -> bool:
        return bool(self.host())

    def __index__(self) -> int:
        return self.host().__index__()

    def __format__(self, spec: str) -> str:
        return format(self.host()[()] if not self.shape else self.host(), spec)

    def __repr__(self) -> str:
        words = np.array2string(self.host(), separator=", ", prefix="DeviceArray(")
        return f"DeviceArray({words}, dtype={self.dtype.name}, device={self.device!r})"

    def __reduce__(self) -> Any:
        return _operations().restore, (self.host(), self.device)

    def __copy__(self) -> DeviceArray:
        return self

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return self

    # -- to others on the card ----------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.card.is_host:
            raise AttributeError("the simulator's arrays lie in the host's memory")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": self.card.stream,
            "version": 3,
        }

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:  # fmt: skip
        from .dlpack import exported

        return exported(self, stream, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        from .dlpack import device_of

        return device_of(self.card)

    # -- arithmetic ---------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _operations().call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _operations().call_function(func, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return _operations().getitem(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "arrays on a GPU are not written to. Make a new one in a compiled function:\n"
            "    def f(x, v):\n        y = x.copy()\n        y[i] = v\n        return y\n"
            "    x = jit(f)(x, v)                   # not: x[i] = v"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _operations().attribute(self, name)

    __hash__ = None  # type: ignore[assignment]


def _operator(ufunc: Any, *, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: DeviceArray, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", True) is None:
            return NotImplemented
        return ufunc(other, self) if reflected else ufunc(self, other)

    return operator


def _unary(ufunc: Any) -> Callable[[Any], Any]:
    return lambda self: ufunc(self)


_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
_COMPARED = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

for _name, _ufunc in _BINARY.items():
    setattr(DeviceArray, f"__{_name}__", _operator(_ufunc))
    setattr(DeviceArray, f"__r{_name}__", _operator(_ufunc, reflected=True))
for _name, _ufunc in _COMPARED.items():
    setattr(DeviceArray, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(DeviceArray, f"__{_name}__", _unary(_ufunc))


def uploaded(array: np.ndarray, card: Card) -> DeviceArray:
    """A copy of a NumPy array on a card."""
    from autojit.ir.core.types import canonical_dtype

    dtype = canonical_dtype(array.dtype)
    exact = np.ascontiguousarray(array, dtype).reshape(array.shape)
    return DeviceArray(interned(Type(dtype, exact.shape)), card.upload(exact))


def to_host(arrays: Sequence[DeviceArray]) -> list[Any]:
    """Arrays on a card as NumPy arrays, or NumPy scalars if they have no axes.  Waits once."""
    made = [np.empty(a.shape, a.dtype) for a in arrays]
    for array, into in zip(arrays, made, strict=True):
        array.card.read(array.pointer, into)
    for card in {id(a.card): a.card for a in arrays}.values():
        card.synchronize()
    for array in arrays:
        array.check()
    made = [shown(into) if into.dtype is BFLOAT16 else into for into in made]
    return [into if into.ndim else into[()] for into in made]
