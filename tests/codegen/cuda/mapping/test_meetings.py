"""Loops in turn over many elements, which all blocks run together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import fori_loop, grad, jit, scan, trace, while_loop
from autojit.codegen.cuda.device_program.nodes import (
    DeviceKernel,
    DeviceProgram,
    Failed,
    Meeting,
    When,
)
from autojit.codegen.cuda.device_program.text import print_device_program
from autojit.codegen.cuda.executor.launch import LaunchError
from autojit.codegen.cuda.executor.races import RaceError
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core import affine
from tests.codegen.cuda.driver.fake import Fake, installed
from tests.codegen.cuda.running import SMALL, arguments_of, check, mapped, run


def heat(u: Any) -> Any:
    return fori_loop(0, 7, lambda i, u: u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), u)


def plate(u: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return np.pad(0.25 * inner, 1)

    return fori_loop(0, 5, step, u)


def power(a: Any, x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        y = a @ x
        return y / np.sqrt(np.sum(y * y))

    return fori_loop(0, 5, step, x)


def jacobi(a: Any, b: Any) -> Any:
    def step(s: tuple[Any, Any]) -> tuple[Any, Any]:
        x = s[0] + s[1] / np.diagonal(a)
        return x, b - a @ x

    return while_loop(lambda s: np.max(np.abs(s[1])) > 1e-6, step, (b * 0, b))[0]


def counted(u: Any, steps: Any) -> Any:
    """A small carry beside a large one, which one block would keep in shared memory."""

    def step(s: tuple[Any, Any]) -> tuple[Any, Any]:
        return s[0] + 1, np.sin(s[1].T)

    return while_loop(lambda s: s[0] < steps, step, (0, u))


def sums(c: Any, xs: Any) -> Any:
    return scan(lambda c, x: (np.sin(c[::-1]) + x, np.sum(c)), c, xs)


RNG = np.random.default_rng(0)
LINE, SQUARE = RNG.uniform(1, 2, 60), RNG.uniform(0, 1, (40, 40)) + 50 * np.eye(40)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "heat": (heat, (LINE,)),
    "a plate": (plate, (RNG.uniform(1, 2, (9, 8)),)),
    "power": (power, (SQUARE, LINE[:40])),
    "Jacobi": (jacobi, (SQUARE, LINE[:40])),
    "a count": (counted, (SQUARE, 4)),
    "sums": (sums, (LINE, RNG.uniform(1, 2, (4, 60)))),
    "gradient of heat": (grad(lambda u: np.sum(heat(u) ** 2)), (LINE,)),
    "gradient of power": (grad(lambda a, x: power(a, x)[0]), (SQUARE, LINE[:40])),
    "gradient of Jacobi": (grad(lambda a, b: np.sum(jacobi(a, b))), (SQUARE, LINE[:40])),
}


def meeting_kernels(device: DeviceProgram) -> list[DeviceKernel]:
    return [k for k in device.launches if isinstance(k, DeviceKernel) and k.meets]


def meeting(program: Any, machine: Machine = SMALL) -> list[DeviceKernel]:
    return meeting_kernels(mapped(program, machine))


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str) -> None:
    f, arguments = PROGRAMS[name]
    program = trace(f)(*arguments)
    device = check(program, arguments)
    assert any(isinstance(k, DeviceKernel) and k.meets for k in device.launches)
    assert not meeting(program, replace(SMALL, together=False))  # as in the simulator


def meetings(body: list[Any]) -> Iterator[tuple[list[Any], int]]:
    for position, s in enumerate(body):
        if isinstance(s, Meeting):
            yield body, position
        for inner in EFFECTS[type(s)].bodies(s):
            yield from meetings(inner)


@pytest.mark.parametrize("name", ["heat", "power", "a count"])
def test_each_meeting_is_needed(name: str) -> None:
    f, arguments = PROGRAMS[name]
    program = trace(f)(*arguments)
    arrays, count = arguments_of(program, arguments), 0
    while True:
        device = mapped(program)
        found = [m for k in meeting_kernels(device) for m in meetings(k.body)]
        if count == len(found):
            break
        body, position = found[count]
        del body[position]
        with pytest.raises(RaceError):
            run(device, program, arrays)
        count += 1
    assert count


def test_blocks_that_do_not_come_are_noticed() -> None:
    program = trace(heat)(LINE)
    device = mapped(program)
    (kernel,) = meeting_kernels(device)
    (waiting, *_) = meetings(kernel.body)
    body, position = waiting
    body[position] = When(affine.of(kernel.block), 0, 1, [body[position]])
    with pytest.raises(LaunchError, match="some threads of the launch do not come here"):
        run(device, program, [LINE])


def test_the_count_of_blocks_begins_at_zero() -> None:
    program = trace(heat)(LINE)
    device = mapped(program)
    del device.launches[0]  # which clears it
    with pytest.raises(LaunchError, match="blocks have arrived before the first one"):
        run(device, program, [LINE])


TEXT = """\
  kernel k0(in0, carry1, p0, next0, out0), 108 x 256 threads:
    share k from 256*block + thread, below 500000, by 27648:
      together:
        s0 = in0[2*k]
        s1 = in0[2*k + 1]
      together:
        carry1[2*k] = s0
        carry1[2*k + 1] = s1
    all blocks meet, p0
    for l in 0..7:  # in turn
