"""The native entry: the arguments it accepts, results and memory; threads, forks and failures."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.driver.executable import Executable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 8))


def f(x: Any) -> Any:
    return np.sum(np.sin(x) * x, axis=0)


LAYOUTS = {
    "contiguous": X,
    "fortran": np.asfortranarray(X),
    "strided": X[::2],
    "reversed": X[:, ::-1],
    "transposed": X.T,
    "foreign byte order": X.astype(X.dtype.newbyteorder()),
    "unaligned": np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(float).reshape(X.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_memory_layout(layout: str) -> None:
    x = LAYOUTS[layout]
    compiled = jit(f)
    for _ in range(2):  # the first call compiles, the second finds the fast path
        np.testing.assert_allclose(compiled(x), f(x))


def test_results_share_no_memory() -> None:
    pair = jit(lambda x: (x, x))
    a, b = pair(X)
    a[0] = 0
    assert not np.shares_memory(a, b)
    np.testing.assert_array_equal(b, X)


def resident_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_calls_or_failures() -> None:
    g = jit(grad(lambda w, x: np.sum(np.tanh(x @ w) ** 2), (0, 1)))
    pick = jit(lambda x, i: x[i])
    x, outside = np.ones((64, 64)), np.array([5000])

    def work(times: int) -> None:
        for _ in range(times):
            g(x, x)
            with pytest.raises(IndexError, match="out of bounds"):
                pick(x[0], outside)

    work(100)
    before = resident_megabytes()
    work(3000)
    assert resident_megabytes() - before < 3


def test_the_arena_goes_with_the_function() -> None:
    x = np.ones((500, 500))
    code = Executable(jit(lambda w, x: np.sum(np.tanh(x @ w) @ w)).program(x, x))
    assert code.loops.arena > 1 << 20
    function: Any = code.direct((None, None), (), as_tuple=False)
    function(x, x)
    freed: list[int] = []
    function.__self__.__del__(free=freed.append)
    function.__self__.__del__(free=freed.append)
    assert len(freed) == 1
    assert freed[0] != 0
    function(x, x)  # creates a new one


def test_nothing_is_said_when_the_interpreter_ends() -> None:
    script = (
        "import numpy as np, autojit, sys\n"
        "keep = autojit.jit(lambda w, x: np.sum(np.tanh(x @ w) @ w))\n"
        "x = np.ones((200, 200))\n"
        "keep(x, x)\n"
        "sys.modules['keeper'] = keep\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_at_once() -> None:
    g = jit(grad(lambda x: np.sum(np.tanh(x @ x.T))))
    wanted = g(X)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(100):
            if not np.array_equal(g(X), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def large(x: Any) -> Any:
    return np.sum(np.exp(np.sin(x)) * np.cos(x))


def _in_child(queue: Any, compiled: Any, x: np.ndarray) -> None:
    queue.put(compiled(x))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_gets_the_same_result() -> None:
    x = RNG.normal(size=2_000_000)
    compiled = jit(large)
    wanted = compiled(x)  # on several threads, if available
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(queue, compiled, x))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == wanted


def test_sums_of_many_float32_are_accurate() -> None:
    x = RNG.random(10**7, dtype=np.float32)
    exact = x.sum(dtype=np.float64)
    ours, numpys = float(jit(np.sum)(x)), float(np.sum(x))
    assert abs(ours - exact) <= max(abs(numpys - exact), exact * 6e-8)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", [100, 1024, 1025, 5000])
def test_rows_of_float32_are_summed_accurately(n: int, axis: int) -> None:
    """As accurate as NumPy's sums along rows, to within three roundings."""
    x = RNG.random((n, 64) if axis == 0 else (64, n), dtype=np.float32)
    exact = x.sum(axis, dtype=np.float64)
    ours = jit(lambda x: np.sum(x, axis))(x)
    numpys = np.abs(np.sum(x.T if axis == 0 else x, 1) - exact).max()
    assert np.abs(ours - exact).max() <= max(numpys, 3 * 6e-8 * exact.max())


def test_an_array_without_elements_may_have_no_memory() -> None:
    class Nothing:
        __array_interface__: ClassVar[dict[str, Any]] = {
            "shape": (0,), "typestr": "<f8", "data": (0, False), "version": 3,
        }  # fmt: skip

    x = np.asarray(Nothing())
    found = jit(lambda x: (np.sum(x), x * 2.0))(x)
    assert found[0] == 0.0
    assert found[1].shape == (0,)
