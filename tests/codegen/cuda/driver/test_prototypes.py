"""The driver's functions as they are called, against NVIDIA's own header."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from pathlib import Path

import pytest

from autojit.codegen.cuda.driver import prototypes
from autojit.codegen.cuda.driver.prototypes import PROTOTYPES, KernelNode


def header() -> str:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in Path(folder).glob("*/include/cuda.h"):
            return path.read_text(encoding="utf-8", errors="replace")
    pytest.skip("no cuda.h is installed: pip install nvidia-cuda-runtime")


def declared(text: str, name: str) -> list[str]:
    """The types of a function's parameters, as the header writes them."""
    found = re.search(rf"CUresult CUDAAPI {name}\(([^)]*)\);", text)
    assert found is not None, name
    return [_type(each) for each in found[1].split(",")]


def _type(parameter: str) -> str:
    words = re.sub(r"\bconst\b", "", parameter).replace("*", " * ").split()
    if words[-1] not in ("*", "int"):
        words = words[:-1]  # its name
    return re.sub(r"\* \*", "**", " ".join(words))


@pytest.mark.parametrize("name", PROTOTYPES)
def test_prototypes_are_those_of_the_header(name: str) -> None:
    text = header()
    # The header says which function of the library a name stands for.
    found = re.findall(rf"#define (\w+)\s+(?:__CUDA_API_PTSZ\()?{name}\b", text)
    plain = found[0] if found else name
    others = re.findall(rf"#define {plain}\s+(?:__CUDA_API_PTSZ\()?(\w+)", text)
    assert set(others) <= {name}, "not the present one"
    assert declared(text, plain) == list(PROTOTYPES[name])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MAJOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR"),
        ("MINOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR"),
        ("PROCESSORS", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT"),
        ("RESIDENT", "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR"),
        ("MEMORY_POOLS", "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED"),
        ("ORDINAL", "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL"),
        ("REGISTERS", "CU_FUNC_ATTRIBUTE_NUM_REGS"),
        ("SPILLED", "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES"),
        ("NO_TIMING", "CU_EVENT_DISABLE_TIMING"),
        ("OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("NO_DEVICE", "CUDA_ERROR_NO_DEVICE"),
        ("DEINITIALIZED", "CUDA_ERROR_DEINITIALIZED"),
    ],
)
def test_numbers_are_those_of_the_header(name: str, words: str) -> None:
    found = re.search(rf"\b{words}\s*=\s*(0x[0-9a-f]+|\d+)", header())
    assert found is not None
    assert int(found[1], 0) == getattr(prototypes, name)


def test_flags_and_streams_are_those_of_the_header() -> None:
    text = header()
    flags = [
        int(re.search(rf"#define CU_MEMHOSTALLOC_{n}\s+(0x\w+)", text)[1], 0)  # type: ignore[index]
        for n in ("PORTABLE", "DEVICEMAP")
    ]
    assert sum(flags) == prototypes.PORTABLE_AND_MAPPED
    legacy = re.search(r"#define CU_STREAM_LEGACY\s+\(\(CUstream\)(0x\w+)\)", text)
    assert legacy is not None
    assert int(legacy[1], 0) == prototypes.LEGACY_STREAM


def test_the_node_of_a_graph_is_laid_out_as_in_the_header() -> None:
    found = re.search(
        r"typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st \{(.*?)\}", header(), re.DOTALL
    )
    assert found is not None
    fields = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL).split(";")
    widths = [8 if "*" in f or f.split()[0].startswith("CU") else 4 for f in fields if f.strip()]
    offset = 0
    for width in widths:
        offset = -(-offset // width) * width + width
    assert offset == ctypes.sizeof(KernelNode)
