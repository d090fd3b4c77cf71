"""The functions of CUDA's driver come from its library, or from Python functions in its place."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

from autojit.codegen.loop_ir.errors import TargetError

from .prototypes import DEINITIALIZED, OUT_OF_MEMORY, PROTOTYPES, SUCCESS, c_types

#: The result code of a Python function in the driver's place that has raised an exception.
RAISED = 999

_NAMES = ("nvcuda.dll",) if os.name == "nt" else ("libcuda.so.1", "libcuda.so")


class DriverError(TargetError):
    """A function of CUDA's driver has failed."""


class Library:
    """The driver's functions, with failures raised as exceptions.

    ``address(name)`` is for machine code that calls a function directly; its result code must then
    be passed to :meth:`check`.
    """

    def __init__(self, functions: Mapping[str, Any], *, is_host: bool = False) -> None:
        #: Whether the memory that the library allocates is the host's.
        self.is_host = is_host
        #: Exceptions from Python functions, until the caller raises them again.
        self.raised: list[BaseException] = []
        self._functions = functions

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raise DriverError unless it returns CUDA_SUCCESS."""
        code = self._functions[name](*arguments)
        if code:
            self.check(code, name)

    def asked(self, name: str, kind: Any, *arguments: Any) -> Any:
        """Call a function, and return the value that it writes to the address in its first
        argument; ``kind`` is the value's ctypes type."""
        found = kind()
        self.call(name, ctypes.addressof(found), *arguments)
        return found.value

    def address(self, name: str) -> int:
        """The address of a function."""
        return ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0

    def check(self, code: int, name: str) -> None:
        """Raise the error for a result code; ``name`` is the function that returned it."""
        if code == SUCCESS:
            return
        if self.raised:
            error = self.raised.pop()
            self.raised.clear()
            raise error
        if code == OUT_OF_MEMORY:
            raise MemoryError("the GPU has no memory left for this")
        raise DriverError(f"CUDA's driver failed in {name}: {self._words(code)}")

    def tried(self, name: str, *arguments: Any) -> bool:
        """Call a clean-up function, ignoring errors; False if the driver is shut down already."""
        code = int(self._functions[name](*arguments))
        return code != DEINITIALIZED

    def _words(self, code: int) -> str:
        words = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            found = ctypes.c_char_p()
            if not self._functions[name](code, ctypes.addressof(found)) and found.value:
                words.append(found.value.decode())
        return ": ".join(words) or f"error {code}"


def of_python(functions: Mapping[str, Callable[..., Any]], *, is_host: bool) -> Library:
    """A library of Python functions, which return None and may raise.

    They receive pointers as addresses.
    """
    made: dict[str, Any] = {}
    library = Library(made, is_host=is_host)
    for name in PROTOTYPES:
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *c_types(name))
        made[name] = kind(_callback(functions.get(name), name, library.raised))
    return library


def _callback(
    function: Callable[..., Any] | None, name: str, raised: list[BaseException]
) -> Callable[..., int]:
    def call(*arguments: Any) -> int:
        try:
            if function is None:
                raise NotImplementedError(name)
            function(*arguments)
        except BaseException as error:
            raised.append(error)
            return RAISED
        return SUCCESS

    return call


def of_driver() -> Library | None:
    """CUDA's driver, or None if it is not installed."""
    for name in _NAMES:
        try:
            loaded = ctypes.CDLL(name)
        except OSError:
            continue
        functions = {}
        for each in PROTOTYPES:
            function = getattr(loaded, each, None)
            if function is None:
                raise TargetError(
                    f"CUDA's driver has no function {each}: it is older than CUDA 12. Install a "
                    "newer driver:\n    https://www.nvidia.com/drivers"
                )
            function.argtypes, function.restype = c_types(each), ctypes.c_int
            functions[each] = function
        return Library(functions)
    return None


def write(address: int | None, value: int, kind: Any = ctypes.c_uint64) -> None:
    """Write a number to an address, as the driver's functions return their results."""
    assert address is not None
    kind.from_address(address).value = value
