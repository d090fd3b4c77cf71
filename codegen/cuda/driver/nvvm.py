"""NVVM, the compiler of NVIDIA's that makes PTX of LLVM IR, and libdevice, its library.

https://docs.nvidia.com/cuda/libnvvm-api describes the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from autojit.codegen.cuda.translation.module import HEADER
from autojit.codegen.loop_ir.errors import TargetError

#: The compute capabilities for which NVVM has had code since CUDA 12.0.
_CAPABILITIES = (
    (5, 0), (5, 2), (5, 3), (6, 0), (6, 1), (6, 2), (7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7),
    (8, 8), (8, 9), (9, 0), (10, 0), (10, 1), (10, 3), (11, 0), (12, 0), (12, 1),
)  # fmt: skip
_OLDER = 'For older ones there is that of CUDA 12:\n    pip install "numba-cuda[cu12]"'
_INSTALL = 'pip install "autojit[cuda]"'


def compiled(text: Callable[[Sequence[int]], str], capability: tuple[int, int]) -> str:
    """The PTX of LLVM IR for cards of a capability.

    For cards that are newer than NVVM, it is for the newest that NVVM knows.

    Args:
        text: the LLVM IR, given the four numbers of NVVM's versions of it.

    Raises:
        TargetError: if NVVM is missing, or has no code for the card.
    """
    nvvm = _nvvm()
    return _compiled(nvvm, text(nvvm.ir_version()), _architecture(capability))


@cache
def _nvvm() -> Any:
    try:
        from cuda.bindings import nvvm

        nvvm.version()  # finds the library
    except (ImportError, RuntimeError, OSError) as failure:
        raise TargetError(
            f"code for a GPU needs NVIDIA's NVVM, which is not found ({failure}):\n    {_INSTALL}"
        ) from None
    return nvvm


@cache
def _libdevice() -> bytes:
    from cuda import pathfinder

    return Path(pathfinder.find_bitcode_lib("device")).read_bytes()


def _compiled(nvvm: Any, text: str, architecture: str) -> str:
    data, options = text.encode(), [f"-arch={architecture}", "-opt=3"]
    program = nvvm.create_program()
    try:
        nvvm.add_module_to_program(program, data, len(data), "kernel")
        nvvm.verify_program(program, len(options), options)
        if "@__nv_" in text:
            library = _libdevice()
            nvvm.lazy_add_module_to_program(program, library, len(library), "libdevice")
        nvvm.compile_program(program, len(options), options)
        made = bytearray(nvvm.get_compiled_result_size(program))
        nvvm.get_compiled_result(program, made)
        return made.rstrip(b"\0\n").decode() + "\n"
    except nvvm.nvvmError as failure:
        log = bytearray(nvvm.get_program_log_size(program))
        nvvm.get_program_log(program, log)
        words = log.rstrip(b"\0\n").decode(errors="replace") or str(failure)
        raise TargetError(f"NVVM refuses the code of a kernel:\n{words}") from None
    finally:
        nvvm.destroy_program(program)


@cache
def _architecture(capability: tuple[int, int]) -> str:
    """The newest architecture of NVVM that a card of this capability runs."""
    for major, minor in reversed([c for c in _CAPABILITIES if c <= capability]):
        name = f"compute_{major}{minor}"
        if _knows(name):
            return name
    raise TargetError(
        "the compiler that is installed makes no code for this GPU, of compute capability "
        f"{capability[0]}.{capability[1]}. {_OLDER}"
    )


def _knows(architecture: str) -> bool:
    """Whether NVVM has code for an architecture: it compiles a kernel that does nothing."""
    nvvm = _nvvm()
    numbers = ", ".join(f"i32 {n}" for n in nvvm.ir_version())
    text = f"""{HEADER}
define void @nothing() {{
  ret void
}}
!nvvmir.version = !{{!0}}
!0 = !{{{numbers}}}
"""
    try:
        return bool(_compiled(nvvm, text, architecture))
    except TargetError:
        return False
