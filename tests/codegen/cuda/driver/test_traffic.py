"""The requests that calls make to CUDA's driver, counted by a fake driver: launches, copies,
memory, graphs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import device_put, grad, jit
from autojit.codegen.cuda import tapes
from autojit.codegen.cuda.arrays import DeviceArray
from autojit.codegen.cuda.driver import launching
from autojit.codegen.cuda.driver.prototypes import LEGACY_STREAM
from autojit.codegen.cuda.runtime import Bound
from autojit.errors import StaleValueWarning
from tests.codegen.cuda.driver.fake import Fake, Stub, installed, with_stubs

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
X = np.arange(600.0).reshape(20, 30)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with installed(Fake()) as made:
        yield made


def network(x: Any, w: Any, v: Any) -> Any:
    return np.sum(np.tanh(np.tanh(x @ w) @ v), axis=0)


ARGUMENTS = (np.ones((40, 50)), np.ones((50, 60)), np.ones((60, 70)))


def test_one_kernel_is_one_launch_of_bare_addresses(fake: Fake) -> None:
    f, x = jit(lambda x, y: np.sin(x) * y), device_put(X)
    y = device_put(X + 1)
    f(x, y)
    with fake.counted() as counts:
        result = f(x, y)
    assert counts == {"cuLaunchKernel": 1}
    assert fake.launches[-1].passed == [x.pointer, y.pointer, result.pointer]
    assert fake.launches[-1].stream == LEGACY_STREAM
    assert isinstance(result, DeviceArray)


def test_no_more_blocks_than_have_room_on_the_card(fake: Fake) -> None:
    """108 processors: blocks beyond those that fit would run in a second round, on a half-empty
    card."""
    x, grids = np.broadcast_to(1.0, (10**6,)), []
    for fitting in (8, 5, 0):  # 0 if a kernel cannot run; the launch then fails
        fake.fitting = fitting
        jit(lambda x: x * 2, device="cuda")(x)
        grids.append(fake.launches[-1].grid)
    assert grids == [(864, 1, 1), (540, 1, 1), (864, 1, 1)]
    fake.fitting = 5
    jit(lambda x: np.sum(x), device="cuda")(x)  # each block leaves a value: fixed number
    assert fake.launches[-2].grid == (864, 1, 1)


def test_the_steady_state_of_a_loop_asks_for_no_memory(fake: Fake) -> None:
    step, x = jit(lambda x: x + np.sum(x, axis=1, keepdims=True)), device_put(X)
    for _ in range(3):
        x = step(x)
    with fake.counted() as counts:
        for _ in range(10):
            x = step(x)
    assert counts.keys() <= {"cuLaunchKernel", "cuGraphLaunch"}


def test_arguments_of_the_host_are_copied_and_results_come_back_once(fake: Fake) -> None:
    f = jit(lambda x: (x + 1, x * 2), device="cuda")
    f(X)
    with fake.counted() as counts:
        results = f(X)
    assert all(type(r) is np.ndarray for r in results)
    assert counts["cuMemcpyHtoDAsync_v2"] == 1
    assert counts["cuMemcpyDtoHAsync_v2"] == 2
    assert counts["cuStreamSynchronize"] == 1


def test_numbers_are_passed_by_value(fake: Fake) -> None:
    f, x = jit(lambda x, rate, n: x * rate + n), device_put(X)
    f(x, 0.5, 3)
    with fake.counted() as counts:
        f(x, 0.25, 7)
    assert counts == {"cuLaunchKernel": 1}
    last = fake.launches[-1]
    pairs = zip(last.passed, last.kernel.buffers, strict=True)
    values = {b.dtype: np.uint64(slot).view(b.dtype) for slot, b in pairs if b.by_value}
    assert values == {"float64": 0.25, "int64": 7}
    with pytest.raises(OverflowError):
        f(x, 0.25, 2**70)


def test_closed_over_arrays_are_copied_once_as_they_were(fake: Fake) -> None:
    w = np.arange(30.0)
    f, x = jit(lambda x: x * w), device_put(X)
    f(x)
    w[:] = -1  # the CPU's code does not see this either
    with fake.counted() as counts:
        with pytest.warns(StaleValueWarning, match="`w` has changed"):
            f(x)
        f(X)
    assert counts["cuMemcpyHtoDAsync_v2"] == 1  # for X
    kernel, passed = fake.launches[-1].kernel, fake.launches[-1].passed
    there = [p for p, b in zip(passed, kernel.buffers, strict=True) if b.size == 30]
    held = (np.ctypeslib.ctypes.c_double * 30).from_address(there[0])
    np.testing.assert_array_equal(np.array(held), np.arange(30.0))


def test_a_call_that_may_fail_does_not_wait(fake: Fake) -> None:
    f, x, places = jit(lambda x, i: x[i]), device_put(X), device_put(np.array([1, 2]))
    f(x, places)
    with fake.counted() as counts:
        result = f(x, places)
    assert counts == {"cuLaunchKernel": 1}
    with fake.counted() as counts:
        np.asarray(result)
    assert counts == {"cuMemcpyDtoHAsync_v2": 1, "cuStreamSynchronize": 1}


def until_large(x: Any) -> Any:
    total = np.sum(x)
    while total < 100.0:
        x = np.sin(x) * 1.5 + 1
        total = total + np.sum(x)
    return total


class Full(Fake):
    """Kernels report that tapes are full until these have room for 10 steps."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []

    def _launched(self, function: int, *rest: Any) -> None:
        super()._launched(function, *rest)
        kernel, passed = self.launches[-1].kernel, iter(self.launches[-1].passed)
        found = [(b, next(passed), b.per_step and next(passed)) for b in kernel.buffers]
        steps = {n for b, _, n in found if b.per_step}
        if steps and "] = 1" in kernel.text:
            (n,) = steps
            self.steps.append(n)
            status = found[-1][1]  # the last parameter of kernels that may fail
            np.ctypeslib.ctypes.c_int32.from_address(status).value = int(n < 10)


