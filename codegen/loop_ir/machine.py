"""Detects this machine from the operating system and LLVM, as late as possible.

The sizes of caches come from the system (``caches``). The vector width is what LLVM reports and
Numba's settings allow, because Numba's LLVM compiles for the same processor.
"""

from __future__ import annotations

import os
from functools import lru_cache

from autojit.ir.core.machine import Machine, ask_by, current

__all__ = [
    "current", "has_cycle_counter", "has_fused", "has_halves", "has_masks", "number", "processors",
]  # fmt: skip


def number(setting: str | None, default: int) -> int:
    """A numeric setting, or its default."""
    return int(setting) if setting and setting.isdigit() else default


def _ask() -> Machine:
    told, with_avx = (os.environ.get(f"NUMBA_{name}") for name in ("CPU_FEATURES", "ENABLE_AVX"))
    return _machine(told, bool(number(with_avx, 1)))


ask_by(_ask)


@lru_cache(maxsize=4)
def _machine(told: str | None, with_avx: bool) -> Machine:
    features = frozenset(told.split(",")) if told else _host_features()
    if not with_avx:
        features = frozenset(name for name in features if not name.startswith("+avx"))
    from .caches import found_caches

    caches = found_caches()
    size, count = _registers(features)
    return Machine(
        line=caches.line,
        caches=caches.sizes,
        vector_bytes=size,
        vector_registers=count,
        features=features,
        processors=processors(),
        source=caches.source,
    )


def _registers(features: frozenset[str]) -> tuple[int, int]:
    """The bytes of a vector register, and how many there are."""
    if "+avx512f" in features:
        return 64, 32
    if "+avx" in features:
        return 32, 16
    return 16, 16 if _is_x86() else 32


def _host_features() -> frozenset[str]:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return frozenset(f"+{name}" for name, has in features.items() if has)


@lru_cache(maxsize=1)
def _triple() -> str:
    import llvmlite.binding as llvm

    return str(llvm.get_process_triple())


def _is_x86() -> bool:
    return _triple().startswith(("x86_64", "i686"))


def has_cycle_counter() -> bool:
    """Whether programs may read the processor's counter of cycles."""
    return _is_x86()


def has_masks() -> bool:
    """Whether vectors are loaded and stored under masks at no cost, as AVX-512 does."""
    return current().vector_bytes == 64


def has_fused() -> bool:
    """Whether a product and a sum, rounded once, are one instruction."""
    is_arm = _triple().startswith(("aarch64", "arm64"))
    return is_arm or {"+fma", "+avx"} <= current().features


def has_halves() -> bool:
    """Whether conversions between float16 and float32 are instructions."""
    is_arm = _triple().startswith(("aarch64", "arm64"))
    return is_arm or {"+f16c", "+avx"} <= current().features


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
