"""Loops over one-byte elements beside wider ones: no vector accesses memory past the end."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autojit import jit

_ACCESS = re.compile(r"@llvm\.masked\.(?:store|load)\.v(\d+)(i1|i8|i16|i32|f32)\S*\(([^\n]*)")
_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "f32": 4}


def short_under_one_mask(llvm: str) -> Iterator[str]:
    """Accesses narrower than the shortest vector, under a mask that is the same for all lanes."""
    for lanes, kind, arguments in _ACCESS.findall(llvm):
        masks = re.findall(r"<\d+ x i1> (%[\w.]+|splat \(i1 \w+\))", arguments)
        made = re.search(re.escape(masks[-1]) + r" = (\w+)", llvm)
        if int(lanes) * _BYTES[kind] < 16 and (made is None or made[1] == "shufflevector"):
            yield f"{lanes} x {kind}"


@pytest.mark.sampled(12)
@pytest.mark.parametrize("count", [3, 6, 10, 12, 14, 20, 24, 40])
@pytest.mark.parametrize("function", [np.tan, np.exp, np.sqrt], ids=["tan", "exp", "sqrt"])
def test_no_short_vector_is_under_one_mask(count: int, function: Callable[[Any], Any]) -> None:
    """LLVM widens such accesses to whole vectors, which write past the end."""
    a = np.linspace(0.1, 0.9, count)
    for other in (np.ones(count, bool), np.ones(count, np.uint8), np.ones(count, np.int16)):
        programs = (
            lambda a, b: (function(a), b | b, a > 0.5),
            lambda a, b: np.where(a > 0.5, function(a), a) * b,
        )
        for f in programs:
            assert list(short_under_one_mask(jit(f).lower(a, other).text("llvm"))) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [12, 24, 40])
def test_memory_behind_results_is_left_alone(count: int) -> None:
    program = f"""
        import numpy as np
        from autojit import jit

        @jit
        def f(a, b):
            return a % b, np.tan(a), a == b, np.sqrt(a) > 2

        a = np.arange(1, {count} + 1, dtype=np.int32)
        kept = []
        for n in range(1500):
            kept.append(bytearray(b"x" * 24))
            kept.append(f(a, a[::-1].copy()))
            if n % 7 == 0:
                del kept[::3]
        assert all(bytes(k) == b"x" * 24 for k in kept if isinstance(k, bytearray))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