def test_calls_are_repeated_with_longer_tapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, "STEPS_OF_TAPES", 1)
    with installed(Full()) as fake:
        f, x = jit(grad(until_large)), device_put(X)
        result = f(x)
        assert fake.steps == [1, 4, 16]
        with fake.counted() as counts:
            f(x)
        assert fake.steps == [1, 4, 16, 16]
        assert counts["cuStreamSynchronize"] == 1
        assert "cuMemAllocAsync" not in counts  # the tapes stay
        assert result.shape == X.shape


def test_a_loop_that_keeps_nothing_does_not_wait(fake: Fake) -> None:
    f, x = jit(until_large), device_put(X)
    f(x)
    with fake.counted() as counts:
        f(x)
    assert "cuStreamSynchronize" not in counts


def test_equal_kernels_are_loaded_once(fake: Fake) -> None:
    def chain(x: Any, w: Any) -> Any:
        for _ in range(6):
            x = np.tanh(x @ w)
        return x

    square = device_put(np.ones((64, 64)))
    jit(chain)(square, square)
    distinct = {launched.kernel.key for launched in fake.launches}
    assert fake.counts["cuModuleLoadData"] == len(distinct)
    assert len(distinct) < len(fake.launches)


# -- graphs -----------------------------------------------------------------------------


def test_programs_of_several_launches_become_one_graph(fake: Fake) -> None:
    f, arguments = jit(network), tuple(map(device_put, ARGUMENTS))
    first = f(*arguments)
    steps = len(fake.launches)
    assert steps >= launching.GRAPH
    by_table = [(one.kernel.key, one.grid, one.block) for one in fake.launches]
    del first
    for _ in range(3):
        f(*arguments)
    with fake.counted() as counts:
        f(*arguments)
    assert counts == {"cuGraphLaunch": 1}
    last = fake.launches[-steps:]
    assert [(one.kernel.key, one.grid, one.block) for one in last] == by_table
    assert [one.passed for one in last] == [one.passed for one in fake.launches[:steps]]


def test_graphs_follow_the_memory_that_calls_work_on(fake: Fake) -> None:
    """Whichever graph runs, a call's launches work on that call's arguments and results."""
    f = jit(network)
    x = [device_put(ARGUMENTS[0]) for _ in range(7)]
    rest = tuple(map(device_put, ARGUMENTS[1:]))
    kept = []
    for turn in range(8):
        for each in x:
            start = len(fake.launches)
            result = f(each, *rest)
            launched = fake.launches[start:]
            passed = {p for one in launched for p in one.passed}
            assert {each.pointer, result.pointer} <= passed
            assert not passed & {other.pointer for other in x if other is not each}
            if turn == 6:
                kept.append(result)  # so that the next ones get other memory
    made = fake.counts["cuGraphInstantiateWithFlags"]
    assert 0 < made <= launching.MOST_GRAPHS
    assert fake.counts["cuGraphExecKernelNodeSetParams_v2"] > 0


