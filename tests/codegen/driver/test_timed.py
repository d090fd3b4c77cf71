"""The times of parts: all are taken, none changes a result, and they add up."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.cpu.abi import clock as timed_code
from autojit.codegen.driver import timed as timed_driver
from autojit.codegen.driver.cache import Cache
from autojit.codegen.driver.executable import Executable
from autojit.codegen.driver.timed import (
    SHORT,
    StepTime,
    TimedExecutable,
    costs,
    seconds_per_tick,
    timed_steps,
)


def code_of(f: Callable[..., Any], *args: Any, cache: Cache | None = None) -> Executable:
    program = autojit.trace(f)(*args)
    assert not program.captured
    return Executable(program, cache)


def sweeps(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        return np.tanh(carry * 0.5 + row), carry.sum()

    last, sums = autojit.scan(step, np.zeros(1000), np.exp(x))
    return last.sum() + sums.sum() + (x @ x.T).sum()


def settles(x: Any) -> Any:
    while np.max(x) > 1.0:
        x = np.sqrt(x) * 0.99
    return np.where(x > 0.5, np.sin(x), x)


def solves(a: Any, b: Any, eye: Any) -> Any:
    square = a @ a.T + eye
    return np.linalg.solve(square, b), np.linalg.cholesky(square)


def asks(x: Any) -> Any:
    doubled = autojit.pure_callback(lambda a: a * 2, x, x * 1.0)
    return doubled.sum() + x


def chooses(x: Any) -> Any:
    return autojit.cond(x[0] > 0.0, lambda v: np.exp(v), lambda v: np.cumsum(v), x)


def adds_numbers(*numbers: Any) -> Any:
    return sum(x * x for x in numbers)


_RNG = np.random.default_rng(0)
PROGRAMS = {
    "a scan, forward and backward": (autojit.grad(sweeps), (_RNG.normal(size=(50, 1000)),)),
    "a loop of unknown length": (settles, (_RNG.uniform(1, 1e6, 3000),)),
    "library calls": (solves, (_RNG.normal(size=(40, 40)), np.ones(40), np.eye(40))),
    "a callback": (asks, (_RNG.normal(size=100),)),
    "branches": (chooses, (_RNG.normal(size=2000),)),
    "tasks": (lambda x: np.exp(x) + np.sin(x), (_RNG.normal(size=300_000),)),
    "many numbers": (adds_numbers, tuple(_RNG.normal(size=80))),
    "a loop for each of a batch": (autojit.vmap(sweeps), (_RNG.normal(size=(3, 5, 1000)),)),
    "nothing": (lambda x: x, (np.ones(3),)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_bit_is_that_of_the_plain_code(name: str) -> None:
    f, args = PROGRAMS[name]
    code = code_of(f, *args)
    plain, run = code.call(args), TimedExecutable(code).run(args)
    assert len(plain) == len(run.results)
    for a, b in zip(plain, run.results, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)


def test_parts_are_the_steps_of_the_loop_program() -> None:
    f, args = PROGRAMS["library calls"]
    code = code_of(f, *args)
    steps = timed_steps(code, args)
    assert [s.number for s in steps] == [(k,) for k in range(len(code.loops.steps))]
    assert {s.kind for s in steps} >= {"cholesky", "product", "loops"}
    assert all(s.count == 1 for s in steps)


def test_parts_of_a_loop_are_counted() -> None:
    f, args = PROGRAMS["a scan, forward and backward"]
    steps = timed_steps(code_of(f, *args), args)
    inside = [s for s in steps if len(s.number) == 2]
    assert [s.count for s in inside] == [50, 50]
    by_number = {s.number: s for s in steps}
    for s in inside:
        assert s.seconds <= by_number[s.number[:1]].seconds * 1.5 + 1e-5


def test_short_loops_inside_of_a_loop_are_not_timed() -> None:
    def f(x: Any) -> Any:
        last, _ = autojit.scan(lambda c, row: (np.tanh(c + row), c.sum()), np.zeros(10), x)
        return last

    x = np.ones((30, 10))
    assert {s.number for s in timed_steps(code_of(f, x), [x])} == {(0,)}


def test_times_add_up_to_the_whole() -> None:
    f, args = PROGRAMS["a scan, forward and backward"]
    timed = TimedExecutable(code_of(f, *args))
    shares = []
    for _ in range(5):
        run = timed.run(args)
        found = timed.times(run.counts, run.ticks)
        shares.append(sum(s.seconds for s in found if len(s.number) == 1) / (run.ended - run.begun))
    assert max(shares) <= 1.01
    assert max(shares) > 0.9


def test_a_slow_part_shows() -> None:
    def f(x: Any) -> Any:
        cheap = (x[:-1] + x[1:]).sum()
        return cheap, np.sort(x)

    x = _RNG.normal(size=200_000)
    timed = TimedExecutable(code_of(f, x))
    runs = [timed.run([x]) for _ in range(5)]
    least = np.min([run.ticks for run in runs[1:]], axis=0)  # the first one starts threads
    slowest = max(timed.times(runs[0].counts, least), key=lambda s: s.seconds)
    assert slowest.kind == "sort"


def test_what_costs_nothing_is_short() -> None:
    assert StepTime("k0", "loops", 3, 2e-9 * SHORT, (0,)).is_short
    assert not StepTime("k0", "loops", 3, 4e-9 * SHORT, (0,)).is_short


def test_the_clock_costs_something_and_not_much() -> None:
    cost = costs()
    assert 0 < cost.step < 1e-5
    assert 0 < cost.within <= cost.around < 1e-5
    assert 1e-11 < seconds_per_tick() < 1e-6


def test_timed_code_has_a_key_of_its_own(tmp_path: Path) -> None:
    f, args = PROGRAMS["branches"]
    cache = Cache(tmp_path)
    code = code_of(f, *args, cache=cache)
    code.call(args)
    keys = {e.path.name for e in cache.entries()}
    timed = TimedExecutable(code)
    timed.run(args)
    more = {e.path.name for e in cache.entries()}
    assert len(keys) == 1
    assert len(more) == 2
    assert more > keys
    again = TimedExecutable(code_of(f, *args, cache=cache))
    run = again.run(args)
    assert again.loaded == 1
    assert timed.loaded == 0
    assert sum(run.counts) > 0


def test_calls_on_threads_have_times_of_their_own() -> None:
    f, args = PROGRAMS["a loop of unknown length"]
    timed = TimedExecutable(code_of(f, *args))
    expected = timed.run(args).counts
    found: list[np.ndarray] = []

    def work() -> None:
        found.extend(timed.run(args).counts for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    for counts in found:
        np.testing.assert_array_equal(counts, expected)


def test_a_call_out_of_a_callback_has_times_of_its_own() -> None:
    inner: list[np.ndarray] = []
    depth = iter(range(3))

    def called(a: Any) -> Any:
        if next(depth) < 2:
            inner.append(timed.run([a]).counts)
        return a * 2

    x = np.ones(100)
    timed = TimedExecutable(code_of(lambda v: autojit.pure_callback(called, v, v) + 1.0, x))
    counts = timed.run([x]).counts
    np.testing.assert_array_equal(inner[0], counts)
    np.testing.assert_array_equal(inner[1], counts)


def test_an_error_leaves_no_times_behind() -> None:
    def f(x: Any, i: Any) -> Any:
        return np.exp(x)[i]

    x = np.ones(1000)
    timed = TimedExecutable(code_of(f, x, 3))
    good = timed.run([x, np.int64(3)]).counts
    with pytest.raises(IndexError):
        timed.run([x, np.int64(1000)])
    np.testing.assert_array_equal(timed.run([x, np.int64(3)]).counts, good)


@pytest.fixture
def no_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose cycle counter programs cannot read."""
    monkeypatch.setattr(timed_code, "has_cycle_counter", lambda: False)
    for known in (timed_driver._clock, timed_driver.costs):
        known.cache_clear()
    yield
    for known in (timed_driver._clock, timed_driver.costs):
        known.cache_clear()


@pytest.mark.usefixtures("no_counter")
@pytest.mark.skipif(os.name == "nt", reason="the C library has no clock_gettime")
def test_the_clock_of_the_c_library() -> None:
    assert timed_code.has_clock()
    assert seconds_per_tick() == pytest.approx(1e-9, rel=1e-2)
    f, args = PROGRAMS["a scan, forward and backward"]
    timed = TimedExecutable(code_of(f, *args))
    run = timed.run(args)
    steps = timed.times(run.counts, run.ticks)
    assert [s.count for s in steps if len(s.number) == 2] == [50, 50]
    assert sum(s.seconds for s in steps if len(s.number) == 1) <= 1.01 * (run.ended - run.begun)
