"""The driver's functions over numba's CUDA simulator: memory is the host's, kernels run as Python.

So the code above the driver runs unchanged: the pool, tables of launches, graphs, failures.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.locks import Lock

from .compiler import ENTRY, Kept, Kernel, Parameter, quiet, run_source
from .extraction import NAME
from .library import write
from .prototypes import (
    MAJOR,
    MEMORY_POOLS,
    MINOR,
    ORDINAL,
    PROCESSORS,
    RESIDENT,
    TOGETHER,
    KernelNode,
)

#: The byte that fills new memory: NaN in floats of every width, so that reads before writes show.
_POISON = 0xFF
#: The attributes that the card reports: those of an NVIDIA A100.
_ATTRIBUTES = {MAJOR: 8, MINOR: 0, PROCESSORS: 108, RESIDENT: 2048, MEMORY_POOLS: 1, TOGETHER: 1}

#: The release that the driver reports: CUDA 12.4.
_VERSION = 12040


def slots(parameters: int, count: int) -> list[int]:
    """The addresses that a launch passes, from its array of pointers to them."""
    pointers = (ctypes.c_void_p * count).from_address(parameters)
    return [ctypes.c_uint64.from_address(p or 0).value for p in pointers]


class HostMemory:
    """The driver's functions for memory, which use host memory."""

    def __init__(self) -> None:
        self._arrays: dict[int, np.ndarray] = {}

    def _new(self, to: int, size: int) -> None:
        array = np.full(size, _POISON, np.uint8)
        self._arrays[array.ctypes.data] = array
        write(to, array.ctypes.data)

    def cuMemAllocAsync(self, to: int, size: int, stream: int) -> None:
        self._new(to, size)

    def cuMemFreeAsync(self, pointer: int, stream: int) -> None:
        del self._arrays[pointer]

    def cuMemAlloc_v2(self, to: int, size: int) -> None:
        self._new(to, size)

    def cuMemFree_v2(self, pointer: int) -> None:
        del self._arrays[pointer]

    def cuMemHostAlloc(self, to: int, size: int, flags: int) -> None:
        self._new(to, size)

    def cuMemcpyHtoDAsync_v2(self, to: int, host: int, size: int, stream: int) -> None:
        ctypes.memmove(to, host, size)

    def cuMemcpyDtoHAsync_v2(self, host: int, pointer: int, size: int, stream: int) -> None:
        ctypes.memmove(host, pointer, size)

    def cuMemcpyDtoDAsync_v2(self, to: int, pointer: int, size: int, stream: int) -> None:
        ctypes.memmove(to, pointer, size)

    def cuPointerGetAttribute(self, to: int, attribute: int, pointer: int) -> None:
        assert attribute == ORDINAL
        write(to, 0, ctypes.c_int)


