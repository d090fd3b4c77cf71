"""The prototypes of the functions that are called in NVIDIA's libraries.

They are those of CUDA 12 and 13: ``cublasLt.h``, ``cublas_v2.h``, ``cusolverDn.h`` with its 64-bit
interface, and ``cufft.h``.  Enumerators have the values of these headers.
"""

from __future__ import annotations

import ctypes
from typing import Any

_LT = ("cublasLtMatrixLayout_t",)
_MATMUL = (
    "cublasLtHandle_t", "cublasLtMatmulDesc_t", "void *", "void *", *_LT, "void *", *_LT, "void *",
    "void *", *_LT, "void *", *_LT, "cublasLtMatmulAlgo_t *", "void *", "size_t", "cudaStream_t",
)  # fmt: skip
_ATTRIBUTE = ("int", "void *", "size_t")
_SIZES = ("size_t *", "size_t *")
_WORK = ("void *", "size_t", "void *", "size_t", "int *")
_SOLVER = ("cusolverDnHandle_t", "cusolverDnParams_t")
#: A matrix: its type, address and leading dimension.
_MATRIX = ("cudaDataType", "void *", "int64_t")
_VECTOR = ("cudaDataType", "void *")
_POTRF = (*_SOLVER, "cublasFillMode_t", "int64_t", *_MATRIX, "cudaDataType")
_GETRF = (*_SOLVER, "int64_t", "int64_t", *_MATRIX)
_GEQRF = (*_SOLVER, "int64_t", "int64_t", *_MATRIX, *_VECTOR, "cudaDataType")
_SYEVD = (
    *_SOLVER, "cusolverEigMode_t", "cublasFillMode_t", "int64_t", *_MATRIX, *_VECTOR,
    "cudaDataType",
)  # fmt: skip
_GESVD = (
    *_SOLVER, "signed char", "signed char", "int64_t", "int64_t", *_MATRIX, *_VECTOR, *_MATRIX,
    *_MATRIX, "cudaDataType",
)  # fmt: skip
_GEEV = (
    *_SOLVER, "cusolverEigMode_t", "cusolverEigMode_t", "int64_t", *_MATRIX, *_VECTOR, *_MATRIX,
    *_MATRIX, "cudaDataType",
)  # fmt: skip
_ORGQR_SIZE = ("cusolverDnHandle_t", "int", "int", "int", "void *", "int", "void *", "int *")
_ORGQR = (
    "cusolverDnHandle_t", "int", "int", "int", "void *", "int", "void *", "void *", "int", "int *",
)  # fmt: skip
_TRSM = (
    "cublasHandle_t", "cublasSideMode_t", "cublasFillMode_t", "cublasOperation_t",
    "cublasDiagType_t", "int", "int", "void *", "void *", "int", "void *", "int",
)  # fmt: skip
_PLAN = (
    "cufftHandle", "int", "int *", "int *", "int", "int", "int *", "int", "int", "cufftType", "int",
    "size_t *",
)  # fmt: skip

#: The types of parameters, without names and ``const``, by library and function.
PROTOTYPES: dict[str, dict[str, tuple[str, ...]]] = {
    "cublasLt": {
        "cublasLtCreate": ("cublasLtHandle_t *",),
        "cublasLtMatmulDescCreate": ("void **", "cublasComputeType_t", "cudaDataType"),
        "cublasLtMatmulDescSetAttribute": ("cublasLtMatmulDesc_t", *_ATTRIBUTE),
        "cublasLtMatrixLayoutCreate": (
            "void **", "cudaDataType", "uint64_t", "uint64_t", "int64_t",
        ),
        "cublasLtMatrixLayoutSetAttribute": (*_LT, *_ATTRIBUTE),
        "cublasLtMatmulPreferenceCreate": ("void **",),
        "cublasLtMatmulPreferenceDestroy": ("cublasLtMatmulPreference_t",),
        "cublasLtMatmulPreferenceSetAttribute": ("cublasLtMatmulPreference_t", *_ATTRIBUTE),
        "cublasLtMatmulAlgoGetHeuristic": (
            "cublasLtHandle_t", "cublasLtMatmulDesc_t", *_LT, *_LT, *_LT, *_LT,
            "cublasLtMatmulPreference_t", "int", "void *", "int *",
        ),
        "cublasLtMatmul": _MATMUL,
    },
    "cublas": {
        "cublasCreate_v2": ("cublasHandle_t *",),
        "cublasSetStream_v2": ("cublasHandle_t", "cudaStream_t"),
        **{f"cublas{letter}trsm_v2": _TRSM for letter in "SDCZ"},
    },
    "cusolver": {
        "cusolverDnCreate": ("cusolverDnHandle_t *",),
        "cusolverDnSetStream": ("cusolverDnHandle_t", "cudaStream_t"),
        "cusolverDnCreateParams": ("cusolverDnParams_t *",),
        "cusolverDnXpotrf_bufferSize": (*_POTRF, *_SIZES),
        "cusolverDnXpotrf": (*_POTRF, *_WORK),
        "cusolverDnXgetrf_bufferSize": (*_GETRF, "cudaDataType", *_SIZES),
        "cusolverDnXgetrf": (*_GETRF, "int64_t *", "cudaDataType", *_WORK),
        "cusolverDnXgetrs": (
            *_SOLVER, "cublasOperation_t", "int64_t", "int64_t", *_MATRIX, "int64_t *", *_MATRIX,
            "int *",
        ),
        "cusolverDnXgeqrf_bufferSize": (*_GEQRF, *_SIZES),
        "cusolverDnXgeqrf": (*_GEQRF, *_WORK),
        "cusolverDnXsyevd_bufferSize": (*_SYEVD, *_SIZES),
        "cusolverDnXsyevd": (*_SYEVD, *_WORK),
        "cusolverDnXgesvd_bufferSize": (*_GESVD, *_SIZES),
        "cusolverDnXgesvd": (*_GESVD, *_WORK),
        **{f"cusolverDn{name}_bufferSize": _ORGQR_SIZE
           for name in ("Sorgqr", "Dorgqr", "Cungqr", "Zungqr")},
        **{f"cusolverDn{name}": _ORGQR for name in ("Sorgqr", "Dorgqr", "Cungqr", "Zungqr")},
    },
    # In the same library as the others of cuSOLVER, but only since CUDA 12.8.
    "cusolverEig": {
        "cusolverDnXgeev_bufferSize": (*_GEEV, *_SIZES),
        "cusolverDnXgeev": (*_GEEV, *_WORK),
    },
    "cufft": {
        "cufftCreate": ("cufftHandle *",),
        "cufftSetAutoAllocation": ("cufftHandle", "int"),
        "cufftMakePlanMany": _PLAN,
        "cufftSetStream": ("cufftHandle", "cudaStream_t"),
        "cufftSetWorkArea": ("cufftHandle", "void *"),
        "cufftExecC2C": ("cufftHandle", "void *", "void *", "int"),
        "cufftExecZ2Z": ("cufftHandle", "void *", "void *", "int"),
        "cufftExecR2C": ("cufftHandle", "void *", "void *"),
        "cufftExecD2Z": ("cufftHandle", "void *", "void *"),
        "cufftExecC2R": ("cufftHandle", "void *", "void *"),
        "cufftExecZ2D": ("cufftHandle", "void *", "void *"),
    },
}  # fmt: skip

