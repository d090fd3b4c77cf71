"""Differentiate a simulation that was written for Numba: a loop with branches and an early exit.

A ball is thrown with drag and spin, and bounces.  Which throw of least effort makes it touch the
ground for the third time 20 metres away?

python examples/bouncing_ball.py
"""

from __future__ import annotations

import math
import time

import numba
import numpy as np
from scipy.optimize import minimize

from autojit import jit, value_and_grad

STEP, GRAVITY = 1e-3, 9.81


@numba.njit
def distance(speed, angle, spin, elasticity):
    """The distance of the ball from the thrower at its third contact with the ground."""
    x, y = 0.0, 1.8
    vx, vy = speed * math.cos(angle), speed * math.sin(angle)
    contacts = 0
    while True:
        if y + STEP * vy < 0:
            x += vx * y / -vy  # where it meets the ground
            contacts += 1
            if contacts == 3:
                return x
            y = 0.0
            vx, vy = 0.8 * vx + 0.2 * spin, -elasticity * vy
            spin *= 0.5
        else:
            x += STEP * vx
            y += STEP * vy
        drag = 0.01 * math.sqrt(vx * vx + vy * vy)
        lift = 0.02 * spin
        vx, vy = (
            vx - STEP * (drag * vx + lift * vy),
            vy - STEP * (GRAVITY + drag * vy - lift * vx),
        )


def effort(throw):
    speed, angle, spin = throw
    miss = distance(speed, angle, spin, 0.7) - 20.0
    return 100 * miss**2 + speed**2 + 0.1 * spin**2


def differences(f, x, h=1e-6):
    """Central differences."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def milliseconds(f, *args):
    best = math.inf
    for _ in range(20):
        start = time.perf_counter()
        f(*args)
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def main():
    start = np.array([10.0, 0.5, 5.0])
    both = jit(value_and_grad(effort))
    value, gradient = both(start)
    assert np.isclose(value, effort(start), rtol=1e-12)
    worst = np.max(np.abs(gradient / differences(effort, start) - 1))
    print(f"relative difference from central differences: {worst:.0e}")

    found = minimize(both, start, jac=True, method="L-BFGS-B")
    speed, angle, spin = found.x
    print(f"effort {value:.1f} -> {found.fun:.1f} in {found.nit} iterations")
    print(f"speed {speed:.2f} m/s, angle {math.degrees(angle):.1f} degrees, spin {spin:.1f} 1/s")
    print(f"third contact at {distance(speed, angle, spin, 0.7):.2f} m")

    simulated, differentiated = milliseconds(distance, *start, 0.7), milliseconds(both, start)
    print(f"simulation by Numba {simulated:.3f} ms, value and gradient {differentiated:.3f} ms")
    info = both.cache_info()
    print(f"branches compiled: {info.branches}, loops compiled: {info.loops}")


if __name__ == "__main__":
    main()
