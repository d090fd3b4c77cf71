"""Compiled functions in other processes, and in several threads at once."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import ffi, get_process_triple

from autojit import grad, jit
from autojit.codegen.cpu.host import engine
from autojit.codegen.lowering import lower as lowering
from autojit.errors import MissingFunctionError
from autojit.ir.core import locks
from autojit.staging import pickling
from autojit.testing import assert_no_retrace
from tests.autojit.dispatch import shipped
from tests.autojit.dispatch.shipped import MADE, X

CLOSED_OVER = np.arange(5.0)


def again(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(same(p, q) for p, q in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


# -- pickles ------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_what_has_a_name_pickles(name: str) -> None:
    function = MADE[name]
    assert same(shipped.called(again(function)), shipped.called(function))


def test_what_a_module_has_is_found_by_name() -> None:
    assert again(shipped.decorated) is shipped.decorated
    assert again(shipped.gradient) is shipped.gradient
    assert again(shipped.halved) is shipped.halved


def test_static_arguments_come_along() -> None:
    compiled = again(jit(shipped.power, static_argnums=1, static_argnames="scale"))
    assert compiled(X, 3, scale=2.0) == pytest.approx(2.0 * np.sum(X**3))
    with pytest.raises(TypeError, match="must be hashable"):
        compiled(X, [3])


@pytest.fixture
def by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that no library that pickles by value is loaded."""
    for name in pickling.LIBRARIES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def local(scale: float) -> Any:
    return jit(grad(lambda x: scale * np.sum(CLOSED_OVER * x**3)))


@pytest.mark.usefixtures("by_name")
def test_a_lambda_goes_by_its_programs() -> None:
    compiled = local(2.0)
    compiled(X)
    arrived = again(compiled)
    with assert_no_retrace():
        np.testing.assert_array_equal(arrived(X), compiled(X))
    assert again(arrived)(X)[1] == compiled(X)[1]


@pytest.mark.usefixtures("by_name")
def test_a_call_that_no_program_fits_says_what_is_missing() -> None:
    compiled = local(2.0)
    compiled(X)
    with pytest.raises(MissingFunctionError, match="a lambda or is defined inside"):
        again(compiled)(X.astype(np.float32))


@pytest.mark.usefixtures("by_name")
def test_a_lambda_that_was_not_called_does_not_pickle() -> None:
    with pytest.raises(pickle.PicklingError, match="call it once first"):
        pickle.dumps(local(3.0))


@pytest.mark.usefixtures("by_name")
def test_what_was_traced_with_settings_that_do_not_pickle_stays() -> None:
    compiled = jit(lambda x, f: f(x), static_argnums=1)
    compiled(X, np.sin)
    compiled(X, lambda x: x + 1.0)
    arrived = again(compiled)
    np.testing.assert_array_equal(arrived(X, np.sin), np.sin(X))
    with pytest.raises(MissingFunctionError):
        arrived(X, np.cos)


def test_pickles_by_value() -> None:
    """If a library that pickles code is loaded, lambdas are pickled with their code."""
    pytest.importorskip("cloudpickle")
    arrived = again(local(2.0))
    np.testing.assert_allclose(arrived(X), 6.0 * CLOSED_OVER * X**2)
    np.testing.assert_allclose(arrived(X[:1] * CLOSED_OVER), local(2.0)(X[:1] * CLOSED_OVER))


@pytest.mark.slow
def test_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    compiled = local(4.0)
    points = [X, X + 1.0, X + 2.0]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(compiled)(x) for x in points)
    for got, x in zip(found, points, strict=True):
        np.testing.assert_allclose(got, 12.0 * CLOSED_OVER * x**2)


# -- processes ----------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_worker_processes(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    mine = local(5.0)
    functions = [MADE["jit of grad"], MADE["decorated by jit"], mine]
    want = [f(X) for f in functions]  # before: a fork has code, and memory, of its parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forks with threads
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            for k in range(2):
                found = list(pool.map(shipped.called, functions))
                assert all(map(same, found, want)), k
            assert list(pool.map(shipped.compiled_here, range(3)))[2].shape == X.shape


def test_a_fork_of_a_process_that_uses_threads() -> None:
    """The child continues with one thread and computes the same results."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    big = np.linspace(0.0, 1.0, 4_000_000)
    compiled = jit(lambda x: np.sum(np.sin(np.exp(x))))
    want = compiled(big)
    assert in_child(lambda: float(compiled(big))) == want


def test_a_fork_while_another_thread_compiles() -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    shipped.compiled_here(99)  # a module that is being imported is locked in a child, by Python
    stop = threading.Event()

    def compile_on() -> None:
        k = 0
        while not stop.is_set():
            k += 1
            jit(grad(lambda x, k=k: np.sum(np.sin(x) * k * np.exp(x / k))))(X)

    worker = threading.Thread(target=compile_on)
    worker.start()
    try:
        for k in range(4):
            found = in_child(lambda k=k: shipped.compiled_here(100 + k).tolist())
            assert found == shipped.compiled_here(100 + k).tolist()
    finally:
        stop.set()
        worker.join()


def test_a_fork_while_another_thread_is_within_llvmlite() -> None:
    """llvmlite's lock is free in the child, whether Numba or the garbage collector took it."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    shipped.compiled_here(300)
    inside = threading.Event()

    def stay() -> None:
        if threading.current_thread() is worker:
            inside.set()
            time.sleep(0.2)

    worker = threading.Thread(target=get_process_triple)
    hooks = stay, lambda: None
    ffi.register_lock_callback(*hooks)
    try:
        worker.start()
        assert inside.wait(60)
        found = in_child(lambda: shipped.compiled_here(301).tolist())
    finally:
        worker.join()
        ffi.unregister_lock_callback(*hooks)
    assert found == shipped.compiled_here(301).tolist()


