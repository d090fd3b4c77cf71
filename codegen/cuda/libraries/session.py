"""A session has the libraries' handles, plans and algorithms for one stream of a card."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Protocol

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.locks import Lock

from .prototypes import DATA_TYPES

#: The meaning of statuses, by library.
_STATUSES: dict[str, dict[int, str]] = {
    "cublas": {
        1: "not initialized", 3: "no memory", 7: "invalid value", 8: "not for this card",
        11: "memory cannot be accessed", 13: "execution failed", 14: "internal error",
        15: "not supported", 16: "no license",
    },
    "cusolver": {
        1: "not initialized", 2: "no memory", 3: "invalid value", 4: "not for this card",
        5: "memory cannot be accessed", 6: "execution failed", 7: "internal error",
        8: "matrix type not supported", 9: "not supported", 31: "invalid workspace",
    },
    "cufft": {
        1: "invalid plan", 2: "no memory", 3: "invalid type", 4: "invalid value",
        5: "internal error", 6: "execution failed", 7: "setup failed", 8: "invalid size",
        9: "unaligned data", 11: "invalid device", 13: "no workspace", 14: "not implemented",
        16: "not supported",
    },
}  # fmt: skip
_STATUSES["cublasLt"], _STATUSES["cusolverEig"] = _STATUSES["cublas"], _STATUSES["cusolver"]
_NO_MEMORY = {"cublas": 3, "cublasLt": 3, "cusolver": 2, "cusolverEig": 2, "cufft": 2}

#: The functions that make handles.
_CREATE = {
    "cublasLt": "cublasLtCreate", "cublas": "cublasCreate_v2", "cusolver": "cusolverDnCreate",
}  # fmt: skip
#: The functions that set the stream of a handle; cuBLASLt gets it with each product.
_SET_STREAM = {"cublas": "cublasSetStream_v2", "cusolver": "cusolverDnSetStream"}


class LibraryError(TargetError):
    """A function of NVIDIA's libraries has failed."""


class Opened(Protocol):
    """Functions of libraries, by library and name."""

    def __getitem__(self, library: str) -> Mapping[str, Any]: ...


class Solving:
    """The workspaces of a routine of cuSOLVER, on the card and on the host."""

    def __init__(self, nbytes: int, on_host: int) -> None:
        self.nbytes = nbytes
        self.on_host = on_host
        self._memory = (ctypes.c_uint8 * on_host)() if on_host else None

    @property
    def host(self) -> int | None:
        """The address of the workspace on the host."""
        return None if self._memory is None else ctypes.addressof(self._memory)


class Session:
    """Handles for one stream, made at their first use; the card's context must be current.

    Handles are not shared among streams: work launched through a handle runs on its stream.  They
    are never destroyed, since libraries may be unloaded before their handles when the process ends.
    """

    def __init__(self, opened: Opened, stream: int) -> None:
        self.stream = stream
        #: Handles are used by one thread at a time.
        self.lock = Lock()
        self.opened = opened
        self._handles: dict[str, int] = {}
        self._kept: dict[Any, Any] = {}
        self._numbers: dict[tuple[str, int], Any] = {}

    def kept(self, routine: Any) -> Any:
        """The prepared objects of a routine, made once for all equal routines."""
        found = self._kept.get(routine)
        if found is None:
            found = self._kept[routine] = routine.prepared(self)
        return found

    # -- calls ----------------------------------------------------------------------------

    def call(self, library: str, name: str, *arguments: Any) -> None:
        """Call a function; raise LibraryError if it fails, MemoryError if no memory is left."""
        status = self.opened[library][name](*arguments)
        if status:
            raise self.failed(library, name, status)

    def failed(self, library: str, name: str, status: int) -> BaseException:
        """The error for a status."""
        if status == _NO_MEMORY[library]:
            return MemoryError(f"the GPU has no memory left for {name}")
        words = _STATUSES[library].get(status, "unknown")
        return LibraryError(f"{name} failed: {words} (status {status})")

    def asked(self, library: str, name: str, *arguments: Any) -> int:
        """Call a function, and return the pointer that it writes to the address in its first
        argument."""
        found = ctypes.c_void_p()
        self.call(library, name, ctypes.addressof(found), *arguments)
        return found.value or 0

    def asked_int(self, library: str, name: str, *arguments: Any) -> int:
        """Call a function, and return the ``int`` that it writes to the address in its last
        argument."""
        found = ctypes.c_int()
        self.call(library, name, *arguments, ctypes.addressof(found))
        return found.value

    def set(self, library: str, name: str, of: int, attribute: int, value: Any) -> None:
        """Set an attribute of a descriptor to a ctypes number."""
        size = ctypes.sizeof(value)
        self.call(library, name, of, attribute, ctypes.addressof(value), size)

    # -- handles --------------------------------------------------------------------------

    def handle(self, library: str) -> int:
        """The handle of a library for this stream."""
        found = self._handles.get(library)
        if found is None:
            found = self.asked(library, _CREATE[library])
            if library in _SET_STREAM:
                self.call(library, _SET_STREAM[library], found, self.stream)
            self._handles[library] = found
        return found

    @property
    def solver(self) -> tuple[int, int]:
        """The handle of cuSOLVER, and its parameters, which are the defaults."""
        handle = self.handle("cusolver")
        found = self._handles.get("parameters")
        if found is None:
            found = self._handles["parameters"] = self.asked("cusolver", "cusolverDnCreateParams")
        return handle, found

    def solving(self, name: str, *given: Any, library: str = "cusolver") -> Solving:
        """The workspaces of a routine of the 64-bit interface."""
        device, host = ctypes.c_size_t(), ctypes.c_size_t()
        sizes = ctypes.addressof(device), ctypes.addressof(host)
        self.call(library, f"{name}_bufferSize", *self.solver, *given, *sizes)
        return Solving(int(device.value), int(host.value))

    def solve(
        self, name: str, given: tuple[Any, ...], kept: Solving, work: int, info: int,
        library: str = "cusolver",
    ) -> None:  # fmt: skip
        """Call a routine of the 64-bit interface; it writes the matrix's status to ``info`` on the
        card."""
        memory = work or None, kept.nbytes, kept.host, kept.on_host
        self.call(library, name, *self.solver, *given, *memory, info)

    # -- numbers --------------------------------------------------------------------------

    def scale(self, dtype: str) -> int:
        """The type of the scalar factors of a product: that of its elements, but float32 for
        float16 and bfloat16."""
        return DATA_TYPES["f32" if dtype in ("f16", "bf16") else dtype]

    def one(self, dtype: str) -> int:
        """The address of a one."""
        return self._number(dtype, 1)

    def zero(self, dtype: str) -> int:
        """The address of a zero."""
        return self._number(dtype, 0)

    def _number(self, dtype: str, value: int) -> int:
        found = self._numbers.get((dtype, value))
        if found is None:
            part = ctypes.c_double if dtype in ("f64", "c128") else ctypes.c_float
            found = self._numbers[dtype, value] = (part * 2)(value, 0)
        return ctypes.addressof(found)
