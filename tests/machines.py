"""A machine of one kind, for tests that expect texts: passes choose by caches and vectors."""

from __future__ import annotations

from dataclasses import replace

from autojit.ir.core.machine import Machine, current

CACHES = (32 * 1024, 1024 * 1024, 16 * 1024 * 1024)


def with_avx512() -> Machine:
    """A machine with the caches and the vector registers of a processor with AVX-512."""
    return replace(current(), caches=CACHES, vector_bytes=64, vector_registers=32)