class Handles:
    """Contexts, streams and events, which do nothing here; graphs as lists of launches."""

    def __init__(self, launch: Callable[..., None]) -> None:
        self._launch = launch
        self._serial = itertools.count(1)
        #: The node numbers of each graph; the parameters of each node; and for each executable
        #: graph, the parameters of its nodes.
        self._graphs: dict[int, list[int]] = {}
        self._nodes: dict[int, Any] = {}
        self._executables: dict[int, dict[int, Any]] = {}

    def _handle(self, to: int, *ignored: int) -> None:
        write(to, next(self._serial))

    def _nothing(self, *ignored: int) -> None:
        pass

    cuEventCreate = cuDevicePrimaryCtxRetain = cuCtxPopCurrent_v2 = _handle
    cuInit = cuCtxPushCurrent_v2 = cuStreamSynchronize = cuStreamWaitEvent = _nothing
    cuEventRecord = cuEventDestroy_v2 = _nothing

    def cuDriverGetVersion(self, to: int) -> None:
        write(to, _VERSION, ctypes.c_int)

    def cuDeviceGetCount(self, to: int) -> None:
        write(to, 1, ctypes.c_int)

    def cuDeviceGet(self, to: int, ordinal: int) -> None:
        write(to, ordinal, ctypes.c_int)

    def cuDeviceGetAttribute(self, to: int, attribute: int, device: int) -> None:
        write(to, _ATTRIBUTES[attribute], ctypes.c_int)

    def cuDeviceGetName(self, to: int, size: int, device: int) -> None:
        ctypes.memmove(to, b"numba's simulator\0", 18)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, to: int, function: int, threads: int, shared: int
    ) -> None:
        write(to, _ATTRIBUTES[RESIDENT] // threads, ctypes.c_int)

    def cuFuncGetAttribute(self, to: int, attribute: int, function: int) -> None:
        write(to, 0, ctypes.c_int)

    def cuGraphCreate(self, to: int, flags: int) -> None:
        graph = next(self._serial)
        self._graphs[graph] = []
        write(to, graph)

    def cuGraphDestroy(self, graph: int) -> None:
        del self._graphs[graph]

    def cuGraphAddKernelNode_v2(
        self, to: int, graph: int, before: int, count: int, node: int
    ) -> None:
        nodes = self._graphs[graph]
        given = list((ctypes.c_uint64 * count).from_address(before)) if count else []
        if given != nodes[-1:]:  # each of our launches comes after the one before
            raise AssertionError(f"node after {given}, not {nodes[-1:]}")
        number = next(self._serial)
        self._nodes[number] = self._read(node)
        nodes.append(number)
        write(to, number)

    def cuGraphInstantiateWithFlags(self, to: int, graph: int, flags: int) -> None:
        executable = next(self._serial)
        self._executables[executable] = {n: self._nodes[n] for n in self._graphs[graph]}
        write(to, executable)

    def cuGraphExecKernelNodeSetParams_v2(self, executable: int, number: int, node: int) -> None:
        nodes = self._executables[executable]
        assert number in nodes
        nodes[number] = self._read(node)

    def cuGraphExecDestroy(self, executable: int) -> None:
        del self._executables[executable]

    def cuGraphLaunch(self, executable: int, stream: int) -> None:
        for function, grid, block, values in self._executables[executable].values():
            # Like the driver, use the parameters that were read when the node was made.
            kept = (ctypes.c_uint64 * max(1, len(values)))(*values)
            start = ctypes.addressof(kept)
            places = [start + 8 * i for i in range(len(values))]
            pointers = (ctypes.c_void_p * max(1, len(values)))(*places)
            self._launch(function, *grid, *block, 0, stream, ctypes.addressof(pointers), None)

    def _read(self, node: int) -> tuple[int, Sequence[int], Sequence[int], list[int]]:
        given = KernelNode.from_address(node)
        values = slots(given.parameters, self._parameters(given.function))
        return given.function, list(given.grid), list(given.block), values

    def _parameters(self, function: int) -> int:
        raise NotImplementedError


class Simulator(HostMemory, Handles):
    """All driver functions of the simulator."""

    def __init__(self) -> None:
        HostMemory.__init__(self)
        Handles.__init__(self, self.cuLaunchKernel)
        self._kernels: dict[bytes, Kernel] = {}
        self._functions: dict[int, tuple[Any, Kernel]] = {}
        self._modules: dict[int, bytes] = {}
        #: The simulator runs one kernel at a time.
        self._lock = Lock()

    def image(
        self, kernel: Kernel, capability: tuple[int, int], kept: Kept | None
    ) -> tuple[bytes, bytes]:
        """A key in the place of a kernel's code, and the kernel's name."""
        key = kernel.key.encode()
        self._kernels[key] = kernel
        return key + b"\0", ENTRY.encode()

    def cuModuleLoadData(self, to: int, code: int) -> None:
        module = next(self._serial)
        self._modules[module] = ctypes.string_at(code)
        write(to, module)

    def cuModuleGetFunction(self, to: int, module: int, name: int) -> None:
        assert ctypes.string_at(name) == ENTRY.encode()
        kernel = self._kernels[self._modules[module]]
        function = run_source(kernel.text, kernel.key[:12])[NAME]
        number = next(self._serial)
        self._functions[number] = function, kernel
        write(to, number)

    def cuLaunchKernel(self, function: int, *rest: int) -> None:
        found, kernel = self._functions[function]
        grid, block, parameters = rest[:3], rest[3:6], rest[8]
        words = iter(slots(parameters, kernel.words))
        arrays = [
            self._array(next(words), b, next(words) if b.per_step else 1) for b in kernel.buffers
        ]
        with self._lock, quiet():
            found[grid, block](*arrays)

    @staticmethod
    def _array(slot: int, buffer: Parameter, steps: int) -> Any:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        dtype = np.dtype(buffer.dtype)
        if buffer.by_value:
            return FakeCUDAArray(np.array([slot], np.uint64).view(dtype)[:1])
        size = steps * max(1, buffer.size) if buffer.per_step else buffer.size
        if not size:
            return FakeCUDAArray(np.empty(0, dtype))
        raw = (ctypes.c_uint8 * (size * dtype.itemsize)).from_address(slot)
        return FakeCUDAArray(np.frombuffer(memoryview(raw), dtype))

    def _parameters(self, function: int) -> int:
        return self._functions[function][1].words
