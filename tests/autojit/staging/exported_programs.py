"""Programs as users write them, whose gradients are written as source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def logistic(w, X, y):
    """Mean log loss of a logistic regression, with a ridge."""
    logits = X @ w
    p = 1 / (1 + np.exp(-logits))
    nll = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    return nll + 0.1 * np.sum(w**2)


def mlp(params, X, y):
    h = X
    for W, b in params[:-1]:
        h = np.tanh(h @ W + b)
    W, b = params[-1]
    out = h @ W + b
    return np.mean((out - y) ** 2)


def gp(theta, X, y):
    """Negative log marginal likelihood of a Gaussian process."""
    amplitude, scale, noise = np.exp(theta)
    distance = np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
    K = amplitude * np.exp(-0.5 * distance / scale**2) + noise * np.eye(len(X))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(L))) + 0.5 * len(X) * np.log(2 * np.pi)


def kalman(theta, observations):
    """Negative log likelihood of a local level model."""
    q, r = np.exp(theta)
    mean, variance = 0.0, 10.0
    total = 0.0
    for z in observations:
        variance = variance + q
        s = variance + r
        gain = variance / s
        error = z - mean
        total = total + 0.5 * (np.log(2 * np.pi * s) + error**2 / s)
        mean = mean + gain * error
        variance = (1 - gain) * variance
    return total


def ode(theta, x0):
    """Lotka-Volterra by Runge-Kutta, fourth order."""
    a, b, c, d = theta

    def f(x):
        return np.array([a * x[0] - b * x[0] * x[1], c * x[0] * x[1] - d * x[1]])

    x, h = x0, 0.05
    for _ in range(100):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        k4 = f(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(x**2)


def heat(u, kappa):
    """Diffusion on a grid, in place."""
    u = u.copy()
    for _ in range(20):
        u[1:-1, 1:-1] += kappa * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u**2)


def quantile_loss(prediction, target):
    """Mean pinball loss beyond the median, by sorting the residuals."""
    residual = np.sort(target - prediction)
    worst = residual[len(residual) // 2 :]
    return np.mean(np.maximum(0.9 * worst, -0.1 * worst))


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.sum((weights @ v) ** 2)


def newton_root(a):
    """The square root by Newton's iteration, as long as it moves."""
    x = 1.0 + 0 * a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def huber(x, delta):
    r = np.abs(x)
    return np.sum(np.where(r < delta, 0.5 * r**2, delta * (r - 0.5 * delta)))


def branchy(x):
    if x[0] > 0:  # noqa: SIM108
        y = np.sin(x)
    else:
        y = np.exp(x)
    return np.sum(y)


@dataclass
class Line:
    slope: Any
    offset: Any


def fit(line, x, y):
    """Mean squares of a line, whose parameters are an object."""
    rest = line.slope * x + line.offset - y
    return np.mean(rest**2)


def _arguments() -> dict[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    normal = rng.normal
    layers = [(normal(size=(3, 4)), np.zeros(4)), (normal(size=(4, 1)), np.zeros(1))]
    return {
        logistic: (normal(size=5), normal(size=(100, 5)), (rng.random(100) > 0.5) * 1.0),
        mlp: (layers, normal(size=(10, 3)), normal(size=(10, 1))),
        gp: (np.array([0.1, 0.2, -1.0]), normal(size=(10, 2)), normal(size=10)),
        kalman: (np.array([0.1, 0.2]), normal(size=200)),
        ode: (np.array([1.0, 0.5, 0.3, 0.8]), np.array([1.0, 0.5])),
        heat: (normal(size=(12, 12)), 0.1),
        quantile_loss: (normal(size=12), normal(size=12)),
        attention: (normal(size=(6, 4)), normal(size=(6, 4)), normal(size=(6, 3))),
        newton_root: (2.0,),
        huber: (normal(size=9), 0.5),
        branchy: (normal(size=3),),
        fit: (Line(2.0, np.array(0.5)), normal(size=7), normal(size=7)),
    }


#: The programs, with arguments of each.
PROGRAMS = _arguments()
