"""``jit(f, tier="auto")``: NumPy answers until the code is compiled."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, scan
from autojit.codegen.cpu.host import engine
from autojit.codegen.loop_ir.errors import TargetError
from autojit.errors import UnsupportedTargetError

X = np.linspace(0.1, 0.9, 5)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an event that the compiler waits for."""
    opened = threading.Event()
    compiled = engine.Compiled

    def wait_and_compile(*texts: Any) -> Any:
        assert opened.wait(60)
        return compiled(*texts)

    monkeypatch.setattr(engine, "Compiled", wait_and_compile)
    yield opened
    opened.set()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def known(function: Any) -> Any:
    return function._specializations.values()


def ready(function: Any) -> bool:
    return all(found.ready for found in known(function))


def loss(x: Any, scale: float) -> Any:
    return np.sum(np.sin(x * scale) * np.exp(-(x**2)))


def test_numpy_answers_until_the_code_is_there(gate: threading.Event) -> None:
    f = jit(grad(lambda x: loss(x, 1.25)), tier="auto")
    before = [f(X) for _ in range(3)]
    assert not ready(f)
    gate.set()
    until(lambda: ready(f))
    after = f(X)
    for result in before:
        np.testing.assert_allclose(result, after, rtol=1e-14)
    assert f.cache_info().traces == 1


def test_results_have_the_same_types(gate: threading.Event) -> None:
    f = jit(lambda x, k: (np.sum(x) * k, {"a": x[0] > 0, "b": x * 2}, k), tier="auto")
    before = f(X, 3)
    gate.set()
    until(lambda: ready(f))
    after = f(X, 3)
    assert str(before) == str(after)
    assert [type(v) for v in before] == [type(v) for v in after]


def test_numpys_warnings_are_not_those_of_compiled_code(gate: threading.Event) -> None:
    assert np.isneginf(jit(lambda x: np.log(x) * 1.5, tier="auto")(np.zeros(2))).all()


def test_loops_wait(gate: threading.Event) -> None:
    """Loops wait for compiled code: the interpreter's time for a loop is not known."""
    gate.set()
    f = jit(lambda x: scan(lambda c, _: (np.sin(c) * 1.75, None), x, None, 4)[0], tier="auto")
    f(X)
    assert ready(f)


def test_what_the_compiler_raises_is_raised_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = threading.Event()

    def refuse(*texts: Any) -> Any:
        assert answered.wait(60)
        raise TargetError("this cannot be compiled", None)

    monkeypatch.setattr(engine, "Compiled", refuse)
    f = jit(lambda x: np.sin(x) * 7.25, tier="auto")
    np.testing.assert_allclose(f(X), np.sin(X) * 7.25)
    answered.set()
    until(lambda: all(found.job is not None and found.job.done for found in known(f)))
    for _ in range(2):
        with pytest.raises(UnsupportedTargetError, match="this cannot be compiled"):
            f(X)


def test_threads_compile_once(gate: threading.Event) -> None:
    f = jit(grad(lambda x: loss(x, 2.25)), tier="auto")
    threads = [threading.Thread(target=f, args=(X,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    jobs = {id(found.job) for found in known(f)}
    assert len(jobs) == 1


def test_other_tiers_are_refused() -> None:
    with pytest.raises(UnsupportedTargetError, match="'compiled' or 'auto', not 'fast'"):
        jit(np.sin, tier="fast")


SCRIPT = """
import numpy as np
import autojit
x = np.ones(3)
for k in range(50):
    autojit.jit(lambda x: np.sum(np.sin(x) * k + np.exp(x) ** 2), tier="auto")(x)
print("end")
"""


@pytest.mark.slow
def test_a_process_ends_though_much_is_left_to_compile() -> None:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    assert time.monotonic() - start < 30
