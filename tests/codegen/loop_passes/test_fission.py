"""Fission of loops with long bodies: the same results, and compile time in proportion."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from autojit import grad, trace
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_passes import fission
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.machine import L2
from autojit.ir.passes import optimize
from tests.codegen.row_chains import agrees
from tests.thresholds import share

pytestmark = pytest.mark.filterwarnings("ignore::autojit.errors.UnrolledLoopWarning")
RNG = np.random.default_rng(0)


def chain(x: Any, steps: int = 40) -> Any:
    """Steps that use values from a few and from many steps before, of all dtypes, in an order that
    cannot be rerolled."""
    seen, draw = [x, 1.0 + x * x], random.Random(0)
    for k in range(steps):
        a, b, c = seen[-1], seen[-2], seen[(7 * k) % len(seen)]
        kind = draw.randrange(5)
        if kind == 0:
            seen.append(np.tanh(a) * (0.3 + 0.01 * k))
        elif kind == 1:
            seen.append(a - b * c)
        elif kind == 2:
            seen.append(np.where(c > b, np.sin(a), 0.5 * b))
        elif kind == 3:
            seen.append(np.floor(4.0 * c).astype(int) % 3 + a)
        else:
            seen.append(np.sqrt(a * a + 1.0))
    return seen[-1]


def outlined(loops: LoopProgram) -> list[Loop]:
    return [s for s in statements(loops) if isinstance(s, Loop) and s.outlined]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fission, "LONG", 120)
    monkeypatch.setattr(fission, "SIZE", 60)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(1,), (3,), (64,), (257,), (4001,), (31, 17), (6, 5, 7)])
@pytest.mark.usefixtures("small_pieces")
def test_elements(shape: tuple[int, ...]) -> None:
    x = RNG.normal(size=shape)
    assert outlined(agrees(chain, x))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [5, 64, 1000, 4001])
@pytest.mark.usefixtures("small_pieces")
def test_sums_and_gradients(count: int) -> None:
    x = RNG.normal(size=count)
    assert outlined(agrees(lambda x: (np.sum(chain(x)), np.max(chain(x, 45))), x))
    assert outlined(agrees(grad(lambda x: np.sum(chain(x))), x))


@pytest.mark.usefixtures("small_pieces")
def test_rows_and_scalars() -> None:
    x, v = RNG.normal(size=(70, 9)), RNG.normal(size=9)
    assert outlined(agrees(lambda x, v: chain(x * np.sum(v)) @ v, x, v))
    assert outlined(agrees(lambda x, v: np.sum(chain(x + v), axis=0), x, v))
    assert outlined(agrees(lambda x, v: chain(x[::-1, :4]) + chain(x[:, 5:]), x, v))


@pytest.mark.usefixtures("small_pieces")
def test_shifted_and_gathered_elements() -> None:
    x, places = RNG.normal(size=300), RNG.integers(0, 300, 200)

    def f(x: Any, places: Any) -> Any:
        y = chain(x[places])
        return y[1:-1] - y[2:] * y[:-2]

    agrees(f, x, places)
    with pytest.raises(IndexError):
        Executable(trace(f)(x, places)).call([x, places + 200])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [1_000, 4_001])
@pytest.mark.usefixtures("small_pieces")
def test_tasks_have_memory_of_their_own(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_cost, "WORTH_TRYING", 0)
    monkeypatch.setattr(task_cost, "WORK_OF_TASK", 0.016)
    monkeypatch.setattr(fission, "HANDED", share(L2, 1 << 12))
    loops = agrees(grad(lambda x: np.sum(chain(x))), RNG.normal(size=count))
    assert outlined(loops)
    assert "_of_task" in str(loops)


@pytest.mark.usefixtures("small_pieces")
def test_loops_in_steps() -> None:
    def f(x: Any) -> Any:
        for _ in range(30):
            x = chain(x, 12) / 7.0
        return x

    assert outlined(agrees(f, RNG.normal(size=50)))


def test_short_loops_stay_whole() -> None:
    assert not outlined(agrees(chain, RNG.normal(size=100)))


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.parametrize("steps", [600, 1200])
def test_no_loop_is_long(steps: int, count: int) -> None:
    """Each function that LLVM gets has bounded length."""
    x = RNG.normal(size=count)
    loops = lower(optimize(trace(grad(lambda x: np.sum(chain(x, steps))))(x)))
    sizes = [
        sum(map(fission._size, s.body))
        for s in statements(loops)
        if isinstance(s, Loop) and not any(isinstance(inner, Loop) for inner in s.body)
    ]
    assert len(sizes) > steps // 120
    assert max(sizes) < fission.LONG


def test_parts_are_functions() -> None:
    executable = Executable(trace(lambda x: chain(x, 900))(RNG.normal(size=20)))
    executable.call([RNG.normal(size=20)])
    (compiled,) = executable._compiled
    text = "\n".join(compiled.parts)
    count = len(outlined(executable.loops))
    assert count > 3
    assert text.count("noinline") >= 1
    assert len({s for s in text.split() if s.startswith('@"kernel0_loop')}) >= count


def test_kernels_without_loops_are_left_to_split_blocks() -> None:
    loops = lower(optimize(trace(lambda x: chain(x, 1500))(np.float64(0.3))))
    kernels = [s for s in loops.steps if isinstance(s, Kernel)]
    assert len(kernels) > 1
    assert not outlined(loops)
