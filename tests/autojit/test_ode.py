"""Differential equations against SciPy, closed forms and differences."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import autojit
from autojit import disable_jit, grad, hessian, jacfwd, jacrev, jit, jvp, saved_residuals, vmap
from autojit.errors import AutojitError, DerivativeError, DtypeError, ShapeError, StructureError
from autojit.ode import OdeResult, odeint, solve_ivp
from autojit.solvers.runge_kutta import DENSE, ERROR, NODES, STAGES

HERE = re.escape(__file__)
WAYS = [("RK45", "discrete"), ("RK45", "continuous"), ("RK4", "discrete"), ("RK4", "continuous")]
ways = pytest.mark.parametrize(("method", "adjoint"), WAYS)


@pytest.fixture(autouse=True)
def interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Most solutions are small, and compiling them takes longer than they do."""
    if "compiled" in request.node.name:
        yield
    else:
        with disable_jit():
            yield


def settings(method: str, tolerance: float = 1e-9, n: int = 60) -> dict[str, Any]:
    if method == "RK4":
        return {"method": method, "n_steps": n}
    return {"method": method, "rtol": tolerance, "atol": tolerance}


def lotka_volterra(t: Any, y: Any, p: Any) -> Any:
    return [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]


def pendulum(t: Any, y: Any) -> Any:
    return np.stack([y[1], -np.sin(y[0]) - 0.1 * y[1] + 0.2 * np.cos(t)])


def rotation(t: Any, z: Any) -> Any:
    return 1j * z * (1 + 0.1 * t)


def brusselator(t: Any, y: Any) -> Any:
    return [1 + y[0] ** 2 * y[1] - 4 * y[0], 3 * y[0] - y[0] ** 2 * y[1]]


RATES = np.array([0.5, 0.03, 0.8, 0.02])
PROBLEMS: dict[str, tuple[Callable[..., Any], tuple[float, float], Any]] = {
    "Lotka-Volterra": (lambda t, y: lotka_volterra(t, y, RATES), (0.0, 12.0), [30.0, 4.0]),
    "pendulum": (pendulum, (1.0, 9.0), [1.0, 0.0]),
    "backwards": (pendulum, (5.0, -2.0), [0.3, 0.2]),
    "complex": (rotation, (0.0, 4.0), np.array([1.0, 1j])),
    "Brusselator": (brusselator, (0.0, 8.0), [1.5, 3.0]),
    "a jump": (lambda t, y: np.where(t < 1, -y, 5 * np.cos(9 * t) + 0 * y), (0.0, 3.0), [1.0]),
    "long and still": (lambda t, y: -y, (0.0, 1e6), [1.0]),
    "nothing happens": (lambda t, y: 0 * y, (0.0, 3.0), [1.0, 2.0]),
}


def by_scipy(fun: Any, span: Any, y0: Any, times: Any = None, method: str = "DOP853") -> Any:
    tight = {"rtol": 1e-12, "atol": 1e-13}
    return scipy.integrate.solve_ivp(
        lambda t, y: np.asarray(fun(t, y)), span, y0, method, t_eval=times, **tight
    )


# -- values -------------------------------------------------------------------------


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [n for n in PROBLEMS if n != "long and still"])
def test_solutions_are_scipy_s(name: str) -> None:
    fun, span, y0 = PROBLEMS[name]
    times = np.linspace(*span, 9)
    got = solve_ivp(fun, span, y0, t_eval=times, rtol=1e-9, atol=1e-9)
    want = by_scipy(fun, span, y0, times)
    assert got.y.shape == want.y.shape == (len(y0), 9)
    assert got.y.dtype == want.y.dtype
    np.testing.assert_allclose(got.y, want.y, rtol=2e-7, atol=2e-7)
    np.testing.assert_array_equal(got.t, times)
    assert got.success
    assert got.message == "The solver reached the end of the integration interval."
    ends = solve_ivp(fun, span, y0, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ends.y, want.y[:, [0, -1]], rtol=2e-7, atol=2e-7)
    np.testing.assert_array_equal(ends.t, span)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_the_work_is_that_of_scipy_s_method(name: str, tolerance: float) -> None:
    fun, span, y0 = PROBLEMS[name]
    if name == "long and still":
        span = (0.0, 1e3)
    got = solve_ivp(fun, span, y0, rtol=tolerance, atol=tolerance)
    want = scipy.integrate.solve_ivp(
        lambda t, y: np.asarray(fun(t, y)), span, y0, rtol=tolerance, atol=tolerance
    )
    assert got.nfev == 2 + 6 * got.steps
    assert got.nfev <= 1.3 * want.nfev + 20
    scale = np.max(np.abs(want.y))
    if name != "long and still":
        np.testing.assert_allclose(got.y[:, -1], want.y[:, -1], atol=300 * tolerance * scale)


