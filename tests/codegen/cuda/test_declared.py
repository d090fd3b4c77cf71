"""Our calls of NVIDIA's driver and libraries, compared with the declarations in their headers."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from autojit.codegen.cuda import capturing
from autojit.codegen.cuda.driver import prototypes as driver
from autojit.codegen.cuda.libraries import prototypes as libraries
from autojit.codegen.cuda.libraries import session
from tests.codegen.cuda import declared, headers

_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int, "unsigned int": ctypes.c_uint, "signed char": ctypes.c_byte,
    "unsigned long long": ctypes.c_uint64, "size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "float": ctypes.c_float, "enum": ctypes.c_int,
}  # fmt: skip


def c_type(word: str) -> Any:
    """The ctypes type for a parameter type of a header."""
    word = declared.KINDS.get(word, word)
    return ctypes.c_void_p if word == "pointer" or word.endswith("*") else _NUMBERS[word]


_CALLED = {
    **{name: driver.c_types(name) for name in driver.PROTOTYPES},
    **{n: libraries.c_types(library, n) for library, f in libraries.PROTOTYPES.items() for n in f},
}


@pytest.mark.parametrize("name", declared.FUNCTIONS)
def test_functions_are_called_as_declared(name: str) -> None:
    assert _CALLED[name] == [c_type(each) for each in declared.FUNCTIONS[name]]


def test_nothing_is_called_that_is_not_declared() -> None:
    assert set(_CALLED) == set(declared.FUNCTIONS)


@pytest.mark.parametrize("name", driver.PROTOTYPES)
def test_words_of_the_drivers_prototypes_are_the_headers(name: str) -> None:
    assert driver.PROTOTYPES[name] == declared.FUNCTIONS[name]


_TRANSFORMS = libraries.TRANSFORMS
#: Numbers in the code, by their names in the headers.
NUMBERS: dict[str, int] = {
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": driver.MAJOR,
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": driver.MINOR,
    "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": driver.PROCESSORS,
    "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR": driver.RESIDENT,
    "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED": driver.MEMORY_POOLS,
    "CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH": driver.TOGETHER,
    "CU_FUNC_ATTRIBUTE_NUM_REGS": driver.REGISTERS,
    "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES": driver.SPILLED,
    "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL": driver.ORDINAL,
    "CU_EVENT_DISABLE_TIMING": driver.NO_TIMING,
    "CU_STREAM_LEGACY": driver.LEGACY_STREAM,
    "CU_STREAM_NON_BLOCKING": capturing._NON_BLOCKING,
    "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL": capturing._THREAD_LOCAL,
    "CUDA_SUCCESS": driver.SUCCESS,
    "CUDA_ERROR_OUT_OF_MEMORY": driver.OUT_OF_MEMORY,
    "CUDA_ERROR_NO_DEVICE": driver.NO_DEVICE,
    "CUDA_ERROR_DEINITIALIZED": driver.DEINITIALIZED,
    "CUDA_R_16F": libraries.DATA_TYPES["f16"],
    "CUDA_R_16BF": libraries.DATA_TYPES["bf16"],
    "CUDA_R_32F": libraries.DATA_TYPES["f32"],
    "CUDA_R_64F": libraries.DATA_TYPES["f64"],
    "CUDA_C_32F": libraries.DATA_TYPES["c64"],
    "CUDA_C_64F": libraries.DATA_TYPES["c128"],
    "CUBLAS_COMPUTE_32F": libraries.COMPUTE_TYPES["f32"],
    "CUBLAS_COMPUTE_32F_FAST_TF32": libraries.TF32["f32"],
    "CUBLAS_COMPUTE_64F": libraries.COMPUTE_TYPES["f64"],
    "CUBLAS_OP_N": libraries.NO_TRANSPOSE,
    "CUBLAS_OP_T": libraries.TRANSPOSE,
    "CUBLAS_FILL_MODE_LOWER": libraries.LOWER,
    "CUBLAS_FILL_MODE_UPPER": libraries.UPPER,
    "CUBLAS_SIDE_LEFT": libraries.LEFT,
    "CUBLAS_SIDE_RIGHT": libraries.RIGHT,
    "CUBLAS_DIAG_NON_UNIT": libraries.NOT_UNIT,
    "CUBLAS_DIAG_UNIT": libraries.UNIT,
    "CUSOLVER_EIG_MODE_NOVECTOR": libraries.NO_VECTORS,
    "CUSOLVER_EIG_MODE_VECTOR": libraries.VECTORS,
    "CUBLASLT_MATMUL_DESC_TRANSA": libraries.TRANSA,
    "CUBLASLT_MATMUL_DESC_TRANSB": libraries.TRANSB,
    "CUBLASLT_MATMUL_DESC_EPILOGUE": libraries.EPILOGUE,
    "CUBLASLT_MATMUL_DESC_BIAS_POINTER": libraries.BIAS_POINTER,
    "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": libraries.BATCH_COUNT,
    "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": libraries.BATCH_OFFSET,
    "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": libraries.MAX_WORKSPACE,
    **{
        f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{letter}_BYTES": number
        for letter, number in zip("ABCD", libraries.MIN_ALIGNMENT, strict=True)
    },
    "CUBLASLT_EPILOGUE_BIAS": libraries.ADDS_BIAS,
    "CUFFT_R2C": _TRANSFORMS["f32", "c64"][0],
    "CUFFT_C2R": _TRANSFORMS["c64", "f32"][0],
    "CUFFT_C2C": _TRANSFORMS["c64", "c64"][0],
    "CUFFT_D2Z": _TRANSFORMS["f64", "c128"][0],
    "CUFFT_Z2D": _TRANSFORMS["c128", "f64"][0],
    "CUFFT_Z2Z": _TRANSFORMS["c128", "c128"][0],
    "CUFFT_FORWARD": libraries.FORWARD,
    "CUFFT_INVERSE": libraries.INVERSE,
}
#: Statuses that have our own wording; others are shown by the library's number.
_WORDS = {
    "CUBLAS_STATUS_NOT_INITIALIZED": "not initialized", "CUBLAS_STATUS_ALLOC_FAILED": "no memory",
    "CUBLAS_STATUS_INVALID_VALUE": "invalid value",
    "CUBLAS_STATUS_ARCH_MISMATCH": "not for this card",
    "CUBLAS_STATUS_MAPPING_ERROR": "memory cannot be accessed",
    "CUBLAS_STATUS_EXECUTION_FAILED": "execution failed",
    "CUBLAS_STATUS_INTERNAL_ERROR": "internal error",
    "CUBLAS_STATUS_NOT_SUPPORTED": "not supported", "CUBLAS_STATUS_LICENSE_ERROR": "no license",
    "CUSOLVER_STATUS_NOT_INITIALIZED": "not initialized",
    "CUSOLVER_STATUS_ALLOC_FAILED": "no memory",
    "CUSOLVER_STATUS_INVALID_VALUE": "invalid value",
    "CUSOLVER_STATUS_ARCH_MISMATCH": "not for this card",
    "CUSOLVER_STATUS_MAPPING_ERROR": "memory cannot be accessed",
    "CUSOLVER_STATUS_EXECUTION_FAILED": "execution failed",
    "CUSOLVER_STATUS_INTERNAL_ERROR": "internal error",
    "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED": "matrix type not supported",
    "CUSOLVER_STATUS_NOT_SUPPORTED": "not supported",
    "CUSOLVER_STATUS_INVALID_WORKSPACE": "invalid workspace",
    "CUFFT_INVALID_PLAN": "invalid plan", "CUFFT_ALLOC_FAILED": "no memory",
    "CUFFT_INVALID_TYPE": "invalid type", "CUFFT_INVALID_VALUE": "invalid value",
    "CUFFT_INTERNAL_ERROR": "internal error", "CUFFT_EXEC_FAILED": "execution failed",
    "CUFFT_SETUP_FAILED": "setup failed", "CUFFT_INVALID_SIZE": "invalid size",
    "CUFFT_UNALIGNED_DATA": "unaligned data", "CUFFT_INVALID_DEVICE": "invalid device",
    "CUFFT_NO_WORKSPACE": "no workspace", "CUFFT_NOT_IMPLEMENTED": "not implemented",
    "CUFFT_NOT_SUPPORTED": "not supported",
}  # fmt: skip


def test_numbers_are_those_declared() -> None:
    plain = {name: declared.ENUMERATORS[name] for name in NUMBERS}
    assert plain == NUMBERS
    flags = (declared.ENUMERATORS[f"CU_MEMHOSTALLOC_{n}"] for n in ("PORTABLE", "DEVICEMAP"))
    assert sum(flags) == driver.PORTABLE_AND_MAPPED


def test_statuses_have_the_words_of_their_names() -> None:
    found: dict[str, dict[int, str]] = {"cublas": {}, "cusolver": {}, "cufft": {}}
    for name, words in _WORDS.items():
        found[name.split("_")[0].lower()][declared.ENUMERATORS[name]] = words
    assert {library: session._STATUSES[library] for library in found} == found


def test_structures_are_laid_out_as_declared() -> None:
    node = declared.STRUCTURES["CUDA_KERNEL_NODE_PARAMS_v2"]
    widths = [ctypes.sizeof(c_type(declared.KINDS.get(each, "pointer") if each == "CUkernel"
                                   else each)) for each in node]  # fmt: skip
    assert _size(widths) == ctypes.sizeof(driver.KernelNode) == 72
    assert declared.STRUCTURES["cublasLtMatmulAlgo_t"] == ("uint64_t[8]",)
    assert declared.STRUCTURES["cublasLtMatmulHeuristicResult_t"] == (
        "cublasLtMatmulAlgo_t", "size_t", "cublasStatus_t", "float", "int[4]",
    )  # fmt: skip
    result = libraries.HeuristicResult
    assert (result.workspace.offset, result.state.offset, result.waves.offset) == (64, 72, 76)
    assert ctypes.sizeof(result) == 96


def _size(widths: list[int]) -> int:
    offset = 0
    for width in widths:
        offset = -(-offset // width) * width + width
    return offset


def test_the_table_is_that_of_the_headers() -> None:
    """Where they are installed."""
    spec = importlib.util.find_spec("nvidia")
    folders = (spec.submodule_search_locations or []) if spec else []
    text = headers.read(Path(folder) for folder in folders)
    if text is None:
        pytest.skip("no headers: pip install nvidia-cublas nvidia-cusolver nvidia-cufft")
    assert headers.differences(text) == []