@pytest.mark.slow
def test_forks_while_the_first_program_is_compiled_in_the_background() -> None:
    """Modules that the other thread is importing are complete in the children."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    program = """
        import multiprocessing, time, warnings
        import numpy as np
        from autojit import grad, jit

        warnings.simplefilter("ignore", DeprecationWarning)
        x = np.linspace(0.1, 0.9, 5)
        jit(grad(lambda x: np.sum(np.sin(x) * np.exp(x))), tier="auto")(x)
        context = multiprocessing.get_context("fork")
        children = []
        for k in range(6):
            time.sleep(0.01 * k)
            task = jit(grad(lambda x, k=k: np.sum(np.cos(x) ** k)))
            children.append(context.Process(target=task, args=(x,)))
            children[-1].start()
        until = time.monotonic() + 60
        for child in children:
            child.join(max(until - time.monotonic(), 0.0))
        codes = [child.exitcode for child in children]
        for child in children:
            child.kill()
        assert codes == [0] * 6, codes
    """
    environment = {**os.environ, "AUTOJIT_CACHE_DIR": ""}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr


def test_a_fork_while_another_thread_lowers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks that the other thread holds are free in the child."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    shipped.compiled_here(200)
    inside, leave = threading.Event(), threading.Event()
    lower = lowering.lower

    def slowly(*arguments: Any) -> Any:
        if threading.current_thread() is worker:
            inside.set()
            assert leave.wait(60)
        return lower(*arguments)

    monkeypatch.setattr(lowering, "lower", slowly)
    worker = threading.Thread(target=lambda: shipped.compiled_here(201))
    worker.start()
    try:
        assert inside.wait(60)
        found = in_child(lambda: shipped.compiled_here(202).tolist())
    finally:
        leave.set()
        worker.join()
    assert found == shipped.compiled_here(202).tolist()


def test_a_fork_while_another_thread_goes_on_to_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that the thread is importing is complete in the child, even after a lock."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    shipped.compiled_here(400)
    (tmp_path / "slowly_imported.py").write_text(
        "import sys, time\nsys.compiler_lock.release()\ntime.sleep(0.3)\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "compiler_lock", engine._lock, raising=False)
    monkeypatch.setattr(locks, "_IMPORTED", locks._IMPORTED | {"slowly_imported"})
    inside = threading.Event()

    def compile_and_import() -> None:
        engine._lock.acquire()
        inside.set()
        time.sleep(0.3)  # the fork has begun by now, and waits for the lock
        importlib.import_module("slowly_imported")

    worker = threading.Thread(target=compile_and_import)
    worker.start()
    try:
        assert inside.wait(60)
        assert in_child(lambda: importlib.import_module("slowly_imported").whole)
    finally:
        worker.join()
        sys.modules.pop("slowly_imported", None)


def in_child(task: Any) -> Any:
    """Return the result of a task in a forked process, within a minute."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=lambda: send.send(task()))
        child.start()
    try:
        assert receive.poll(60), "the child does not answer"
        return receive.recv()
    finally:
        child.kill()
        child.join()


# -- threads ------------------------------------------------------------------

THREADS = 8


def test_threads_that_compile_and_call_at_once() -> None:
    functions = [
        jit(grad(lambda x, k=k: np.sum(np.sin(k * x) ** 2 + np.exp(x) / (k + 1)))) for k in range(6)
    ]
    shapes = [(3,), (2, 3), (40,), ()]
    points = [np.full(shape, 0.1 * i) for i in range(5) for shape in shapes]
    started = threading.Barrier(THREADS)

    def work(number: int) -> list[Any]:
        started.wait()
        order = np.random.default_rng(number).permutation(len(functions) * len(points))
        results: list[Any] = [None] * len(order)
        for place in order:
            results[place] = functions[place % 6](points[place // 6])
        return results

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(THREADS)))
    for results in found:
        for place, result in enumerate(results):
            k, x = place % 6, points[place // 6]
            want = 2 * k * np.sin(k * x) * np.cos(k * x) + np.exp(x) / (k + 1)
            np.testing.assert_allclose(result, want, rtol=1e-13)
    assert all(f.cache_info().traces == len(shapes) for f in functions)


def test_threads_that_wait_for_the_same_code() -> None:
    compiled = jit(grad(shipped.loss))
    started = threading.Barrier(THREADS)

    def work(_: int) -> Any:
        started.wait()
        return compiled(X)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(THREADS)))
    assert all(np.array_equal(r, found[0]) for r in found)
    assert compiled.cache_info().traces == 1
