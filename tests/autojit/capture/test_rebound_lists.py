"""Lists that each step of a loop binds anew, and that later steps make longer."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit


def filtered_and_longer(x):
    xs = list(x)
    for _ in range(12):
        xs = [v for v in xs if v > 0.1]
        xs.append(x[0] * 0.9)
    return sum(xs)


def filtered_pairs(x):
    alive = [(v, v * v) for v in x]
    for t in range(15):
        alive = [(p + 0.1 * v, v * 0.95) for p, v in alive if p < 1.6]
        if t % 5 == 0:
            alive.append((x[0] * 0.1 * t, x[1]))
    return sum(p * v for p, v in alive)


def best_of_each_step(x):
    front, total = [x[0]], 0.0
    for k in range(20):
        front = sorted([*front, x[k % len(x)] * k])[:3]
        if front[0] > -1:
            front.append(x[1])
        total += front[-1] * len(front)
    return total


def three_times_as_long(x):
    """The list outgrows what its first step and the largest bound suggest."""
    xs, total = list(x), 0.0
    for k in range(12):
        if x[k % len(x)] > -5:
            longer = xs * 3
            total += longer[-1] * (k + 1)
            xs = longer[:108]
            xs.append(x[0] * k)
        else:
            xs.append(x[1])
    return total + len(xs)


def halved(x):
    xs = list(x)
    while len(xs) > 1:
        least, most = min(xs), max(xs)
        xs = [v for v in xs if least < v < most]
        xs.append(0.6 * least + 0.5 * most)
    return xs[0]


FUNCTIONS = [
    filtered_and_longer, filtered_pairs, best_of_each_step, three_times_as_long, halved,
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_in_python(f):
    x = np.array([0.7, -0.4, 1.5, 0.3])
    assert jit(f)(x) == pytest.approx(f(x), rel=1e-12)
    h = 1e-6
    wanted = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(jit(grad(f))(x), wanted, rtol=1e-6, atol=1e-6)
