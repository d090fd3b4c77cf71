"""Solutions of equations: derivatives by the implicit function theorem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import autojit
from autojit import (
    custom_linear_solve,
    custom_root,
    fixed_point,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    scan,
    vmap,
    while_loop,
)
from autojit.errors import DerivativeError, DtypeError, ShapeError, StructureError
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.verifier import verify
from autojit.testing import check_grads

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
S = A @ A.T
B = np.array([1.0, -2.0, 0.5])
HERE = re.escape(__file__)


@pytest.fixture(autouse=True)
def interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret the solvers: their loops take longer to compile than to run here."""
    if "compiled" in request.node.name:
        yield
    else:
        with autojit.disable_jit():
            yield


# -- solvers in the user's code -----------------------------------------------------


def richardson(matvec: Any, b: Any) -> Any:
    return scan(lambda x, _: (x + 0.2 * (b - matvec(x)), None), 0 * b, None, 300)[0]


def conjugate_gradients(matvec: Any, b: Any) -> Any:
    """Hestenes and Stiefel (1952), until the residual is small."""

    def body(state: Any) -> Any:
        x, r, p, rr = state
        q = matvec(p)
        alpha = rr / (p @ q)
        x, r = x + alpha * p, r - alpha * q
        new = r @ r
        return x, r, r + new / rr * p, new

    start = (0 * b, b, b, b @ b)
    return while_loop(lambda s: s[3] > 1e-26 * (b @ b), body, start)[0]


def newton(f: Any, x: Any) -> Any:
    def body(state: Any) -> Any:
        x, _ = state
        step = f(x) / grad(f)(x)
        return x - step, abs(step)

    return while_loop(lambda s: s[1] > 1e-13, body, (x, 1.0))[0]


def by_division(g: Any, y: Any) -> Any:
    return y / g(1.0)


def kepler(e: Any, m: Any) -> Any:
    """The E with E - e sin E = m."""
    return custom_root(lambda x: x - e * np.sin(x) - m, m, newton, by_division)


# -- custom_root --------------------------------------------------------------------


def test_a_root_and_its_derivatives() -> None:
    e, m = 0.3, 1.2
    x = kepler(e, m)
    want = scipy.optimize.brentq(lambda x: x - e * np.sin(x) - m, 0, 3, xtol=1e-15)
    assert x == pytest.approx(want, rel=1e-13)
    slope = 1 - e * np.cos(x)
    assert grad(kepler, (0, 1))(e, m) == pytest.approx((np.sin(x) / slope, 1 / slope), rel=1e-12)
    check_grads(kepler, (e, m), order=3)


def test_a_root_under_transformations() -> None:
    m = np.array([0.2, 1.2, 2.5])
    want = [grad(kepler, 1)(0.3, x) for x in m]
    np.testing.assert_allclose(vmap(grad(kepler, 1), in_axes=(None, 0))(0.3, m), want, rtol=1e-12)
    f = lambda e: np.sum(vmap(kepler, in_axes=(None, 0))(e, m))  # noqa: E731
    assert grad(f)(0.3) == pytest.approx(sum(grad(kepler)(0.3, x) for x in m), rel=1e-12)
    assert jvp(kepler, (0.3, 1.2), (1.0, 0.0))[1] == pytest.approx(grad(kepler)(0.3, 1.2))
    loop = lambda e: scan(lambda c, x: (c + kepler(e, x), None), 0.0, m)[0]  # noqa: E731
    assert grad(loop)(0.3) == pytest.approx(grad(f)(0.3), rel=1e-12)
    assert grad(grad(loop))(0.3) == pytest.approx(grad(grad(f))(0.3), rel=1e-12)