_C_TYPES: dict[str, Any] = {
    "int": ctypes.c_int,
    "signed char": ctypes.c_byte,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "cufftHandle": ctypes.c_int,
    **dict.fromkeys(
        ("cublasComputeType_t", "cudaDataType", "cublasFillMode_t", "cublasOperation_t",
         "cublasSideMode_t", "cublasDiagType_t", "cusolverEigMode_t", "cufftType"),
        ctypes.c_int,
    ),
}  # fmt: skip


def c_types(library: str, name: str) -> list[Any]:
    """The ctypes types of a function's parameters; pointers and handles are addresses.

    >>> c_types("cufft", "cufftSetStream") == [ctypes.c_int, ctypes.c_void_p]
    True
    """
    return [_C_TYPES.get(each, ctypes.c_void_p) for each in PROTOTYPES[library][name]]


#: The ``cudaDataType`` of each dtype.
DATA_TYPES = {"f16": 2, "bf16": 14, "f32": 0, "f64": 1, "c64": 4, "c128": 5}
#: ``cublasComputeType_t``: float32 is computed in float32, without tf32; float16 and bfloat16 are
#: accumulated in float32.
COMPUTE_TYPES = {"f16": 68, "bf16": 68, "f32": 68, "c64": 68, "f64": 70, "c128": 70}
#: Those if ``AUTOJIT_TF32`` asks for products of float32 with 10 bits of each factor.
TF32 = {"f32": 77, "c64": 77}
#: The letter of each dtype in the names of functions.
LETTERS = {"f32": "S", "f64": "D", "c64": "C", "c128": "Z"}
#: ``cublasOperation_t``, ``cublasFillMode_t``, ``cublasSideMode_t``, ``cublasDiagType_t``.
NO_TRANSPOSE, TRANSPOSE = 0, 1
LOWER, UPPER = 0, 1
LEFT, RIGHT = 0, 1
NOT_UNIT, UNIT = 0, 1
#: ``cusolverEigMode_t``.
NO_VECTORS, VECTORS = 0, 1
#: Attributes of ``cublasLtMatmulDesc_t``, of layouts and of preferences.
TRANSA, TRANSB, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
BATCH_COUNT, BATCH_OFFSET = 5, 6
MAX_WORKSPACE, MIN_ALIGNMENT = 1, (5, 6, 7, 8)
#: ``CUBLASLT_EPILOGUE_BIAS``.
ADDS_BIAS = 4
#: ``cufftType`` and the function by input and output dtypes; then the directions.
TRANSFORMS = {
    ("f32", "c64"): (42, "cufftExecR2C"), ("c64", "f32"): (44, "cufftExecC2R"),
    ("c64", "c64"): (41, "cufftExecC2C"), ("f64", "c128"): (106, "cufftExecD2Z"),
    ("c128", "f64"): (108, "cufftExecZ2D"), ("c128", "c128"): (105, "cufftExecZ2Z"),
}  # fmt: skip
FORWARD, INVERSE = -1, 1


class HeuristicResult(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``, an algorithm for a product, and its workspace size."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )
