"""A card: context, memory, copies, events, kernels, and failures."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.ir.core.locks import Lock

from . import forks
from .compiler import Kept, Kernel
from .entry import Work
from .failures import Failures
from .library import Library
from .memory import Memory, Pool
from .prototypes import (
    LEGACY_STREAM,
    MAJOR,
    MEMORY_POOLS,
    MINOR,
    NO_TIMING,
    PORTABLE_AND_MAPPED,
    PROCESSORS,
    REGISTERS,
    RESIDENT,
    SPILLED,
    TOGETHER,
)
from .uploads import Uploads


class Card:
    """One GPU.  All our work on it runs in the order of :attr:`stream`.

    ``with card:`` makes the card's context current in the thread.  It is the primary context, which
    PyTorch, CuPy and Numba use as well.
    """

    def __init__(self, library: Library, ordinal: int, make_image: Any) -> None:
        self.library = library
        self.ordinal = ordinal
        self.name = f"cuda:{ordinal}"
        #: Whether its memory is the host's, as in the simulator.
        self.is_host = library.is_host
        #: ``(kernel, capability, kept) -> (code for the driver, name of the kernel in it)``.
        self._image = make_image
        self._device = library.asked("cuDeviceGet", ctypes.c_int, ordinal)
        self.context = library.asked("cuDevicePrimaryCtxRetain", ctypes.c_void_p, self._device)
        self.stream: int = LEGACY_STREAM
        #: Whether memory can be allocated in the order of a stream. It cannot with older drivers on
        #: Windows, nor on the shares of a card that virtual machines get.
        self._has_pools = bool(self._attribute(MEMORY_POOLS))
        self.pool = Pool(self._allocate, self._free, self.wait)
        self.failures = Failures(self._allocate_on_host)
        self._uploads = Uploads(self._copy_up, self._wait, self._allocate_on_host)
        self._lock = Lock()
        self._functions: dict[str, int] = {}
        self._popped = threading.local()

    def __enter__(self) -> Card:
        forks.refuse()
        self.library.call("cuCtxPushCurrent_v2", self.context)
        return self

    def __exit__(self, *error: object) -> None:
        self.library.asked("cuCtxPopCurrent_v2", ctypes.c_void_p)

    # -- attributes ---------------------------------------------------------

    @property
    def capability(self) -> tuple[int, int]:
        return self._attribute(MAJOR), self._attribute(MINOR)

    @property
    def processors(self) -> int:
        """The number of multiprocessors."""
        return self._attribute(PROCESSORS)

    @property
    def resident(self) -> int:
        """The number of threads that a multiprocessor holds at a time."""
        return self._attribute(RESIDENT)

    @property
    def runs_together(self) -> bool:
        """Whether all blocks of a launch can be made to run at the same time."""
        return bool(self._attribute(TOGETHER))

    @property
    def model(self) -> str:
        """The model name of the card."""
        words = ctypes.create_string_buffer(128)
        self.library.call("cuDeviceGetName", ctypes.addressof(words), 128, self._device)
        return words.value.decode()

    def _attribute(self, number: int) -> int:
        return int(self.library.asked("cuDeviceGetAttribute", ctypes.c_int, number, self._device))

    # -- memory -------------------------------------------------------------

    def _allocate(self, size: int) -> int:
        name, given = (
            ("cuMemAllocAsync", [self.stream]) if self._has_pools else ("cuMemAlloc_v2", [])
        )
        with self:
            return int(self.library.asked(name, ctypes.c_uint64, size, *given))

    def _allocate_on_host(self, size: int) -> int:
        """Allocate host memory that the card accesses at the same address; it is never freed."""
        with self:
            flags = PORTABLE_AND_MAPPED
            return int(self.library.asked("cuMemHostAlloc", ctypes.c_void_p, size, flags))

    def _free(self, pointer: int) -> None:
        if self.library.tried("cuCtxPushCurrent_v2", self.context):
            if self._has_pools:
                self.library.tried("cuMemFreeAsync", pointer, self.stream)
            else:  # launched work may still use the memory
                self.library.tried("cuStreamSynchronize", self.stream)
                self.library.tried("cuMemFree_v2", pointer)
            found = ctypes.c_void_p()
            self.library.tried("cuCtxPopCurrent_v2", ctypes.addressof(found))

    def memory(self, nbytes: int) -> Memory:
        """New uninitialized memory."""
        size = self.pool.rounded(nbytes)
        return Memory(self, self.pool.take(size), size)

    def upload(self, array: np.ndarray) -> Memory:
        """New memory with the numbers of a C-contiguous array."""
        made = self.memory(array.nbytes)
        self.write(made.pointer, array)
        return made

    def write(self, pointer: int, array: np.ndarray) -> None:
        """Copy a C-contiguous array to the card; the array may be changed afterwards."""
        if array.nbytes:
            self._uploads.write(pointer, array)

    def _copy_up(self, pointer: int, address: int, nbytes: int) -> None:
        with self:
            self.library.call("cuMemcpyHtoDAsync_v2", pointer, address, nbytes, self.stream)

    def read(self, pointer: int, into: np.ndarray) -> None:
        """Start a copy to a C-contiguous array, which runs after earlier launches.

        The array must exist until :meth:`synchronize` returns; only then is the copy complete.
        """
        if into.nbytes:
            with self:
                self.library.call(
                    "cuMemcpyDtoHAsync_v2", into.ctypes.data, pointer, into.nbytes, self.stream
                )

    def copy(self, pointer: int, nbytes: int) -> Memory:
        """New memory with a copy of other memory on the card."""
        made = self.memory(nbytes)
        if nbytes:
            with self:
                self.library.call(
                    "cuMemcpyDtoDAsync_v2", made.pointer, pointer, nbytes, self.stream
                )
        return made

    # -- order --------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait for all launched work; raise the first error in it."""
        self.wait()
        self.failures.check()

    def wait(self) -> None:
        """Wait for all launched work."""
        before = self._uploads.count
        self._wait()
        self._uploads.done(before)

    def _wait(self) -> None:
        with self:
            self.library.call("cuStreamSynchronize", self.stream)

    def wait_for(self, stream: int) -> None:
        """Make our later work run after the present work on another stream."""
        self._order(first=stream, then=self.stream)

    def release_to(self, stream: int) -> None:
        """Make later work on another stream run after our present work."""
        self._order(first=self.stream, then=stream)

    def _order(self, first: int, then: int) -> None:
        if first == then:
            return
        with self:
            event = self.library.asked("cuEventCreate", ctypes.c_void_p, NO_TIMING)
            self.library.call("cuEventRecord", event, first)
            self.library.call("cuStreamWaitEvent", then, event, 0)
            self.library.call("cuEventDestroy_v2", event)

    @contextmanager
    def on(self, stream: int) -> Iterator[None]:
        """Use this stream inside of the block, in order after earlier launches.

        No other thread may launch work on the card meanwhile: its order would be undefined.
        """
        with self._lock:
            before = self.stream
            self.release_to(stream)
            self.stream = stream
        try:
            yield
        finally:
            with self._lock:
                self.release_to(before)
                self.stream = before

    # -- kernels ------------------------------------------------------------

    def function(self, kernel: Kernel, kept: Kept | None) -> int:
        """The driver's handle of a kernel, which is compiled and loaded once."""
        with self._lock:
            found = self._functions.get(kernel.key)
            if found is None:
                code, name = self._image(kernel, self.capability, kept)
                with self:
                    module = self.library.asked("cuModuleLoadData", ctypes.c_void_p, code)
                    found = self.library.asked("cuModuleGetFunction", ctypes.c_void_p, module, name)
                self._functions[kernel.key] = found
            return found

    def fitting(self, function: int, threads: int) -> int:
        """The number of blocks of a kernel that run at the same time, each of ``threads`` threads.

        Their registers and shared memory limit it.
        """
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        with self:
            of_each = self.library.asked(name, ctypes.c_int, function, threads, 0)
        return int(of_each) * self.processors

    def registers(self, function: int) -> tuple[int, int]:
        """The registers per thread of a kernel, and the bytes per thread that spill to memory."""
        name = "cuFuncGetAttribute"
        with self:
            found = [
                self.library.asked(name, ctypes.c_int, which, function)
                for which in (REGISTERS, SPILLED)
            ]
        return found[0], found[1]

    def work(self, count: int, nodes: int) -> Work:
        """The structure for :mod:`.entry`, with ``count`` launches at the address ``nodes``."""
        names = (
            "cuLaunchKernel", "cuLaunchCooperativeKernel", "cuGraphLaunch", "cuCtxPushCurrent_v2",
            "cuCtxPopCurrent_v2",
        )  # fmt: skip
        functions = map(self.library.address, names)
        return Work(*functions, self.context, self.stream, None, count, nodes)
