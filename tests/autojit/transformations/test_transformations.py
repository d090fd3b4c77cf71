"""The public transformations: results against formulas and loops, and how they nest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit import (
    errors,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from autojit.ir.passes import optimize
from autojit.testing import check_grads

RNG = np.random.default_rng(0)
X = RNG.normal(size=4)
W = RNG.normal(size=(3, 4))


def layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x)


def loss(w: Any, x: Any) -> Any:
    return np.sum(layer(w, x) ** 2) + np.max(x)


def test_jvp_and_vjp_are_each_others_transpose() -> None:
    tangents = RNG.normal(size=W.shape), RNG.normal(size=X.shape)
    cotangent = RNG.normal(size=3)
    out, moved = jvp(layer, (W, X), tangents)
    same, pullback = vjp(layer, W, X)
    np.testing.assert_allclose(out, np.tanh(W @ X))
    np.testing.assert_allclose(same, out)
    pulled = pullback(cotangent)
    together = sum(np.sum(a * b) for a, b in zip(pulled, tangents, strict=True))
    np.testing.assert_allclose(np.sum(moved * cotangent), together)


def test_linearize_is_jvp_with_the_value_kept() -> None:
    out, derivative = linearize(layer, W, X)
    tangents = RNG.normal(size=W.shape), RNG.normal(size=X.shape)
    np.testing.assert_allclose(out, layer(W, X))
    np.testing.assert_allclose(derivative(*tangents), jvp(layer, (W, X), tangents)[1])


def test_vjp_has_aux() -> None:
    out, pullback, aux = vjp(lambda x: (x * x, {"twice": 2 * x}), 3.0, has_aux=True)
    assert (out, aux["twice"], pullback(1.0)) == (9.0, 6.0, (6.0,))


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_jacobian_of_a_layer(jacobian: Any) -> None:
    by_w, by_x = jacobian(layer, (0, 1))(W, X)
    slope = 1 - np.tanh(W @ X) ** 2
    np.testing.assert_allclose(by_x, slope[:, None] * W)
    wanted = np.einsum("i,ij,k->ijk", slope, np.eye(3), X)
    np.testing.assert_allclose(by_w, wanted)


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_jacobian_is_nested_like_result_and_argument(jacobian: Any) -> None:
    def f(p: dict[str, Any]) -> Any:
        return {"y": p["a"] * p["b"], "z": (np.sum(p["a"]),)}

    p = {"a": np.array([1.0, 2.0]), "b": 3.0}
    made = jacobian(f)(p)
    np.testing.assert_allclose(made["y"]["a"], 3 * np.eye(2))
    np.testing.assert_allclose(made["y"]["b"], p["a"])
    np.testing.assert_allclose(made["z"][0]["a"], [1, 1])
    assert made["z"][0]["b"] == 0


def test_hessian_and_its_products() -> None:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    from scipy.optimize import rosen_hess, rosen_hess_prod

    v = RNG.normal(size=4)
    np.testing.assert_allclose(hessian(rosenbrock)(X), rosen_hess(X))
    np.testing.assert_allclose(jit(hessian(rosenbrock))(X), rosen_hess(X))
    np.testing.assert_allclose(hvp(rosenbrock)(X, v), rosen_hess_prod(X, v))
    np.testing.assert_allclose(jit(hvp(rosenbrock))(X, v), rosen_hess_prod(X, v))


def test_a_hessian_is_one_program_without_a_loop_over_rows() -> None:
    kinds = {op.kind.name for op in jit(hessian(loss, 1)).program(W, X).ops}
    assert "dot" in kinds
    assert len(jit(hessian(loss, 1)).program(W, np.ones(4)).ops) < 200


@pytest.mark.parametrize("in_axes", [(None, 0), (None, 1), (0, None), (0, 0), (1, 1)])
def test_vmap_is_a_loop(in_axes: tuple[Any, Any]) -> None:
    w = W if in_axes[0] is None else np.stack([W, 2 * W, -W], axis=in_axes[0])
    x = X if in_axes[1] is None else np.stack([X, 3 * X, X**2], axis=in_axes[1])

    def element(i: int) -> Any:
        return loss(
            w if in_axes[0] is None else np.take(w, i, in_axes[0]),
            x if in_axes[1] is None else np.take(x, i, in_axes[1]),
        )

    wanted = np.array([element(i) for i in range(3)])
    np.testing.assert_allclose(vmap(loss, in_axes)(w, x), wanted)
    np.testing.assert_allclose(jit(vmap(loss, in_axes))(w, x), wanted)


def test_vmap_of_trees_and_out_axes() -> None:
    def f(p: dict[str, Any], x: Any) -> Any:
        return {"sum": p["a"] + x, "outer": p["b"] * x}

    p = {"a": np.arange(3.0), "b": np.ones(2)}
    x = np.arange(6.0).reshape(3, 2)
    made = vmap(f, in_axes=({"a": 0, "b": None}, 0), out_axes={"sum": 1, "outer": 0})(p, x)
    np.testing.assert_allclose(made["sum"], (p["a"][:, None] + x).T)
    np.testing.assert_allclose(made["outer"], x)


def test_per_example_gradients() -> None:
    xs = RNG.normal(size=(5, 4))
    made = jit(vmap(grad(loss), in_axes=(None, 0)))(W, xs)
    np.testing.assert_allclose(made, np.stack([grad(loss)(W, x) for x in xs]))


def test_vmap_of_indexing() -> None:
    table = RNG.normal(size=(6, 2))
    rows = np.array([[0, 5], [2, 2], [1, 0]])
    made = vmap(lambda t, i: np.sum(t[i] ** 2), in_axes=(None, 0))(table, rows)
    np.testing.assert_allclose(made, np.sum(table[rows] ** 2, axis=(1, 2)))
    slopes = vmap(grad(lambda t, i: np.sum(t[i] ** 2)), in_axes=(None, 0))(table, rows)
    assert slopes.shape == (3, 6, 2)
    np.testing.assert_allclose(slopes[1, 2], 4 * table[2])


def test_transformations_nest_in_any_order() -> None:
    xs = RNG.normal(size=(3, 4))
    one = np.stack([hessian(loss, 1)(W, x) for x in xs])
    np.testing.assert_allclose(vmap(hessian(loss, 1), (None, 0))(W, xs), one)
    np.testing.assert_allclose(jit(vmap(jacfwd(grad(loss, 1), 1), (None, 0)))(W, xs), one)
    np.testing.assert_allclose(vmap(jit(jacrev(grad(loss, 1), 1)), (None, 0))(W, xs), one)
    total = grad(lambda w: np.sum(vmap(loss, (None, 0))(w, xs)))(W)
    np.testing.assert_allclose(total, sum(grad(loss)(W, x) for x in xs))
    inner = vmap(lambda x: vmap(lambda y: x * y)(xs[0]))(xs[1])
    np.testing.assert_allclose(inner, np.outer(xs[1], xs[0]))
    check_grads(lambda x: vmap(lambda y: np.sum(np.sin(x * y)))(xs), (X,), order=2)


def test_stop_gradient() -> None:
    assert grad(lambda x: x**2 + stop_gradient(x) ** 2)(3.0) == 6.0
    assert stop_gradient({"a": 1.0}) == {"a": 1.0}
    value, slope = value_and_grad(lambda x: stop_gradient(x) * 2.0)(1.5)
    assert (value, slope) == (3.0, 0.0)


def test_under_disable_jit() -> None:
    with autojit.disable_jit():
        np.testing.assert_allclose(hessian(loss, 1)(W, X), hessian(loss, 1)(W, X).T)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vmap(np.sin)(1.0), errors.ShapeError, "Give it an array"),
        (lambda: vmap(np.add)(np.ones(2), np.ones(3)), errors.ShapeError, "different extents"),
        (lambda: vmap(np.sin, in_axes=None)(X), errors.StructureError, "at least one argument"),
        (lambda: vmap(np.add, in_axes=(0, 0, 0))(X, X), errors.StructureError, "in_axes"),
        (lambda: jvp(np.sin, (X,), (np.ones(3),)), errors.ShapeError, "tangents"),
        (lambda: jvp(np.sin, (X,), ()), errors.StructureError, "structure"),
        (lambda: vjp(np.sin, X)[1](1.0), errors.ShapeError, "cotangent"),
        (lambda: vjp(np.sin, 3), errors.IntegerGradientError, "int64"),
        (lambda: jacfwd(np.sin)(3), errors.IntegerGradientError, "int64"),
        (lambda: jvp(3.0, (X,), (X,)), errors.StructureError, "takes a function, not 3.0"),
    ],
)
def test_errors(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_what_is_computed_twice_is_differentiated_once() -> None:
    """Otherwise each copy would have its own cotangents, which no later pass merges."""

    def minors(a: Any, rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if len(rows) == 1:
            return a[rows[0], columns[0]]
        return sum(
            (-1.0) ** k * a[rows[0], j] * minors(a, rows[1:], columns[:k] + columns[k + 1 :])
            for k, j in enumerate(columns)
        )

    def det(a: Any) -> Any:
        return minors(a, tuple(range(5)), tuple(range(5)))

    a = np.random.default_rng(0).normal(size=(5, 5))
    program = optimize(autojit.trace(grad(det))(a))
    assert sum(op.kind.name == "mul" for op in program.ops) < 5 * sum(
        op.kind.name == "mul" for op in optimize(autojit.trace(det)(a)).ops
    )
    assert np.allclose(jit(grad(det))(a), np.linalg.det(a) * np.linalg.inv(a).T, rtol=1e-10)