def test_compiled_solutions() -> None:
    fun, span, y0 = PROBLEMS["Lotka-Volterra"]
    times = np.linspace(*span, 5)
    want = by_scipy(fun, span, y0, times).y
    solve = jit(lambda y0, p: solve_ivp(lotka_volterra, span, y0, t_eval=times, args=(p,)))
    result = solve(np.array(y0), RATES)
    assert isinstance(result, OdeResult)
    np.testing.assert_allclose(result.y, want, rtol=1e-5)
    assert result.status == 0
    fixed = solve_ivp(fun, span, y0, "RK4", times, n_steps=40)
    np.testing.assert_allclose(fixed.y, want, rtol=1e-5)
    assert (fixed.nfev, fixed.steps, fixed.status) == (800, 200, 0)


def test_the_coefficients_satisfy_the_order_conditions() -> None:
    c = np.array(NODES)
    a = np.array([[*row, *[0.0] * (7 - len(row))] for row in STAGES])
    b = a[-1]
    np.testing.assert_allclose(a.sum(axis=1), c, atol=1e-14)
    lower = b - np.array(ERROR)
    for weights, order in ((b, 5), (lower, 4)):
        for k in range(1, order + 1):
            assert weights @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)
        assert weights @ (a @ c**2) == pytest.approx(1 / 12, abs=1e-14)
    assert b @ (a @ c**3) == pytest.approx(1 / 20, abs=1e-14)
    assert b @ (a @ a @ c) == pytest.approx(1 / 24, abs=1e-14)
    assert b @ (a @ (a @ c**2)) == pytest.approx(1 / 60, abs=1e-14)
    assert np.array(DENSE) @ c**0 == pytest.approx(0, abs=1e-12)


def test_the_interpolant_is_scipy_s() -> None:
    """One step, from the same start with the same length."""
    from scipy.integrate import RK45

    solver = RK45(pendulum, 0.0, np.array([1.0, 0.0]), 0.5, first_step=0.5, rtol=1e-2, atol=1e-2)
    solver.step()
    times = np.linspace(0, 0.5, 7)
    got = solve_ivp(pendulum, (0, 0.5), [1.0, 0.0], t_eval=times, first_step=0.5, rtol=1e-2,
                    atol=1e-2)  # fmt: skip
    assert got.steps == 1
    np.testing.assert_allclose(got.y, solver.dense_output()(times), rtol=1e-13, atol=1e-14)


def test_rk4_is_of_order_4() -> None:
    want = by_scipy(pendulum, (0, 3), [1.0, 0.0]).y[:, -1]
    errors = [
        np.max(np.abs(solve_ivp(pendulum, (0, 3), [1.0, 0.0], "RK4", n_steps=n).y[:, -1] - want))
        for n in (20, 40, 80)
    ]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 4, atol=0.25)


def test_single_precision() -> None:
    y0 = np.array([1.0, 0.0], np.float32)
    result = solve_ivp(pendulum, (0, 2), y0, rtol=1e-4, atol=1e-4)
    assert result.y.dtype == np.float32
    np.testing.assert_allclose(result.y, solve_ivp(pendulum, (0, 2), [1.0, 0.0]).y, atol=1e-3)
    with_rk4 = solve_ivp(pendulum, (0, 2), y0, "RK4", n_steps=20)
    assert with_rk4.y.dtype == np.float32


def test_steps_and_tolerances_that_are_asked_for() -> None:
    fun, span, y0 = PROBLEMS["pendulum"]
    short = solve_ivp(fun, span, y0, max_step=0.1)
    assert short.steps >= 80
    first = solve_ivp(fun, span, y0, first_step=1e-6)
    assert first.nfev == 1 + 6 * first.steps
    loose = solve_ivp(fun, span, y0, atol=np.array([1e-3, 1e-3]), rtol=1e-3)
    assert loose.steps < solve_ivp(fun, span, y0).steps


