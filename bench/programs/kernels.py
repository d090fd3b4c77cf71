"""Kernel methods and factorisations of matrices."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Gaussian process with a periodic kernel, by Cholesky",
    full={"points": 300},
    tiny={"points": 6},
)
def periodic_gaussian_process(rng, points):
    t = np.sort(rng.uniform(0, 10, points))
    y = np.sin(2 * t) + 0.1 * t + 0.2 * rng.normal(size=points)

    def negative_log_likelihood(theta, t, y):
        amplitude, length, period, decay, noise = np.exp(theta)
        d = np.abs(t[:, None] - t[None, :])
        k = amplitude**2 * np.exp(-2 * np.sin(np.pi * d / period) ** 2 / length**2)
        k = k * np.exp(-0.5 * (d / decay) ** 2) + noise**2 * np.eye(len(t))
        chol = np.linalg.cholesky(k)
        alpha = np.linalg.solve(chol.T, np.linalg.solve(chol, y))
        return 0.5 * y @ alpha + np.sum(np.log(np.diag(chol)))

    return negative_log_likelihood, (np.array([0.1, 0.2, 1.1, 1.5, -1.0]), t, y)


@program(
    "Spectral mixture kernel, its likelihood by slogdet and solve",
    full={"points": 250, "components": 4},
    tiny={"points": 6, "components": 2},
)
def spectral_mixture(rng, points, components):
    t = np.sort(rng.uniform(0, 10, points))
    y = np.sin(3 * t) + np.cos(7 * t) + 0.2 * rng.normal(size=points)

    def negative_log_likelihood(params, t, y):
        w, mu, v = (np.exp(params[k])[:, None, None] for k in ("weight", "mean", "scale"))
        d = t[:, None] - t[None, :]
        k = np.sum(w * np.exp(-2 * (np.pi * d * v) ** 2) * np.cos(2 * np.pi * d * mu), axis=0)
        k[np.diag_indices(len(t))] += 0.05
        _, logdet = np.linalg.slogdet(k)
        return 0.5 * (y @ np.linalg.solve(k, y) + logdet)

    params = {
        "weight": np.full(components, -1.0),
        "mean": np.log(np.linspace(0.2, 1.5, components)),
        "scale": np.full(components, -1.5),
    }
    return negative_log_likelihood, (params, t, y)


@program(
    "Kernel ridge regression, validation loss by scales and penalty",
    full={"train": 300, "test": 200, "features": 6},
    tiny={"train": 7, "test": 4, "features": 2},
)
def kernel_ridge(rng, train, test, features):
    xa, xb = rng.normal(size=(train, features)), rng.normal(size=(test, features))
    ya, yb = np.sin(xa.sum(axis=1)), np.sin(xb.sum(axis=1))

    def loss(params, xa, ya, xb, yb):
        log_scale, log_penalty = params
        a, b = xa * np.exp(log_scale), xb * np.exp(log_scale)

        def kernel(p, q):
            d2 = np.sum(p**2, 1)[:, None] + np.sum(q**2, 1)[None, :] - 2 * p @ q.T
            return np.exp(-0.5 * np.maximum(d2, 0))

        weights = np.linalg.solve(kernel(a, a) + np.exp(log_penalty) * np.eye(len(a)), ya)
        return np.mean((kernel(b, a) @ weights - yb) ** 2)

    return loss, ((np.full(features, -0.7), -2.0), xa, ya, xb, yb)


@program(
    "PCA's reconstruction loss, by an unconstrained basis",
    full={"rows": 2_000, "columns": 50, "rank": 5},
    tiny={"rows": 12, "columns": 5, "rank": 2},
)
def pca_reconstruction(rng, rows, columns, rank):
    data = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))
    data += 0.1 * rng.normal(size=(rows, columns))

    def loss(basis, data):
        centered = data - data.mean(axis=0)
        codes = np.linalg.solve(basis.T @ basis, basis.T @ centered.T).T
        return np.linalg.norm(centered - codes @ basis.T) ** 2 / len(data)

    return loss, (rng.normal(size=(columns, rank)), data)


@program(
    "Non-negative matrix factorisation, Kullback-Leibler loss",
    full={"rows": 500, "columns": 300, "rank": 20},
    tiny={"rows": 6, "columns": 5, "rank": 2},
)
def nonnegative_factorisation(rng, rows, columns, rank):
    counts = rng.poisson(2.0, size=(rows, columns)).astype(float)

    def loss(params, counts):
        w, h = np.exp(params[0]), np.exp(params[1])
        fitted = w @ h
        divergence = np.sum(fitted - counts * np.log(fitted + 1e-10))
        return divergence + 0.1 * np.sum(np.abs(h))

    params = (0.3 * rng.normal(size=(rows, rank)), 0.3 * rng.normal(size=(rank, columns)) - 3.0)
    return loss, (params, counts)


@program(
    "Independent components by log cosh and the determinant of the unmixing",
    full={"rows": 5_000, "sources": 8},
    tiny={"rows": 20, "sources": 3},
)
def independent_components(rng, rows, sources):
    x = rng.laplace(size=(rows, sources)) @ rng.normal(size=(sources, sources))

    def negative_log_likelihood(unmixing, x):
        s = x @ unmixing.T
        return np.mean(np.sum(np.log(np.cosh(s)), axis=1)) - np.linalg.slogdet(unmixing)[1]

    return negative_log_likelihood, (np.eye(sources) + 0.1 * rng.normal(size=(sources,) * 2), x)
