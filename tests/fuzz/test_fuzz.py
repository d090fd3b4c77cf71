"""The fuzzer: a few of its cases at every run, and tests that it finds planted bugs."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_passes import pipeline
from autojit.ir.ops import elementary
from autojit.ir.pass_manager.passes import verify_each
from autojit.ir.passes.reroll import repetitions, tables
from tests.fuzz import differences, guarded, memory, oracles, plain
from tests.fuzz.case import Case
from tests.fuzz.generators import GENERATORS, make
from tests.fuzz.oracles import Outcome, Run, check
from tests.fuzz.shrink import shrink
from tests.fuzz.worker import Worker
from tests.thresholds import Thresholds

#: The number of cases of each generator at every run: they take a second or so.
SHARE = 3


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", GENERATORS)
def test_a_share_of_each_generator(name: str) -> None:
    outcomes = [(case := make(name, 0, number), check(case)) for number in range(SHARE)]
    for case, found in outcomes:
        assert found.status != "failed", f"{found.words}\n\n{case.text()}"
    counts = Counter(found.status for _, found in outcomes)
    assert counts["ok"] >= (SHARE + 1) // 2, f"most cases say nothing: {counts}"
    assert sum(found.compared for _, found in outcomes) > SHARE


@pytest.mark.parametrize("name", ["numpy_values", "mixed_gradients", "thresholds"])
def test_cases_follow_from_their_seed(name: str) -> None:
    case = make(name, 3, 1)
    assert make(name, 3, 1) == case == Case.from_json(case.to_json())
    assert make(name, 4, 1) != case != make(name, 3, 2)


def test_thresholds_of_passes_change_what_they_do() -> None:
    """A loop of ten steps stays unrolled, and is rerolled if the limit is lower."""
    source = "def f(x):\n    for _ in range(10):\n        x = np.sin(x)\n    return x"
    case = Case("", source, "f(x)", {"x": "np.ones(3)"})
    few = {"staging.unrolled.LEAST_OPS": 2, "staging.unrolled.LEAST_LOOP": 2}
    assert "scan" not in str(Run(case).program)
    with Thresholds(few):
        assert "scan" in str(Run(case).program)
    with Thresholds({"ir.passes.reroll.repetitions.LEAST_STEPS": 3}):
        assert tables.LEAST_STEPS == repetitions.LEAST_STEPS == 3
    assert tables.LEAST_STEPS == repetitions.LEAST_STEPS > 3


# -- faults that are planted ------------------------------------------------------


def _found(name: str, kind: str, most: int = 60) -> tuple[Case, Outcome]:
    """The first case of a generator that fails in this way, shrunk."""
    for number in range(most):
        case = make(name, 0, number)
        found = check(case)
        if found.status == "failed" and found.kind == kind:
            return shrink(case, lambda c: check(c).kind == kind, 10.0), found
    raise AssertionError(f"the fault was not found in {most} cases")


def _lines(case: Case) -> list[str]:
    return [line for line in case.source.splitlines() if line.strip()]


@pytest.mark.slow
def test_a_wrong_derivative_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (lambda t, y, x: t * elementary.cos(x) * 1.001,)
    monkeypatch.setattr(elementary.sin, "rules", wrong)
    with Thresholds({}):
        small, _ = _found("numpy_gradients", "interpreter and differences differ")
    assert "np.sin(" in small.source
    assert len(_lines(small)) <= 3, small.text()


def _without_last(kernel: Kernel) -> Kernel:
    """Remove the last iteration of longer loops."""
    for step in kernel.body:
        if isinstance(step, Loop) and step.role == "map" and step.stop > 3:
            step.stop -= 1
    return kernel


@pytest.fixture
def short_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A wrong pass over loops, which no verifier stops."""

    def run(program: LoopProgram) -> LoopProgram:
        program.steps = [_without_last(s) if isinstance(s, Kernel) else s for s in program.steps]
        return program

    first, *others = pipeline.SHAPE.places
    wrong = replace(first, run=replace(first.run, function=run))
    monkeypatch.setattr(pipeline.SHAPE, "places", [wrong, *others])
    with verify_each(False):
        yield


def test_a_wrong_pass_over_loops_is_found_and_made_small(short_loops: None) -> None:
    with Thresholds({}):
        small, found = _found("numpy_values", "compiled and interpreted differ")
    assert "elements" in found.words
    assert len(_lines(small)) <= 3, small.text()


