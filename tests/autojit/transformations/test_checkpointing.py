"""What reverse mode stores, and that it computes the same."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import (
    checkpoint,
    grad,
    hessian,
    jacfwd,
    jit,
    jvp,
    peak_memory,
    saved_residuals,
    scan,
    vmap,
)
from autojit.errors import NotArrayError, ShapeError, StructureError
from autojit.ir.core.program import Program
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.verifier import verify
from autojit.testing import check_grads

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)) / 3
POLICIES = [None, "nothing", "everything", "dots", "dots_with_no_batch_dims"]


def layers(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(np.exp(np.sin(x @ w)) @ w))


def stored(f: Callable[..., Any], *args: Any) -> list[str]:
    return [str(r.type) for r in saved_residuals(f, *args)]


def count(program: Program, name: str) -> int:
    """How many ops of a name there are, in bodies too."""
    inner = [v for op in program.ops for v in op.params.values() if isinstance(v, Program)]
    return sum(op.kind.name == name for op in program.ops) + sum(count(p, name) for p in inner)


# -- checkpoint ---------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_values_and_derivatives_are_those_of_the_function(policy: Any) -> None:
    f = checkpoint(layers, policy=policy)
    assert f(X, W) == layers(X, W)
    assert jit(f)(X, W) == jit(layers)(X, W)
    with autojit.disable_jit():
        check_grads(f, (X, W), order=2)
        got, want = grad(f, (0, 1))(X, W), grad(layers, (0, 1))(X, W)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
        np.testing.assert_allclose(got[1], want[1], rtol=1e-12)
        assert jvp(f, (X, W), (W[:1] + 0 * X, X[:3])) == pytest.approx(
            jvp(layers, (X, W), (W[:1] + 0 * X, X[:3])), rel=1e-12
        )
        rows = np.stack([X, 2 * X])
        np.testing.assert_allclose(
            vmap(grad(f), in_axes=(0, None))(rows, W)[1], grad(layers)(2 * X, W), rtol=1e-12
        )
        batch = lambda w: np.sum(vmap(f, in_axes=(0, None))(rows, w))  # noqa: E731
        want = grad(layers, 1)(X, W) + grad(layers, 1)(2 * X, W)
        np.testing.assert_allclose(grad(batch)(W), want, rtol=1e-12)


def test_what_each_policy_stores() -> None:
    assert stored(checkpoint(layers), X, W) == []
    assert stored(checkpoint(layers, policy="nothing_saveable"), X, W) == []
    dots = stored(checkpoint(layers, policy="dots"), X, W)
    assert dots == ["f64[4,3]"] * 2
    assert stored(checkpoint(layers, policy="dots_with_no_batch_dims_saveable"), X, W) == dots
    batched = lambda x, w: np.sum(np.sin(np.einsum("bij,bjk->bik", x, w)))  # noqa: E731
    rows = RNG.normal(size=(2, 3, 3))
    assert stored(checkpoint(batched, policy="dots"), rows, rows) == ["f64[2,3,3]"]
    assert stored(checkpoint(batched, policy="dots_with_no_batch_dims"), rows, rows) == []
    everything = stored(checkpoint(layers, policy="everything_saveable"), X, W)
    assert len(everything) >= 3
    assert len(stored(layers, X, W)) >= 3


def test_the_function_runs_again_in_a_call_of_its_own() -> None:
    f = checkpoint(lambda x: np.sum(np.exp(np.exp(x))))
    program = autojit.trace(grad(f))(X)
    verify(program)
    assert autojit.parse(program.text()) == program
    code = optimize(program, verify=True)
    assert count(code, "checkpoint") == 1  # the one that runs it again; the other is inlined
    again = next(op for op in code.ops if op.kind.name == "checkpoint")
    assert again.params["keep"]
    assert count(again.params["body"], "exp") == 2
    with autojit.disable_jit():
        np.testing.assert_allclose(program(X), code(X), rtol=1e-12)
    value_and_grad = optimize(autojit.trace(autojit.value_and_grad(f))(X))
    assert count(value_and_grad, "exp") == 4


def test_what_it_closes_over_is_differentiated() -> None:
    def loss(w: Any, x: Any) -> Any:
        return checkpoint(lambda x: np.sum(np.sin(x @ w)))(x)

    with autojit.disable_jit():
        np.testing.assert_allclose(
            grad(loss)(W, X), grad(lambda w, x: np.sum(np.sin(x @ w)))(W, X), rtol=1e-12
        )


def test_trees_keywords_and_decorators() -> None:
    @checkpoint(policy="dots")
    def f(p: Any, *, scale: Any) -> Any:
        return {"out": np.sum(p["x"] ** 2) * scale, "n": p["n"] + 1}

    def loss(x: Any) -> Any:
        made = f({"x": x, "n": 3}, scale=2.0)
        return made["out"] * made["n"]

    assert f.__name__ == "f"
    with autojit.disable_jit():
        np.testing.assert_allclose(grad(loss)(X), 16 * X, rtol=1e-12)


def test_nested() -> None:
    f = checkpoint(lambda x: np.sin(checkpoint(np.exp)(np.cos(x))))
    with autojit.disable_jit():
        check_grads(f, (X,), order=2)
        np.testing.assert_allclose(
            hessian(lambda x: np.sum(f(x)))(X[0]),
            hessian(lambda x: np.sum(np.sin(np.exp(np.cos(x)))))(X[0]),
            rtol=1e-10, atol=1e-14,
        )  # fmt: skip
        np.testing.assert_allclose(
            jacfwd(f)(X[0]), np.diag(-np.sin(X[0]) * np.exp(np.cos(X[0]))
                                     * np.cos(np.exp(np.cos(X[0])))), rtol=1e-12,
        )  # fmt: skip


def test_a_chain_of_checkpoints_stores_its_ends() -> None:
    block = lambda x: np.tanh(np.exp(np.sin(x)))  # noqa: E731
    plain = lambda x: np.sum(block(block(block(x))))  # noqa: E731
    short = checkpoint(block)
    chain = lambda x: np.sum(short(short(short(x))))  # noqa: E731
    assert len(stored(plain, X)) >= 9
    assert len(stored(chain, X)) == 2
    assert peak_memory(grad(chain))(X) < peak_memory(grad(plain))(X)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", POLICIES)
def test_compiled_gradients(policy: Any) -> None:
    f = checkpoint(layers, policy=policy)
    got, want = jit(grad(f, (0, 1)))(X, W), grad(layers, (0, 1))(X, W)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-12)
    twice = jit(grad(lambda x: np.sum(grad(f)(x, W) ** 2)))
    plain = grad(lambda x: np.sum(grad(layers)(x, W) ** 2))
    np.testing.assert_allclose(twice(X), plain(X), rtol=1e-11)


# -- segments of a scan -------------------------------------------------------------


def recurrence(c: Any, xs: Any, w: Any, k: Any = None, reverse: bool = False) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = np.sin(c @ w) + x["a"]
        return c, (np.sum(c * c) * x["b"], c)

    c, (y, z) = scan(step, c, xs, reverse=reverse, checkpoint=k)
    return np.sum(c**3) + np.sum(y * np.arange(len(y))) + np.sum(z**2)


def rows(n: int) -> Any:
    return {"a": np.sin(np.arange(3.0 * n)).reshape(n, 3), "b": np.cos(np.arange(float(n)))}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 100, "sqrt", "auto"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 12])
def test_segments_change_nothing(n: int, k: Any, reverse: bool) -> None:
    c, xs = np.ones(3), rows(n)
    with autojit.disable_jit():
        want = autojit.value_and_grad(recurrence, (0, 1, 2))(c, xs, W, None, reverse)
        f = lambda c, xs, w: recurrence(c, xs, w, k, reverse)  # noqa: E731
        got = autojit.value_and_grad(f, (0, 1, 2))(c, xs, W)
        for g, w in zip(
            autojit.staging.pytrees.flatten(got)[0],
            autojit.staging.pytrees.flatten(want)[0],
            strict=True,
        ):
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, "sqrt"])
def test_segments_under_other_transformations(k: Any) -> None:
    c, xs = np.ones(3), rows(5)
    f = lambda c, w: recurrence(c, xs, w, k)  # noqa: E731
    plain = lambda c, w: recurrence(c, xs, w)  # noqa: E731
    with autojit.disable_jit():
        check_grads(f, (c, W), order=2)
        many = np.stack([c, 2 * c])
        np.testing.assert_allclose(
            vmap(grad(f), in_axes=(0, None))(many, W),
            vmap(grad(plain), in_axes=(0, None))(many, W),
            rtol=1e-12,
        )
        np.testing.assert_allclose(jacfwd(f)(c, W), jacfwd(plain)(c, W), rtol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", [1, 3, "sqrt"])
@pytest.mark.parametrize("reverse", [False, True])
def test_compiled_segments(k: Any, reverse: bool) -> None:
    c, xs = np.ones(3), rows(7)
    f = lambda c, xs, w, k=k: recurrence(c, xs, w, k, reverse)  # noqa: E731
    got = jit(grad(f, (0, 1, 2)))(c, xs, W)
    want = grad(lambda c, xs, w: f(c, xs, w, None), (0, 1, 2))(c, xs, W)
    for g, w in zip(
        autojit.staging.pytrees.flatten(got)[0],
        autojit.staging.pytrees.flatten(want)[0],
        strict=True,
    ):
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-13)


def test_the_index_of_a_step_is_that_of_the_whole_loop() -> None:
    from autojit.ir.regions.segments import scan_in_segments

    text = """
    program main(%c: f64[], %x: f64[7]) {
      %r: f64[], %y: i64[7] = scan %c, %x {body=program step(%0: i64[], %1: f64[], %2: f64[]) {
        %3: f64[] = convert %0 {dtype=f64}
        %4: f64[] = mul %3, %2
        %5: f64[] = add %1, %4
        return %5, %0
      }, carries=1, constants=0, length=7, reverse=REVERSE}
      return %r, %y
    }
    """
    for reverse in ("True", "False"):
        program = autojit.parse(text.replace("REVERSE", reverse))
        builder = autojit.ir.core.program.Builder()
        (op,) = program.ops
        for size in (1, 2, 3, 7):
            builder = autojit.ir.core.program.Builder()
            with autojit.ir.core.program.building(builder):
                outputs = scan_in_segments(program.inputs, op.params, size)
            cut = builder.finish(program.inputs, outputs)
            verify(cut)
            x = np.arange(7.0) ** 2
            for got, want in zip(cut(1.0, x), program(1.0, x), strict=True):
                np.testing.assert_array_equal(got, want)


STEPS, WIDTH = 1000, 50


def long_loop(x: Any, k: Any) -> Any:
    """Each step reads its carry in the derivative: one carry a step is stored."""
    return np.sum(scan(lambda c, _: (np.sin(c), None), x, None, STEPS, checkpoint=k)[0])


@pytest.mark.parametrize("k", [None, 1, 10, 40, 250, "sqrt"])
def test_memory_is_what_the_formula_says(k: Any) -> None:
    x = np.ones(WIDTH)
    f = functools.partial(long_loop, k=k)
    size = {None: None, "sqrt": 32}.get(k, k)
    carries = STEPS if size is None else STEPS // size
    residuals = 0 if size is None else size
    kinds = stored(f, x)
    assert kinds[0] == f"f64[{carries},{WIDTH}]"
    rest = STEPS % size if size else 0
    assert kinds[1:] == ([f"f64[{WIDTH}]"] if rest else [])
    words = peak_memory(grad(f))(x) / (8 * WIDTH)
    assert carries + residuals <= words <= carries + residuals + rest + 10


def test_memory_of_second_derivatives() -> None:
    x = np.ones(WIDTH)
    twice = [
        peak_memory(grad(lambda x, k=k: np.sum(grad(functools.partial(long_loop, k=k))(x) ** 2)))(x)
        for k in (None, "sqrt")
    ]  # fmt: skip
    assert twice[1] < twice[0] / 5


def test_auto_cuts_only_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(WIDTH)
    assert stored(functools.partial(long_loop, k="auto"), x) == [f"f64[{STEPS},{WIDTH}]"]
    monkeypatch.setattr("autojit.transformations.checkpointing.BUDGET", 8 * WIDTH * STEPS - 1)
    assert stored(functools.partial(long_loop, k="auto"), x)[0] == f"f64[31,{WIDTH}]"
    monkeypatch.setattr("autojit.transformations.checkpointing.BUDGET", 8 * WIDTH * STEPS)
    assert stored(functools.partial(long_loop, k="auto"), x) == [f"f64[{STEPS},{WIDTH}]"]


def test_auto_where_a_constant_has_no_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autojit.transformations.checkpointing.BUDGET", 0)

    def loss(x: Any, w: Any) -> Any:
        f = autojit.custom_jvp(lambda c: np.sin(c * w))
        f.defjvp(lambda p, t: (f(*p), t[0] * np.cos(p[0] * w) * w))
        return np.sum(scan(lambda c, _: (f(c), None), x, None, 9, checkpoint="auto")[0])

    with autojit.disable_jit():
        np.testing.assert_allclose(
            grad(loss)(X[0], 0.5),
            grad(lambda x: np.sum(scan(lambda c, _: (np.sin(c * 0.5), None), x, None, 9)[0]))(X[0]),
            rtol=1e-12,
        )


def test_peak_memory_counts_what_lives_at_one_time() -> None:
    x = np.ones(100)
    assert peak_memory(lambda x: x)(x) == 0
    assert peak_memory(lambda x: np.sin(np.exp(x)))(x) == 1600
    assert peak_memory(lambda x: np.sin(np.sin(np.sin(np.exp(x)))))(x) == 1600
    assert peak_memory(lambda x: np.sin(x) + np.cos(x) + np.exp(x))(x) == 2400
    assert peak_memory(lambda x: x.reshape(10, 10).T[2:])(x) == 0


# -- mistakes -----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["all", 3, lambda *a: True])
def test_unknown_policies(policy: Any) -> None:
    with pytest.raises(StructureError, match="'nothing', 'everything', 'dots'") as caught:
        checkpoint(layers, policy=policy)
    assert __file__ in str(caught.value)


def test_settings_are_refused_with_the_fix() -> None:
    with pytest.raises(NotArrayError, match=r"checkpoint\(lambda x: f\(x, setting\)\)\(x\)"):
        grad(lambda x: checkpoint(lambda x, mode: x)(x, "fast"))(1.0)
    with pytest.raises(StructureError, match="argument 0 of checkpoint must be a function"):
        checkpoint(3.0)


def test_unknown_segments() -> None:
    step = lambda c, _: (c, None)  # noqa: E731
    with pytest.raises(StructureError, match="'auto', 'sqrt' or a number"):
        scan(step, 1.0, None, 3, checkpoint="all")  # type: ignore[arg-type]
    with pytest.raises(StructureError, match="'auto', 'sqrt' or a number"):
        scan(step, 1.0, None, 3, checkpoint=True)
    with pytest.raises(ShapeError, match="a segment of 0 steps"):
        scan(step, 1.0, None, 3, checkpoint=0)
