"""PTX is turned into code that a driver takes: machine code by nvJitLink, or PTX of a version that
the driver knows.

NVVM writes the PTX of its own release, and a driver refuses PTX newer than itself
(CUDA_ERROR_UNSUPPORTED_PTX_VERSION). Every driver of the same major release, or a later one, takes
machine code for the card:
https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html.
"""

from __future__ import annotations

import re
from functools import cache

from autojit.codegen.loop_ir.errors import TargetError

#: Minor version of PTX 8 for each minor version of CUDA 12 for which the two differ: table "PTX
#: Release History" of NVIDIA's "PTX ISA". PTX 9 has the minor versions of CUDA 13.
_MINOR_OF_8 = {6: 5, 7: 6, 8: 7, 9: 8}
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)
_TARGET = re.compile(r"^\.target sm_(\d+)", re.MULTILINE)


def assembles(driver: int) -> bool:
    """Whether we make machine code for a driver (12040 is that of CUDA 12.4).

    >>> assembles(0)  # an unknown driver
    False
    """
    linker = _linker()
    return linker is not None and driver // 1000 >= linker


@cache
def _linker() -> int | None:
    """The major release of nvJitLink; None if it is not installed."""
    try:
        from cuda.bindings import nvjitlink

        return int(nvjitlink.version()[0])
    except (ImportError, RuntimeError, OSError):
        return None


def is_for(text: str, capability: tuple[int, int]) -> bool:
    """Whether PTX targets exactly this capability.

    For cards newer than NVVM, the PTX targets the newest that NVVM knows; the driver translates it.

    >>> is_for(".target sm_90", (9, 0)), is_for(".target sm_121", (13, 0))
    (True, False)
    """
    found = _TARGET.search(text)
    return found is not None and found[1] == f"{capability[0]}{capability[1]}"


def lowered(text: str, driver: int) -> str:
    """PTX with its version lowered to the newest that a driver knows.

    Its instructions stay: the driver checks them against the version, and refuses newer ones.

    >>> lowered(".version 9.5", 12040), lowered(".version 9.5", 13050)
    ('.version 8.4', '.version 9.5')
    """
    newest, written = _newest(driver), _VERSION.search(text)
    if newest is None or written is None or (int(written[1]), int(written[2])) <= newest:
        return text
    return _VERSION.sub(".version {}.{}".format(*newest), text, count=1)


def _newest(driver: int) -> tuple[int, int] | None:
    major, minor = driver // 1000, driver % 1000 // 10
    if major == 12:
        return 8, _MINOR_OF_8.get(minor, minor)
    return (9, minor) if major == 13 else None


def assembled(text: str, capability: tuple[int, int]) -> bytes:
    """The machine code of PTX for cards of a capability.

    Raises:
        TargetError: with nvJitLink's message, if it refuses the PTX.
    """
    from cuda.bindings import nvjitlink

    data = text.encode()
    handle = nvjitlink.create(1, [f"-arch=sm_{capability[0]}{capability[1]}"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel")
        nvjitlink.complete(handle)
        made = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, made)
        return bytes(made)
    except nvjitlink.nvJitLinkError as failure:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        words = log.rstrip(b"\0\n").decode(errors="replace") or str(failure)
        raise TargetError(
            f"a kernel cannot be made for GPUs of compute capability "
            f"{capability[0]}.{capability[1]}:\n{words}"
        ) from None
    finally:
        nvjitlink.destroy(handle)
