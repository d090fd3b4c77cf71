"""The text of loop programs reads back, and mistakes in it are reported."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import fori_loop, grad, scan, while_loop
from autojit.codegen import loop_text
from autojit.codegen.analysis import verifier
from autojit.codegen.loop_ir.nodes import Compute, Load, Loop
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_text.equality import difference
from autojit.codegen.loop_text.parse import ParseError, parse_loops
from autojit.codegen.loop_text.printer import print_loops
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from tests.samples import SAMPLES, Sample
from tests.test_programs import LONG, programs

#: Every sixth sample, so that the test is quick.
FEW = [*SAMPLES[::6], LONG]


def read_back(program: LoopProgram) -> None:
    text = print_loops(program)
    again = parse_loops(text)
    assert difference(program, again) is None
    assert print_loops(again) == text


def alone(kernel: Kernel) -> LoopProgram:
    inputs, outputs = ([b for b in kernel.buffers if b.kind == k] for k in ("input", "output"))
    return LoopProgram("alone", inputs, [b for b in outputs if b.over is None], [kernel])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sample", FEW, ids=lambda s: s.name)
def test_samples_read_back_after_every_pass(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify, seen = verifier.verify_kernel, list[str]()

    def and_read_back(kernel: Kernel, name: str = "") -> None:
        verify(kernel, name)
        seen.append(name)
        read_back(alone(kernel))

    monkeypatch.setattr(verifier, "verify_kernel", and_read_back)
    for program in programs(sample):
        loops = lower(optimize(program))
        read_back(loops)
        verifier.verify(parse_loops(print_loops(loops)))
        has_kernels = any(isinstance(s, Kernel) for s in loops.steps)
        assert seen or not has_kernels


def loops_of(f: Any, *arguments: Any) -> LoopProgram:
    return lower(optimize(autojit.trace(f)(*arguments)))


def newton(a: Any) -> Any:
    found = while_loop(lambda x: np.max(abs(x * x - a)) > 1e-9, lambda x: (x + a / x) / 2, a)
    return np.sum(found)


#: Programs long enough for threads, tiles, tapes, and values passed between loops.
LARGE = {
    "tasks": (grad(lambda x: np.sum(np.log(x) * np.sum(x, axis=1)[:, None])), (300, 900)),
    "tiles": (lambda x: np.tanh(x @ x.T) @ x, (200, 300)),
    "a large product": (lambda x: x @ x.T, (900, 700)),
    "complex products": (lambda x: (x + 1j * x) @ (x.T - 2j * x.T), (30, 40)),
    "tapes": (grad(newton), (20,)),
    "two sweeps": (lambda x: newton(x) * grad(newton)(x), (20,)),
    "steps": (grad(lambda x: fori_loop(0, 50, lambda i, c: np.sin(c) * c[i], x)[0]), (60,)),
    "rows": (lambda x: scan(lambda c, r: (c * r, np.sum(c)), x[0], x), (50, 70)),
    "float32": (grad(lambda x: np.sum(np.exp(x) / 3)), (30, 5)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_programs_read_back(name: str) -> None:
    f, shape = LARGE[name]
    x = np.ones(shape, "f4" if name == "float32" else "f8")
    read_back(loops_of(f, x))


def test_differences_are_found() -> None:
    program = loops_of(LARGE["tasks"][0], np.ones((300, 900)))
    changed = parse_loops(print_loops(program))
    assert difference(program, changed) is None
    for s in list(statements(changed)):
        for attribute, value in (("name", "no"), ("stop", 3), ("role", "no"), ("unroll", True)):
            was = getattr(s, attribute, value)
            if was != value and isinstance(s, (Compute, Loop)):
                setattr(s, attribute, value)
                assert difference(program, changed) is not None
                setattr(s, attribute, was)
        if isinstance(s, Load):
            was, s.index = s.index, s.index + 1
            assert difference(program, changed) is not None
            s.index = was
    other = replace(changed, outputs=[*changed.outputs, *changed.outputs])
    assert "2 of them" in (difference(program, other) or "")


def test_the_example_of_the_grammar() -> None:
    words = Path(loop_text.__file__).with_name("GRAMMAR.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```text\n(.*?)```", words, re.DOTALL)
    program = parse_loops(example)
    verifier.verify(program)
    without_comments = "".join(example.splitlines(keepends=True)[1:])
    assert print_loops(program) == without_comments


HEAD = "loops f:\n  input x: f64[8]\n  output y: f64[8]\n  kernel k0:\n"

WRONG = [
    ("program f:\n", "line 1: expected 'loops', got program"),
    ("loops f:\ninput x: f64[8]\n", "line 2: expected inputs, outputs and steps, which are"),
    ("loops f:\n  input x: f65[8]\n", "line 2: there is no dtype f65 of scalars"),
    ("loops f:\n  input x: f64[8]\n  temp x: f64[8]\n", "line 3: x is declared twice"),
    ("loops f:\n  temp t: f64[8] in y\n", "line 2: y is not declared before this line"),
    (HEAD + "    s0 = z[0]\n", "line 5: z is not declared before this line"),
    (HEAD + "    y[0] = s0\n", "line 5: s0 is not computed before this line"),
    (HEAD + "    s0 = x[i]\n", "line 5: no loop has the variable i"),
    (HEAD + "    s0 = x[0\n", "line 5: expected ']', got the end of the line"),
    (HEAD + "    s0 = 1.0\n    s0: f32 = 1.0\n", "line 6: s0 is f64 elsewhere, here f32"),
    (HEAD + "    a0 += s0\n", "line 5: a0 is not begun before this line"),
    (HEAD + "    a0 = 0.0\n    s0 = a0\n", "line 5: nothing is added to a0: write how it"),
    (HEAD + "    for i in 0..8:  # sums\n", "line 5: only # reduces, # in turn, "),
    (HEAD + "    for i in 0..8\n      s0 = x[i]\n", "line 5: expected ':', got the end of the"),
    (HEAD + "    for i in 0..8:\n      s0 = x[i]\n     s1 = s0\n", "line 7: a line between two"),
    (HEAD + "    s0 = x[0]\n    s1 = s0 ? s0\n", "line 6: unexpected character '?'"),
    (HEAD + "    s0 = x[0]\n    s1 = s0 s0\n", "line 6: expected one of + - * "),
    (HEAD + "    s0 = x[0]\n    y[0] -= s0\n", "line 6: expected '=', '+=' or 'maximum=', got -"),
    (HEAD + "    s0 = x[0]\n    if s0 is 1:\n", "line 6: expected branch 0, got 1"),
    (HEAD + "    for each of the steps j:\n", "line 5: there is no such loop before this line"),
    (HEAD + "    y = x @ x {[2,3] @ [2,3], BLAS}\n", "line 5: the sizes of the matrices do not"),
    (HEAD + "    y = x @ x {[2,2] @ [2,2], fast}\n", "line 5: expected BLAS, tiles, blocks, "),
    (HEAD + "    go on\n", "line 5: expected a statement: a scalar (s0 = …)"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=range(len(WRONG)))
def test_errors_name_the_line_and_what_is_expected(text: str, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_loops(text)
    assert str(caught.value).startswith(words)
    line = text.splitlines()[caught.value.line - 1]
    assert line in str(caught.value)
