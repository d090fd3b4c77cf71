"""Tasks: which thread runs which, and how evenly they are divided."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from llvmlite import ir

from autojit.codegen.cpu.emit import nests, tasks
from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.llvm.counted import text
from autojit.codegen.loop_ir.nodes import Fill, Loop
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

Claim = Callable[[int], int]


@pytest.fixture
def claiming() -> Callable[[int, int], Claim]:
    """For given numbers of threads and tasks: a function that returns the task that a thread
    claims."""
    module = ir.Module("claims")
    tasks._write_claim(ir.Function(module, tasks._CLAIM, "claim"))
    compiled = engine.Compiled([text(module)])
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64
    )
    native = signature(compiled.address("claim"))

    def begin(threads: int, count: int) -> Claim:
        words = (ctypes.c_int64 * 2)(0, threads)
        return lambda thread: native(words, ctypes.c_int64(thread), count) if compiled else -1

    return begin


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 64, 100])
@pytest.mark.parametrize("count", [1, 2, 5, 63, 64])
def test_every_task_is_run_once(
    claiming: Callable[[int, int], Claim], threads: int, count: int
) -> None:
    claim = claiming(threads, count)
    found = [claim(n % threads) for n in range(count)]
    assert sorted(found) == list(range(count))
    assert claim(0) == claim(threads - 1) == -1


def test_a_thread_has_the_same_ones_at_every_call(
    claiming: Callable[[int, int], Claim],
) -> None:
    """First its own tasks, in order; then those of other threads, from their ends."""
    for _ in range(3):
        claim = claiming(2, 10)
        assert [claim(1), claim(1), claim(0), claim(1)] == [5, 6, 0, 7]
        assert [claim(0) for _ in range(3)] == [1, 2, 3]
        assert [claim(1) for _ in range(3)] == [8, 9, 4]
        assert claim(0) == claim(1) == -1


def test_alone_a_thread_runs_them_in_order(claiming: Callable[[int, int], Claim]) -> None:
    claim = claiming(1, 64)
    assert [claim(0) for _ in range(65)] == [*range(64), -1]


def test_parts_are_whole_vectors_of_what_may_become_vectors() -> None:
    buffer = Buffer("x", "f64", 1 << 20, "temp")

    def grain(extent: int, count: int, *, nested: bool = False) -> int:
        var, inner = Var(extent), Var(10)
        body = [Fill(buffer, affine.of(var), 1, 0.0)]
        if nested:
            body = [Loop(inner, 0, 10, [Fill(buffer, Affine(0), 1, 0.0)], "map")]
        return nests.grain(Loop(var, 0, extent, body, "map", share=Var(count)))

    assert grain(1 << 20, 64) == nests.GRAIN
    assert grain(1_000_008, 64) == 8
    assert grain(1_000_001, 64) == 1
    assert grain(80, 4) == 1  # parts of 16 would be 16, 16, 16 and 32
    assert grain(1 << 20, 64, nested=True) == 1