def test_times_that_coincide() -> None:
    r = solve_ivp(pendulum, (1.0, 1.0), [1.0, 2.0])
    np.testing.assert_array_equal(r.y, [[1.0, 1.0], [2.0, 2.0]])
    assert r.success
    r = solve_ivp(pendulum, (0.0, 1.0), [1.0, 2.0], t_eval=[0.0, 0.5, 0.5, 1.0])
    np.testing.assert_array_equal(r.y[:, 1], r.y[:, 2])
    assert r.success


# -- first derivatives --------------------------------------------------------------


@ways
def test_derivatives_of_exponential_decay(method: str, adjoint: str) -> None:
    """Differentiate y = a exp(-k (t - s)) by a, k, s and t."""

    def value(a: Any, k: Any, s: Any, t: Any) -> Any:
        slope = lambda t, y, k: -k * y  # noqa: E731
        r = solve_ivp(slope, (s, 3.0), a[None], t_eval=t[None], args=(k,), adjoint=adjoint,
                      **settings(method))  # fmt: skip
        return r.y[0, 0]

    a, k, s, t = 2.0, 0.7, 0.5, 2.5
    y = a * np.exp(-k * (t - s))
    got = grad(value, (0, 1, 2, 3))(*map(np.float64, (a, k, s, t)))
    np.testing.assert_allclose(got, [y / a, -(t - s) * y, k * y, -k * y], rtol=1e-6)


@pytest.mark.sampled(3)
@ways
def test_derivatives_by_what_the_slope_closes_over_and_by_the_span(
    method: str, adjoint: str
) -> None:
    """y' = A y + b t: the end by A, b, y0 and both ends of the span."""

    def end(A: Any, b: Any, y0: Any, t0: Any, t1: Any) -> Any:
        r = solve_ivp(lambda t, y: A @ y + b * t, (t0, t1), y0, adjoint=adjoint, **settings(method))
        return np.sum(np.array([1.0, 2.0]) * r.y[:, -1])

    def exact(A: Any, b: Any, y0: Any, t0: Any, t1: Any) -> Any:
        whole = np.zeros((4, 4))  # of (y, t, 1)
        whole[:2, :2], whole[:2, 2], whole[2, 3] = A, b, 1.0
        return np.array([1.0, 2.0]) @ (scipy.linalg.expm(whole * (t1 - t0)) @ [*y0, t0, 1.0])[:2]

    point = [np.array([[-0.5, 1.0], [-1.0, -0.2]]), np.array([0.3, -0.1]), np.array([1.0, 2.0])]
    arguments = [*point, np.float64(0.4), np.float64(1.9)]
    assert end(*arguments) == pytest.approx(exact(*arguments), rel=1e-7)
    got = grad(end, (0, 1, 2, 3, 4))(*arguments)
    for i, g in enumerate(got):
        np.testing.assert_allclose(g, differences(exact, arguments, i), rtol=1e-6, atol=1e-8)


def differences(f: Any, arguments: Any, i: int, h: float = 1e-5) -> Any:
    """Central differences by argument i."""
    x = np.asarray(arguments[i], float)
    found = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][index] += h
        moved[1][index] -= h
        up, down = (f(*arguments[:i], m, *arguments[i + 1 :]) for m in moved)
        found[index] = (up - down) / (2 * h)
    return found


