"""The interpreter of loop programs agrees with that of SSA programs, and with compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, fori_loop, grad, scan, while_loop
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import RunTasks
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_text.interpreter import Order, flat, interpret_loops, shaped
from autojit.codegen.loop_text.memory import OutOfMemory
from autojit.codegen.loop_text.parse import parse_loops
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CPU
from autojit.ir.core.program import Program
from autojit.ir.pass_manager.passes import verify_each
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from tests.samples import SAMPLES, Sample
from tests.test_programs import LONG, programs
from tests.thresholds import Thresholds

#: Without the passes over loops.
LOWERED = replace(CPU, tasks=False, split_blocks=False)
#: With these, small arrays reach every path.
EAGER = Thresholds(
    {
        "codegen.loop_passes.strip_mine.BLOCK": 3,
        "codegen.loop_passes.strip_mine.WORTH_BLOCKS": 0,
        "codegen.lowering.region_places.SMALL": 2,
        "codegen.loop_passes.split_blocks.STATEMENTS": 10,
        "codegen.loop_passes.masked_fixups.WORTH": 0,
        "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 10,
        "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
        "codegen.loop_passes.fission.LEAST": 2,
        "codegen.loop_passes.fission.LONG": 2,
        "codegen.loop_passes.fission.MOST": 4,
        "codegen.loop_passes.fission.OF_FUNCTION": 1,
        "codegen.loop_passes.fission.SIZE": 1,
        "codegen.loop_passes.products.LEAST_COLUMNS": 2,
        "codegen.scheduling.op_loops.SMALL_PRODUCT": 0,
        "codegen.loop_passes.overrun_rows.MOST_AT_ENDS": 100,
        "codegen.loop_passes.overrun_rows.PART_AT_ENDS": 1,
        "codegen.loop_passes.scatters.LEAST": 2,
        "codegen.loop_passes.reuse_buffers.LEAST": 1,
        "codegen.loop_passes.delinearize.LEAST_COLUMNS": 1,
        "codegen.loop_passes.delinearize.LEAST_ROWS": 1,
    }
)


def backwards(numbers: Sequence[int]) -> Sequence[int]:
    return numbers[::-1]


def shuffled(numbers: Sequence[int]) -> Sequence[int]:
    return [int(n) for n in np.random.default_rng(len(numbers)).permutation(list(numbers))]


ORDERS: list[Order | None] = [None, backwards, shuffled]


def arguments_of(program: Program, arguments: Sequence[Any]) -> list[np.ndarray]:
    every = (*arguments, *program.captured)
    return [np.asarray(a, t.dtype) for a, t in zip(every, program.in_types, strict=True)]


def run(loops: LoopProgram, like: Program, arrays: list[Any], order: Order | None) -> list[Any]:
    inputs = [flat(a, b) for a, b in zip(arrays, loops.inputs, strict=True)]
    found = interpret_loops(loops, inputs, order)
    return [shaped(x, t) for x, t in zip(found, like.out_types, strict=True)]


def assert_same(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for got, want in zip(found, wanted, strict=True):
        got, want = np.asarray(got), np.asarray(want)
        assert got.dtype == want.dtype
        tolerance = 2e-4 if want.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(got, want, tolerance, tolerance)


def check(program: Program, arguments: Sequence[Any], *, compiled: bool) -> LoopProgram:
    arrays = arguments_of(program, arguments)
    want = interpret(program, arrays)
    optimized = optimize(program)
    assert_same(run(lower(optimized, LOWERED), program, arrays, backwards), want)
    loops = lower(optimized)
    for order in ORDERS:
        assert_same(run(loops, program, arrays, order), want)
    if compiled:
        assert_same(Executable(program).call(arrays), want)
    return loops


@pytest.mark.sampled(28)
@pytest.mark.parametrize("sample", [*SAMPLES[1::3], LONG], ids=lambda s: s.name)
def test_samples(sample: Sample) -> None:
    for program in programs(sample):
        check(program, sample.draw(), compiled=False)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("sample", SAMPLES[2::6], ids=lambda s: s.name)
def test_samples_where_all_passes_pay(sample: Sample) -> None:
    with EAGER:
        for program in programs(sample):
            check(program, sample.draw(), compiled=False)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("sample", SAMPLES[::25], ids=lambda s: s.name)
def test_compiled_samples(sample: Sample) -> None:
    with EAGER:
        for program in programs(sample):
            check(program, sample.draw(), compiled=True)


def newton(a: Any) -> Any:
    found = while_loop(lambda x: np.max(abs(x * x - a)) > 1e-9, lambda x: (x + a / x) / 2, a)
    return np.sum(found)


RNG = np.random.default_rng(0)
X, ROWS = RNG.uniform(1, 2, 40), RNG.uniform(1, 2, (24, 30))
PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "sums of rows": (grad(lambda x: np.sum(np.log(x) * np.sum(x, axis=1)[:, None])), ROWS),
    "a sum": (lambda x: np.sum(np.exp(x) * x), ROWS),
    "a network": (lambda x: np.tanh(np.tanh(x @ x.T) @ x), ROWS),
    "complex products": (lambda x: (x + 1j * x) @ (x.T - 2j * x.T), ROWS),
    "tapes": (grad(newton), X),
    "tapes for two": (lambda x: newton(x) * grad(newton)(x), X),
    "steps": (grad(lambda x: fori_loop(0, 9, lambda i, c: np.sin(c) * c[i], x)[0]), X),
    "rows in turn": (lambda x: scan(lambda c, r: (c * r, np.sum(c)), x[0], x), ROWS),
    "branches": (lambda x: cond(np.sum(x) > 3, lambda: np.sin(x), lambda: x * 2), X),
    "places": (grad(lambda x: np.sum(x[np.arange(40) % 7] ** 2)), X),
    "linear algebra": (lambda x: np.linalg.solve(x[:, :24] + 9 * np.eye(24), x), ROWS),
    "float32": (grad(lambda x: np.sum(np.exp(x) / 3)), ROWS.astype("f4")),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_any_order(name: str) -> None:
    f, x = PROGRAMS[name]
    program = autojit.trace(f)(x)
    # The verifier cannot tell that loops over real and imaginary parts write the whole array.
    with EAGER, verify_each(name != "complex products"):
        loops = check(program, [x], compiled=True)
    if name in ("sums of rows", "a sum", "float32"):
        assert any(isinstance(s, RunTasks) for s in statements(loops))


# -- what is wrong shows ------------------------------------------------------------

WHOLE = """
loops f:
  input x: f64[8]
  output y: f64[8]
  temp t: f64[8]
  kernel k0:
    for i in 0..8:
      s0 = x[i]
      t[i] = s0
    for i in 0..8:
      s0 = t[i]
      y[i] = s0