@pytest.mark.slow
def test_graphs_go_with_their_program(fake: Fake) -> None:
    from autojit.staging import execute

    f, arguments = jit(network), tuple(map(device_put, ARGUMENTS))
    for _ in range(3):
        f(*arguments)
    del f
    execute._executables.clear()
    import gc

    gc.collect()
    made = fake.counts["cuGraphInstantiateWithFlags"]
    assert made
    assert fake.counts["cuGraphExecDestroy"] == fake.counts["cuGraphDestroy"] == made


# -- memory -----------------------------------------------------------------------------


def test_memory_that_nobody_has_is_given_out_again_and_then_given_back(fake: Fake) -> None:
    from autojit.codegen.cuda.driver.cards import card

    pool = card().pool
    x = device_put(X)
    address = x.pointer
    del x
    assert device_put(X + 1).pointer == address
    pool.most = 4 * pool.rounded(X.nbytes)
    many = [device_put(X) for _ in range(9)]
    with fake.counted() as counts:
        many.clear()
    assert counts["cuMemFreeAsync"] >= 5
    assert pool.kept <= 4 * pool.rounded(X.nbytes)


@pytest.mark.slow
def test_a_full_card_is_asked_again_after_its_unused_memory_is_given_back() -> None:
    class Full(Fake):
        room = 4  # pinned memory, and three arrays

        def cuMemAllocAsync(self, to: int, size: int, stream: int) -> None:
            if len(self._arrays) >= self.room:
                raise MemoryError("full")
            super().cuMemAllocAsync(to, size, stream)

    with installed(Full()) as fake:
        held = [device_put(X[:i]) for i in (5, 10, 15)]
        with pytest.raises(MemoryError):
            device_put(X)
        held.pop()
        assert device_put(X).shape == X.shape
        assert fake.counts["cuMemFreeAsync"] == 1


# -- the host's time --------------------------------------------------------------------


def _timed(call: Callable[[], Any]) -> float:
    """The median of the fastest calls of several runs, in microseconds."""
    best = []
    for _ in range(7):
        fastest = min(_batch(call) for _ in range(5))
        best.append(fastest)
    return statistics.median(best) * 1e6


def _batch(call: Callable[[], Any], number: int = 200) -> float:
    begun = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - begun) / number


STRAIGHT: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
    "one kernel": (lambda x: x * 2, (X,), 3.0),
    "gradient": (grad(lambda x: np.sum(np.sin(x) ** 2)), (X,), 3.0),
    "network": (network, ARGUMENTS, 5.0),
}


def test_arguments_on_the_card_need_no_loop_over_arguments(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = jit(lambda x, places, rate: (x[places] * rate, np.sum(np.tanh(x @ x.T) @ x, axis=0)))
    x, places = device_put(X), device_put(np.array([1, 2]))
    f(x, places, 0.5)
    general, launched = Bound.run, len(fake.launches)

    def refused(*arguments: Any) -> Any:
        raise AssertionError("the general call")

    monkeypatch.setattr(Bound, "run", refused)
    first, second = f(x, places, 0.5)
    before, after = fake.launches[:launched], fake.launches[launched:]
    assert [(one.kernel.key, one.grid) for one in after] == [(o.kernel.key, o.grid) for o in before]
    held = {p for one in after for p in one.passed}
    assert {x.pointer, places.pointer, first.pointer, second.pointer} <= held
    assert (first.shape, second.shape) == ((2, 30), (30,))
    assert first.calls is not None  # an index may be out of bounds
    for arguments in ((X, places, 0.5), (x, places, np.float64(0.5)), (x, np.array([1, 2]), 0.5)):
        with pytest.raises(AssertionError, match="the general call"):
            f(*arguments)
    monkeypatch.setattr(Bound, "run", general)
    assert f(X, places, 0.5)[0].shape == (2, 30)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRAIGHT)
def test_the_host_pays_microseconds(name: str) -> None:
    """The driver's functions are stubs. The limit is twice the goal, as other processes may run."""
    f, arguments, aim = STRAIGHT[name]
    fake = Fake()
    library = fake.library()
    compiled = jit(f)
    with installed(fake, library):
        there = tuple(map(device_put, arguments))
        for _ in range(5):
            compiled(*there)
        stubs = with_stubs(
            library, "cuLaunchKernel", "cuGraphLaunch", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"
        )
        compiled = jit(f)  # its table contains the stubs' addresses
        autojit.staging.execute._executables.clear()
        for _ in range(5):
            compiled(*there)
        took = _timed(lambda: compiled(*there))
        launched: Stub = stubs["cuLaunchKernel"]
        assert launched.calls + stubs["cuGraphLaunch"].calls > 7 * 5 * 200
    print(f"{name}: {took:.2f} us")
    assert took < 2 * aim