def test_both_adjoints_agree_with_differences_of_scipy() -> None:
    y0, times = np.array([30.0, 4.0]), np.linspace(0, 10, 6)

    def loss(p: Any, y0: Any, times: Any, solve: Any, **kwargs: Any) -> Any:
        y = solve(lotka_volterra, (0.0, 10.0), y0, t_eval=times, args=(p,), rtol=1e-9, atol=1e-9,
                  **kwargs).y  # fmt: skip
        return np.sum(np.log(y[:, 1:]) ** 2)

    numeric = [
        differences(lambda *a: loss(*a, scipy.integrate.solve_ivp), [RATES, y0, times], i)
        for i in (0, 1)
    ]
    found = {}
    for adjoint in ("discrete", "continuous"):
        by = lambda p, y0, times, a=adjoint: loss(p, y0, times, solve_ivp, adjoint=a)  # noqa: E731
        found[adjoint] = grad(by, (0, 1, 2))(RATES, y0, times)
        for got, want in zip(found[adjoint], numeric, strict=False):
            np.testing.assert_allclose(got, want, rtol=1e-4)
    for a, b in zip(found["discrete"], found["continuous"], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_compiled_gradients(adjoint: str) -> None:
    times = np.linspace(0, 10, 6)

    def loss(p: Any) -> Any:
        r = solve_ivp(lotka_volterra, (0, 10), [30.0, 4.0], t_eval=times, args=(p,),
                      adjoint=adjoint)  # fmt: skip
        return np.sum(np.log(r.y))

    got = jit(grad(loss))(RATES)
    with disable_jit():
        np.testing.assert_allclose(got, grad(loss)(RATES), rtol=1e-6)


def test_the_gradient_is_that_of_the_computed_solution() -> None:
    """At a loose tolerance too: the steps are the same, so differences of the steps agree."""

    def end(k: Any) -> Any:
        return solve_ivp(lambda t, y: -k * y, (0, 2), [1.0], "RK4", n_steps=2).y[0, -1]

    h = 1e-6
    assert grad(end)(0.5) == pytest.approx((end(0.5 + h) - end(0.5 - h)) / (2 * h), rel=1e-8)
    z = -0.5  # k h
    growth = 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24
    slope = -(1 + z + z**2 / 2 + z**3 / 6)
    assert end(0.5) == pytest.approx(growth**2, rel=1e-14)
    assert grad(end)(0.5) == pytest.approx(2 * growth * slope, rel=1e-12)


def test_complex_states_and_parameters() -> None:
    def end(w: Any, z0: Any, adjoint: str) -> Any:
        r = solve_ivp(lambda t, z: 1j * w * z, (0, 1.5), z0[None], rtol=1e-9, atol=1e-9,
                      adjoint=adjoint)  # fmt: skip
        return np.real(r.y[0, -1]) + 2 * np.imag(r.y[0, -1])

    w, z0 = 0.8 + 0.3j, 1.0 - 0.5j
    y = z0 * np.exp(1j * w * 1.5)
    # f = Re(c y) with c = 1 - 2j; the gradient is c dy/dw, as `grad` has it for complex numbers
    want = [(1 - 2j) * 1.5j * y, (1 - 2j) * y / z0]
    for adjoint in ("discrete", "continuous"):
        got = grad(lambda w, z, a=adjoint: end(w, z, a), (0, 1))(
            np.complex128(w), np.complex128(z0)
        )
        np.testing.assert_allclose(got, want, rtol=1e-6)
    real = grad(lambda w: end(w, np.complex128(z0), "continuous"))(0.8)
    assert real == pytest.approx(np.real((1 - 2j) * 1.5j * z0 * np.exp(1.2j)), rel=1e-6)


# -- other transformations ----------------------------------------------------------


def end_of_decay(k: Any, adjoint: str = "discrete", method: str = "RK45") -> Any:
    """exp(-2 k), whose derivatives are (-2)**n times it."""
    r = solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], adjoint=adjoint, **settings(method))
    return r.y[0, -1]


def test_forward_mode() -> None:
    y = np.exp(-1)
    assert jvp(end_of_decay, (0.5,), (1.0,))[1] == pytest.approx(-2 * y, rel=1e-7)
    assert jacfwd(end_of_decay)(0.5) == pytest.approx(-2 * y, rel=1e-7)
    with pytest.raises(DerivativeError, match="continuous_adjoint has a custom vjp"):
        jvp(lambda k: end_of_decay(k, "continuous"), (0.5,), (1.0,))


@pytest.mark.sampled(4)
@ways
def test_second_derivatives(method: str, adjoint: str) -> None:
    f = lambda k: end_of_decay(k, adjoint, method)  # noqa: E731
    want = 4 * np.exp(-1)
    assert grad(grad(f))(0.5) == pytest.approx(want, rel=1e-5)
    assert hessian(f)(0.5) == pytest.approx(want, rel=1e-5)


@pytest.mark.sampled(4)
@ways
def test_batches(method: str, adjoint: str) -> None:
    rates = np.array([0.1, 0.5, 1.5])
    f = lambda k: end_of_decay(k, adjoint, method)  # noqa: E731
    np.testing.assert_allclose(vmap(f)(rates), np.exp(-2 * rates), rtol=1e-5)
    np.testing.assert_allclose(vmap(grad(f))(rates), -2 * np.exp(-2 * rates), rtol=1e-5)
    together = grad(lambda k: np.sum(vmap(f)(k)))(rates)
    np.testing.assert_allclose(together, -2 * np.exp(-2 * rates), rtol=1e-5)


