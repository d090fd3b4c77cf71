"""``AUTOJIT_VERIFY``: what is compiled wrongly is found, and the pass is named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.codegen.cpu.emit import kernels
from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_passes import pipeline as loop_pipeline
from autojit.errors import EnvironmentVariableError, MiscompilationError
from autojit.ir.core.program import Op, Program
from autojit.ir.core.registry import REGISTRY
from autojit.ir.ops.callback import calls_functions
from autojit.ir.pass_manager import remarks
from autojit.ir.passes import pipeline
from autojit.ir.tools.text import parse
from autojit.staging import execute
from autojit.validation import compilation
from autojit.validation.compilation import is_chosen, share_of, verify

X = np.linspace(0.2, 1.7, 5)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUTOJIT_VERIFY", "points")
    monkeypatch.setenv("AUTOJIT_VERIFY_DIR", str(tmp_path / "reports"))
    monkeypatch.setenv("AUTOJIT_CACHE_DIR", "")  # faults that are planted are not kept
    monkeypatch.setattr(execute, "_executables", type(execute._executables)())


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs that are compared."""
    seen: list[Program] = []
    real = compilation._check

    def check(program: Program, *given: Any) -> None:
        seen.append(program)
        real(program, *given)

    monkeypatch.setattr(compilation, "_check", check)
    return seen


def f(x: Any) -> Any:
    return np.sum(np.sin(x) - x * x)


