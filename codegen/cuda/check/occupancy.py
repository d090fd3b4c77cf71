"""The registers and resident threads of kernels, as the driver has compiled them."""

from __future__ import annotations

from typing import NamedTuple

from autojit.codegen.cuda.runtime import CudaExecutable


class Occupancy(NamedTuple):
    """The registers per thread, the bytes per thread that spill to memory, and the number of the
    kernel's threads that a processor runs at a time."""

    registers: int
    spilled: int
    threads: int


def occupancies(code: CudaExecutable) -> list[Occupancy]:
    """The occupancy of each launch of a kernel."""
    card, found = code.card, []
    for kernel, launch in zip(code.kernels(), code.launches, strict=True):
        function = card.function(kernel, None)
        blocks = card.fitting(function, launch.threads) // card.processors
        found.append(Occupancy(*card.registers(function), blocks * launch.threads))
    return found


def described(every: list[Occupancy]) -> str:
    """The most registers, and the fewest threads, in words.

    >>> described([Occupancy(32, 0, 2048), Occupancy(48, 16, 1280)])
    '48 registers, 1280 threads at a time, 16 bytes spilled'
    """
    if not every:
        return "no kernels"
    spilled = max(o.spilled for o in every)
    words = f"{max(o.registers for o in every)} registers, "
    words += f"{min(o.threads for o in every)} threads at a time"
    return words + (f", {spilled} bytes spilled" if spilled else "")
