"""Loops of medium length run on threads if measurements show that this is faster."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from autojit import grad, jit, trace
from autojit.codegen.cpu.host import engine, stopwatch
from autojit.codegen.cpu.host.stopwatch import EVERY, TRIALS, Stopwatch, cycles, memory
from autojit.codegen.cpu.llvm.counted import text
from autojit.codegen.driver import stages
from autojit.codegen.loop_ir.machine import has_cycle_counter

pytestmark = pytest.mark.skipif(not has_cycle_counter(), reason="no counter of cycles")

I64 = ir.IntType(64)


@pytest.fixture
def run() -> Callable[[int, int], bool]:
    """A place where tasks run: takes so many cycles alone and on threads; returns the chosen
    way."""
    module = ir.Module("clock")
    function = ir.Function(module, ir.FunctionType(I64, [I64, I64]), "run")
    b = ir.IRBuilder(function.append_basic_block())
    watch = Stopwatch(b, memory(module, "run"))
    way = watch.start()
    until = b.add(cycles(b), b.select(way, function.args[1], function.args[0]))
    wait, done = b.append_basic_block(), b.append_basic_block()
    b.branch(wait)
    b.position_at_end(wait)
    b.cbranch(b.icmp_unsigned("<", cycles(b), until), wait, done)
    b.position_at_end(done)
    watch.stop()
    b.ret(b.zext(way, I64))
    compiled = engine.Compiled([text(module)])
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    native = signature(compiled.address("run"))
    return lambda alone, threads: bool(native(alone, threads) and compiled)


SHORT, LONG = 20_000, 400_000


@pytest.mark.parametrize("threads_are_faster", [False, True])
def test_the_faster_way_is_taken_and_the_other_looked_at(
    run: Callable[[int, int], bool], threads_are_faster: bool
) -> None:
    times = (LONG, SHORT) if threads_are_faster else (SHORT, LONG)
    ways = [run(*times) for _ in range(4 * EVERY)]
    assert ways[:TRIALS] == [True, False] * (TRIALS // 2)
    settled = np.array(ways[TRIALS:])
    assert np.mean(settled == threads_are_faster) > 0.9  # except for tries of the other way
    assert np.any(settled != threads_are_faster)


def test_what_has_changed_is_noticed(run: Callable[[int, int], bool]) -> None:
    for _ in range(2 * EVERY):
        run(LONG, SHORT)
    ways = [run(SHORT, 2 * LONG) for _ in range(2 * EVERY)]
    assert np.mean(ways[EVERY:]) < 0.1


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_both_ways_give_the_same_bits() -> None:
    x = np.random.default_rng(0).normal(size=300_000)
    program = trace(grad(rosenbrock))(x)
    assert "in threads if that is faster" in stages.text(program, "loops")
    function = jit(grad(rosenbrock))
    first = function(x)
    for _ in range(2 * EVERY):
        np.testing.assert_array_equal(function(x), first)


def test_without_a_counter_it_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopwatch, "has_cycle_counter", lambda: False)
    module = ir.Module("none")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "run")
    b = ir.IRBuilder(function.append_basic_block())
    watch = Stopwatch(b, memory(module, "run"))
    assert watch.start().constant == 0
    watch.stop()
    b.ret_void()
    assert "readcyclecounter" not in str(module)
