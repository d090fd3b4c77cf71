"""Temporaries lie at the first free bytes; the time to find them is linear in their number."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

from autojit.codegen.analysis.arena import places
from autojit.codegen.loop_ir.program import ALIGNMENT
from autojit.codegen.loop_ir.values import Buffer


def temporaries(count: int, steps: int, longest: int, seed: int) -> list[list[Buffer]]:
    """Temporaries of random sizes, each used at two steps, in the order of the steps."""
    draw = random.Random(seed)
    used: list[list[Buffer]] = [[] for _ in range(steps)]
    for k in range(count):
        buffer = Buffer(f"t{k}", "f64", draw.choice([1, 3, 9, 40, 100]), "temp")
        start = draw.randrange(steps)
        used[start].append(buffer)
        used[min(steps - 1, start + draw.randrange(longest))].append(buffer)
    return used


def bytes_of(buffer: Buffer) -> int:
    return -(-8 * buffer.size // ALIGNMENT) * ALIGNMENT


@pytest.mark.parametrize("seed", range(30))
def test_each_is_at_the_first_free_bytes(seed: int) -> None:
    used = temporaries(60, 30, 9, seed)
    offsets, size = places(used)
    living = {b: [k for k, step in enumerate(used) if b in step] for b in offsets}
    before: list[Buffer] = []
    for b, steps in living.items():
        # Of those placed before, the ones still in use when it is first used.
        still = [o for o in before if living[o][-1] >= steps[0]]
        taken = [(offsets[o], offsets[o] + bytes_of(o)) for o in still]
        starts = sorted({0, *(end for _, end in taken)})
        free = (
            s for s in starts if all(s + bytes_of(b) <= low or s >= high for low, high in taken)
        )
        assert offsets[b] == next(free)
        before.append(b)
    assert size == max(offsets[b] + bytes_of(b) for b in offsets)


def test_temporaries_without_elements_take_no_bytes() -> None:
    empty, full = Buffer("a", "f64", 0, "temp"), Buffer("b", "f64", 4, "temp")
    assert places([[full, empty], [empty, full]]) == ({full: 0, empty: 64}, 64)


def test_the_work_is_linear() -> None:
    """Residuals of a chain: they are freed in the opposite order."""

    def calls(n: int) -> int:
        buffers = [Buffer(f"t{k}", "f64", 1 + k % 7, "temp") for k in range(n)]
        count = 0

        def counted(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(counted)
        try:
            places([[b] for b in (*buffers, *buffers[::-1])])
        finally:
            sys.setprofile(None)
        return count

    assert calls(2000) < 2.1 * calls(1000)
