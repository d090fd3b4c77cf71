"""Regressions and likelihoods of statisticians."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Poisson regression with an offset",
    full={"rows": 20_000, "columns": 20},
    tiny={"rows": 40, "columns": 3},
)
def poisson_regression(rng, rows, columns):
    x = rng.normal(size=(rows, columns))
    exposure = rng.uniform(0.5, 2.0, rows)
    counts = rng.poisson(exposure).astype(float)

    def negative_log_likelihood(beta, x, counts, exposure):
        eta = x @ beta + np.log(exposure)
        return np.sum(np.exp(eta) - counts * eta) + 0.5 * np.dot(beta, beta)

    return negative_log_likelihood, (0.1 * rng.normal(size=columns), x, counts, exposure)


@program(
    "Ordinal logit, cutpoints that increase",
    full={"rows": 10_000, "columns": 10, "levels": 6},
    tiny={"rows": 40, "columns": 3, "levels": 4},
)
def ordinal_logit(rng, rows, columns, levels):
    x = rng.normal(size=(rows, columns))
    y = rng.integers(0, levels, rows)

    def negative_log_likelihood(params, x, y):
        beta, first, steps = params["beta"], params["first"], params["steps"]
        cuts = np.concatenate([[first], first + np.cumsum(np.exp(steps))])
        cdf = 1.0 / (1.0 + np.exp(-(cuts[None, :] - (x @ beta)[:, None])))
        n = x.shape[0]
        cdf = np.hstack([np.zeros((n, 1)), cdf, np.ones((n, 1))])
        rows = np.arange(n)
        return -np.sum(np.log(cdf[rows, y + 1] - cdf[rows, y] + 1e-12))

    params = {
        "beta": 0.3 * rng.normal(size=columns),
        "first": -1.0,
        "steps": np.full(levels - 2, -0.5),
    }
    return negative_log_likelihood, (params, x, y)


@program(
    "Cox partial likelihood, risk sets by a running sum from the end",
    full={"rows": 10_000, "columns": 10},
    tiny={"rows": 30, "columns": 3},
)
def cox_partial_likelihood(rng, rows, columns):
    x = rng.normal(size=(rows, columns))
    event = rng.random(rows) < 0.6
    time = rng.exponential(size=rows)
    order = np.argsort(time)
    x, event = x[order], event[order]

    def loss(beta, x, event):
        eta = x @ beta
        largest = np.max(eta)
        at_risk = np.cumsum(np.exp(eta - largest)[::-1])[::-1]
        return -np.mean((eta - largest - np.log(at_risk)) * event)

    return loss, (0.2 * rng.normal(size=columns), x, event)


@program(
    "Weibull survival with censoring",
    full={"rows": 20_000, "columns": 5},
    tiny={"rows": 40, "columns": 2},
)
def weibull_survival(rng, rows, columns):
    x = rng.normal(size=(rows, columns))
    time = rng.weibull(1.5, rows) + 0.01
    observed = rng.random(rows) < 0.7

    def negative_log_likelihood(theta, x, time, observed):
        log_shape, intercept, beta = theta[0], theta[1], theta[2:]
        shape = np.exp(log_shape)
        scale = np.exp(intercept + x @ beta)
        z = time / scale
        log_hazard = log_shape + (shape - 1.0) * np.log(z) - np.log(scale)
        return -np.sum(np.where(observed, log_hazard, 0.0) - z**shape)

    return negative_log_likelihood, (0.1 * rng.normal(size=columns + 2), x, time, observed)


@program(
    "Logistic mixed model, correlated intercepts and slopes of groups",
    full={"rows": 20_000, "groups": 500},
    tiny={"rows": 60, "groups": 7},
)
def logistic_mixed_model(rng, rows, groups):
    group = rng.integers(0, groups, rows)
    x = rng.normal(size=rows)
    y = (rng.random(rows) < 0.5).astype(float)

    def negative_log_joint(params, group, x, y):
        beta, log_sd, raw, z = params["beta"], params["log_sd"], params["raw"], params["z"]
        rho = np.tanh(raw)
        factor = np.array([[1.0, 0.0], [rho, np.sqrt(1.0 - rho**2)]])
        effects = z @ (np.exp(log_sd)[:, None] * factor).T
        eta = beta[0] + beta[1] * x + effects[group, 0] + effects[group, 1] * x
        fit = np.sum(np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0) - y * eta)
        return fit + 0.5 * np.sum(z**2) + 0.5 * np.sum(log_sd**2) + raw**2

    params = {
        "beta": np.array([0.2, -0.4]),
        "log_sd": np.array([-0.3, -0.7]),
        "raw": 0.3,
        "z": rng.normal(size=(groups, 2)),
    }
    return negative_log_joint, (params, group, x, y)


@program(
    "Dirichlet-multinomial counts, rising factorials as sums of logarithms",
    full={"rows": 500, "categories": 8, "largest": 30},
    tiny={"rows": 6, "categories": 3, "largest": 5},
)
def dirichlet_multinomial(rng, rows, categories, largest):
    counts = rng.integers(0, largest, size=(rows, categories))

    def log_rising(a, n, largest):
        j = np.arange(largest)
        terms = np.log(a[..., None] + j)
        return np.sum(np.where(j < n[..., None], terms, 0.0), axis=-1)

    def negative_log_likelihood(log_alpha, counts):
        alpha = np.exp(log_alpha)
        total = counts.sum(axis=1)
        top = np.sum(log_rising(alpha[None, :], counts, largest), axis=1)
        bottom = log_rising(np.sum(alpha)[None], total, largest * categories)
        return -np.sum(top - bottom)

    return negative_log_likelihood, (0.5 * rng.normal(size=categories), counts)


@program(
    "Cubic spline regression with free knots",
    full={"rows": 10_000, "knots": 15},
    tiny={"rows": 30, "knots": 3},
)
def free_knot_spline(rng, rows, knots):
    x = np.sort(rng.uniform(0, 1, rows))
    y = np.sin(12 * x) * x + 0.1 * rng.normal(size=rows)

    def loss(params, x, y):
        knots, coefficients = params
        powers = np.vander(x, 4, increasing=True)
        pieces = np.maximum(x[:, None] - knots, 0.0) ** 3
        basis = np.hstack([powers, pieces])
        roughness = np.sum(np.diff(coefficients[4:]) ** 2)
        return np.mean((y - basis @ coefficients) ** 2) + 1e-3 * roughness

    start = np.linspace(0.05, 0.95, knots) + 0.003
    return loss, ((start, rng.normal(size=knots + 4)), x, y)
