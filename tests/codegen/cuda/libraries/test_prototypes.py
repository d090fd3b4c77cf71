"""The functions of libraries as they are called, against NVIDIA's own headers."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from pathlib import Path

import pytest

from autojit.codegen.cuda.libraries import prototypes
from autojit.codegen.cuda.libraries.prototypes import PROTOTYPES, HeuristicResult, c_types

_HEADERS = "cublasLt.h", "cublas_api.h", "cusolverDn.h", "cufft.h"
#: The types of parameters that are passed by value, in the headers' words; enumerators are ``int``.
_NUMBERS = {
    "int": ctypes.c_int, "signed char": ctypes.c_byte, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "cufftHandle": ctypes.c_int,
}  # fmt: skip
_POINTERS = re.compile(r"\*|\w+(Handle|handle|Params|Layout|Desc|Preference|Stream)_t\b")


def headers() -> str:
    spec = importlib.util.find_spec("nvidia")
    found = {}
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in Path(folder).glob("*/include/*.h"):
            if path.name in _HEADERS:
                found[path.name] = path.read_text(encoding="utf-8", errors="replace")
    if set(found) != set(_HEADERS):
        pytest.skip("no headers: pip install nvidia-cublas nvidia-cusolver nvidia-cufft")
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", "".join(found.values()), flags=re.S)


def c_type(parameter: str) -> object:
    words = re.sub(r"\bconst\b", "", parameter).replace("[]", "*").strip()
    if _POINTERS.search(words):
        return ctypes.c_void_p
    return _NUMBERS.get(re.sub(r"\s+\w+$", "", words), ctypes.c_int)


def declared(text: str, name: str) -> list[object]:
    found = re.search(rf"\b{name}\s*\(([^;{{]*?)\)\s*;", text, flags=re.S)
    assert found is not None, name
    return [c_type(each) for each in found[1].split(",")]


def test_prototypes_are_those_of_the_headers() -> None:
    text = headers()
    wrong = [
        name
        for library, functions in PROTOTYPES.items()
        for name in functions
        if declared(text, name) != c_types(library, name)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (prototypes.TRANSA, "CUBLASLT_MATMUL_DESC_TRANSA"),
        (prototypes.TRANSB, "CUBLASLT_MATMUL_DESC_TRANSB"),
        (prototypes.BATCH_COUNT, "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT"),
        (prototypes.BATCH_OFFSET, "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET"),
        (prototypes.MAX_WORKSPACE, "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES"),
        (prototypes.MIN_ALIGNMENT[0], "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES"),
        (prototypes.MIN_ALIGNMENT[3], "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES"),
        (prototypes.COMPUTE_TYPES["f32"], "CUBLAS_COMPUTE_32F"),
        (prototypes.COMPUTE_TYPES["f64"], "CUBLAS_COMPUTE_64F"),
        (prototypes.RIGHT, "CUBLAS_SIDE_RIGHT"),
        (prototypes.UPPER, "CUBLAS_FILL_MODE_UPPER"),
        (prototypes.UNIT, "CUBLAS_DIAG_UNIT"),
        (prototypes.TRANSPOSE, "CUBLAS_OP_T"),
        (prototypes.TRANSFORMS["f32", "c64"][0], "CUFFT_R2C"),
        (prototypes.TRANSFORMS["c128", "f64"][0], "CUFFT_Z2D"),
        (prototypes.TRANSFORMS["c128", "c128"][0], "CUFFT_Z2Z"),
    ],
)
def test_enumerators_are_those_of_the_headers(value: int, words: str) -> None:
    found = re.search(rf"\b{words}\s*=\s*(0x[0-9a-f]+|\d+)", headers())
    assert found is not None
    assert value == int(found[1], 0)


def test_the_result_of_a_search_is_laid_out_as_the_header_has_it() -> None:
    """Eight words, a size, a status, a float, and four integers: 96 bytes."""
    assert ctypes.sizeof(HeuristicResult) == 96
    assert HeuristicResult.workspace.offset == 64
    assert HeuristicResult.waves.offset == 76