def test_what_reverse_mode_stores() -> None:
    """Reverse mode stores one state for each time of the result, and not for each step."""
    times = np.linspace(0, 20, 5)

    def stored(tolerance: float, adjoint: str) -> list[tuple[int, ...]]:
        def f(y: Any) -> Any:
            return solve_ivp(pendulum, (0, 20), y, t_eval=times, rtol=tolerance, adjoint=adjoint).y

        return sorted(r.type.shape for r in saved_residuals(f, np.array([1.0, 0.0])))

    for adjoint in ("discrete", "continuous"):
        assert stored(1e-3, adjoint) == stored(1e-9, adjoint)
        assert all(np.prod(shape) <= 5 * 5 * 2 for shape in stored(1e-9, adjoint))
    assert len(stored(1e-3, "continuous")) <= 4


# -- odeint -------------------------------------------------------------------------


def test_odeint_takes_trees() -> None:
    def slope(y: Any, t: Any, k: Any, drive: Any) -> Any:
        return {"x": -k["x"] * y["x"], "m": y["m"] @ k["A"] + drive * t}

    y0 = {"x": 1.0, "m": np.eye(2)}
    k = {"x": 2.0, "A": np.array([[0.0, 1.0], [-1.0, 0.0]])}
    times = np.array([0.0, 0.5, 1.0])
    y = odeint(slope, y0, times, k, 0.0)
    np.testing.assert_allclose(y["x"], np.exp(-2 * times), rtol=1e-6)
    np.testing.assert_allclose(y["m"][2], scipy.linalg.expm(k["A"]), rtol=1e-6)

    def loss(y0: Any, times: Any, k: Any, drive: Any, adjoint: str) -> Any:
        y = odeint(slope, y0, times, k, drive, adjoint=adjoint)
        return np.sum(y["x"] ** 2) + np.sum(y["m"] * np.arange(12.0).reshape(3, 2, 2))

    results = [
        grad(lambda *x, a=adjoint: loss(*x, a), (0, 1, 2, 3))(y0, times, k, 0.3)
        for adjoint in ("discrete", "continuous")
    ]
    for a, b in zip(*(autojit.staging.pytrees.flatten(r)[0] for r in results), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    h = 1e-5
    numeric = loss(y0, times, k, 0.3 + h, "discrete") - loss(y0, times, k, 0.3 - h, "discrete")
    assert results[0][3] == pytest.approx(numeric / (2 * h), rel=1e-5)


def test_odeint_by_its_times() -> None:
    """The first time is that of y0: all times moved together change nothing."""
    times = np.array([0.2, 0.7, 1.5])
    f = lambda t: odeint(lambda y, t: -y, 1.0, t)  # noqa: E731
    jacobian = jacrev(f)(times)
    y = np.exp(-(times - 0.2))
    want = np.diag(-y) + np.outer(y, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(jacobian, want, rtol=1e-6, atol=1e-7)


def test_odeint_backwards_and_compiled() -> None:
    times = np.array([1.0, 0.5, 0.0])
    y = jit(lambda y0, t: odeint(lambda y, t: -y, y0, t))(1.0, times)
    np.testing.assert_allclose(y, np.exp(1 - times), rtol=1e-6)


# -- failures -----------------------------------------------------------------------


def test_a_solution_that_blows_up_is_nan_from_there() -> None:
    times = np.array([0.0, 0.5, 0.9, 1.5, 2.0])
    r = solve_ivp(lambda t, y: y**2, (0, 2), [1.0], t_eval=times)  # 1 / (1 - t)
    np.testing.assert_allclose(r.y[0, :3], [1, 2, 10], rtol=1e-4)
    assert np.all(np.isnan(r.y[0, 3:]))
    assert (r.status, r.success) == (-1, False)
    assert "step is too small" in r.message


def test_too_many_steps() -> None:
    r = solve_ivp(pendulum, (0, 100), [1.0, 0.0], max_steps=50, t_eval=[1.0, 100.0])
    assert r.status == -2
    assert r.steps == 50
    assert "max_steps" in r.message
    assert np.all(np.isfinite(r.y[:, 0]))
    assert np.all(np.isnan(r.y[:, 1]))
    enough = solve_ivp(pendulum, (0, 1), [1.0, 0.0], max_steps=solve_ivp(
        pendulum, (0, 1), [1.0, 0.0]).steps)  # fmt: skip
    assert enough.success


@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_a_failure_reaches_the_gradient(adjoint: str) -> None:
    f = lambda k, y0: solve_ivp(  # noqa: E731
        lambda t, y: -k * y, (0, 50), y0[None], max_steps=5, adjoint=adjoint
    ).y[0, -1]
    assert np.all(np.isnan(grad(f, (0, 1))(0.5, np.float64(1.0))))


def test_a_slope_that_is_nan() -> None:
    r = solve_ivp(lambda t, y: y * np.nan, (0, 1), [1.0])
    assert r.status == -1
    assert r.steps < 100
    later = solve_ivp(lambda t, y: np.where(t > 0.5, np.nan, -y), (0, 1), [1.0], t_eval=[0.4, 1.0])
    assert later.y[0, 0] == pytest.approx(np.exp(-0.4), rel=1e-5)
    assert np.isnan(later.y[0, 1])
    assert later.status == -1
    assert np.all(np.isnan(odeint(lambda y, t: y * np.nan, 1.0, [0.0, 1.0])[1:]))


def test_traced_times_out_of_order_are_nan() -> None:
    solve = jit(lambda t: solve_ivp(lambda t, y: -y, (0.0, 2.0), [1.0], t_eval=t))
    assert solve(np.array([0.5, 2.0])).status == 0
    outside = solve(np.array([0.5, 2.5]))
    assert outside.status == -3
    assert np.isnan(outside.y[0, 1])
    assert "outside t_span" in outside.message
    early = solve(np.array([1.5, 0.1]))
    assert early.status == -3
    assert np.isnan(early.y[0, 1])


# -- mistakes -----------------------------------------------------------------------


def ok(t: Any, y: Any) -> Any:
    return -y


MISTAKES: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "method": (StructureError, "method is one of 'RK45', 'RK4'; got 'Radau'",
               lambda: solve_ivp(ok, (0, 1), [1.0], "Radau")),
    "adjoint": (StructureError, "adjoint is one of 'discrete', 'continuous'",
                lambda: solve_ivp(ok, (0, 1), [1.0], adjoint="backward")),
    "n_steps": (StructureError, 'must be given with method="RK4"',
                lambda: solve_ivp(ok, (0, 1), [1.0], "RK4")),
    "n_steps of RK45": (StructureError, 'must be given with method="RK4"',
                        lambda: solve_ivp(ok, (0, 1), [1.0], n_steps=3)),
    "dense output": (StructureError, "pass t_eval=times",
                     lambda: solve_ivp(ok, (0, 1), [1.0], dense_output=True)),
    "rtol": (StructureError, "rtol must be positive and known; got 0",
             lambda: solve_ivp(ok, (0, 1), [1.0], rtol=0)),
    "max_steps": (StructureError, "max_steps must be positive",
                  lambda: solve_ivp(ok, (0, 1), [1.0], max_steps=-1)),
    "span": (ShapeError, "t_span of solve_ivp must be", lambda: solve_ivp(ok, (0, 1, 2), [1.0])),
    "state": (ShapeError, "y0 of solve_ivp has shape (1, 1)",
              lambda: solve_ivp(ok, (0, 1), [[1.0]])),
    "points": (ShapeError, "t_eval of solve_ivp has shape ()",
               lambda: solve_ivp(ok, (0, 1), [1.0], t_eval=0.5)),
    "order": (ShapeError, "must lie between 0.0 and 1.0, in this order",
              lambda: solve_ivp(ok, (0, 1), [1.0], t_eval=[0.5, 0.2])),
    "outside": (ShapeError, "must lie between 1.0 and 0.0, in this order",
                lambda: solve_ivp(ok, (1, 0), [1.0], t_eval=[0.5, -0.2])),
    "slope": (ShapeError, "The slope that <lambda> returns must have the shape (2,) of y; got (1,)",
              lambda: solve_ivp(lambda t, y: y[:1], (0, 1), [1.0, 2.0])),
    "complex slope": (DtypeError, "y0.astype(complex)",
                      lambda: solve_ivp(lambda t, y: 1j * y, (0, 1), [1.0])),
    "function": (StructureError, "argument 0 of solve_ivp must be a function",
                 lambda: solve_ivp(3, (0, 1), [1.0])),  # type: ignore[arg-type]
    "times": (ShapeError, "t of odeint has shape ()", lambda: odeint(ok, 1.0, 2.0)),
    "times in disorder": (ShapeError, "t of odeint must lie between",
                          lambda: odeint(lambda y, t: -y, 1.0, [0.0, 2.0, 1.0])),
    "tree": (StructureError, "must have the structure of y0",
             lambda: odeint(lambda y, t: y["x"], {"x": 1.0}, [0.0, 1.0])),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(case: str) -> None:
    error, words, call = MISTAKES[case]
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert re.search(rf'File "{HERE}", line \d+', str(caught.value))


GRADIENT = """
import numpy as np
from autojit import grad, jit, ode

def loss(k, y0):
    t = np.linspace(0.0, 1.0, 6)
    return np.sum(ode.odeint(lambda y, t, k: -k * y * np.array([1.0, 2.0]), y0, t, k) ** 2)

print(*jit(grad(loss))(1.3, np.array([1.0, 0.5])).shape, "done")
"""


@pytest.mark.slow
def test_llvm_prints_nothing() -> None:
    """The loop over steps ends with a loop over two numbers, whose marks it took over."""
    env = {**os.environ, "AUTOJIT_CACHE_DIR": ""}
    ran = subprocess.run(
        [sys.executable, "-c", GRADIENT], env=env, capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == ("done\n", "")


class Thing:
    """An object that is neither an array nor a number."""


#: By their kinds; none is an argument of a solver.
BAD: dict[str, Any] = {
    "an object": Thing(), "a text": "wrong", "a negative number": -1.0, "a tree": {"q": [Thing()]},
    "NaN": np.nan, "objects": np.array([None, 1], object), "texts": np.array(["a"]),
    "no number": np.zeros(0), "lists of several lengths": [[1.0], [1.0, 2.0]],
}  # fmt: skip
GOOD: dict[Any, dict[str, Any]] = {
    solve_ivp: {
        "fun": lambda t, y: -y, "t_span": (0.0, 1.0), "y0": np.ones(2), "method": "RK45",
        "t_eval": np.array([0.5, 1.0]), "rtol": 1e-3, "atol": 1e-3, "max_steps": 100,
        "first_step": 0.1, "max_step": 0.5, "adjoint": "discrete",
    },
    odeint: {
        "func": lambda y, t: -y, "y0": np.ones(2), "t": np.array([0.0, 1.0]), "rtol": 1e-3,
        "atol": 1e-3, "mxstep": 100, "hmax": 0.5, "adjoint": "continuous",
    },
}  # fmt: skip
#: What are numbers, too: a state may be negative, NaN or empty.
FINE = {("y0", "a negative number"), ("y0", "NaN"), ("y0", "no number")}
CASES = [
    pytest.param(solve, argument, kind, id=f"{solve.__name__}-{argument}-{kind}")
    for solve, good in GOOD.items()
    for argument in good
    for kind in BAD
    if (argument, kind) not in FINE
    and (solve is solve_ivp or (argument, kind) != ("y0", "lists of several lengths"))  # a tree
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("solve", "argument", "kind"), CASES)
def test_the_error_names_the_argument(solve: Any, argument: str, kind: str) -> None:
    name = "argument 0" if argument in ("fun", "func") else argument
    with pytest.raises(AutojitError, match=rf"\b{name}\b"):
        solve(**{**GOOD[solve], argument: BAD[kind]})


@pytest.mark.parametrize("solve", GOOD)
def test_the_calls_are_good(solve: Any) -> None:
    solve(**GOOD[solve])


@pytest.mark.parametrize(("argument", "wrong"), [("mxstep", 0.5), ("mxstep", 99.5)])
def test_a_number_of_steps_is_whole(argument: str, wrong: float) -> None:
    with pytest.raises(StructureError, match="mxstep must be an integer"):
        odeint(**{**GOOD[odeint], argument: wrong})


def test_a_state_of_nothing() -> None:
    with pytest.raises(StructureError, match="y0 of odeint contains no arrays"):
        odeint(**{**GOOD[odeint], "y0": []})
