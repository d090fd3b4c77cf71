"""Random programs, compiled and interpreted.

Rounding differs between the two, so differences are compared with the effect of noise (see
``tests/ir/noise.py``). Programs of exact operations on small dyadic numbers must agree exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from autojit.codegen.driver.executable import Executable
from autojit.codegen.lowering.lower import lower
from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Program
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.validation.rounding import EXACT, noisy, parts, wrong_elements
from tests.ir.random_programs import arguments_for, programs
from tests.sampling import share
from tests.thresholds import Thresholds, drawn

pytestmark = pytest.mark.optimised

SEEDS = st.integers(0, 2**32 - 1)


def examples(count: int) -> Any:
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


#: Treatments of large arrays: loops that are not unrolled, splits, blocks, library calls, threads.
LARGE = {
    "codegen.lowering.nests.UNROLL": 0,
    "codegen.lowering.nests.WORTH_SPLITTING": 1,
    "codegen.scheduling.bufferization.LOCAL": 0,
    "codegen.scheduling.op_loops.SMALL_PRODUCT": 0,
    "codegen.lowering.region_places.SMALL": 0,
    "codegen.scheduling.materialization.EXPENSIVE": 0.2,
    "codegen.cpu.linalg.small_matrices.LARGEST": 0,
    "codegen.scheduling.chains.LONGEST_CHOICE": 0,
    "codegen.loop_passes.reuse_buffers.LEAST": 0,
    "codegen.loop_passes.products.LEAST_COLUMNS": 1,
    "codegen.cpu.emit.outlined.LONG": 0,
    "codegen.cpu.emit.outlined.LEAST": 1,
    "codegen.loop_passes.masked_fixups.WORTH": 0,
    "codegen.cpu.llvm.counted.MOST_UNROLLED": 0,
    "codegen.cpu.emit.predictive_commoning.SHORTEST": 2,
    "codegen.cpu.emit.predictive_commoning.WORTH": 1,
}
THREADED = LARGE | {
    "codegen.loop_passes.split_blocks.STATEMENTS": 10,
    "codegen.loop_passes.rows.row_groups.LEAST": 0,
    "codegen.loop_passes.rows.tile_cost.TILE": 1e-4,
    "codegen.loop_passes.rows.tile_cost.LEAST_TILES": 2,
    "codegen.loop_passes.strip_mine.BLOCK": 2,
    "codegen.loop_passes.strip_mine.WORTH_BLOCKS": 0,
    "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
    "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 1e-6,
}
PIECES = THREADED | {
    "codegen.loop_passes.fission.LONG": 8,
    "codegen.loop_passes.fission.SIZE": 4,
    "codegen.loop_passes.fission.LEAST": 2,
    "codegen.loop_passes.fission.MOST": 4,
}

#: For a seed, the thresholds with which a program is compiled.
Choices = Callable[[int], AbstractContextManager[Any]]
CHOICES: dict[str, Choices] = {
    "usual": lambda seed: nullcontext(),
    "threaded": lambda seed: Thresholds(THREADED),
    "pieces": lambda seed: Thresholds(PIECES),
    "drawn": lambda seed: drawn(np.random.default_rng(seed)),
}


@pytest.fixture(params=CHOICES)
def choices(request: pytest.FixtureRequest) -> Choices:
    """The compiler's choices: the usual ones, those for large arrays, or random ones."""
    return CHOICES[request.param]


def compiled(
    program: Program, arguments: Sequence[Any], choices: AbstractContextManager[Any]
) -> list[Any]:
    note(f"{program}\n{arguments}\n{choices}")
    arrays = [np.asarray(a, t.dtype) for a, t in zip(arguments, program.in_types, strict=True)]
    with choices:
        return Executable(program).call(arrays)


def is_exact(kind: Declaration) -> bool:
    exact = not isinstance(kind, (Elementwise, Matrices)) or kind.name in EXACT
    return exact and kind.name not in ("linear_solve", "root")  # these divide by constants


def is_on_every_target(kind: Declaration) -> bool:
    return not isinstance(kind, (Matrices, BodyOp))


def check_near(
    program: Program, seed: int, *, low: float, high: float, choices: Choices = CHOICES["usual"]
) -> None:
    """Compiled and interpreted results agree as far as rounding allows."""
    rng = np.random.default_rng(seed)
    arguments = arguments_for(program, rng, low=low, high=high)
    want, got = interpret(program, arguments), compiled(program, arguments, choices(seed))
    moved = [noisy(program, arguments, rng, sign) for sign in (1, -1, 1)]
    for position, (w, g, *others) in enumerate(zip(want, got, *moved, strict=True)):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        assert np.shape(g) == np.shape(w)
        eps = 1e-4 if np.asarray(w).dtype in (np.float32, np.complex64) else 1e-12
        for w_part, g_part, *other_parts in zip(
            parts(w), parts(g), *map(parts, others), strict=True
        ):
            _check_part(position, w_part, g_part, other_parts, eps)


