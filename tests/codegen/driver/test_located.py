"""Displayed code with its statements: it is the code that runs, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad
from autojit.codegen.driver.executable import Executable
from autojit.codegen.driver.located import Located, LocatedExecutable
from autojit.codegen.loop_ir.nodes import Compute, RunTasks
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import walk

W, X = np.linspace(-1, 1, 6), np.linspace(0, 1, 60).reshape(10, 6)


def softmax(w: Any, x: Any) -> Any:
    z = x @ w
    e = np.exp(z - np.max(z))
    return np.sum(np.log(e / np.sum(e)))


def steps(w: Any) -> Any:
    return autojit.scan(lambda h, _: (np.tanh(h * w) / np.sum(h), None), w, length=40)[0].sum()


def settled(w: Any) -> Any:
    return autojit.while_loop(lambda h: np.sum(h) > 1.0, lambda h: np.sin(h) * 0.9, w * w).sum()


def tree(up: Any) -> Any:
    """Levels that shrink: one kernel per step, all sharing one function."""
    p = (1.001 - 1 / up) / (up - 1 / up)
    v = np.maximum(105 - 100 * up ** np.arange(24, -25, -2.0), 0.0)
    for i in range(23, -1, -1):
        held = 0.999 * (p * v[:-1] + (1 - p) * v[1:])
        v = np.maximum(held, 105 - 100 * up ** np.arange(i, -i - 1, -2.0))
    return v[0]


def solved(w: Any) -> Any:
    return np.linalg.solve(np.outer(w, w) + np.eye(6), np.sin(w)).sum()


def large(x: Any) -> Any:
    return np.sum(np.tanh(x) @ np.exp(x))


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "softmax": (grad(softmax), [W, X]),
    "scan": (grad(steps), [W]),
    "while": (grad(settled), [W]),
    "alike": (tree, [1.05]),
    "factorization": (grad(solved), [W]),
    "tasks": (grad(large), [np.ones((300, 300))]),
    "integers": (lambda k: np.cumsum(k % 3) // 2, [np.arange(50)]),
    "complex": (lambda z: np.exp(z) * z, [X + 1j]),
}


@cache
def both(name: str) -> tuple[Executable, LocatedExecutable]:
    f, args = CASES[name]
    plain = Executable(autojit.trace(f)(*args))
    return plain, LocatedExecutable(plain)


def bare(text: str) -> list[str]:
    """Lines without stack-unwinding information, and without the serial number of the entry."""
    words = re.sub(r"autojit_entry_\d+", "entry", text)
    return [x for x in words.split("\n") if x.strip() and not x.startswith("\t.cfi_")]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_code_that_runs(name: str) -> None:
    plain, located = both(name)
    for words, lines in (
        (plain.llvm(), located.llvm_lines()),
        (plain.assembly(), located.assembly_lines()),
    ):
        assert bare("\n".join(line.text for line in lines)) == bare(words)
        assert not any("dbg" in line.text or "!DI" in line.text for line in lines)


def statements(located: LocatedExecutable, lines: list[Located], words: str) -> list[Any]:
    """The statements of the lines that contain some words."""
    return [
        located.statements[n - 1] for line in lines if re.search(words, line.text)
        for n in line.numbers
    ]  # fmt: skip


def test_instructions_have_their_statements() -> None:
    _, located = both("softmax")
    lines = located.llvm_lines()
    divided = statements(located, lines, r"= fdiv .*contract")
    assert {s.name for s in divided if isinstance(s, Compute)} == {"div"}
    # Code inlined from a function has the statement that calls it.
    functions = [s.name for s in statements(located, lines, "fmuladd") if isinstance(s, Compute)]
    assert {"exp"} <= set(functions) <= {"exp", "mul", "add", "sub"}
    code = located.assembly_lines()
    divided = statements(located, code, r"\b[v]?f?div[sp]?d?\b")
    assert any(isinstance(s, Compute) and s.name == "div" for s in divided)


def test_every_kernel_has_code() -> None:
    for name in ("softmax", "scan", "while", "factorization", "alike"):
        _, located = both(name)
        found = {n for line in located.assembly_lines() for n in line.numbers}
        for step in located.loops.steps:
            first = located.locations.number_of(step)
            assert first is not None
            body = step.body if isinstance(step, Kernel) else []
            assert found & set(range(first, first + 1 + len(list(walk(body))))), (name, step)


def test_tasks_and_kernels_that_are_one_function() -> None:
    _, located = both("alike")
    kernels = [s for s in located.loops.steps if isinstance(s, Kernel)]
    most = max(len(line.numbers) for line in located.llvm_lines())
    assert len(kernels) >= most >= 8
    _, tasks = both("tasks")
    found = {n for line in tasks.llvm_lines() for n in line.numbers}
    run = [s for s in tasks.statements if isinstance(s, RunTasks)]
    inner = [tasks.locations.number_of(s) for r in run for s in r.tasks.body]
    assert not run or found & set(inner)
