"""Programs as NumPy modules: their results, and their text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.export.arrays import helpers
from autojit.codegen.export.arrays.forms import FORMS, REFUSED
from autojit.codegen.export.arrays.module import numpy_module
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Program
from autojit.ir.core.registry import REGISTRY
from autojit.ir.passes import optimize
from tests.samples import SAMPLES
from tests.test_programs import programs

from .running import assert_agrees, call, defined, interface

SHARES = 24


def module(program: Program) -> str:
    return numpy_module(program, interface(program))


def test_every_op_is_written_or_refused() -> None:
    missing = {name for name, kind in REGISTRY.items() if type(kind) not in FORMS}
    assert missing == REFUSED.keys()


@pytest.mark.sampled(18)
@pytest.mark.parametrize("share", range(SHARES))
def test_samples(share: int) -> None:
    """Every function, as traced and optimized, and the gradients of a sixth of them."""
    for number, sample in enumerate(SAMPLES[share::SHARES]):
        every = programs(sample)
        for program in every if number % 6 == 0 else [next(every)]:
            arguments = zip(sample.draw(), program.in_types, strict=False)
            arrays = [np.asarray(a, t.dtype) for a, t in arguments]
            for each in (program, optimize(program)):
                made = call(defined(module(each))["f"], each, arrays)
                assert_agrees(sample.name, each, made, arrays)


def body(f: Any, *args: Any) -> str:
    """The statements of a function's module between its docstring and its return."""
    text = module(optimize(autojit.trace(f)(*args)))
    lines = text.partition('    """\n')[2].splitlines()
    kept = [x.strip() for x in lines if "_array(" not in x and x.strip() and "# line" not in x]
    return "\n".join(kept)


X = np.arange(12.0).reshape(3, 4)


def test_statements_read_as_one_would_write_them() -> None:
    def f(x: Any, w: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sum(h[1:-1], axis=0) - 2.0 * h[0]

    assert body(f, np.ones((6, 3)), np.ones((3, 2))) == (
        "h = np.tanh(x0 @ x1)\nr0 = np.sum(h[1:-1], axis=0) - 2.0 * h[0]\nreturn (r0,)"
    )


def test_long_expressions_are_taken_apart() -> None:
    def f(x: Any) -> Any:
        return np.exp(np.sin(x) * np.cos(x)) / (np.tanh(x) + np.sqrt(x)) - np.log1p(x) * np.cos(x)

    lines = body(f, X).splitlines()
    assert len(lines) > 2
    assert all(len(line) < 80 for line in lines)


def test_negative_indices_are_numpys() -> None:
    def f(x: Any, i: Any) -> Any:
        return x[i]

    assert body(f, X[0], np.array([0, -1])) == "r0 = x0[x1]\nreturn (r0,)"
    program = optimize(autojit.trace(f)(X[0], np.array([0, -1])))
    function = defined(module(program))["f"]
    (picked,) = function(X[0], np.array([3, -4]))
    np.testing.assert_array_equal(picked, [3.0, 0.0])
    with pytest.raises(IndexError):
        function(X[0], np.array([0, -5]))


def test_computed_places_are_checked() -> None:
    """An index out of bounds is an error, even if NumPy would count from the end."""
    text = """program p(%0: f64[4], %1: i64[2]) {
  %2: f64[2] = gather %0, %1 {axes=(0,)}
  return %2
}"""
    function = defined(module(autojit.parse(text)))["f"]
    with pytest.raises(IndexError, match="axis of 4 elements"):
        function(X[0], np.array([0, -1]))


def test_arguments_are_checked() -> None:
    program = optimize(autojit.trace(lambda x: x * 2)(np.ones(3)))
    function = defined(module(program))["f"]
    assert function([1, 2, 3])[0].tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(ValueError, match=r"shape \(3,\), got one of shape \(4,\)"):
        function(np.ones(4))
    with pytest.raises(TypeError, match="Cannot cast"):
        function(np.ones(3) * 1j)


def test_results_are_new_arrays() -> None:
    def f(x: Any, z: Any, n: Any) -> Any:
        same = autojit.cond(n > 0, lambda x: x, lambda x: x + 1, x)
        looped = autojit.fori_loop(0, n, lambda i, x: x * 2, x)
        return x, x.T, x[0], x + 1, z.real, autojit.stop_gradient(x), same, looped

    x, z = np.ones((2, 3)), np.ones(2) * 1j
    program = optimize(autojit.trace(f)(x, z, 0))
    for n in (0, 1):
        for result in defined(module(program))["f"](x, z, n):
            assert not np.shares_memory(result, x)
            assert not np.shares_memory(result, z)


def test_infinities_are_results() -> None:
    program = optimize(autojit.trace(lambda x: np.log(x) / x)(np.ones(2)))
    assert defined(module(program))["f"](np.array([0.0, 1.0]))[0].tolist() == [-np.inf, 0.0]


def test_a_callback_is_refused_with_the_line() -> None:
    def f(x: Any) -> Any:
        return autojit.pure_callback(np.sin, x, x)

    program = optimize(autojit.trace(f)(np.ones(2)))
    with pytest.raises(TargetError, match="callback cannot be written in NumPy") as caught:
        module(program)
    assert caught.value.source is not None
    assert caught.value.source.function == "f"


def test_helpers_need_nothing_else() -> None:
    """Their text is copied, so they may only use each other, NumPy and SciPy."""
    found = vars(helpers).items()
    own = {n for n, f in found if getattr(f, "__module__", "") == helpers.__name__}
    assert own
    for name in own:
        used = set(getattr(helpers, name).__code__.co_names) & set(vars(helpers))
        assert used <= own | {"np", "linalg"}