def _check_part(position: int, want: Any, got: Any, others: Sequence[Any], eps: float) -> None:
    wrong = wrong_elements(want, got, others, eps)
    assert not np.any(wrong), f"output {position}: interpreted {want}, compiled {got}"


def check_exact(program: Program, seed: int, choices: Choices = CHOICES["usual"]) -> None:
    rng = np.random.default_rng(seed)
    arguments = arguments_for(program, rng, special=0.2)
    want, got = interpret(program, arguments), compiled(program, arguments, choices(seed))
    for position, (w, g) in enumerate(zip(want, got, strict=True)):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_array_equal(g, w, f"output {position}")


def derivative(program: Program) -> Program:
    return vjp(program, [i for i, t in enumerate(program.in_types) if t.is_inexact])


ALL = programs()
REALS = tuple(np.dtype(d) for d in ("f8", "f4", "i8", "i4", "u1", "?"))
EXACTLY = programs(kinds=is_exact, dtypes=REALS)
EXACTLY_ON_CUDA = programs(kinds=lambda k: is_exact(k) and is_on_every_target(k), dtypes=REALS)
INEXACT = tuple(map(np.dtype, ("f8", "c16")))
SMOOTH = programs(dtypes=INEXACT, inexact_outputs=True)

#: Without ops that only the CPU supports.
ALL_ON_CUDA = programs(kinds=is_on_every_target)
SMOOTH_ON_CUDA = programs(kinds=is_on_every_target, dtypes=INEXACT, inexact_outputs=True)


@pytest.mark.sampled(4)
@examples(share(60))
@given(program=ALL, seed=SEEDS)
def test_values(choices: Choices, program: Program, seed: int) -> None:
    check_near(program, seed, low=-2, high=2, choices=choices)


@pytest.mark.sampled(4)
@examples(share(60))
@given(program=EXACTLY, seed=SEEDS)
def test_exact_values(choices: Choices, program: Program, seed: int) -> None:
    check_exact(program, seed, choices)


@pytest.mark.sampled(4)
@examples(share(40))
@given(program=SMOOTH, seed=SEEDS)
def test_derivatives(choices: Choices, program: Program, seed: int) -> None:
    check_near(derivative(program), seed, low=0.2, high=0.9, choices=choices)


@pytest.mark.slow
@examples(1500)
@given(program=st.one_of(ALL, programs(max_ops=25)), seed=SEEDS)
def test_more_values(choices: Choices, program: Program, seed: int) -> None:
    check_near(program, seed, low=-2, high=2, choices=choices)


@pytest.mark.slow
@examples(1500)
@given(program=st.one_of(EXACTLY, programs(kinds=is_exact, max_ops=25)), seed=SEEDS)
def test_more_exact_values(choices: Choices, program: Program, seed: int) -> None:
    check_exact(program, seed, choices)


@pytest.mark.slow
@examples(1000)
@given(program=SMOOTH, seed=SEEDS)
def test_more_derivatives(choices: Choices, program: Program, seed: int) -> None:
    check_near(derivative(program), seed, low=0.2, high=0.9, choices=choices)


ROWS = """
program main(%x: f64[6,3]) {
  %y: f64[6] = sum %x {axes=(1,)}
  %z: f64[6] = exp %y
  return %z
}
"""


@pytest.mark.parametrize("name", ["usual", "threaded", "pieces"])
def test_choices_reach_the_code(name: str) -> None:
    with CHOICES[name](0):
        text, rounded = (str(lower(parse(program))) for program in (ROWS, ROUNDED))
    assert ("unrolled" in text) == (name == "usual")
    assert ("task" in text) == (name != "usual")
    assert ("\n  temp " in rounded) == (name == "pieces")  # values between parts of a loop


ROUNDED = """
program main(%x: f64[3]) {
  %y: f64[3] = exp %x
  %z: f64[3] = log %y
  %f: f64[3] = floor %z
  return %z, %f
}
"""


def test_noise_leaves_out_what_jumps_and_nothing_else() -> None:
    program, x = parse(ROUNDED), np.array([0.5, 1.0, 2.0])
    want = interpret(program, [x])
    moved = [noisy(program, [x], np.random.default_rng(seed), 1) for seed in range(3)]
    (z, f), (zs, fs) = want, zip(*moved, strict=True)
    wrong = f + np.array([0.0, 1.0, 1.0])
    _check_part(0, f, wrong, fs, 1e-12)  # the floors of 1 and 2 may be rounded either way
    with pytest.raises(AssertionError, match="output 0"):
        _check_part(0, f, f + np.array([1.0, 0.0, 0.0]), fs, 1e-12)
    with pytest.raises(AssertionError, match="output 0"):
        _check_part(0, z, z * (1 + 1e-9), zs, 1e-12)
