"""A thread on its caller's processor moves away, and no other thread does."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import ir

from autojit.codegen.cpu.abi import abi, thread_affinity
from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.llvm.counted import text

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="threads are placed on Linux, on two processors or more",
)
RUNNER = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
c_library = ctypes.CDLL(None)
c_library.pthread_self.restype = ctypes.c_uint64


@pytest.fixture(scope="module")
def join() -> Any:
    """``join(told)`` as compiled code."""
    module = ir.Module("joining")
    thread_affinity.join(module)
    compiled = engine.Compiled([text(module)])
    function = RUNNER(compiled.address("join"))

    def call(told: Any) -> None:
        function(None, None, None, ctypes.addressof(told))

    call.keeps = compiled  # type: ignore[attr-defined]
    return call


def in_thread(work: Callable[[], Any]) -> Any:
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def told(caller: int, processor: int, ran: list[Any], system: bool = True) -> Any:
    """The words that a thread receives, with everything that they refer to."""
    slots = list(abi.fixed_table())
    if not system:
        for name in ("pthread_self", "sched_getcpu", "pthread_getaffinity_np"):
            slots[abi.SLOTS[name]] = 0
    table = (ctypes.c_int64 * len(slots))(*slots)
    runner = RUNNER(lambda *pointers: ran.append(pointers[3]))
    address = ctypes.cast(runner, ctypes.c_void_p).value
    words = (ctypes.c_int64 * 5)(address, 7, ctypes.addressof(table), caller, processor)
    words.keeps = table, runner  # type: ignore[attr-defined]
    return words


def joined(join: Any, here: int, processor: int, **more: Any) -> set[int]:
    """The processors on which a thread may run after joining a caller; it was running on
    ``here``."""
    caller, ran = c_library.pthread_self(), list[Any]()

    def work() -> set[int]:
        os.sched_setaffinity(0, {here})
        join(told(caller, processor, ran, **more))
        return os.sched_getaffinity(0)

    allowed = in_thread(work)
    assert ran == [7]
    return allowed


def test_a_thread_on_its_callers_processor_moves_away(join: Any) -> None:
    for here in (mine := os.sched_getaffinity(0)):
        assert joined(join, here, here) == mine - {here}


def test_a_thread_on_another_processor_stays_as_it_is(join: Any) -> None:
    first, second, *_ = os.sched_getaffinity(0)
    assert joined(join, first, second) == {first}


def test_where_the_system_does_not_say(join: Any) -> None:
    first, *_ = os.sched_getaffinity(0)
    assert joined(join, first, first, system=False) == {first}


def test_a_caller_that_may_run_nowhere_else(join: Any) -> None:
    """There is no other processor for the thread, so it stays."""
    first, *_ = os.sched_getaffinity(0)

    def as_caller() -> set[int]:
        os.sched_setaffinity(0, {first})
        return joined(join, first, first)

    assert in_thread(as_caller) == {first}


def test_the_caller_itself_stays(join: Any) -> None:
    first, *_ = os.sched_getaffinity(0)
    ran: list[Any] = []

    def work() -> set[int]:
        os.sched_setaffinity(0, {first})
        join(told(c_library.pthread_self(), first, ran))
        return os.sched_getaffinity(0)

    assert in_thread(work) == {first}
    assert ran == [7]
