"""Losses of machine learning."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Skip-gram with negative samples, embeddings by gathers",
    full={"words": 5_000, "width": 64, "pairs": 2_000, "negatives": 5},
    tiny={"words": 9, "width": 3, "pairs": 8, "negatives": 2},
)
def skip_gram(rng, words, width, pairs, negatives):
    center = rng.integers(0, words, pairs)
    context = rng.integers(0, words, pairs)
    wrong = rng.integers(0, words, (pairs, negatives))

    def loss(params, center, context, wrong):
        inner, outer = params
        v = inner[center]
        good = np.sum(v * outer[context], axis=1)
        bad = np.einsum("pd,pnd->pn", v, outer[wrong])
        return np.mean(np.logaddexp(0, -good) + np.sum(np.logaddexp(0, bad), axis=1))

    params = tuple(rng.normal(size=(2, words, width)) / np.sqrt(width))
    return loss, (params, center, context, wrong)


@program(
    "Triplet loss of embedded pictures, the hardest negative of the batch",
    full={"batch": 256, "features": 128, "width": 32},
    tiny={"batch": 6, "features": 4, "width": 3},
)
def triplet_loss(rng, batch, features, width):
    anchor = rng.normal(size=(batch, features))
    positive = anchor + 0.5 * rng.normal(size=(batch, features))

    def embed(params, x):
        h = np.maximum(x @ params["w1"] + params["b1"], 0) @ params["w2"]
        return h / np.linalg.norm(h, axis=1, keepdims=True)

    def loss(params, anchor, positive):
        a, p = embed(params, anchor), embed(params, positive)
        distance = np.sqrt(np.maximum(2 - 2 * a @ p.T, 1e-9))
        near = np.diag(distance)
        far = np.min(distance + 10.0 * np.eye(len(a)), axis=1)
        return np.mean(np.maximum(near - far + 0.3, 0))

    params = {
        "w1": rng.normal(size=(features, 2 * width)) / np.sqrt(features),
        "b1": np.zeros(2 * width),
        "w2": rng.normal(size=(2 * width, width)) / np.sqrt(width),
    }
    return loss, (params, anchor, positive)


@program(
    "Contrastive loss of two views (InfoNCE) with a learned temperature",
    full={"batch": 256, "features": 128, "width": 64},
    tiny={"batch": 5, "features": 4, "width": 3},
)
def info_nce(rng, batch, features, width):
    one = rng.normal(size=(batch, features))
    other = one + 0.3 * rng.normal(size=(batch, features))

    def loss(params, one, other):
        w, log_temperature = params
        a, b = one @ w, other @ w
        a = a / np.sqrt(np.sum(a**2, axis=1, keepdims=True) + 1e-8)
        b = b / np.sqrt(np.sum(b**2, axis=1, keepdims=True) + 1e-8)
        logits = a @ b.T / np.exp(log_temperature)
        rows = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
        columns = logits - np.log(np.sum(np.exp(logits), axis=0, keepdims=True))
        return -0.5 * (np.mean(np.diagonal(rows)) + np.mean(np.diagonal(columns)))

    return loss, ((rng.normal(size=(features, width)) / np.sqrt(features), -1.0), one, other)


@program(
    "Focal loss of many classes, weighted by class",
    full={"rows": 20_000, "features": 20, "classes": 10},
    tiny={"rows": 15, "features": 3, "classes": 3},
)
def focal_loss(rng, rows, features, classes):
    x = rng.normal(size=(rows, features))
    y = rng.integers(0, classes, rows)
    weight = 1 / (1 + np.bincount(y, minlength=classes))

    def loss(params, x, y, weight):
        w, b = params
        logits = x @ w + b
        logits = logits - logits.max(axis=1, keepdims=True)
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        true = np.clip(p[np.arange(len(y)), y], 1e-7, 1.0)
        return -np.sum(weight[y] * (1 - true) ** 2 * np.log(true))

    return loss, ((0.3 * rng.normal(size=(features, classes)), np.zeros(classes)), x, y, weight)


@program(
    "Factorisation machine for ratings, users and items by gathers",
    full={"ratings": 20_000, "users": 2_000, "items": 1_000, "width": 16},
    tiny={"ratings": 20, "users": 5, "items": 4, "width": 2},
)
def recommender(rng, ratings, users, items, width):
    user, item = rng.integers(0, users, ratings), rng.integers(0, items, ratings)
    rating = rng.integers(1, 6, ratings).astype(float)

    def loss(params, user, item, rating):
        p, q = params["p"][user], params["q"][item]
        expected = params["mean"] + params["user"][user] + params["item"][item] + (p * q).sum(-1)
        penalty = np.sum(p**2) + np.sum(q**2)
        return np.sum((rating - expected) ** 2) + 0.02 * penalty

    params = {
        "p": 0.1 * rng.normal(size=(users, width)),
        "q": 0.1 * rng.normal(size=(items, width)),
        "user": np.zeros(users),
        "item": np.zeros(items),
        "mean": 3.0,
    }
    return loss, (params, user, item, rating)


@program(
    "Variational autoencoder's bound, one layer each way",
    full={"batch": 128, "pixels": 784, "hidden": 128, "latent": 16},
    tiny={"batch": 4, "pixels": 6, "hidden": 5, "latent": 2},
)
def variational_autoencoder(rng, batch, pixels, hidden, latent):
    x = (rng.random((batch, pixels)) < 0.3).astype(float)
    noise = rng.normal(size=(batch, latent))

    def negative_bound(params, x, noise):
        h = np.tanh(x @ params["w1"] + params["b1"])
        mean, log_var = np.split(h @ params["w2"], 2, axis=1)
        z = mean + np.exp(0.5 * log_var) * noise
        logits = np.tanh(z @ params["w3"]) @ params["w4"]
        fit = np.sum(np.logaddexp(0, logits) - x * logits)
        divergence = 0.5 * np.sum(np.exp(log_var) + mean**2 - 1 - log_var)
        return (fit + divergence) / len(x)

    shapes = {
        "w1": (pixels, hidden),
        "w2": (hidden, 2 * latent),
        "w3": (latent, hidden),
        "w4": (hidden, pixels),
    }
    params = {k: rng.normal(size=s) / np.sqrt(s[0]) for k, s in shapes.items()}
    return negative_bound, ({**params, "b1": np.zeros(hidden)}, x, noise)
