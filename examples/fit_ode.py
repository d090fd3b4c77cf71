"""Fit a differential equation to data: hares and lynxes, 1900 to 1920.

The numbers of pelts that the Hudson's Bay Company bought, in thousands per year, follow the
equations of Lotka and Volterra. Maximum likelihood finds their four rates, the two initial states
and the noise; the gradient goes through the solver, and through every step that it takes.

    python examples/fit_ode.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize

from autojit import jit, value_and_grad
from autojit.ode import solve_ivp

YEARS = np.arange(1900.0, 1921.0)
HARES = np.array([
    30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2,
    7.6, 14.6, 16.2, 24.7,
])  # fmt: skip
LYNXES = np.array([
    4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8,
    9.7, 10.1, 8.6,
])  # fmt: skip
PELTS = np.stack([HARES, LYNXES])
NAMES = ("growth", "predation", "death", "reproduction", "hares in 1900", "lynxes in 1900", "noise")
#: All parameters are positive, so their logarithms are fitted.
GUESS = np.log([0.5, 0.025, 0.8, 0.025, 30.0, 4.0, 0.5])
RTOL, ATOL = 1e-8, 1e-8


def slope(t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Hares multiply and are eaten; lynxes die out, and multiply by eating."""
    hares, lynxes = y
    return [a * hares - b * hares * lynxes, -c * lynxes + d * hares * lynxes]


def solve(rates: Any, first: Any, solver: Callable[..., Any]) -> Any:
    span = (YEARS[0], YEARS[-1])
    return solver(slope, span, first, t_eval=YEARS, args=tuple(rates), rtol=RTOL, atol=ATOL).y


def loss(logarithms: Any, solver: Callable[..., Any] = solve_ivp) -> Any:
    """Minus the log-likelihood: log pelts = log y + noise, with normal noise."""
    values = np.exp(logarithms)
    y = solve(values[:4], values[4:6], solver)
    noise = values[6]
    errors = (np.log(PELTS) - np.log(y)) / noise
    return np.sum(errors**2) / 2 + PELTS.size * (np.log(noise) + 0.5 * np.log(2 * np.pi))


def milliseconds(f: Callable[[], Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        f()
    return (time.perf_counter() - start) / times * 1e3


def main() -> None:
    gradient = jit(value_and_grad(loss))
    start = time.perf_counter()
    gradient(GUESS)
    print(f"traced and compiled in {time.perf_counter() - start:.1f} s")

    fit = scipy.optimize.minimize(gradient, GUESS, jac=True, method="BFGS")
    print(f"minus log-likelihood {gradient(GUESS)[0]:.2f} -> {fit.fun:.2f} in {fit.nit} iterations")
    for name, value in zip(NAMES, np.exp(fit.x), strict=True):
        print(f"  {name:15} {value:8.3f}")
    values = np.exp(fit.x)
    y = solve(values[:4], values[4:6], solve_ivp)
    print("year   hares  fitted  lynxes  fitted")
    for i in range(0, len(YEARS), 4):
        print(f"{YEARS[i]:.0f} {HARES[i]:7.1f} {y[0, i]:7.1f} {LYNXES[i]:7.1f} {y[1, i]:7.1f}")

    def by_scipy(x: Any) -> Any:
        return loss(x, scipy.integrate.solve_ivp)

    def differences(x: Any) -> Any:
        return scipy.optimize.approx_fprime(x, by_scipy, 1e-6)

    exact, numeric = gradient(GUESS)[1], differences(GUESS)
    print(f"relative difference of the gradients {np.max(np.abs(exact / numeric - 1)):.0e}")
    one = milliseconds(lambda: gradient(GUESS), 50)
    other = milliseconds(lambda: (by_scipy(GUESS), differences(GUESS)), 1)
    print(f"value and gradient: {one:.2f} ms, by finite differences with SciPy {other:.0f} ms")


if __name__ == "__main__":
    main()
