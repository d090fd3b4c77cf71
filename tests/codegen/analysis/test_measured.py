"""The parts of a loop program that can be timed."""

from __future__ import annotations

from typing import Any

import numpy as np

import autojit
from autojit.codegen.analysis.measured import parts_of
from autojit.codegen.loop_ir.program import Kernel


def loops_of(f: Any, *args: Any) -> Any:
    return autojit.jit(f).lower(*args).compile().loops


def nested(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        c = autojit.cond(c[0] > 0.0, lambda v: np.tanh(v), lambda v: np.exp(v), c + row)
        return c, c @ c

    return autojit.scan(step, np.zeros(2000), x)


def test_parts_stand_in_the_order_of_their_numbers() -> None:
    parts = parts_of(loops_of(nested, np.ones((5, 2000))))
    numbers = [p.number for p in parts]
    assert numbers == sorted(set(numbers))
    assert len({p.name for p in parts}) == len(parts)


def test_both_ways_of_a_branch_in_a_loop_are_parts() -> None:
    parts = parts_of(loops_of(nested, np.ones((5, 2000))))
    inside = [p for p in parts if len(p.number) == 2]
    assert len(inside) >= 2
    assert all(p.name.startswith("k") for p in inside)


def test_numbers_are_the_same_wherever_a_program_is_lowered() -> None:
    x = np.ones((5, 2000))
    first, second = (parts_of(loops_of(nested, x)) for _ in range(2))
    assert [p[:3] for p in first] == [p[:3] for p in second]


def test_every_step_is_a_part() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.linalg.cholesky(a), (a @ b) * 2, np.sort(b)

    program = loops_of(f, np.eye(30), np.ones((30, 30)))
    parts = parts_of(program)
    assert [p.node for p in parts] == program.steps
    kinds = {p.kind for p in parts}
    assert kinds >= {"cholesky", "product", "sort"}
    assert all(p.name == p.node.name for p in parts if isinstance(p.node, Kernel))


def test_what_is_the_same_in_tasks_is_one_part() -> None:
    parts = parts_of(loops_of(autojit.vmap(nested), np.ones((64, 50, 2000))))
    assert all(len(p.number) <= 2 for p in parts)