def test_memory_that_is_not_initialised_is_found(short_loops: None) -> None:
    """The same planted bug leaves the last element of a result unwritten."""
    case = Case(
        "", "def f(x):\n    return np.sin(x)", "jit(f)(x)", {"x": "np.ones(5)"}, ("memory",)
    )
    assert check(case).kind == "results depend on memory that is not initialised"


def test_what_is_written_small_is_a_program(tmp_path: Any) -> None:
    case = make("mixed_gradients", 0, 2)
    file = tmp_path / "case.py"
    file.write_text(case.text())
    subprocess.run([sys.executable, file], check=True, capture_output=True)


# -- crashes ------------------------------------------------------------------------


def _doing(text: str) -> Case:
    return Case("", f"def f(x):\n    {text}\n    return x", "f(x)", {"x": "1.0"})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_and_a_hang_are_failures() -> None:
    worker = Worker(limit=20.0)
    try:
        crashed = worker.check(_doing("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
        assert crashed["status"] == "failed"
        assert crashed["kind"] == "crash (SIGSEGV)"
        assert worker.check(_doing("x = x + 1"))["status"] == "ok"  # by a new process
        worker.limit = 0.5
        assert worker.check(_doing("import time; time.sleep(60)"))["kind"] == "hang"
        assert worker.check(_doing("while True: pass"))["kind"] == "hang"
    finally:
        worker.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_reference_that_takes_too_long_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "LONGEST", 0.2)
    forever = check(_doing("import time\n    end = time.process_time() + 30\n"
                           "    while time.process_time() < end: pass"))  # fmt: skip
    assert (forever.status, forever.kind) == ("skipped", "")
    assert "0.2 s of processor time" in forever.skips[0]


@pytest.mark.skipif(not guarded.SUPPORTED, reason="guard pages are made on Linux only")
def test_reading_beyond_an_array_ends_the_process() -> None:
    words = (
        "import ctypes, numpy as np\nfrom tests.fuzz.guarded import placed\n"
        "x = placed(np.ones(5))\n"
        "assert ctypes.c_double.from_address(x.ctypes.data + 32).value == 1.0\n"
        "ctypes.c_double.from_address(x.ctypes.data + 40).value\n"
    )
    found = subprocess.run([sys.executable, "-c", words], cwd=os.getcwd(), capture_output=True)
    assert found.returncode == -signal.SIGSEGV


@pytest.mark.skipif(not guarded.SUPPORTED, reason="guard pages are made on Linux only")
def test_temporaries_are_guarded() -> None:
    source = "def f(x):\n    y = np.cumsum(x)\n    return y[::-1] @ np.tanh(np.outer(y, y))"
    case = Case("", source, "jit(f)(x)", {"x": "np.ones(40)"}, ("memory",))
    before = guarded.native().count()
    assert check(case).status == "ok"
    assert guarded.native().count() > before


@pytest.mark.skipif(not guarded.SUPPORTED, reason="guard pages are made on Linux only")
def test_idle_tapes_keep_their_length() -> None:
    """Both loops take the block left by the previous call, which contains its length."""
    source = """
def f(x):
    def step(state):
        n, c = state
        return n + 1, c - 0.1 * np.where(c < 0.1, c, 0.0)
    return np.sum(while_loop(lambda state: state[0] < 8, step, (0, x))[1] ** 2)
"""
    case = Case("", source, "jacrev(grad(f))(x)", {"x": "np.array([-0.47])"}, ("memory",))
    assert check(case).status == "ok"


@pytest.mark.skipif(not guarded.SUPPORTED, reason="guard pages are made on Linux only")
def test_guarded_memory_that_runs_out_is_null() -> None:
    allocate = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(guarded.native().malloc)
    assert allocate(1 << 60) == 0


def test_sums_of_plain_arrays_may_follow_their_layout() -> None:
    """NumPy itself sums arrays that are not traced."""
    x = "np.array([[1.211, -1.978], [-1.332, 0.355], [1.84, 1.431]])"
    case = Case("", "def f(x, y):\n    return np.sum(y)", "jvp(lambda x: f(x, y), (x,), (x,))",
                {"x": "1.5", "y": x}, ("memory",))  # fmt: skip
    assert check(case).status == "ok"


@pytest.mark.parametrize("oracle", ["memory", "threads", "round_trips"])
def test_numbers_that_numpy_refuses_are_not_tried(oracle: str) -> None:
    """In the reversed array the index is out of bounds."""
    source = "def f(x):\n    return x[np.argmax(x) + 1] * np.ones(3)"
    case = Case("", source, "jit(f)(x)", {"x": "np.array([2.0, 1.0])"}, (oracle,))
    assert check(case).status == "ok"
    assert check(case.with_(arguments={"x": "np.array([1.0, 2.0])"})).status == "skipped"


def test_python_numbers_stay_what_they_are() -> None:
    source = "def f(x):\n    return x * np.float32(0.5)"
    assert check(Case("", source, "jit(f)(x)", {"x": "1.5"})).status == "ok"


def test_layouts_hold_the_same_numbers() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for name, layout in memory.LAYOUTS.items():
        made = layout(x)
        np.testing.assert_array_equal(made, x, err_msg=name)
        usual = made.flags.c_contiguous and made.flags.aligned and made.flags.writeable
        assert not usual, name


# -- the second implementation --------------------------------------------------------


def test_differences_know_derivatives_and_kinks() -> None:
    x = np.array([0.5, -1.25])
    np.testing.assert_allclose(
        differences.grad(lambda x: np.sum(np.sin(x)))(x).astype(float), np.cos(x), rtol=1e-14
    )
    second = differences.hessian(lambda x: np.prod(x) ** 2)(x)
    wanted = [[2 * x[1] ** 2, 4 * x[0] * x[1]], [4 * x[0] * x[1], 2 * x[0] ** 2]]
    np.testing.assert_allclose(second.astype(float), wanted, rtol=1e-9)
    assert differences.deepest() == 2
    transposed = np.ones((3, 2)).T
    ones = differences.grad(np.sum)(transposed)
    np.testing.assert_allclose(ones.astype(float), transposed, rtol=1e-14)
    kink = differences.grad(lambda x: np.sum(np.abs(x)))(np.array([0.0, 2.0, 1e-4]))
    np.testing.assert_array_equal(kink.astype(float), [np.nan, 1.0, np.nan])
    many = np.linspace(2.0, 3.0, 10_000)
    for first, is_known in ((2.0, True), (1.00005, False)):  # one kink of a large sum
        many[0] = first
        found = differences.jvp(lambda x: np.sum(np.maximum(x, 1)), (many,), (many,))[1]
        assert np.isfinite(found) == is_known


def test_differences_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def f(x):\n    return np.sum(np.sin(x))"
    case = Case("", source, "grad(f)(x)", {"x": "np.ones(40)"}, ("derivatives",))
    known = check(case).compared
    monkeypatch.setattr(differences, "LONGEST", -1.0)
    late = check(case)
    assert late.status == "skipped"
    assert late.compared < known
    assert check(case.with_(call="jvp(f, (x,), (x,))")).status == "skipped"


def test_plain_control_flow() -> None:
    x = np.array([1.0, 2.0, 3.0])
    carry, ys = plain.scan(lambda c, r: (c + r, c * r), 0.5, x, reverse=True)
    assert carry == 6.5
    np.testing.assert_array_equal(ys, [5.5, 7.0, 1.5])
    assert plain.while_loop(lambda n: n < 5, lambda n: n + 2, 0) == 6
    np.testing.assert_array_equal(plain.associative_scan(np.add, x, reverse=True), [6, 5, 3])
    np.testing.assert_array_equal(plain.vmap(lambda r: r * x, out_axes=-1)(x), np.outer(x, x))
    with pytest.raises(TypeError, match="changes its type"):
        plain.fori_loop(0, 1, lambda i, c: c + 0.5, 1)


def test_factors_of_symmetric_matrices_only() -> None:
    """The derivative assumes a symmetric matrix, so differences of other matrices say nothing."""
    source = "def f(x):\n    return np.linalg.cholesky(2.0 * np.eye(2) + 0.1 * np.outer(x, {}))"
    kinds = {
        other: check(Case("", source.format(other), "jacfwd(f)(x)", {"x": "np.array([0.3, 0.9])"}))
        for other in ("x", "x ** 2")
    }
    assert [found.status for found in kinds.values()] == ["ok", "skipped"]
