"""Python's operators, NumPy's protocols and ndarray's methods for traced arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from autojit import places
from autojit.errors import InPlaceError, UncoveredFunctionError, with_place

from .aliasing import assign, reshape_in_place
from .hooks import hooks
from .protocol import TracedValue
from .source import user_source

_Binary = Callable[[Any, Any], Any]

#: The versions of the array API standard that `autojit.array_api` has the functions of.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
#: The device of NumPy's arrays, which the standard requires.
CPU = "cpu"


def check_device(device: Any) -> None:
    """Raise ValueError for any other device."""
    if device not in (None, CPU):
        raise ValueError(
            f"traced arrays are on the device {CPU!r}, as NumPy's are, not on {device!r}. Compiled "
            "code may run elsewhere:\n"
            '    jit(f, device="cuda")              # not: x.to_device("cuda")'
        )


def _forward(ufunc: Any) -> _Binary:
    def forward(self: TracedValue, other: Any) -> Any:
        return hooks.call_operator(ufunc, self, other)

    return forward


def _binary(ufunc: Any) -> tuple[_Binary, _Binary, _Binary]:
    """An operator, its reflection, and the one in place."""

    def backward(self: TracedValue, other: Any) -> Any:
        return hooks.call_operator(ufunc, other, self)

    def in_place(self: TracedValue, other: Any) -> Any:
        result = hooks.call_operator(ufunc, self, other)
        if result is NotImplemented or self.is_scalar:
            return result  # NumPy scalars are immutable: the name is bound anew
        if result.is_bounded:
            hooks.setitem(self, ..., result)
            return self
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

    return _forward(ufunc), backward, in_place


def _unary(ufunc: Any) -> Callable[[Any], Any]:
    def operator(self: TracedValue) -> Any:
        return hooks.call_unary_operator(ufunc, self)

    return operator


def any_may_be_none(kinds: Iterable[type]) -> bool:
    """Whether one of the operands' classes is the optional one, whose operators handle all
    operands."""
    return any(hasattr(kind, "__aj_may_be_none__") for kind in kinds)


class Operators:
    """Python's operators, each of which is a ufunc."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _binary(np.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract)
    __mul__, __rmul__, __imul__ = _binary(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__, __imod__ = _binary(np.remainder)
    __pow__, __rpow__, __ipow__ = _binary(np.power)
    __matmul__, __rmatmul__, __imatmul__ = _binary(np.matmul)
    __and__, __rand__, __iand__ = _binary(np.bitwise_and)
    __or__, __ror__, __ior__ = _binary(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _binary(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = _binary(np.left_shift)
    __rshift__, __rrshift__, __irshift__ = _binary(np.right_shift)

    __eq__ = _forward(np.equal)
    __ne__ = _forward(np.not_equal)
    __lt__ = _forward(np.less)
    __le__ = _forward(np.less_equal)
    __gt__ = _forward(np.greater)
    __ge__ = _forward(np.greater_equal)

    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self


#: The special methods that are operators.
OPERATORS = tuple(name for name, method in vars(Operators).items() if callable(method))


def _delegated(function: Any) -> Callable[..., Any]:
    """A method that calls NumPy's function on the array."""
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


def _shape_arguments(shape: tuple[Any, ...]) -> Any:
    return shape[0] if len(shape) == 1 else shape


class Flat:
    """`x.flat` of a traced array, or of one that the function has created: its elements in C order.

    >>> import autojit
    >>> def with_diagonal(x):
    ...     y = np.zeros((2, 2))
    ...     y.flat[::3] = x
    ...     return y
    >>> autojit.jit(with_diagonal)(5.0)
    array([[5., 0.],
           [0., 5.]])
    """

    __slots__ = ("base", "index")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any) -> None:
        self.base = array
        #: The number of elements that it has given as an iterator.
        self.index = 0

    def _place(self, number: Any) -> tuple[Any, ...]:
        """The index of an element in the array; a number out of range gives an index out of
        range."""
        index = []
        for size in self.base.shape[:0:-1]:
            index.append(number % size)
            number = number // size
        return (number, *reversed(index))

    def _is_number(self, index: Any) -> bool:
        dtype = getattr(index, "dtype", None) if np.ndim(index) == 0 else None
        is_integer = type(index) is int if dtype is None else dtype.kind in "iu"
        return is_integer and 0 not in self.base.shape and self.base.ndim > 0

    def __len__(self) -> int:
        size: int = self.base.size
        return size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self[self.index - 1]

    def __getitem__(self, index: Any) -> Any:
        if self._is_number(index):
            return self.base[self._place(index)]
        return self.copy()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assign values in order, starting again from the first when there are too few."""
        values = np.ravel(np.asarray(value) if isinstance(value, (list, tuple)) else value)
        if self._is_number(index):
            self.base[self._place(index)] = values[0]
            return
        line = self.copy()
        if values.size != 1:
            count = np.size(np.arange(line.size)[index])
            values = values[np.arange(count) % max(values.size, 1)]
        line[index] = values
        self.base[...] = line.reshape(self.base.shape)

    def copy(self) -> Any:
        """The elements as an array of one dimension."""
        return self.base.flatten()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.copy().__array__(*args, **kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*_lines(inputs), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_lines(args), **_lines(kwargs))


def _lines(x: Any) -> Any:
    """Arguments with the elements in place of `x.flat`."""
    if isinstance(x, Flat):
        return x.copy()
    if isinstance(x, dict):
        return {name: _lines(item) for name, item in x.items()}
    return type(x)(map(_lines, x)) if type(x) in (list, tuple) else x


def uncovered_of(function: str, library: str, theirs: str) -> UncoveredFunctionError:
    """The error for a function of another library, which works on arrays or objects of its own."""
    code = "    np.sin(x)".ljust(38) + f" # not: {theirs}"
    return UncoveredFunctionError(
        with_place(
            f"{function} is {library}'s, and traced arrays are NumPy's. Write it with NumPy:\n"
            f"{code}",
            user_source(),
        )
    )


class ArrayMethods(Operators):
    """ndarray's methods and attributes. Any that are missing here are not covered."""

    __slots__ = ()

    @property
    def shape(self: Any) -> tuple[int, ...]:
        found: tuple[int, ...] = self.own.type.shape
        return found

    @shape.setter
    def shape(self: Any, shape: Any) -> None:
        reshape_in_place(self, shape)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any_may_be_none(map(type, inputs)):
            return NotImplemented
        return hooks.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any_may_be_none(types):
            return NotImplemented
        return hooks.call_function(func, args, kwargs)

    def _sympy_(self) -> NoReturn:
        raise uncovered_of("This function", "SymPy", "sympy.sin(x)")

    def __delitem__(self, index: Any) -> NoReturn:
        words = "elements of an array cannot be deleted. Make an array without them:"
        code = "    y = np.delete(y, 0)                # not: del y[0]"
        raise ValueError(with_place(f"{words}\n{code}", user_source()))

    sum = _delegated(np.sum)
    prod = _delegated(np.prod)
    max = _delegated(np.max)
    min = _delegated(np.min)
    mean = _delegated(np.mean)
    var = _delegated(np.var)
    std = _delegated(np.std)
    cumsum = _delegated(np.cumsum)
    cumprod = _delegated(np.cumprod)
    any = _delegated(np.any)
    all = _delegated(np.all)
    argmax = _delegated(np.argmax)
    argmin = _delegated(np.argmin)
    dot = _delegated(np.dot)
    ravel = _delegated(np.ravel)
    squeeze = _delegated(np.squeeze)
    swapaxes = _delegated(np.swapaxes)
    repeat = _delegated(np.repeat)
    take = _delegated(np.take)
    trace = _delegated(np.trace)
    diagonal = _delegated(np.diagonal)
    clip = _delegated(np.clip)

    def conj(self: Any) -> Any:
        # Of a real array the method is the array, and the function makes a new one.
        return np.conj(self) if self.dtype.kind == "c" or self.is_scalar else self

    conjugate = conj
    ptp = _delegated(np.ptp)
    put = _delegated(np.put)
    round = _delegated(np.round)
    argsort = _delegated(np.argsort)
    searchsorted = _delegated(np.searchsorted)
    nonzero = _delegated(np.nonzero)

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value

    @property  # type: ignore[misc]
    def __class__(self: Any) -> Any:
        # `isinstance`, `case float()` and `singledispatch` ask for it in code that has no twin.
        return hooks.class_seen(self)

    T = property(_delegated(np.transpose))
    mT = property(_delegated(np.matrix_transpose))

    @property
    def real(self) -> Any:
        return np.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def __getitem__(self: Any, index: Any) -> Any:
        return hooks.getitem(self, index)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        hooks.setitem(self, index, value)

    def fill(self: Any, value: Any) -> None:
        hooks.fill(self, value)

    def sort(self: Any, *args: Any, **kwargs: Any) -> None:
        hooks.sort(self, *args, **kwargs)

    def astype(self: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return hooks.astype(self, dtype, *args, **kwargs)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        return hooks.view(self, dtype, type)

    def copy(self: Any, order: str = "C") -> Any:
        return hooks.copy(self, order)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def transpose(self: Any, *axes: Any) -> Any:
        if not axes or axes == (None,):
            return np.transpose(self)
        return np.transpose(self, _shape_arguments(axes))

    def reshape(self: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        return np.reshape(self, _shape_arguments(shape), order)

    def flatten(self: Any, order: Any = "C") -> Any:
        return np.copy(np.ravel(self, order), "C")

    # -- the array API standard ---------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """`autojit.array_api`, with the functions of the standard."""
        if api_version not in (None, *API_VERSIONS):
            raise ValueError(
                f"autojit has the array API standard of {API_VERSIONS[-1]}, not {api_version!r}. "
                "Request that version, or none:\n"
                "    x.__array_namespace__()            # not: api_version=..."
            )
        return importlib.import_module(places.ARRAY_API)

    @property
    def device(self) -> str:
        """The device of NumPy's arrays. The device that code runs on is an argument of ``jit``."""
        return CPU

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself for its own device; any other device is refused."""
        check_device(device)
        if stream is not None:
            raise ValueError(f"x.to_device: the device {CPU!r} has no streams: leave out stream=")
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # DLPack's number of the processor, and which one
