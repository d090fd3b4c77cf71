"""What is compiled ahead: done once, taken back, refused, and not lost in a fork."""

from __future__ import annotations

import multiprocessing
import threading
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from autojit import jit
from autojit.codegen.cpu import ahead, engine, library


@pytest.fixture(autouse=True)
def nothing_begun() -> Iterator[None]:
    yield
    wait_for_thread()
    assert not ahead._waiting


def wait_for_thread() -> None:
    for thread in threading.enumerate():
        if thread.name == "autojit LLVM, ahead":
            thread.join(60)


def test_a_job_is_done_once() -> None:
    done = []

    def work() -> bytes:
        done.append(threading.current_thread().name)
        return b"code"

    ahead.begin("once", work)
    ahead.begin("once", work)
    wait_for_thread()
    job = ahead.begun("once")
    assert job is not None
    assert job.code() == b"code"
    assert done == ["autojit LLVM, ahead"]
    assert ahead.begun("once") is None


def test_what_has_not_begun_is_taken_back() -> None:
    with ahead.working:
        ahead.begin("first", lambda: b"1")
        assert ahead.begun("first") is None
    wait_for_thread()
    assert ahead.begun("first") is None


def test_what_goes_on_is_waited_for() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> bytes:
        inside.set()
        assert leave.wait(60)
        return b"late"

    ahead.begin("late", work)
    assert inside.wait(60)
    job = ahead.begun("late")
    assert job is not None
    threading.Timer(0.05, leave.set).start()
    assert job.code() == b"late"


def test_an_error_is_for_whoever_asks() -> None:
    def work() -> bytes:
        raise RuntimeError("no such instruction")

    ahead.begin("wrong", work)
    wait_for_thread()
    job = ahead.begun("wrong")
    assert job is not None
    with pytest.raises(RuntimeError, match="no such instruction"):
        job.code()


def compiled(number: float) -> float:
    return float(jit(lambda x: np.sum(np.sin(x) * number))(np.linspace(0.0, 1.0, 50)))


@pytest.fixture
def fresh_library(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The library as in a new process; what is begun ahead comes here."""
    begun: list[object] = []
    begin = ahead.begin

    def recorded(key: object, work: ahead.Work) -> None:
        begun.append(key)
        begin(key, work)

    monkeypatch.setattr(library, "_texts", {})
    monkeypatch.setattr(library, "_forms", {})
    monkeypatch.setattr(engine, "_shared", {})
    monkeypatch.setattr(ahead, "begin", recorded)
    return begun


@pytest.mark.parametrize("threads", [1, 2])
def test_functions_of_the_library(
    threads: int, fresh_library: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are begun as they are written, where there is a second processor."""
    monkeypatch.setattr(engine, "thread_count", lambda: threads)
    number = 7.0 + threads  # a program that was not compiled before
    want = number * np.sum(np.sin(np.linspace(0.0, 1.0, 50)))
    assert compiled(number) == pytest.approx(want, rel=1e-14)
    assert bool(fresh_library) == (threads > 1)
    assert engine._shared
    assert not ahead._jobs


def test_a_fork_waits_for_what_goes_on() -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    inside, done = threading.Event(), threading.Event()

    def work() -> bytes:
        inside.set()
        done.wait(0.2)
        done.set()
        return b"whole"

    ahead.begin("in the parent", work)
    assert inside.wait(60)
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def child() -> None:
        ahead.begin("in the child", lambda: b"own")
        jobs = ahead.begun("in the parent"), ahead.begun("in the child")
        send.send([job.code() if job else None for job in jobs])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=child)
        process.start()
    assert done.is_set()
    assert receive.poll(60)
    first, second = receive.recv()
    assert first == b"whole"
    assert second in (b"own", None)  # None: taken back before the thread came to it
    process.join(60)
    assert process.exitcode == 0
    ahead.begun("in the parent")