"""
NUMBERS = np.arange(8.0)


def test_memory_that_is_not_written_is_nan() -> None:
    assert_same(interpret_loops(parse_loops(WHOLE), [NUMBERS]), [NUMBERS])
    short = WHOLE.replace("for i in 0..8:\n      s0 = x[i]", "for i in 0..7:\n      s0 = x[i]")
    half = parse_loops(short)
    (found,) = interpret_loops(half, [NUMBERS])
    assert np.isnan(found).tolist() == [False] * 7 + [True]


def test_iterations_that_wait_for_each_other_show() -> None:
    wrong = parse_loops(WHOLE.replace("y[i] = s0", "y[i] = s0\n      t[i + 1] = s0").replace(
        "temp t: f64[8]", "temp t: f64[9]"))  # fmt: skip
    (forwards,) = interpret_loops(wrong, [NUMBERS])
    (back,) = interpret_loops(wrong, [NUMBERS], backwards)
    assert forwards.tolist() != back.tolist()


def test_what_is_outside_of_a_buffer_is_refused() -> None:
    with pytest.raises(OutOfMemory, match=r"8 to 8 of x\[8\]"):
        interpret_loops(parse_loops(WHOLE.replace("x[i]", "x[i + 1]")), [NUMBERS])
    with pytest.raises(OutOfMemory, match=r"-1 to -1 of x\[8\]"):
        interpret_loops(parse_loops(WHOLE.replace("x[i]", "x[i - 1]")), [NUMBERS])


def test_arenas_overlap_as_they_are_planned() -> None:
    two = WHOLE.replace("temp t: f64[8]", "temp t: f64[8] at byte 0\n  temp u: f64[8] at byte 32")
    assert_same(interpret_loops(parse_loops(two), [NUMBERS]), [NUMBERS])
    used = two.replace("    for i in 0..8:\n      s0 = t[i]",
                       "    u[0 : +8] = 5.0\n    for i in 0..8:\n      s0 = t[i]")  # fmt: skip
    (found,) = interpret_loops(parse_loops(used), [NUMBERS])
    assert found.tolist() == [0, 1, 2, 3, 5, 5, 5, 5]


def test_failures_are_those_of_compiled_code() -> None:
    for f, x, error in (
        (lambda x: np.take(X, x), np.array([3, 40]), IndexError),
        (lambda x: 2**x, np.array([1, -1]), ValueError),
        (np.linalg.cholesky, -np.eye(3), np.linalg.LinAlgError),
    ):
        program = autojit.trace(f)(x)
        loops = lower(optimize(program))
        with pytest.raises(error):
            run(loops, program, arguments_of(program, [x]), None)
        with pytest.raises(error):
            Executable(program).call(arguments_of(program, [x]))