def test_right_code_passes_at_three_points(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    compiled = jit(f)
    assert compiled(X) == pytest.approx(f(X))
    assert len(seen) == 3
    compiled(X)
    assert compiled._fast is not None
    assert len(seen) == 3
    grad(f)(X)
    assert len(seen) == 6
    jit(lambda x, n: {"a": x * n, "b": np.argmax(x)})(2.0, 3)
    assert len(seen) == 9


def planted_sub(program: Program) -> Program:
    """Every subtraction becomes an addition."""
    ops = [
        Op(REGISTRY["add"], op.operands, op.params, op.results, op.source)
        if op.kind.name == "sub"
        else op
        for op in program.ops
    ]
    return program.with_body(ops, program.outputs)


def test_pass_that_changes_a_sign_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    places = list(pipeline.OPTIMIZE.places)
    k = next(i for i, p in enumerate(places) if p.run.name == "swap_products")
    wrong = replace(places[k].run, function=planted_sub)
    places[k] = replace(places[k], run=wrong)
    monkeypatch.setattr(pipeline.OPTIMIZE, "places", tuple(places))
    compiled = jit(f)
    for _ in range(2):  # it is not let through the second time
        with pytest.raises(MiscompilationError) as caught:
            compiled(X)
        assert "The cause is the pass swap_products." in str(caught.value)
        with pytest.raises(MiscompilationError, match="swap_products"):
            autojit.vmap(f)(X[None])
    monkeypatch.undo()
    path = Path(str(caught.value).splitlines()[-1].strip())
    text = path.read_text()
    assert path.parent == tmp_path / "reports"
    assert not list(path.parent.glob("*.aside"))
    inputs = re.search(r"# input 0, \S+: (.*)", text)
    assert inputs is not None
    assert parse(text)(np.array(eval(inputs[1]))) is not None  # the report's text is a program
    ran = subprocess.run(
        [sys.executable, "-m", "autojit.cli", "run", str(path), inputs[1]],
        capture_output=True, text=True, check=False, env=os.environ | {"AUTOJIT_VERIFY": "0"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("result 0: f64[")


def test_pass_over_loops_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(loops: Any) -> Any:
        for step in loops.steps:
            if isinstance(step, Kernel):
                for s in walk(step.body):
                    if isinstance(s, Compute) and s.name == "sub":
                        s.name = "add"
        return loops

    places = list(loop_pipeline.SHAPE.places)
    k = next(i for i, p in enumerate(places) if p.run.name == "coalesce")
    places[k] = replace(places[k], run=replace(places[k].run, function=wrong))
    monkeypatch.setattr(loop_pipeline.SHAPE, "places", tuple(places))
    with pytest.raises(MiscompilationError, match="the pass coalesce over loops"):
        jit(f)(X)


def test_wrong_emitter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = kernels.KernelEmitter.compute

    def wrong(self: Any, s: Compute) -> Any:
        if s.name == "sub":
            s = Compute(s.result, "add", s.args)
        return real(self, s)

    monkeypatch.setitem(kernels._EMITTERS, Compute, wrong)
    with pytest.raises(MiscompilationError, match="The cause is code generation"):
        jit(f)(X)


def wrong_by(error: float) -> Any:
    return lambda arrays: [np.asarray(f(*arrays)) * (1 + error)]


def test_tolerance_is_that_of_rounding() -> None:
    program = autojit.trace(f)(X)
    verify(program, [X], wrong_by(1e-15))
    with pytest.raises(MiscompilationError):
        verify(program, [X], wrong_by(1e-8))


def test_cancellation_is_no_fault_and_what_is_not_cancelled_is_exact() -> None:
    def g(x: Any) -> Any:
        return (x + 1e8) - 1e8, np.floor(x)

    program = autojit.trace(g)(X)
    off = 3e-8
    verify(program, [X], lambda arrays: [g(arrays[0])[0] + off, g(arrays[0])[1]])
    with pytest.raises(MiscompilationError, match=r"result 1\[0\] is 1e-06"):
        verify(program, [X], lambda arrays: [g(arrays[0])[0], g(arrays[0])[1] + 1e-6])


def test_integers_and_patterns_of_nan_are_exact() -> None:
    program = autojit.trace(lambda x, n: (np.log(x), n + 1))(X, 3)
    right = [np.log(X), np.int64(4)]
    verify(program, [X, np.int64(3)], lambda arrays: [np.log(arrays[0]), arrays[1] + 1])
    with pytest.raises(MiscompilationError, match="result 1 is 5 and should be 4"):
        verify(program, [X, np.int64(3)], lambda arrays: [np.log(arrays[0]), np.int64(5)])
    with pytest.raises(MiscompilationError, match="is nan and should be"):
        verify(program, [X, np.int64(3)], lambda arrays: [right[0] * np.nan, right[1]])
    bad = np.array([1.0, -1.0, 1.0, 1.0, 1.0])
    with pytest.raises(MiscompilationError, match="should be nan"):
        verify(program, [bad, np.int64(3)], lambda a: [np.log(np.abs(a[0])), np.int64(4)])


def test_code_that_raises_is_a_fault_and_a_call_that_raises_is_none() -> None:
    def raising(arrays: Any) -> Any:
        raise ZeroDivisionError("by zero")

    with pytest.raises(MiscompilationError, match="it raises ZeroDivisionError"):
        verify(autojit.trace(f)(X), [X], raising)
    with pytest.raises(np.linalg.LinAlgError):
        jit(np.linalg.inv)(np.zeros((2, 2)))


def test_what_is_left_out_says_so() -> None:
    calls = []

    def called(x: Any) -> Any:
        calls.append(x)
        return x

    def long(x: Any) -> Any:
        return autojit.fori_loop(0, 10**6, lambda i, c: c * 0.5 + x, x)

    with remarks.collecting() as found:
        jit(lambda x: autojit.pure_callback(called, x, x))(X)
        jit(long)(1.0)
    reasons = [remark.reason for remark in found if remark.by == "verify"]
    assert len(calls) == 1
    assert reasons == [
        "not verified: it calls functions of this process, which are not called twice",
        "not verified: the interpreter would take too long",
    ]
    assert calls_functions(autojit.trace(lambda x: autojit.pure_callback(called, x, x))(X))


def test_share_is_that_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    monkeypatch.setenv("AUTOJIT_VERIFY", "points/3")
    programs = [autojit.trace(lambda x, n=n: x * n)(X) for n in range(40)]
    chosen = [p for p in programs if is_chosen(p, 3)]
    assert 5 <= len(chosen) <= 22
    for number, program in enumerate(programs):
        verify(program, [X], lambda arrays, number=number: [arrays[0] * number])
    assert len(seen) == 3 * len(chosen)


def test_setting_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOJIT_VERIFY", "ponts")
    with pytest.raises(EnvironmentVariableError) as caught:
        jit(f)(X)
    for good in ("AUTOJIT_VERIFY=points ", "AUTOJIT_VERIFY=points/8", "AUTOJIT_VERIFY=0"):
        assert good in str(caught.value)
    for bad in ("points/0", "points/", "points/-1", "1", "points/x"):
        with pytest.raises(EnvironmentVariableError):
            share_of(bad)
