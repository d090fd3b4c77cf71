"""What is done once for all calls without ``jit``, and what a trace costs."""

from __future__ import annotations

import cProfile
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import jit, places
from autojit.codegen.driver.executable import Executable
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.core.collection import SELDOM, seldom_collected
from autojit.ir.core.program import Program
from autojit.ir.transforms.gradient import gradient
from autojit.session import transform_cache
from autojit.tracing.hooks import Hooks
from autojit.transformations import gradients

X = np.array([1.0, 2.0, 3.0])


def test_equal_functions_are_differentiated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def counted(*args: Any, **kwargs: Any) -> Program:
        seen.append(args)
        return gradient(*args, **kwargs)

    monkeypatch.setattr(gradients, "gradient", counted)
    for scale in (np.ones(3), np.full(3, 2.0), X):
        found = autojit.grad(lambda x, w=scale: np.sum(x * x * w))(X)
        np.testing.assert_array_equal(found, 2 * X * scale)
    assert len(seen) == 1
    autojit.grad(lambda x: np.sum(x * x))(X)
    autojit.value_and_grad(lambda x: np.sum(x * x))(X)
    assert len(seen) == 3


def test_parts_of_arrays_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace of a loop that assigns to slices grows in proportion to its steps."""
    from autojit.ir import passes

    seen = []
    resolve = passes.resolve_parts

    def resolve_parts(program: Program) -> Program:
        seen.append(program)
        return resolve(program)

    monkeypatch.setattr(passes, "resolve_parts", resolve_parts)

    def swept(u: Any, scale: Any) -> Any:
        u = np.copy(u)
        for i in range(1, 9):
            u[i : i + 1] = scale * u[i - 1 : i] + np.sin(u[i : i + 1])
        return np.sum(u**2)

    u = np.linspace(0.0, 1.0, 9)
    compiled = jit(autojit.grad(swept))
    for scale in (0.5, 0.25):
        held = np.full(1, scale)
        wanted, before = compiled(u, held), len(seen)
        found = autojit.grad(lambda u, w=held: swept(u, w))(u)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert len(seen) - before == (scale == 0.5)


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: autojit.grad(f)(X),
    "vjp": lambda f: autojit.vjp(f, X)[1](1.0)[0],
    "jvp": lambda f: autojit.jvp(f, (X,), (X,))[1],
    "linearize": lambda f: autojit.linearize(f, X)[1](X),
    "jacrev": lambda f: autojit.jacrev(f)(X),
    "jacfwd": lambda f: autojit.jacfwd(f)(X),
    "hessian": lambda f: autojit.hessian(f)(X),
    "vmap": lambda f: autojit.vmap(f)(np.stack([X, X])),
    "grad of grad": lambda f: autojit.grad(lambda x: np.sum(autojit.grad(f)(x)))(X),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
def test_arrays_that_are_closed_over_are_those_of_the_call(
    transformed: Callable[[Any], Any],
) -> None:
    def call(scale: Any, shift: Any) -> Any:
        return transformed(lambda x: np.sum(scale * x**3 + shift * x))

    for _ in range(2):
        for scale, shift in ((X, X + 1), (X + 1, X), (X, X)):
            expected = jit(lambda x, f=call, s=scale, t=shift: f(s, t))(X)
            np.testing.assert_allclose(call(scale, shift), expected, rtol=1e-15)


def test_a_gradient_inside_of_a_trace_has_the_lines_of_its_own_function() -> None:
    def first(x: Any) -> Any:
        return np.sum(np.sin(x))

    def second(x: Any) -> Any:
        return np.sum(np.sin(x))

    for f in (first, second):
        program = autojit.trace(autojit.grad(f))(X)
        lines = {op.source.function for op in program.ops if op.source is not None}
        assert f.__name__ in lines
        assert len(lines & {"first", "second"}) == 1


def test_parts_of_several_programs() -> None:
    program = autojit.trace(lambda x: np.sum(np.sin(x) * X))(X)
    found = [transform_cache.cached_transform(linearize, program, (0,)) for _ in range(2)]
    for parts in found:
        assert parts == linearize(program, (0,))
        assert parts.primal.captured[0] is program.captured[0]


@pytest.mark.slow
def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transform_cache, "MOST_OPS", 300)
    for n in range(3, 60):
        autojit.grad(lambda x: np.sum(np.sin(x) * x))(np.ones(n))
        assert transform_cache._ops <= 300
    assert 1 < len(transform_cache._made) < 50


def test_another_array_makes_an_equal_program() -> None:
    program = autojit.trace(lambda x: x * X)(X)
    other = program.bound_to([X + 1])
    assert other == program
    assert hash(other) == hash(program)
    np.testing.assert_array_equal(other(X), X * (X + 1))


# -- the collector --------------------------------------------------------------


def test_garbage_is_looked_for_as_before_afterwards() -> None:
    before = gc.get_threshold()
    inside = []

    def f(x: Any) -> Any:
        inside.append(gc.get_threshold())
        return autojit.grad(lambda y: np.sum(y * y))(x)

    jit(f)(X)
    assert inside == [SELDOM]
    assert gc.get_threshold() == before
    with pytest.raises(KeyError), seldom_collected():
        raise KeyError
    assert gc.get_threshold() == before


def test_garbage_is_seldom_looked_for_during_imports_and_compilation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before, found = gc.get_threshold(), []
    original = Executable.direct

    def direct(*args: Any, **named: Any) -> Any:
        found.append(gc.get_threshold())
        return original(*args, **named)

    monkeypatch.setattr(Executable, "direct", direct)
    jit(lambda x: x * 3.25)(X)
    (tmp_path / "late_answers.py").write_text("import gc\nseen = gc.get_threshold()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(places, "ANSWERS", ("late_answers",))
    Hooks().load()
    assert found == [SELDOM]
    assert sys.modules.pop("late_answers").seen == SELDOM
    assert gc.get_threshold() == before


def test_the_last_of_several_threads_sets_the_collector_back() -> None:
    before, barrier = gc.get_threshold(), threading.Barrier(2)

    def first() -> None:
        with seldom_collected():
            barrier.wait(10)

    def second() -> None:
        with seldom_collected():
            barrier.wait(10)
            threads[0].join(10)
            assert gc.get_threshold() == SELDOM

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert gc.get_threshold() == before


# -- the cost of a trace --------------------------------------------------------


def chain(count: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x
        for i in range(count):
            match i % 5:
                case 0:
                    x = x * (0.5 + i)
                case 1:
                    x, y = np.sin(x), x
                case 2:
                    x = x - y
                case 3:
                    x = np.maximum(x, y[i % 3])
                case 4:
                    x = x[::-1] / y
        return x

    return f


def python_calls(function: Callable[[], Any]) -> int:
    profile = cProfile.Profile()
    profile.runcall(function)
    return sum(entry.callcount for entry in profile.getstats())  # type: ignore[attr-defined]


def test_a_trace_takes_few_calls_an_operation_however_long_it_is() -> None:
    trace = autojit.trace
    trace(chain(10))(X)
    short, long = (python_calls(lambda n=n: trace(chain(n))(X)) / n for n in (300, 3000))
    assert long < 1.2 * short
    assert long < 260  # 200 when this was written


@pytest.mark.slow
def test_what_one_program_captures_another_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """`grad` captures the other arguments; apart from that the programs are equal."""
    monkeypatch.setattr(autojit.staging.unrolled, "LEAST_OPS", 50)

    def loss(p: Any, x: Any, y: Any) -> Any:
        total = x[0]
        for k in range(40):
            total = np.maximum(p[2 * k] * total + p[2 * k + 1] * y[1], 0.1)
        return total

    rng = np.random.default_rng(0)
    arguments = rng.uniform(0.5, 1.0, 80), rng.uniform(1, 2, 3), rng.uniform(1, 2, 3)
    for first, second in ((jit(autojit.grad(loss)), jit(loss)), (jit(loss), autojit.grad(loss))):
        transform_cache.clear()
        first(*arguments)
        second(*arguments)
    assert jit(loss)(*arguments) == pytest.approx(loss(*arguments))
    autojit.testing.check_grads(lambda p: loss(p, *arguments[1:]), arguments[:1])
