"""Likelihoods of series, most of them loops over time."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program("AR(2) likelihood by a Python loop", full={"steps": 2_000}, tiny={"steps": 12})
def ar2(rng, steps):
    y = np.cumsum(rng.normal(size=steps)) * 0.1

    def negative_log_likelihood(theta, y):
        c, phi1, phi2, log_sigma = theta
        sigma2 = np.exp(2 * log_sigma)
        total = 0.0
        for t in range(2, len(y)):
            error = y[t] - c - phi1 * y[t - 1] - phi2 * y[t - 2]
            total += 0.5 * (np.log(2 * np.pi * sigma2) + error**2 / sigma2)
        return total

    return negative_log_likelihood, (np.array([0.05, 0.6, 0.2, -0.5]), y)


@program("GARCH(1,1) likelihood by a Python loop", full={"steps": 2_000}, tiny={"steps": 12})
def garch(rng, steps):
    returns = 0.01 * rng.standard_t(5, size=steps)

    def negative_log_likelihood(theta, returns):
        omega = np.exp(theta[0])
        alpha = 1 / (1 + np.exp(-theta[1]))
        beta = (1 - alpha) / (1 + np.exp(-theta[2]))
        variance = np.var(returns)
        total = 0.0
        for r in returns:
            total += 0.5 * (np.log(variance) + r**2 / variance)
            variance = omega + alpha * r**2 + beta * variance
        return total

    return negative_log_likelihood, (np.array([-11.0, -2.5, 2.0]), returns)


@program(
    "Stochastic volatility, its log-volatility by scan",
    full={"steps": 3_000},
    tiny={"steps": 10},
    needs=("scan",),
)
def stochastic_volatility(rng, steps, scan):
    y = 0.5 * rng.normal(size=steps)

    def negative_log_joint(params, y):
        mu, raw_phi, log_sigma = params["mu"], params["raw_phi"], params["log_sigma"]
        phi, sigma = np.tanh(raw_phi), np.exp(log_sigma)

        def step(h, observed):
            noise, value = observed
            h = mu + phi * (h - mu) + sigma * noise
            return h, 0.5 * (h + value**2 * np.exp(-h))

        start = mu + sigma / np.sqrt(1 - phi**2) * params["first"]
        _, terms = scan(step, start, (params["noise"], y))
        prior = np.sum(params["noise"] ** 2) + params["first"] ** 2 + mu**2
        return np.sum(terms) + 0.5 * prior

    params = {
        "mu": -1.0,
        "raw_phi": 1.5,
        "log_sigma": -1.5,
        "first": 0.3,
        "noise": rng.normal(size=steps),
    }
    return negative_log_joint, (params, y)


@program(
    "Extended Kalman filter of a moving robot, ranges and bearings",
    full={"steps": 200},
    tiny={"steps": 4},
)
def extended_kalman(rng, steps):
    landmark = np.array([5.0, 3.0])
    controls = np.stack([np.full(steps, 0.2), 0.1 * np.sin(np.arange(steps) / 9)], axis=1)
    measured = np.stack([rng.uniform(4, 6, steps), rng.uniform(0.2, 0.8, steps)], axis=1)

    def negative_log_likelihood(log_noise, controls, measured):
        q = np.diag(np.exp(log_noise[:3]))
        r = np.diag(np.exp(log_noise[3:]))
        m = np.zeros(3)
        p = 0.1 * np.eye(3)
        total = 0.0
        for t in range(len(controls)):
            v, w = controls[t]
            m = m + np.array([v * np.cos(m[2]), v * np.sin(m[2]), w])
            f = np.eye(3)
            f[0, 2] = -v * np.sin(m[2])
            f[1, 2] = v * np.cos(m[2])
            p = f @ p @ f.T + q
            dx, dy = landmark - m[:2]
            d2 = dx**2 + dy**2
            d = np.sqrt(d2)
            h = np.array([[-dx / d, -dy / d, 0.0], [dy / d2, -dx / d2, -1.0]])
            error = measured[t] - np.array([d, np.arctan2(dy, dx) - m[2]])
            s = h @ p @ h.T + r
            gain = p @ h.T @ np.linalg.inv(s)
            total += 0.5 * (np.log(np.linalg.det(s)) + error @ np.linalg.solve(s, error))
            m = m + gain @ error
            p = (np.eye(3) - gain @ h) @ p
        return total

    return negative_log_likelihood, (np.array([-4.0, -4.0, -5.0, -1.0, -2.0]), controls, measured)


@program(
    "Hidden Markov model with normal emissions, forward algorithm in logarithms",
    full={"steps": 500, "states": 8},
    tiny={"steps": 6, "states": 3},
)
def hidden_markov(rng, steps, states):
    y = np.repeat(rng.normal(size=steps // 5 + 1), 5)[:steps] + 0.2 * rng.normal(size=steps)

    def logsumexp(x, axis):
        top = np.max(x, axis=axis, keepdims=True)
        return np.squeeze(top, axis) + np.log(np.sum(np.exp(x - top), axis=axis))

    def negative_log_likelihood(params, y):
        transition = params["transition"]
        transition = transition - logsumexp(transition, 1)[:, None]
        z = (y[:, None] - params["mean"]) * np.exp(-params["log_sd"])
        emission = -0.5 * z**2 - params["log_sd"]
        state = emission[0] - np.log(len(params["mean"]))
        for t in range(1, len(y)):
            state = logsumexp(state[:, None] + transition, 0) + emission[t]
        return -logsumexp(state, 0)

    params = {
        "transition": rng.normal(size=(states, states)) + 2 * np.eye(states),
        "mean": np.linspace(-2, 2, states),
        "log_sd": np.full(states, -0.5),
    }
    return negative_log_likelihood, (params, y)


@program(
    "Holt-Winters smoothing with seasons, a list of states",
    full={"steps": 480, "season": 12},
    tiny={"steps": 10, "season": 3},
)
def holt_winters(rng, steps, season):
    t = np.arange(steps)
    y = 10 + 0.02 * t + np.sin(2 * np.pi * t / season) + 0.3 * rng.normal(size=steps)

    def loss(params, y):
        rates, initial = params
        alpha, beta, gamma = 1 / (1 + np.exp(-rates))
        seasons = list(initial)
        level, trend = y[0], 0.0
        total = 0.0
        for t in range(1, len(y)):
            expected = level + trend + seasons[t % season]
            total = total + (y[t] - expected) ** 2
            last = level
            level = alpha * (y[t] - seasons[t % season]) + (1 - alpha) * (level + trend)
            trend = beta * (level - last) + (1 - beta) * trend
            seasons[t % season] = gamma * (y[t] - level) + (1 - gamma) * seasons[t % season]
        return total / len(y)

    return loss, ((np.array([-1.0, -3.0, -2.0]), 0.1 * rng.normal(size=season)), y)