def test_a_system_of_equations_as_a_tree() -> None:
    def solution(a: Any) -> Any:
        f = lambda x: {"u": x["u"] ** 3 + x["v"] - a, "v": x["v"] - 0.1 * x["u"]}  # noqa: E731

        def solve(f: Any, x: Any) -> Any:
            def step(x: Any, _: Any) -> Any:
                r = f(x)
                return {"u": x["u"] - 0.2 * r["u"], "v": x["v"] - r["v"]}, None

            return scan(step, x, None, 400)[0]

        def tangent_solve(g: Any, y: Any) -> Any:
            one, zero = np.ones(2), np.zeros(2)
            a, c = g({"u": one, "v": zero}), g({"u": zero, "v": one})
            det = a["u"] * c["v"] - a["v"] * c["u"]
            return {
                "u": (c["v"] * y["u"] - c["u"] * y["v"]) / det,
                "v": (a["u"] * y["v"] - a["v"] * y["u"]) / det,
            }

        return custom_root(f, {"u": np.ones(2), "v": np.ones(2)}, solve, tangent_solve)

    a = np.array([0.7, 1.4])
    x = solution(a)
    np.testing.assert_allclose(x["u"] ** 3 + 0.1 * x["u"], a, rtol=1e-12)
    np.testing.assert_allclose(
        jacrev(lambda a: solution(a)["u"])(a), np.diag(1 / (3 * x["u"] ** 2 + 0.1)), rtol=1e-10
    )
    check_grads(solution, (a,), order=2)


def test_auxiliary_results_have_no_derivative() -> None:
    def solution(a: Any) -> Any:
        solve = lambda f, x: (a**0.5, {"steps": 3, "first": f(x)})  # noqa: E731
        x, aux = custom_root(lambda x: x * x - a, 1.0, solve, by_division, has_aux=True)
        return x, aux

    x, aux = autojit.jit(solution)(4.0)
    assert (x, aux["steps"], aux["first"]) == (2.0, 3, -3.0)
    assert grad(lambda a: solution(a)[0] + solution(a)[1]["first"])(4.0) == 0.25


def test_what_only_the_solver_reads_has_no_derivative() -> None:
    def solution(rate: Any, start: Any) -> Any:
        solve = lambda f, x: scan(lambda x, _: (x - rate * f(x), None), x, None, 200)[0]  # noqa: E731
        return custom_root(lambda x: x * x - 2, start, solve, by_division)

    assert solution(0.2, 1.0) == pytest.approx(2**0.5)
    assert grad(solution, (0, 1))(0.2, 1.0) == (0.0, 0.0)


def test_the_solver_leaves_no_trace_in_the_derivative() -> None:
    """Nothing of the loop is stored or run backwards."""
    program = autojit.trace(grad(kepler))(0.3, 1.2)
    verify(program)
    assert [op.kind.name for op in program.ops].count("root") == 1
    code = optimize(program, verify=True)
    loops = [op for op in code.ops if op.kind.name == "while"]
    assert len(loops) == 1
    assert len(loops[0].params["sweeps"]) == 1
    assert code(0.3, 1.2) == program(0.3, 1.2)


# -- custom_linear_solve ------------------------------------------------------------


def general(a: Any, b: Any) -> Any:
    return custom_linear_solve(lambda x: a @ x, b, richardson, richardson)


def positive(a: Any, b: Any) -> Any:
    return custom_linear_solve(lambda x: a @ x, b, conjugate_gradients, symmetric=True)


