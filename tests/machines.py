"""A fixed machine for tests that expect texts: passes depend on caches and vector widths."""

from __future__ import annotations

from dataclasses import replace

from autojit.ir.core.machine import Machine, current

CACHES = (32 * 1024, 1024 * 1024, 16 * 1024 * 1024)


def with_avx512() -> Machine:
    """Return a machine with the caches and vector registers of a processor with AVX-512."""
    return replace(current(), caches=CACHES, vector_bytes=64, vector_registers=32)
