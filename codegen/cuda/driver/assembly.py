"""PTX to what a driver takes: machine code by nvJitLink, or PTX of a version that it knows.

NVVM writes the PTX of its own release, and a driver refuses what is newer than itself
(CUDA_ERROR_UNSUPPORTED_PTX_VERSION). Machine code for the card is taken by every driver of the same
major release and by later ones:
https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html.
"""

from __future__ import annotations

import re
from functools import cache

from autojit.codegen.loop_ir.errors import TargetError

#: Minor numbers of PTX 8 by those of CUDA 12, where the two differ: table "PTX Release History" of
#: NVIDIA's "PTX ISA". PTX 9 has the minor numbers of CUDA 13.
_MINOR_OF_8 = {6: 5, 7: 6, 8: 7, 9: 8}
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)
_TARGET = re.compile(r"^\.target sm_(\d+)", re.MULTILINE)


def assembles(driver: int) -> bool:
    """Whether machine code is made here for a driver (12040 is that of CUDA 12.4).

    >>> assembles(0)  # a driver of no release
    False
    """
    linker = _linker()
    return linker is not None and driver // 1000 >= linker


@cache
def _linker() -> int | None:
    """The major release of nvJitLink; None where it is not installed."""
    try:
        from cuda.bindings import nvjitlink

        return int(nvjitlink.version()[0])
    except (ImportError, RuntimeError, OSError):
        return None


def is_for(text: str, capability: tuple[int, int]) -> bool:
    """Whether PTX is for just these cards: for those newer than NVVM it is that of the newest that
    NVVM knows, which the driver translates.

    >>> is_for(".target sm_90", (9, 0)), is_for(".target sm_121", (13, 0))
    (True, False)
    """
    found = _TARGET.search(text)
    return found is not None and found[1] == f"{capability[0]}{capability[1]}"


def lowered(text: str, driver: int) -> str:
    """PTX under the newest version that a driver knows, if it says a newer one.

    Its instructions stay. The driver compares them with the version, and refuses newer ones.

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
        TargetError: with nvJitLink's words, where it refuses the PTX.
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