@pytest.mark.parametrize("f", [general, positive])
def test_a_linear_system_and_its_derivatives(f: Any) -> None:
    a = A if f is general else S
    np.testing.assert_allclose(f(a, B), scipy.linalg.solve(a, B), rtol=1e-10)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(jacrev(f, 1)(a, B), inverse, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(jacfwd(f, 1)(a, B), inverse, rtol=1e-9, atol=1e-12)
    weights = np.array([1.0, 2.0, 3.0])
    w = inverse.T @ weights
    got = grad(lambda a: weights @ f(a, B))(a)
    np.testing.assert_allclose(got, -np.outer(w, inverse @ B), rtol=1e-8, atol=1e-12)
    if f is general:
        check_grads(f, (a, B), order=2)


def test_second_derivatives_of_a_linear_system() -> None:
    def loss(t: Any, b: Any) -> Any:
        return np.sum(np.sin(positive(S * t + np.eye(3), b)))

    check_grads(loss, (0.1, B), order=2)
    plain = lambda t: np.sum(np.sin(np.linalg.inv(S * t + np.eye(3)) @ B))  # noqa: E731
    h = 1e-4
    want = (plain(0.1 + h) - 2 * plain(0.1) + plain(0.1 - h)) / h**2
    assert hessian(loss)(0.1, B) == pytest.approx(want, rel=1e-5)


BATCHES = {
    "both": (0, 0),
    "matrix": (0, None),
    "right side": (None, 0),
}


@pytest.mark.parametrize("case", BATCHES)
def test_batches_of_linear_systems(case: str) -> None:
    axes = BATCHES[case]
    a = np.stack([S, S + np.eye(3)]) if axes[0] == 0 else S
    b = np.stack([B, 2 * B + 1]) if axes[1] == 0 else B
    got = vmap(positive, in_axes=axes)(a, b)
    pairs = [(a[i] if axes[0] == 0 else a, b[i] if axes[1] == 0 else b) for i in range(2)]
    want = np.stack([scipy.linalg.solve(*pair) for pair in pairs])
    np.testing.assert_allclose(got, want, rtol=1e-9)
    loss = lambda a, b: np.sum(positive(a, b) ** 2)  # noqa: E731
    each = vmap(grad(loss, (0, 1)), in_axes=axes)(a, b)
    rows = [grad(loss, (0, 1))(*pair) for pair in pairs]
    np.testing.assert_allclose(each[0], np.stack([r[0] for r in rows]), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(each[1], np.stack([r[1] for r in rows]), rtol=1e-8, atol=1e-12)
    together = grad(lambda a, b: np.sum(vmap(positive, in_axes=axes)(a, b) ** 2), (0, 1))(a, b)
    for got_, each_, axis in zip(together, each, axes, strict=True):
        want = each_ if axis == 0 else each_.sum(0)
        np.testing.assert_allclose(got_, want, rtol=1e-8, atol=1e-12)


def test_complex_systems_and_trees() -> None:
    z = A + 1j * RNG.normal(size=(3, 3)) / 4

    def f(z: Any, b: Any) -> Any:
        matvec = lambda x: {"re": z @ x["re"], "x": 5.0 * x["x"] + x["y"], "y": 4.0 * x["y"]}  # noqa: E731

        def solve(matvec: Any, b: Any) -> Any:
            def step(x: Any, _: Any) -> Any:
                y = matvec(x)
                return {k: x[k] + 0.2 * (b[k] - y[k]) for k in x}, None

            return scan(step, {k: 0 * b[k] for k in b}, None, 300)[0]

        return custom_linear_solve(matvec, b, solve, solve)

    b = {"re": B + 1j, "x": 3.0, "y": np.float64(2.0)}
    got = f(z, b)
    np.testing.assert_allclose(got["re"], scipy.linalg.solve(z, b["re"]), rtol=1e-10)
    assert got["x"] == pytest.approx((3 - 0.5) / 5)
    check_grads(f, (z, b), order=1)


def test_a_transposed_solver_gets_the_transposed_function() -> None:
    seen: list[Any] = []

    def upper(matvec: Any, b: Any) -> Any:
        return b / np.array([2.0, 3.0])

    def lower(vecmat: Any, b: Any) -> Any:
        seen.append(autojit.trace(vecmat)(np.ones(2)))
        return b / np.array([2.0, 3.0])

    d = np.array([2.0, 3.0])
    f = lambda b: np.sum(custom_linear_solve(lambda x: d * x, b, upper, lower) ** 2)  # noqa: E731
    np.testing.assert_allclose(grad(f)(np.array([4.0, 6.0])), [2.0, 4 / 3])
    np.testing.assert_array_equal(seen[0](np.ones(2)), d)


def test_a_matvec_that_differentiates_a_loop() -> None:
    """Matrix-free Newton methods do this: the loop's value and tangent come from one op."""

    def step(x: Any) -> Any:
        y = scan(lambda c, _: (np.sin(c) * 1.1, None), x, None, 3)[0]
        return 3 * x + np.sin(y)

    def f(x: Any) -> Any:
        matvec = lambda v: jvp(step, (x,), (v,))[1]  # noqa: E731
        return custom_linear_solve(matvec, B, lambda a, b: b / a(np.ones(3)), symmetric=True)

    check_grads(f, (np.array([0.3, 0.5, -0.2]),), order=2)


# -- fixed_point --------------------------------------------------------------------


def cosine(a: Any) -> Any:
    return fixed_point(lambda x: np.cos(a * x), 0.5)


def test_a_fixed_point_and_its_derivatives() -> None:
    x = cosine(1.0)
    assert x == pytest.approx(0.7390851332151607, abs=1e-11)
    s = np.sin(x)
    assert grad(cosine)(1.0) == pytest.approx(-s * x / (1 + s), rel=1e-10)
    assert jvp(cosine, (1.0,), (2.0,))[1] == pytest.approx(-2 * s * x / (1 + s), rel=1e-10)
    check_grads(cosine, (0.8,), order=3)


def test_a_fixed_point_of_a_tree_by_all_that_it_closes_over() -> None:
    def f(p: Any, w: Any) -> Any:
        step = lambda t: {  # noqa: E731
            "a": np.tanh(0.3 * (w @ t["a"]) + p["shift"]),
            "b": p["rate"] * np.sin(t["b"] + t["a"][0]),
        }
        r = fixed_point(step, {"a": np.zeros(3), "b": 0.0})
        return np.sum(r["a"]) * r["b"]

    check_grads(f, ({"shift": B / 5, "rate": 0.5}, A / 5), order=2)


def test_batches_of_fixed_points() -> None:
    a = np.array([1.0, 0.9, 0.1])
    np.testing.assert_allclose(vmap(cosine)(a), [cosine(x) for x in a], rtol=1e-10)
    np.testing.assert_allclose(vmap(grad(cosine))(a), [grad(cosine)(x) for x in a], rtol=1e-9)
    np.testing.assert_allclose(
        grad(lambda a: np.sum(vmap(cosine)(a) ** 2))(a),
        [2 * cosine(x) * grad(cosine)(x) for x in a],
        rtol=1e-9,
    )


def test_small_numbers_have_exact_gradients() -> None:
    assert grad(lambda a: 1e-30 * cosine(a))(1.0) == pytest.approx(1e-30 * grad(cosine)(1.0))


def test_single_precision() -> None:
    a = np.float32(0.9)
    f = lambda a: fixed_point(lambda x: np.cos(a * x), np.float32(0.5))  # noqa: E731
    assert grad(f)(a).dtype == np.float32
    assert grad(f)(a) == pytest.approx(grad(cosine)(0.9), rel=1e-4)


def test_a_tolerance() -> None:
    f = lambda tol: fixed_point(lambda x: 0.5 * x + 1, 0.0, tol=tol)  # noqa: E731
    assert 1e-4 < abs(f(1e-3) - 2) < 1e-2
    assert abs(f(1e-12) - 2) < 1e-11


def test_an_iteration_that_does_not_end_gives_nan() -> None:
    assert np.isnan(fixed_point(lambda x: 2 * x + 1, 1.0, max_steps=50))
    assert np.isnan(fixed_point(lambda x: np.log(-x), 1.0))
    slow = lambda a, n: fixed_point(lambda x: a * x + 1, 0.0, max_steps=n)  # noqa: E731
    assert np.isnan(slow(0.9, 100))
    assert slow(0.9, 1000) == pytest.approx(10)
    assert np.isnan(grad(slow)(0.9, 100))
    assert grad(slow)(0.9, 1000) == pytest.approx(100, rel=1e-8)
    # A start near the solution: the iteration ends, that of the derivative does not.
    near = lambda a: fixed_point(lambda x: a * x + 1, 10.0, max_steps=100)  # noqa: E731
    assert near(0.9) == 10
    assert np.isnan(grad(near)(0.9))


def test_compiled_solutions() -> None:
    x = kepler(0.3, 1.2)
    assert jit(grad(kepler))(0.3, 1.2) == pytest.approx(np.sin(x) / (1 - 0.3 * np.cos(x)))
    got = jit(grad(lambda a, b: np.sum(positive(a, b))))(S, B)
    inverse = np.linalg.inv(S)
    np.testing.assert_allclose(got, -np.outer(inverse.sum(0), inverse @ B), rtol=1e-8, atol=1e-12)
    assert jit(grad(grad(cosine)))(1.0) == pytest.approx(0.15333789131, rel=1e-8)
    many = jit(vmap(grad(cosine)))(np.array([1.0, 0.9]))
    assert many[0] == pytest.approx(grad(cosine)(1.0), rel=1e-10)


# -- mistakes -----------------------------------------------------------------------


def says(error: type[Exception], function: Any, *arguments: Any) -> str:
    with pytest.raises(error) as caught:
        autojit.jit(function)(*arguments)
    assert type(caught.value) is error
    text = str(caught.value)
    assert re.search(rf'File "{HERE}", line \d+', text)
    return text


def test_unknowns_that_are_not_floating_point() -> None:
    f = lambda a: custom_root(lambda x: x - a, 1, lambda f, x: a, by_division)  # noqa: E731
    assert "initial_guess of custom_root is int64" in says(DtypeError, f, 2.0)
    g = lambda a: custom_linear_solve(lambda x: a * x, 3, lambda m, b: b)  # noqa: E731
    assert "b of custom_linear_solve is int64" in says(DtypeError, g, 2.0)
    assert "init of fixed_point is int64" in says(
        DtypeError, lambda a: fixed_point(lambda x: a, 1), 2.0
    )


def test_functions_that_return_something_else() -> None:
    ok: Any = lambda f, x: x  # noqa: E731
    x0 = np.ones(2)
    f = lambda a: custom_root(lambda x: np.sum(x) * a, x0, ok, ok)  # noqa: E731
    assert (
        "The result of f of custom_root at initial_guess must have the shape (2,); got ()"
        in says(ShapeError, f, 1.0)
    )
    f = lambda a: custom_root(lambda x: x * a, x0, lambda f, x: (x, x), ok)  # noqa: E731
    assert "The result of solve of custom_root must have the structure" in says(
        StructureError, f, 1.0
    )
    f = lambda a: custom_root(lambda x: x * a, x0, ok, ok, has_aux=True)  # noqa: E731
    assert "must return (solution, auxiliary); it returned a traced" in says(StructureError, f, 1.0)
    f = lambda a: custom_root(lambda x: x * a, x0, ok, lambda g, y: y[0])  # noqa: E731
    assert "The result of tangent_solve of custom_root" in says(ShapeError, f, 1.0)
    f = lambda a: custom_linear_solve(lambda x: x.astype(np.float32), x0 * a, ok)  # noqa: E731
    assert "matvec of custom_linear_solve at b must be float64; got float32" in says(
        DtypeError, f, 1.0
    )
    f = lambda a: fixed_point(lambda x: {"x": x}, x0 * a)  # noqa: E731
    assert "of fixed_point must have the structure" in says(StructureError, f, 1.0)
    with pytest.raises(StructureError, match="argument 2 of custom_root must be a function"):
        custom_root(lambda x: x, 1.0, 3.0, ok)  # type: ignore[arg-type]
    with pytest.raises(
        ShapeError, match="max_steps of fixed_point must be a positive integer, not 0"
    ):
        fixed_point(np.cos, 1.0, max_steps=0)


def test_reverse_mode_needs_a_transposed_solver() -> None:
    f = lambda b: np.sum(custom_linear_solve(lambda x: 2 * x, b, lambda m, b: b / 2))  # noqa: E731
    assert jvp(f, (B,), (B,))[1] == pytest.approx(np.sum(B) / 2)
    assert "needs a solver for the transposed system" in says(DerivativeError, grad(f), B)


@pytest.mark.parametrize("matvec", [lambda x: x * x, np.sin, lambda x: np.where(x > 0, x, 2 * x)])
def test_a_function_that_is_not_linear_has_no_transpose(matvec: Any) -> None:
    f = lambda b: custom_linear_solve(matvec, b, lambda m, b: b, symmetric=True)  # noqa: E731
    assert "is not linear" in says(DerivativeError, f, B)


def test_a_tangent_solver_that_is_not_linear() -> None:
    """Conjugate gradients are linear in the right side only when they have converged."""

    def f(a: Any) -> Any:
        solve = lambda f, x: scipy_free(a)  # noqa: E731
        return np.sum(custom_root(lambda x: S @ x - a, B, solve, conjugate_gradients))

    def scipy_free(a: Any) -> Any:
        return positive(S, a)

    assert "not linear" in says(DerivativeError, grad(f), B)

    def g(a: Any) -> Any:
        tangent = lambda g, y: custom_linear_solve(g, y, conjugate_gradients, symmetric=True)  # noqa: E731
        return np.sum(custom_root(lambda x: S @ x - a, B, lambda f, x: scipy_free(a), tangent))

    np.testing.assert_allclose(grad(g)(B), np.linalg.inv(S) @ np.ones(3), rtol=1e-9)
