"""The prototypes of the driver functions that are called, as ``cuda.h`` declares them.

The names are those in the library; for example, ``cuda.h`` maps ``cuMemcpyHtoDAsync`` to ``…_v2``.
"""

from __future__ import annotations

import ctypes
from typing import Any

#: The types of the parameters, without names and ``const``.  All functions return a CUresult.
PROTOTYPES: dict[str, tuple[str, ...]] = {
    "cuInit": ("unsigned int",),
    "cuDriverGetVersion": ("int *",),
    "cuGetErrorName": ("CUresult", "char **"),
    "cuGetErrorString": ("CUresult", "char **"),
    "cuDeviceGetCount": ("int *",),
    "cuDeviceGet": ("CUdevice *", "int"),
    "cuDeviceGetName": ("char *", "int", "CUdevice"),
    "cuDeviceGetAttribute": ("int *", "CUdevice_attribute", "CUdevice"),
    "cuDevicePrimaryCtxRetain": ("CUcontext *", "CUdevice"),
    "cuCtxPushCurrent_v2": ("CUcontext",),
    "cuCtxPopCurrent_v2": ("CUcontext *",),
    "cuMemAlloc_v2": ("CUdeviceptr *", "size_t"),
    "cuMemFree_v2": ("CUdeviceptr",),
    "cuMemAllocAsync": ("CUdeviceptr *", "size_t", "CUstream"),
    "cuMemFreeAsync": ("CUdeviceptr", "CUstream"),
    "cuMemHostAlloc": ("void **", "size_t", "unsigned int"),
    "cuMemcpyHtoDAsync_v2": ("CUdeviceptr", "void *", "size_t", "CUstream"),
    "cuMemcpyDtoHAsync_v2": ("void *", "CUdeviceptr", "size_t", "CUstream"),
    "cuMemcpyDtoDAsync_v2": ("CUdeviceptr", "CUdeviceptr", "size_t", "CUstream"),
    "cuPointerGetAttribute": ("void *", "CUpointer_attribute", "CUdeviceptr"),
    "cuStreamSynchronize": ("CUstream",),
    "cuStreamWaitEvent": ("CUstream", "CUevent", "unsigned int"),
    "cuStreamCreate": ("CUstream *", "unsigned int"),
    "cuStreamBeginCapture_v2": ("CUstream", "CUstreamCaptureMode"),
    "cuStreamEndCapture": ("CUstream", "CUgraph *"),
    "cuEventCreate": ("CUevent *", "unsigned int"),
    "cuEventRecord": ("CUevent", "CUstream"),
    "cuEventDestroy_v2": ("CUevent",),
    "cuModuleLoadData": ("CUmodule *", "void *"),
    "cuModuleGetFunction": ("CUfunction *", "CUmodule", "char *"),
    "cuModuleUnload": ("CUmodule",),
    "cuFuncGetAttribute": ("int *", "CUfunction_attribute", "CUfunction"),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": ("int *", "CUfunction", "int", "size_t"),
    "cuLaunchKernel": (
        "CUfunction", "unsigned int", "unsigned int", "unsigned int", "unsigned int",
        "unsigned int", "unsigned int", "unsigned int", "CUstream", "void **", "void **",
    ),
    "cuLaunchCooperativeKernel": (
        "CUfunction", "unsigned int", "unsigned int", "unsigned int", "unsigned int",
        "unsigned int", "unsigned int", "unsigned int", "CUstream", "void **",
    ),
    "cuGraphCreate": ("CUgraph *", "unsigned int"),
    "cuGraphDestroy": ("CUgraph",),
    "cuGraphAddKernelNode_v2": (
        "CUgraphNode *", "CUgraph", "CUgraphNode *", "size_t", "CUDA_KERNEL_NODE_PARAMS *",
    ),
    "cuGraphAddChildGraphNode": (
        "CUgraphNode *", "CUgraph", "CUgraphNode *", "size_t", "CUgraph",
    ),
    "cuGraphInstantiateWithFlags": ("CUgraphExec *", "CUgraph", "unsigned long long"),
    "cuGraphExecKernelNodeSetParams_v2": (
        "CUgraphExec", "CUgraphNode", "CUDA_KERNEL_NODE_PARAMS *",
    ),
    "cuGraphExecDestroy": ("CUgraphExec",),
    "cuGraphLaunch": ("CUgraphExec", "CUstream"),
}  # fmt: skip

_C_TYPES: dict[str, Any] = {
    "CUdeviceptr": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "unsigned long long": ctypes.c_uint64,
    "CUresult": ctypes.c_int,
    "CUdevice": ctypes.c_int,
    "CUdevice_attribute": ctypes.c_int,
    "CUfunction_attribute": ctypes.c_int,
    "CUstreamCaptureMode": ctypes.c_int,
    "CUpointer_attribute": ctypes.c_int,
}


def c_types(name: str) -> list[Any]:
    """The ctypes types of a function's parameters; pointers and handles are addresses.

    >>> c_types("cuMemFreeAsync") == [ctypes.c_uint64, ctypes.c_void_p]
    True
    """
    return [_C_TYPES.get(each, ctypes.c_void_p) for each in PROTOTYPES[name]]


class KernelNode(ctypes.Structure):
    """``CUDA_KERNEL_NODE_PARAMS_v2``, a launch as a node of a graph."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


#: Attributes of a card: its compute capability, the number of multiprocessors, the threads that
#: each of them holds, whether memory can be allocated in the order of a stream, and whether the
#: blocks of a launch can be made to run at the same time.
MAJOR, MINOR, PROCESSORS, RESIDENT, MEMORY_POOLS, TOGETHER = 75, 76, 16, 39, 115, 95
#: Attributes of a kernel: the registers per thread, and the bytes per thread that spill to memory.
REGISTERS, SPILLED = 4, 3
#: Attribute of a pointer: the number of the card that the memory is on.
ORDINAL = 9
#: Flags of host memory: the card may read and write it, in every context.
PORTABLE_AND_MAPPED = 3
#: Flag of an event: it does not measure time.
NO_TIMING = 2
#: The legacy default stream: all streams synchronize with it unless they are created as
#: non-blocking; CuPy and PyTorch use it by default.
LEGACY_STREAM = 1
#: Result codes: success, out of memory, no card, the driver has been shut down.
SUCCESS, OUT_OF_MEMORY, NO_DEVICE, DEINITIALIZED = 0, 2, 100, 4
