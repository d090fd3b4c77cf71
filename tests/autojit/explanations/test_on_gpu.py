"""Explanations of code for a GPU, on a machine without one."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.cuda.libraries.prototypes import PROTOTYPES
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.explanations import on_gpu
from autojit.explanations.on_gpu import GpuExplanation

W, X = np.ones((64, 32)), np.ones((1000, 64))


def loss(w: Any, x: Any) -> Any:
    z = np.tanh(x @ w)  # line 0
    return np.mean((z - z.mean(axis=1, keepdims=True)) ** 2)  # line 1


FIRST = loss.__code__.co_firstlineno + 1


@pytest.mark.slow
def test_each_launch_says_who_does_what() -> None:
    made = jit(grad(loss), device="cuda").explain(W, X)
    assert isinstance(made, GpuExplanation)
    assert made.signature == "f64[64,32], f64[1000,64] -> f64[64,32]"
    product, rows, back = made.launches
    assert "[1000, 64] @ [64, 32], a block for each tile" in product.mapping
    assert "threads for each of 1000 rows" in rows.mapping
    assert "[64, 1000] @ [1000, 32]" in back.mapping
    assert product.read == 8 * (1000 * 64 + 64 * 32)
    assert product.written == rows.read == rows.written == 8 * 1000 * 32
    assert all(launch.threads % 32 == 0 and launch.shared > 0 for launch in made.launches)
    assert [line.number for line in product.lines] == [FIRST]
    assert {line.number for line in rows.lines} == {FIRST, FIRST + 1}
    assert all(line.backward for line in back.lines)
    # The same as text, HTML and objects.
    for words in (made.text(100), made.html(), made.page()):
        assert f"{rows.blocks} blocks of {rows.threads} threads" in words
        assert rows.mapping in words
    assert max(map(len, made.text(60).splitlines())) <= 60
    assert json.loads(made.json())["launches"][1]["mapping"] == rows.mapping
    # Registers, if they can be known.
    pytest.importorskip("numba_cuda")
    if shutil.which("ptxas"):
        assert made.without_registers == ""
        assert all(x.assembled and 0 < x.assembled.registers < 256 for x in made.launches)


def test_routines_of_libraries_stand_among_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = replace(Machine(), libraries=frozenset(PROTOTYPES))
    monkeypatch.setattr(on_gpu, "device_program", lambda loops: device_program(loops, installed))
    monkeypatch.setattr(on_gpu.shutil, "which", lambda name: None)
    made = jit(lambda x: np.sin(x @ x), device="cuda").explain(np.ones((1000, 1000)))
    product, sine = made.launches
    assert (product.blocks, product.threads) == (None, None)
    assert (product.read, product.written) == (16 * 1000**2, 8 * 1000**2)
    assert [line.text for line in product.lines] == [line.text for line in sine.lines]
    assert f"library   {product.mapping}" in made.text(100)


def test_without_ptxas_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu.shutil, "which", lambda name: None)
    made = jit(np.sin, device="cuda").explain(np.ones(1000))
    assert made.launches[0].assembled is None
    assert "ptxas, of the CUDA toolkit, is not on PATH" in made.text()
    assert "not on PATH" in made.html()
