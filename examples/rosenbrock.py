"""Minimise Rosenbrock's function in 50 dimensions with its exact gradient.

python examples/rosenbrock.py
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from autojit import jit, value_and_grad


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def main():
    start = np.tile([-1.2, 1.0], 25)
    exact = minimize(jit(value_and_grad(rosenbrock)), start, jac=True, method="BFGS")
    differences = minimize(rosenbrock, start, method="BFGS")
    for name, found in [("exact gradient", exact), ("finite differences", differences)]:
        distance = np.max(np.abs(found.x - 1))
        print(f"{name:18}  {found.nfev:6} calls  |x - 1| at most {distance:.1e}")


if __name__ == "__main__":
    main()
