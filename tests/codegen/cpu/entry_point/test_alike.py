"""Kernels that differ only in numbers become one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import disable_jit, grad, jit, trace
from autojit.codegen.cpu.entry_point import alike
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes.pipeline import optimize


def tree(n: int) -> Callable[[Any], Any]:
    """The value of an option by a binomial tree, whose levels shrink."""

    def f(up: Any) -> Any:
        p = (1.001 - 1 / up) / (up - 1 / up)
        v = np.maximum(105 - 100 * up ** np.arange(n, -n - 1, -2.0), 0.0)
        for i in range(n - 1, -1, -1):
            held = 0.999 * (p * v[:-1] + (1 - p) * v[1:])
            v = np.maximum(held, 105 - 100 * up ** np.arange(i, -i - 1, -2.0))
        return v[0]

    return f


def module_of(f: Callable[..., Any], *args: Any) -> Module:
    program = trace(f)(*args)
    return Module(lower(optimize(program)), program.in_types, program.out_types)


def lines(module: Module) -> int:
    return sum(text.count("\n") for text in module.printed.values())


def test_levels_that_get_shorter_are_compiled_once() -> None:
    few, many = (lines(module_of(tree(n), 1.05)) for n in (25, 50))
    assert many < 1.1 * few


@pytest.mark.sampled(2)
@pytest.mark.parametrize("differentiated", [False, True])
def test_kernels_that_are_alike_compute_what_each_did(differentiated: bool) -> None:
    f = grad(tree(24)) if differentiated else tree(24)
    module = module_of(f, 1.05)
    merged = [text for name, text in module.printed.items() if name.endswith("_of_any")]
    assert merged
    assert all('i64 %"number.0"' in text for text in merged)
    with disable_jit():
        expected = f(1.05)
    np.testing.assert_allclose(jit(f)(1.05), expected, rtol=1e-12)


def test_few_kernels_stay_apart() -> None:
    module = module_of(tree(alike.LEAST), 1.05)
    assert not any(name.endswith("_of_any") for name in module.printed)


def test_loops_that_are_to_be_unrolled_stay_apart(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM warns if it cannot do so."""

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(2, 8):
            for m in range(2, 8):
                total = total + np.max(np.sin(x[:k]) * k) * np.max(np.cos(x[:m] * total))
        return total

    x = np.linspace(0.1, 0.9, 12)
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
    jit(grad(f))(x)
    assert "unroll" not in capfd.readouterr().err
