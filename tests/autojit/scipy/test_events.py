"""Events and dense solutions of ``solve_ivp``, beside SciPy's with small tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate

from autojit import grad, jacfwd, jit


def thrown(p: Any, method: str, t_eval: Any = None, tolerance: float = 1e-7) -> Any:
    """A ball that is thrown up: when it is at the top, and where it lands."""

    def top(t: Any, y: Any) -> Any:
        return y[1]

    def landing(t: Any, y: Any) -> Any:
        return y[0] + 0.1 * p[2]

    landing.terminal = True  # type: ignore[attr-defined]
    return integrate.solve_ivp(
        lambda t, y: [y[1], -9.81 - p[2] * y[1]], (0.0, 9.0), [p[0], p[1]], method, t_eval,
        events=[top, landing], dense_output=True, rtol=tolerance, atol=tolerance,
    )  # fmt: skip


def results(p: Any, method: str, t_eval: Any = None, tolerance: float = 1e-7) -> Any:
    found = thrown(p, method, t_eval, tolerance)
    parts = [found.t_events[0], found.t_events[1], found.y_events[0][0], found.y[:, -1],
             found.t[-1:], found.sol(np.array([0.3, 0.1])).ravel(), found.sol(0.2)]  # fmt: skip
    return np.concatenate(parts)


START = np.array([1.0, 3.0, 0.2])


@pytest.mark.slow
@pytest.mark.parametrize(("method", "t_eval"), [("RK45", None), ("Radau", np.linspace(0, 9, 91))])
def test_all_results_have_the_derivative_of_the_equation(method: str, t_eval: Any) -> None:
    found = jacfwd(lambda p: results(p, method, t_eval))(START)
    for i, step in enumerate(1e-4 * np.eye(3)):
        ends = [results(START + s * step, "DOP853", t_eval, 1e-12) for s in (1, -1)]
        np.testing.assert_allclose(found[:, i], (ends[0] - ends[1]) / 2e-4, rtol=1e-4, atol=1e-4)
    total = grad(lambda p: np.sum(results(p, method, t_eval)))(START)
    np.testing.assert_allclose(total, found.sum(0), rtol=1e-8)


@pytest.mark.slow
def test_the_time_of_an_event_moves() -> None:
    """Without friction the ball lands after ``(v + sqrt(v**2 + 2 g h)) / g``."""

    def landing(v: Any) -> Any:
        found = integrate.solve_ivp(lambda t, y: [y[1], -9.81 + 0 * v], (0.0, 9.0), [1.0, v],
                                    events=lambda t, y: y[0], rtol=1e-3)  # fmt: skip
        return found.t_events[0][0]

    want = (1 + 3 / np.sqrt(9 + 2 * 9.81)) / 9.81
    np.testing.assert_allclose(grad(landing)(3.0), want, rtol=1e-7)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_the_object_is_scipys(method: str) -> None:
    own = thrown(START, method, None, 1e-3)

    def at_the_end(p: Any) -> Any:
        found = thrown(p, method, None, 1e-3)
        assert found.keys() == own.keys()
        assert (found.status, found.message, found.success) == (1, own.message, True)
        assert found.t.shape == own.t.shape
        assert found.y.shape == own.y.shape
        assert [t.shape for t in found.y_events] == [t.shape for t in own.y_events]
        return p[0]

    assert grad(at_the_end)(START)[0] == 1.0


def test_a_dense_solution_runs_compiled() -> None:
    def states(k: Any) -> Any:
        found = integrate.solve_ivp(lambda t, y: -k * y, (2.0, 0.0), [3.0], "LSODA", [0.0],
                                    dense_output=True, rtol=1e-8, atol=1e-8)  # fmt: skip
        return found.sol(np.array([0.5, 2.0, 2.5]))[0]

    got = jit(states)(0.7)
    np.testing.assert_allclose(got, [3 * np.exp(1.05), 3.0, np.nan], rtol=1e-6)
