"""Prices and portfolios."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Asian option under Heston's model, Monte Carlo with full truncation",
    full={"paths": 5_000, "steps": 50},
    tiny={"paths": 20, "steps": 3},
)
def heston_asian(rng, paths, steps):
    z1, z2 = rng.normal(size=(2, steps, paths))

    def price(params, z1, z2):
        v0, kappa, theta, xi, rho, rate = params
        dt = 1.0 / len(z1)
        s = np.full(z1.shape[1], 100.0)
        v = np.full(z1.shape[1], 1.0) * v0
        average = np.zeros(z1.shape[1])
        for t in range(len(z1)):
            positive = np.maximum(v, 0.0)
            root = np.sqrt(positive * dt)
            dw = rho * z1[t] + np.sqrt(1 - rho**2) * z2[t]
            s = s * np.exp((rate - 0.5 * positive) * dt + root * z1[t])
            v = v + kappa * (theta - positive) * dt + xi * root * dw
            average += s / len(z1)
        return np.exp(-rate) * np.mean(np.maximum(average - 100.0, 0.0))

    # The variance stays well above zero, where its square root has no derivative.
    return price, (np.array([0.09, 2.0, 0.09, 0.1, -0.6, 0.03]), z1, z2)


@program(
    "Portfolio rebalanced each day, costs by absolute trades",
    full={"days": 250, "assets": 50},
    tiny={"days": 5, "assets": 3},
)
def portfolio_with_costs(rng, days, assets):
    returns = 0.01 * rng.normal(size=(days, assets)) + 0.0003

    def negative_utility(scores, returns):
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        w = e / e.sum(axis=1, keepdims=True)
        gross = np.sum(w * returns, axis=1)
        drifted = w[:-1] * (1 + returns[:-1]) / (1 + gross[:-1])[:, None]
        costs = 0.001 * np.sum(np.abs(w[1:] - drifted), axis=1)
        net = gross - np.concatenate([np.zeros(1), costs])
        wealth = np.cumprod(1 + net)
        drawdown = 1 - wealth / np.maximum.accumulate(wealth)
        return -np.mean(net) / np.std(net) + np.mean(drawdown)

    return negative_utility, (0.3 * rng.normal(size=(days, assets)), returns)


@program(
    "Black-Litterman weights, by views and confidence",
    full={"assets": 60, "views": 12},
    tiny={"assets": 5, "views": 2},
)
def black_litterman(rng, assets, views):
    a = rng.normal(size=(assets, 2 * assets))
    sigma = 0.04 * a @ a.T / (2 * assets)
    picks = rng.normal(size=(views, assets))
    market = rng.dirichlet(np.ones(assets))

    def tracking_error(params, sigma, picks, market):
        view, log_confidence, log_tau = params
        tau = np.exp(log_tau)
        omega = np.diag(np.exp(log_confidence))
        prior = 2.5 * sigma @ market
        precision = np.linalg.inv(tau * sigma)
        posterior_cov = np.linalg.inv(precision + picks.T @ np.linalg.inv(omega) @ picks)
        posterior = posterior_cov @ (precision @ prior + picks.T @ np.linalg.solve(omega, view))
        w = np.linalg.solve(2.5 * (sigma + posterior_cov), posterior)
        w = w / np.sum(w)
        gap = w - market
        return gap @ sigma @ gap

    params = (0.02 * rng.normal(size=views), np.full(views, -6.0), -3.0)
    return tracking_error, (params, sigma, picks, market)


@program(
    "Nelson-Siegel yield curves of many days",
    full={"days": 500, "maturities": 12},
    tiny={"days": 3, "maturities": 5},
)
def nelson_siegel(rng, days, maturities):
    tau = np.linspace(0.25, 30, maturities)
    yields = 0.03 + 0.01 * rng.normal(size=(days, maturities)).cumsum(axis=1) / maturities

    def loss(params, tau, yields):
        beta, log_decay = params
        x = tau[None, :] * np.exp(log_decay)[:, None]
        slope = -np.expm1(-x) / x
        curve = slope - np.exp(-x)
        fitted = beta[:, 0:1] + beta[:, 1:2] * slope + beta[:, 2:3] * curve
        smooth = np.sum(np.diff(beta, axis=0) ** 2) + np.sum(np.diff(log_decay) ** 2)
        return np.sum((yields - fitted) ** 2) + 0.1 * smooth

    return loss, ((0.02 * rng.normal(size=(days, 3)), 0.1 * rng.normal(size=days)), tau, yields)


@program(
    "American put by least squares of continuation values, exercised smoothly",
    full={"paths": 2_000, "steps": 25},
    tiny={"paths": 15, "steps": 3},
)
def american_put(rng, paths, steps):
    z = rng.normal(size=(paths, steps))

    def price(params, z):
        spot, sigma, rate = params
        dt = 1.0 / z.shape[1]
        growth = (rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z
        s = spot * np.exp(np.cumsum(growth, axis=1))
        cash = np.maximum(1.0 - s[:, -1], 0.0)
        for t in range(z.shape[1] - 2, -1, -1):
            cash = cash * np.exp(-rate * dt)
            x = s[:, t]
            basis = np.stack([np.ones_like(x), x, x**2], axis=1)
            beta = np.linalg.solve(basis.T @ basis + 1e-6 * np.eye(3), basis.T @ cash)
            exercise = np.maximum(1.0 - x, 0.0)
            share = 0.5 * (1 + np.tanh((exercise - basis @ beta) / 0.02))
            cash = share * exercise + (1 - share) * cash
        return np.mean(cash) * np.exp(-rate * dt)

    return price, (np.array([1.0, 0.3, 0.04]), z)