"""


def test_a_step_has_one_meeting() -> None:
    program = trace(heat)(np.broadcast_to(1.0, 10**6))
    text = print_device_program(mapped(program, Machine()))
    assert TEXT in text
    assert text.count("all blocks meet") == 2
    assert "      all blocks meet, p0\n      swap carry1, next0\n" in text


def test_small_steps_are_one_blocks() -> None:
    assert not meeting(trace(heat)(np.broadcast_to(1.0, 8000)), Machine())
    assert meeting(trace(heat)(np.broadcast_to(1.0, 9000)), Machine())


def looked_up(x: Any, places: Any) -> Any:
    return while_loop(lambda s: s[0] < 5.0, lambda s: (s[0] + 1, s[1][places]), (0.0, x))[1]


def jumping(parents: Any) -> Any:
    """Pointer jumping: the root of each node of a forest."""
    return while_loop(lambda p: np.any(p[p] != p), lambda p: p[p], parents)


def within_steps(x: Any, places: Any) -> Any:
    def outer(i: Any, x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y[places] * 0.9 + 0.01

        return while_loop(lambda y: np.max(y) > 0.5, inner, x) + 0.3

    return fori_loop(0, 3, outer, x)


PLACES = np.arange(60)[::-1].copy()
LOOKING_UP: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "looked up": (looked_up, (LINE, PLACES)),
    "jumping": (jumping, (np.maximum(np.arange(60) - 3, 0),)),
    "within steps": (within_steps, (LINE, PLACES)),
    "gradient": (grad(lambda x, p: np.sum(looked_up(np.sin(x), p) ** 2)), (LINE, PLACES)),
}


@pytest.mark.parametrize("name", LOOKING_UP)
def test_loops_end_together_after_a_failure(name: str) -> None:
    """Only one block fails, and no other waits for it."""
    f, arguments = LOOKING_UP[name]
    program = trace(f)(*arguments)
    check(program, arguments)
    kernels = meeting(program)
    assert any(isinstance(s, Failed) for k in kernels for s in walk(k.body))
    arrays = [a.copy() for a in arguments_of(program, arguments)]
    arrays[-1][7] = 99
    with pytest.raises(IndexError, match="out of bounds"):
        run(mapped(program), program, arrays)


def test_a_block_that_ends_a_loop_alone_is_noticed() -> None:
    """Without the note of a failure, the other blocks wait."""
    program = trace(looked_up)(LINE, PLACES)
    device, places = mapped(program), PLACES.copy()
    places[7] = 99
    loops = [s for k in meeting_kernels(device) for s in walk(k.body) if isinstance(s, Repeat)]
    for loop in loops:
        at = next(k for k, s in enumerate(loop.body) if isinstance(s, Failed))
        del loop.body[at : at + 2]
    with pytest.raises(LaunchError, match="some threads of the launch do not come here"):
        run(device, program, [LINE, places])


def test_blocks_are_launched_together_and_in_no_graph() -> None:
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    with installed(Fake()) as fake:
        f = jit(lambda u: np.sum(heat(u) * 2), device="cuda")
        u = np.broadcast_to(1.0, 10**5)
        for _ in range(4):
            f(u)
        with fake.counted() as counts:
            f(u)
        assert counts["cuLaunchCooperativeKernel"] == 1
        assert counts["cuLaunchKernel"] >= 2
        assert not fake.counts["cuGraphCreate"]
        together = [x for x in fake.launches if "meeting(" in x.kernel.text]
        assert {x.grid for x in together} == {(108, 1, 1)}
