"""Ctrl-C and other signals end compiled loops of unknown length, and the code can run again."""

from __future__ import annotations

import ctypes
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.codegen.cpu.abi import interruptions
from autojit.staging.execute import executable

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer that signals")


class Alarm(Exception):
    """The exception that the tests' signal handler raises."""


@contextmanager
def alarm(seconds: float, error: BaseException | None) -> Iterator[list[float]]:
    """Send a signal after a while. Its handler raises an error, or records the time and returns."""
    noted: list[float] = []

    def handle(*_: Any) -> None:
        noted.append(time.monotonic())
        if error is not None:
            raise error

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield noted
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def halving(x: Any, least: Any) -> Any:
    while x > least:
        x = x / 2
    return x


def inner(x: Any, least: Any) -> Any:
    for _ in range(3):
        y = x
        while x > 1:  # this loop ends
            x = x / 2
        while y > least:
            y = np.sin(y)
            while y > least:
                y = y / 2
        x = x + y
    return x


def on_arrays(x: Any, least: Any) -> Any:
    y = x * np.ones((60, 60))
    while y[0, 0] > least:
        y = np.tanh(y @ y) * 0.01
    return y[0, 0]


def with_callback(x: Any, least: Any) -> Any:
    while x > least:
        x = autojit.pure_callback(lambda v: v / 2, x, x)
    return x


def with_index(x: Any, least: Any) -> Any:
    table, i = np.arange(7.0), 0
    while x > least:
        x, i = x / 2 + table[i] * 0, (i + 1) % 7
    return x


def loop_of_a_scan(x: Any, least: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        return autojit.while_loop(lambda v: v > least, lambda v: v / 2, c), c

    return autojit.scan(step, x, np.arange(3.0))[0]


LOOPS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (halving, inner, on_arrays, with_callback, with_index, loop_of_a_scan)
}


@pytest.mark.sampled(2)
@posix
@pytest.mark.parametrize("name", LOOPS)
def test_a_signal_ends_a_loop_and_the_function_runs_again(name: str) -> None:
    f = jit(LOOPS[name])
    before = f(8.0, 0.5)
    for error in (Alarm(), KeyboardInterrupt()):
        with alarm(0.05, error) as noted, pytest.raises(type(error)):
            f(8.0, -1.0)  # the halved number always stays above -1
        assert time.monotonic() - noted[0] < 1.0
        assert f(8.0, 0.5) == before


@posix
def test_a_handler_that_returns_lets_the_loop_go_on() -> None:
    def counted(n: Any) -> Any:
        return autojit.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1.0, np.sin(c[1]) + 1), (0.0, 0.0)
        )

    f = jit(counted)
    f(1.0)  # compiles
    steps, begun = 1e6, time.perf_counter()
    want = f(steps)
    while (passed := time.perf_counter() - begun) < 0.2:
        steps, begun = 2 * steps, time.perf_counter()
        want = f(steps)
    with alarm(passed / 4, None) as noted:
        got = f(steps)
    assert noted
    assert time.monotonic() > noted[0]
    assert got == want


@posix
def test_a_loop_that_is_differentiated_has_no_backward_sweep_then() -> None:
    """Its tapes grow until the signal arrives, and are then freed."""
    f = jit(grad(lambda x, least: halving(x, least)))
    assert f(8.0, 0.5) == 2.0**-4
    for _ in range(2):
        with alarm(0.02, Alarm()) as noted, pytest.raises(Alarm):
            f(8.0, -1.0)
        assert time.monotonic() - noted[0] < 1.0
        assert f(8.0, 0.5) == 2.0**-4


@posix
def test_the_line_of_the_loop_is_named() -> None:
    with alarm(0.05, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt) as caught:
        jit(halving)(8.0, -1.0)
    assert "while x > least:" in "\n".join(caught.value.__notes__)
    assert {str(frame.path) for frame in caught.traceback} == {__file__}


def test_an_asynchronous_error_ends_a_loop_in_another_thread() -> None:
    f, ended = jit(halving), []
    f(8.0, 0.5)

    def work() -> None:
        try:
            f(8.0, -1.0)
        except Alarm as error:
            ended.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    time.sleep(0.02)
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raise_in(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Alarm))
    thread.join(10)
    assert not thread.is_alive()
    assert len(ended) == 1
    assert f(8.0, 0.5) == 0.5


CHILD = """
import threading, sys
import autojit

@autojit.jit
def endless(x):
    while x > -1.0:  # here
        x = x / 2
    return x

def work():
    endless(2.0)

where = sys.argv[1]
print(endless(-3.0), flush=True)
if where == "main":
    try:
        work()
    finally:
        print(endless(-2.0), flush=True)
else:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    print("started", flush=True)
    thread.join()
"""


@pytest.mark.sampled(2)
@posix
@pytest.mark.parametrize("where", ["main", "thread"])
def test_ctrl_c_ends_the_process(where: str, tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(CHILD, encoding="utf-8")
    command = [sys.executable, str(script), where]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "-3.0\n"
        if where == "thread":
            process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors
    assert ("-2.0" in out) == ("while x > -1.0:  # here" in errors) == (where == "main")


# -- what it costs -----------------------------------------------------------------------


def llvm(f: Callable[..., Any], *arguments: Any) -> str:
    return executable(autojit.trace(f)(*arguments)).llvm()


def test_loops_that_are_counted_do_not_pause() -> None:
    def counted(x: Any) -> Any:
        return autojit.scan(lambda c, r: (np.sin(c) + r, c), 0.0, x)[0]

    assert not re.search(r"call .*@pause", llvm(counted, np.ones(1000)))


def test_a_loop_without_failures_is_vector_code() -> None:
    one = np.int64(1)

    def summed(n: Any) -> Any:
        return autojit.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + one, c[1] + (c[0] * c[0] ^ (c[0] >> one))),
            (np.int64(0), np.int64(0)),
        )  # fmt: skip

    text = llvm(summed, np.int64(9))
    assert "@pause" in text
    assert re.search(r"mul <\d+ x i64>", text)
    i = np.arange(100_000)
    assert jit(summed)(np.int64(100_000)) == (100_000, np.sum(i * i ^ (i >> 1)))


def test_the_first_pause_comes_after_a_known_amount_of_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pause costs one call per some ten thousand additions."""
    assert interruptions.FIRST >= 1 << 12
    monkeypatch.setattr(interruptions, "FIRST", 1)

    def short(x: Any) -> Any:
        return autojit.while_loop(lambda c: c < 1000.0, lambda c: c * 1.25 + 0.125, x)

    assert jit(short)(1.0) == jit(lambda x: short(x) + 0.0)(
        1.0
    )  # pauses at each step, and only after many steps
