"""Events and dense solutions of ``solve_ivp``, beside SciPy's with small tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate

from autojit import grad, jacfwd, jit, vmap
from autojit.errors import UncoveredFunctionError


def thrown(p: Any, method: str, t_eval: Any = None, tolerance: float = 1e-7) -> Any:
    """Throw a ball up, with events at its highest point and at its landing."""

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


def swinging(
    k: Any, backwards: bool = False, stops: Any = False, times: Any = None, method: str = "RK45"
) -> Any:
    """A spring, whose crossings of 0 are events; ``stops`` of them end it."""

    def crossing(t: Any, y: Any) -> Any:
        return y[0]

    crossing.terminal = stops  # type: ignore[attr-defined]
    span = (12.0, 0.0) if backwards else (0.0, 12.0)
    return integrate.solve_ivp(lambda t, y: [y[1], -k * y[0]], span, [1.0, 0.2], method, times,
                               events=[crossing, lambda t, y: y[1] - 9.0 * k],
                               rtol=1e-9, atol=1e-9)  # fmt: skip


def one_or_the_end(k: Any) -> Any:
    found = swinging(k)
    return found.y_events[1][0][0] if found.t_events[1].size > 0 else found.y[0, -1]


def of(read: Any, **settings: Any) -> Any:
    """A number that ``read`` takes from the solution, as a function of the spring's stiffness."""
    return lambda k: read(swinging(k, **settings))


COMPILED = {
    "first and last": of(lambda found: np.stack([found.t_events[0][0], found.t_events[0][-1]])),
    "states": of(lambda found: found.y_events[0][0] - 2 * found.y_events[0][-1]),
    "number": lambda k: (
        0.0 * k + of(lambda found: found.t_events[0].size + found.y_events[1].shape[0])(k)
    ),
    "the third ends it": of(lambda found: found.t[-1] + found.y[:, -1], stops=3),
    "backwards": of(lambda found: found.t[-1] * found.status, backwards=True, stops=True),
    "none": one_or_the_end,
    "times": lambda k: np.sum(swinging(k, stops=True, times=np.linspace(0, 12, 300)).y[0]),
    "last time": lambda k: swinging(k, stops=2, times=np.linspace(0, 12, 300)).y[:, -1],
    "stiff": lambda k: swinging(k, stops=True, method="Radau").y[:, -1],
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("f", COMPILED.values(), ids=COMPILED)
def test_compiled_events_and_their_derivatives(f: Any) -> None:
    np.testing.assert_allclose(jit(f)(1.3), f(1.3), rtol=1e-6, atol=1e-9)
    difference = (f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5
    total = jit(grad(lambda k: np.sum(f(k))))(1.3)
    np.testing.assert_allclose(total, np.sum(difference), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_batch_of_events() -> None:
    ks = np.array([1.0, 1.3])
    landing = jit(vmap(lambda k: swinging(k, stops=2).t[-1]))(ks)
    np.testing.assert_allclose(landing, (3 * np.pi / 2 + np.arctan(0.2 / ks**0.5)) / ks**0.5)


def test_an_event_that_is_not_there() -> None:
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        jit(lambda k: swinging(k).t_events[1][0])(1.3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("read", [
    lambda found: found.t_events[0], lambda found: found.t_events[0][1],
    lambda found: np.sum(found.y_events[0]), lambda found: len(found.t_events[0]),
])  # fmt: skip
def test_events_of_which_it_is_not_known_how_many_there_are(read: Any) -> None:
    with pytest.raises(UncoveredFunctionError, match=r"found\.t_events\[0\]\[0\]"):
        jit(lambda k: read(swinging(k)))(1.3)
