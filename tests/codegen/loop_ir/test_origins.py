"""Every step of a loop program knows its ops, and through them the user's lines."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.origins import ops_of, sources_of
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import places_of, statements
from autojit.ir.core.program import Op, Program
from bench.programs import all_programs
from tests import thresholds

EVERY = list(all_programs().values())


def lowered(f: Any, *args: Any) -> tuple[Program, LoopProgram]:
    found = Executable(autojit.jit(f).lower(*args).program)
    return found.optimized, found.loops


def ops_in(program: Program) -> Iterator[Op]:
    for op in program.ops:
        yield op
        for body in op.programs:
            yield from ops_in(body)


def lines_of(f: Any, *args: Any) -> list[list[int]]:
    """By step: line numbers within the function, counted from its first line; negative for
    backward."""
    first = inspect.getsourcelines(f)[1]
    _, loops = lowered(autojit.grad(f), *args)
    return [
        [(first - s.line) if s.backward else (s.line - first) for s in sources_of(step)]
        for step in loops.steps
    ]


def check(f: Any, *args: Any) -> None:
    """Check that each step has lines of the user, and that each line of the program is in a
    step."""
    program, loops = lowered(f, *args)
    found = [sources_of(step) for step in loops.steps]
    for step, sources in zip(loops.steps, found, strict=True):
        assert any("/bench/programs/" in s.file for s in sources), step
    expected = {op.source for op in ops_in(program)} - {None}
    assert {s for sources in found for s in sources} == expected


@pytest.mark.parametrize("program", EVERY[::8], ids=lambda p: p.name)
def test_every_step_of_a_gradient_has_lines(program):
    f, args = program.at(program.tiny, autojit)
    check(autojit.grad(f), *args)


@pytest.mark.slow
@pytest.mark.parametrize("program", EVERY, ids=lambda p: p.name)
def test_every_step_has_lines(program):
    f, args = program.at(program.tiny, autojit)
    check(f, *args)
    check(autojit.grad(f), *args)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_loop_passes_keep_origins(seed):
    """This holds whichever passes change the loops."""
    for program in EVERY[seed::16]:
        f, args = program.at(program.tiny, autojit)
        with thresholds.drawn(np.random.default_rng(seed)) as chosen:
            print(program.name, chosen)
            check(autojit.grad(f), *args)


def test_lines_through_fusion_and_the_adjoint():
    def loss(w, x):
        z = x @ w
        e = np.exp(z)
        p = e / e.sum(1, keepdims=True)
        return np.sum(p * p)

    forward_product, rows, backward_product = lines_of(loss, np.ones((64, 10)), np.ones((500, 64)))
    assert forward_product == [1]
    assert rows == [2, 3, -4, -3, -2]
    assert backward_product == [-1]


def test_lines_in_the_bodies_of_loops():
    def f(x):
        def step(c, row):
            return np.tanh(c + row), None

        return autojit.scan(step, np.zeros(3), x)[0].sum()

    forward, backward = lines_of(f, np.ones((100, 3)))
    assert 2 in forward
    assert -2 not in forward
    assert -2 in backward


def test_a_result_that_is_stored_twice_belongs_to_its_line():
    _, loops = lowered(lambda x: (y := np.sin(x), y), np.ones(3))
    assert [[op.kind.name for op in ops_of(step)] for step in loops.steps] == [["sin"], ["sin"]]


def test_an_origin_is_not_compared_nor_printed():
    here = lowered(lambda x: x + 1, np.ones(3))
    there = lowered(lambda x: x + 1, np.ones(3))
    assert here[0].ops[-1].source != there[0].ops[-1].source
    assert here[1].steps[0].origins != there[1].steps[0].origins
    assert str(here[1]) == str(there[1])
    assert "origin" not in repr(here[1].steps[0])
    assert here[0] == there[0]


def test_statements_have_the_line_of_their_op() -> None:
    def f(x: Any) -> Any:
        a = np.sin(x)  # 1
        b = np.sum(a * np.exp(x))  # 2
        for _ in range(400):  # 3
            b = np.tanh(b)  # 4
        return np.sum(np.log1p(a) / b)  # 5

    first = inspect.getsourcelines(f)[1]
    _, loops = lowered(f, np.ones(3000))
    found: dict[str, set[int]] = {}
    for s in statements(loops):
        (name,) = [s.name] if isinstance(s, Compute) else [type(s).__name__]
        found.setdefault(name, set()).update(p.line - first for p in places_of(s))
    assert [found[name] for name in ("sin", "exp", "tanh", "log1p")] == [{1}, {2}, {4}, {5}]
    assert found["Accumulate"] == found["Finish"] == {2, 5}
    assert found["div"] == {5}
    assert {1, 2, 5} <= found["Loop"]
