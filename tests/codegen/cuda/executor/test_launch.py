"""The mistakes that the executor finds in wrong kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import grad, scan, trace, vmap
from autojit.codegen.cuda.device_program.nodes import (
    Atomic,
    Barrier,
    Combine,
    DeviceKernel,
    DeviceProgram,
    Share,
    When,
)
from autojit.codegen.cuda.device_program.numbers import (
    accumulator,
    constant_scalar,
    loaded,
    scalar,
)
from autojit.codegen.cuda.executor.launch import LaunchError
from autojit.codegen.cuda.executor.races import RaceError
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Finish, Store
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_text.memory import OutOfMemory
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from tests.codegen.cuda.running import arguments_of, mapped, run

X, Y = Buffer("x", "f64", 8, "input"), Buffer("y", "f64", 8, "output")
SHARED = Buffer("tile", "f64", 8, "shared")
BLOCK, THREAD = Var(2), Var(4)
HERE = affine.of(BLOCK) * 4 + affine.of(THREAD)
LANE = affine.of(THREAD)


def program(body: list[Any], grid: int = 2, threads: int = 4) -> DeviceProgram:
    kernel = DeviceKernel("k", "", grid, threads, BLOCK, THREAD, body, [X, Y], [SHARED], warp=2)
    return DeviceProgram(LoopProgram("f", [X], [Y], []), [kernel], [], [], [])


def copied(source: Buffer, here: Affine, target: Buffer, there: Affine) -> list[Any]:
    load = loaded(source, here)
    return [load, Store(target, there, load.result)]


def outputs(body: list[Any], **sizes: int) -> np.ndarray:
    (found,) = execute(program(body, **sizes), [np.arange(8.0)])
    return found


def reversed_through(*between: Any) -> list[Any]:
    """The threads of a block exchange elements in shared memory."""
    there = LANE * -1 + 3
    return [*copied(X, HERE, SHARED, LANE), *between, *copied(SHARED, there, Y, HERE)]


def test_threads_exchange_what_they_have_stored() -> None:
    np.testing.assert_array_equal(outputs(reversed_through(Barrier(4))), [3, 2, 1, 0, 7, 6, 5, 4])


def test_a_missing_barrier_is_named() -> None:
    with pytest.raises(RaceError, match=r"kernel k: s\d = tile\[-thread \+ 3\]: several threads"):
        outputs(reversed_through())


def test_a_barrier_of_a_team_is_none_of_the_block() -> None:
    with pytest.raises(RaceError):
        outputs(reversed_through(Barrier(2)))
    neighbours = affine.divide(LANE, 2, {})
    there = neighbours[0] * 2 + neighbours[1] * -1 + 1
    body = [*copied(X, HERE, SHARED, LANE), Barrier(2), *copied(SHARED, there, Y, HERE)]
    np.testing.assert_array_equal(outputs(body), [1, 0, 3, 2, 5, 4, 7, 6])


def test_reading_before_another_thread_writes() -> None:
    load = loaded(SHARED, LANE * -1 + 3)
    body = [*copied(X, HERE, SHARED, LANE), Barrier(4), load, Store(SHARED, LANE, load.result)]
    with pytest.raises(RaceError, match=r"tile\[thread\] = s\d"):
        outputs(body)


def test_blocks_never_wait_for_each_other() -> None:
    """An element written by one block may be touched by no other, whatever the barriers."""
    body = [*copied(X, HERE, Y, HERE), Barrier(4), *copied(Y, HERE * -1 + 7, Y, HERE)]
    with pytest.raises(RaceError):
        outputs(body)


def test_two_threads_write_one_element() -> None:
    with pytest.raises(RaceError, match=r"y\[0\]"):
        outputs(copied(X, HERE, Y, Affine(0)))


def test_atomic_additions_may_meet_but_nothing_else() -> None:
    zero = constant_scalar(0.0, "f64")
    load = loaded(X, HERE)
    add = Atomic(Y, Affine(0), (), "add", load.result)
    first = When(HERE, 0, 1, [Store(Y, Affine(0), zero.result)])
    with pytest.raises(RaceError, match="atomic"):
        outputs([zero, first, load, add])
    with pytest.raises(RaceError):
        outputs([load, add, *copied(Y, Affine(0), Y, HERE)])
    with np.errstate(all="ignore"):
        assert np.isnan(outputs([load, add])[0])  # y was never set


def test_shared_memory_is_poisoned() -> None:
    assert np.isnan(outputs(copied(SHARED, LANE, Y, HERE))).all()


def test_threads_that_do_not_come_to_a_barrier() -> None:
    with pytest.raises(LaunchError, match=r"kernel k: barrier of 4 threads: some threads of a"):
        outputs([When(LANE, 0, 3, [Barrier(4)])])
    total, result = accumulator("f64"), scalar("f64")
    body = [Begin(total), When(LANE, 1, 4, [Combine(total, 2)]), Finish(result, total)]
    with pytest.raises(LaunchError, match="add of 2 threads"):
        outputs(body)


def test_an_index_outside_of_its_buffer() -> None:
    with pytest.raises(OutOfMemory, match=r"y\[.* \+ 1\] = s0: 1 to 8 of y\[8\]"):
        outputs(copied(X, HERE, Y, HERE + 1))


def test_shares_together_are_the_whole_loop() -> None:
    n = Var(8)
    total, result = accumulator("f64", "add", 0.0), scalar("f64")
    load = loaded(X, affine.of(n))
    body = [
        Begin(total),
        Share(n, LANE, 8, 4, [load, Accumulate(total, load.result)]),
        Combine(total, 4),
        Finish(result, total),
        Store(Y, LANE, result),
    ]
    np.testing.assert_array_equal(outputs(body, grid=1)[:4], [28.0] * 4)


# -- barriers of programs ---------------------------------------------------------------


def steps(x: Any) -> Any:
    return scan(lambda c, r: (np.sin(c[::-1]) * r + np.sum(c), c[0]), x[0], x)


ROWS = np.random.default_rng(0).uniform(1, 2, (9, 12))
PROGRAMS = {
    "steps": trace(steps)(ROWS),
    "adjoint": trace(grad(lambda x: np.sum(steps(x)[0])))(ROWS),
    "solve": trace(np.linalg.solve)(ROWS[:, :9] + 9 * np.eye(9), ROWS),
    "product": trace(lambda x: x @ x.T @ x @ x.T)(np.ones((40, 40))),
    "elements": trace(vmap(steps))(np.ones((9, 4, 3))),
}


def barriers(body: list[Any]) -> Iterator[tuple[list[Any], int]]:
    for position, s in enumerate(body):
        if isinstance(s, Barrier):
            yield body, position
        for inner in EFFECTS[type(s)].bodies(s):
            yield from barriers(inner)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "elements"])
def test_barriers_are_needed(name: str) -> None:
    """Without its barriers a program has a race; with them it has none."""
    like = PROGRAMS[name]
    arrays = arguments_of(like, [np.ones(t.shape) + np.eye(*t.shape) for t in like.in_types])
    device = mapped(like)
    run(device, like, arrays)
    found = [b for kernel in device.launches for b in barriers(kernel.body)]
    assert found
    for body, position in found:
        body[position] = replace(body[position], width=1)
    with pytest.raises(RaceError):
        run(device, like, arrays)


def test_a_thread_an_element_waits_for_none() -> None:
    launches = mapped(PROGRAMS["elements"]).launches
    own = [kernel for kernel in launches if not kernel.shared]  # others use tiles
    assert own
    assert not [b for kernel in own for b in barriers(kernel.body)]
